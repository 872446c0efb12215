//! The device's own account: what it has agreed to spend, over everything it ever uploaded to.
//!
//! The ledger of a cluster counts per pipeline; only the device sees all of them. A pipeline's
//! whole total is charged at its first upload, once per (cluster, pipeline): after that the cluster
//! may spend it in any way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::{Budget, ClusterId, json};

use crate::DeviceRefusal;

const SCHEMA: &str = "siegel/odometer/v1";
/// Longest stored odometer, in bytes.
const ODOMETER_MAX: usize = 1 << 20;
/// Longest pipeline name, in bytes: as in a policy.
const PIPELINE_MAX: usize = 128;

/// What has been charged so far, by cluster and pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Odometer {
    charged: BTreeMap<(ClusterId, String), Budget>,
}

impl Odometer {
    /// An account of a device that has never uploaded.
    pub fn new() -> Self {
        Self::default()
    }

    /// All that has been charged.
    pub fn spent(&self) -> Result<Budget, DeviceRefusal> {
        let sum = self
            .charged
            .values()
            .try_fold(Budget::ZERO, |sum, one| sum.plus(*one));
        Ok(sum?)
    }

    /// What has been charged for one pipeline of one cluster.
    pub fn charged(&self, cluster: ClusterId, pipeline: &str) -> Budget {
        self.charged
            .get(&(cluster, pipeline.to_owned()))
            .copied()
            .unwrap_or(Budget::ZERO)
    }

    /// Charges a pipeline's whole total. Nothing if it has been charged before; the difference if a
    /// later version of the policy has a larger total (a ledger refuses that, a device does not
    /// rely on it). Nothing changes on a refusal.
    pub(crate) fn charge(
        &mut self,
        cluster: ClusterId,
        pipeline: &str,
        total: Budget,
        cap: Budget,
    ) -> Result<(), DeviceRefusal> {
        let before = self.charged(cluster, pipeline);
        let after = Budget {
            rho_nano: before.rho_nano.max(total.rho_nano),
            delta0: before.delta0.max(total.delta0),
        };
        if after == before {
            return Ok(());
        }
        let (spent, charge) = (self.spent()?, after.pay(before)?);
        if !spent.plus(charge)?.within(cap) {
            return Err(DeviceRefusal::Cap { spent, charge, cap });
        }
        self.charged.insert((cluster, pipeline.to_owned()), after);
        Ok(())
    }

    /// Canonical JSON, to be stored by the device before an upload leaves it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DeviceRefusal> {
        let entries = self
            .charged
            .iter()
            .map(|((cluster, pipeline), charged)| Entry {
                cluster: *cluster,
                pipeline: pipeline.clone(),
                // ρ as text: the total of a device need not stay below 2⁵³.
                rho_nano: charged.rho_nano.0.to_string(),
                delta0: charged.delta0,
            });
        let stored = Stored {
            schema: SCHEMA.into(),
            charged: entries.collect(),
        };
        json::to_canonical(&stored).map_err(|e| DeviceRefusal::Odometer(e.to_string()))
    }

    /// Reads a stored odometer. A damaged one is refused, never taken for empty: that would give
    /// the whole cap back.
    pub fn parse(bytes: &[u8]) -> Result<Self, DeviceRefusal> {
        let bad = |what: &str| DeviceRefusal::Odometer(what.to_owned());
        let stored: Stored = json::from_canonical(bytes, ODOMETER_MAX)
            .map_err(|e| DeviceRefusal::Odometer(e.to_string()))?;
        if stored.schema != SCHEMA {
            return Err(bad("schema is not siegel/odometer/v1"));
        }
        let mut charged = BTreeMap::new();
        for entry in stored.charged {
            if entry.pipeline.len() > PIPELINE_MAX {
                return Err(bad("a pipeline name is longer than 128 bytes"));
            }
            let rho = entry
                .rho_nano
                .parse::<u64>()
                .map_err(|_| bad("rho_nano is no number"))?;
            let budget = Budget {
                rho_nano: siegel_ident::NanoRho(rho),
                delta0: entry.delta0,
            };
            if charged
                .insert((entry.cluster, entry.pipeline), budget)
                .is_some()
            {
                return Err(bad("a pipeline is charged twice"));
            }
        }
        let odometer = Self { charged };
        if odometer.to_bytes()? != bytes {
            return Err(bad(
                "entries are out of order, or a number has another spelling",
            ));
        }
        odometer.spent()?;
        Ok(odometer)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema: String,
    charged: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    cluster: ClusterId,
    pipeline: String,
    rho_nano: String,
    delta0: siegel_ident::Delta,
}

#[cfg(test)]
mod tests {
    use super::*;
    use siegel_ident::{Delta, NanoRho};

    fn budget(rho: u64, delta0: u64) -> Budget {
        Budget {
            rho_nano: NanoRho(rho),
            delta0: Delta(delta0),
        }
    }

    fn cluster(byte: u8) -> ClusterId {
        ClusterId::from_bytes([byte; 32])
    }

    /// Catches a charge per upload, a charge that is shared by clusters, and a cap that is not
    /// looked at in either part.
    #[test]
    fn i1_charges_a_pipeline_once_per_cluster_and_stops_at_the_cap() {
        let cap = budget(100, 10);
        let mut odometer = Odometer::new();
        for _ in 0..3 {
            odometer
                .charge(cluster(1), "a", budget(60, 4), cap)
                .unwrap();
        }
        assert_eq!(odometer.spent().unwrap(), budget(60, 4));
        let before = odometer.clone();
        for (who, pipeline) in [(cluster(2), "a"), (cluster(1), "b")] {
            let refused = odometer.charge(who, pipeline, budget(41, 0), cap);
            assert!(matches!(refused, Err(DeviceRefusal::Cap { .. })));
            let refused = odometer.charge(who, pipeline, budget(0, 7), cap);
            assert!(matches!(refused, Err(DeviceRefusal::Cap { .. })));
        }
        assert_eq!(odometer, before);
        odometer
            .charge(cluster(2), "a", budget(40, 6), cap)
            .unwrap();
        assert_eq!(odometer.spent().unwrap(), cap);
        assert_eq!(odometer.charged(cluster(2), "a"), budget(40, 6));
        assert_eq!(odometer.charged(cluster(3), "a"), Budget::ZERO);
    }

    /// A later version with a larger total costs the difference, one with a smaller total nothing,
    /// and gives nothing back.
    #[test]
    fn i6_versions_of_a_policy_never_refund() {
        let cap = budget(100, 0);
        let mut odometer = Odometer::new();
        odometer
            .charge(cluster(1), "a", budget(50, 0), cap)
            .unwrap();
        odometer
            .charge(cluster(1), "a", budget(20, 0), cap)
            .unwrap();
        assert_eq!(odometer.spent().unwrap(), budget(50, 0));
        odometer
            .charge(cluster(1), "a", budget(100, 0), cap)
            .unwrap();
        assert_eq!(odometer.spent().unwrap(), budget(100, 0));
        assert!(
            odometer
                .charge(cluster(1), "a", budget(101, 0), cap)
                .is_err()
        );
        let huge = odometer.charge(cluster(2), "a", budget(u64::MAX, 0), budget(u64::MAX, 0));
        assert!(matches!(huge, Err(DeviceRefusal::Budget(_))));
    }

    /// Catches a damaged file that reads as an emptier account.
    #[test]
    fn i14_stored_form_round_trips_and_refuses_damage() {
        let mut odometer = Odometer::new();
        odometer
            .charge(
                cluster(2),
                "b",
                budget(u64::MAX / 2, 1),
                budget(u64::MAX, 9),
            )
            .unwrap();
        odometer
            .charge(cluster(1), "a", budget(5, 2), budget(u64::MAX, 9))
            .unwrap();
        let bytes = odometer.to_bytes().unwrap();
        assert_eq!(Odometer::parse(&bytes).unwrap(), odometer);
        let text = String::from_utf8(bytes.clone()).unwrap();
        for (from, to) in [
            ("/v1", "/v2"),
            ("\"rho_nano\":\"5\"", "\"rho_nano\":\"05\""),
            ("\"rho_nano\":\"5\"", "\"rho_nano\":\"-5\""),
            (
                "\"rho_nano\":\"5\"",
                "\"rho_nano\":\"18446744073709551615\"",
            ),
            (",\"rho_nano\":\"5\"", ""),
            ("\"schema\"", "\"a\":1,\"schema\""),
            // Out of order.
            (&"01".repeat(32), &"03".repeat(32)),
        ] {
            let bad = text.replacen(from, to, 1);
            assert_ne!(bad, text, "{from}");
            assert!(Odometer::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        // One pipeline twice.
        let twice = text
            .replacen(&"02".repeat(32), &"01".repeat(32), 1)
            .replacen("\"b\"", "\"a\"", 1);
        assert!(Odometer::parse(twice.as_bytes()).is_err());
        for cut in 0..bytes.len() {
            assert!(Odometer::parse(&bytes[..cut]).is_err());
        }
        assert_eq!(
            Odometer::parse(&Odometer::new().to_bytes().unwrap()).unwrap(),
            Odometer::new()
        );
    }
}
