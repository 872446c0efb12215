//! The one decision: is this evidence good, and whose is it?

use serde::{Deserialize, Serialize};
use siegel_ident::{ClusterId, ConfigDigest, Measurement, Seconds, Timestamp};

use crate::evidence::Evidence;
use crate::hardware::{self, Hex, Mark, Rule, TrustRoots};
use crate::{Binding, Profile, ReferenceValue, Refusal, Role, TeeKind, hex_option};

/// How far ahead of the verifier's clock the attester's may be. Freshness never rests on it:
/// that is the job of challenge and checkpoint.
pub const CLOCK_SKEW: Seconds = Seconds(60);

/// Roots of trust, from the verifier's own configuration; a policy never chooses them (I1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustAnchors {
    /// Ed25519 key that signs simulated evidence.
    #[serde(with = "hex_option")]
    pub simulation_root: Option<[u8; 32]>,
    /// Vendors of real TEEs. Absent: none is trusted.
    #[serde(default)]
    pub vendors: TrustRoots,
}

/// Under which circumstances evidence is appraised.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The verifier's time.
    pub now: Timestamp,
    /// Profile of the policy. Between KMS nodes, where there is no policy: that of the cluster.
    pub profile: Profile,
    /// Profile of the cluster's genesis or static configuration.
    pub genesis_profile: Profile,
    /// Vendor roots.
    pub anchors: &'a TrustAnchors,
}

/// Proof that evidence was appraised: its fields are private and [`appraise`] alone makes it (I3).
#[derive(Clone, Debug, PartialEq)]
pub struct Appraisal {
    binding: Binding,
    reference: ReferenceValue,
    issued_at: Option<Timestamp>,
    hardware: Option<hardware::Appraisal>,
}

impl Appraisal {
    /// What the holder is.
    pub fn role(&self) -> Role {
        self.binding.role
    }
    /// The kind of TEE.
    pub fn tee(&self) -> TeeKind {
        self.reference.tee()
    }
    /// Which of the accepted reference values the evidence satisfied.
    pub fn reference(&self) -> &ReferenceValue {
        &self.reference
    }
    /// The configuration it was started with.
    pub fn config(&self) -> ConfigDigest {
        self.binding.config
    }
    /// Its public signing key.
    pub fn signing_key(&self) -> &[u8] {
        &self.binding.signing_key
    }
    /// Its public KEM key: suite ‖ key.
    pub fn kem_key(&self) -> &[u8] {
        &self.binding.kem_key
    }
    /// The cluster it belongs to or asks; `None` only for a KMS node before founding.
    pub fn deployment(&self) -> Option<ClusterId> {
        self.binding.deployment
    }
    /// When the evidence says it was issued. Most hardware does not say: then challenge or checkpoint alone date it.
    pub fn issued_at(&self) -> Option<Timestamp> {
        self.issued_at
    }
    /// The end of the earliest window of certificates, revocation lists and collateral. Simulated evidence rests on
    /// nothing that ends.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.hardware.as_ref().map(hardware::Appraisal::valid_until)
    }
    /// Every check of real evidence, with its outcome.
    pub fn outcomes(&self) -> &[hardware::Outcome] {
        self.hardware.as_ref().map_or(&[], |found| found.outcomes())
    }
    /// How new the vendor's statements are on which it rests.
    pub fn marks(&self) -> Vec<Mark> {
        let hardware = self.hardware.as_ref();
        hardware.map_or(Vec::new(), |found| found.authentic().marks())
    }
}

/// What authentic simulated evidence says.
pub(crate) struct Claims {
    pub(crate) measurement: Measurement,
    pub(crate) config: ConfigDigest,
    pub(crate) report_data: [u8; crate::REPORT_DATA_LEN],
    pub(crate) issued_at: Timestamp,
    pub(crate) debug: bool,
}

/// Checks evidence: kind and profile (I11), signature, debugging, measurement and every other field against
/// `allowed`, configuration and report data against `binding`, time of issue.
///
/// The caller must have made `binding` from values that it knows or saw proved: above all the
/// challenge must be its own, fresh and used once.
///
/// # Errors
/// A [`Refusal`] that names the first thing wrong.
pub fn appraise(
    evidence: &[u8],
    binding: &Binding,
    allowed: &[ReferenceValue],
    ctx: &Context<'_>,
) -> Result<Appraisal, Refusal> {
    let report_data = binding.report_data()?;
    if allowed.is_empty() {
        return Err(Refusal::NoReferenceValue);
    }
    match Evidence::parse(evidence)? {
        Evidence::Simulated(body) => {
            let claims = simulated_claims(body, ctx)?;
            appraise_simulated(&claims, report_data, binding, allowed, ctx)
        }
        Evidence::Hardware(stapled) => {
            let (evidence, endorsements) = *stapled;
            appraise_hardware(&evidence, &endorsements, report_data, binding, allowed, ctx)
        }
    }
}

fn appraise_simulated(
    claims: &Claims,
    report_data: [u8; crate::REPORT_DATA_LEN],
    binding: &Binding,
    allowed: &[ReferenceValue],
    ctx: &Context<'_>,
) -> Result<Appraisal, Refusal> {
    if claims.debug {
        return Err(Refusal::Debug);
    }
    let reference = ReferenceValue::simulated(claims.measurement);
    if !allowed.contains(&reference) {
        return Err(Refusal::Measurement {
            found: claims.measurement,
        });
    }
    if claims.config != binding.config {
        return Err(Refusal::Config {
            found: claims.config,
            expected: binding.config,
        });
    }
    if claims.report_data != report_data {
        return Err(Refusal::ReportData { role: binding.role });
    }
    let issued_at = claims.issued_at;
    check_issued(issued_at, ctx.now)?;
    Ok(Appraisal {
        binding: binding.clone(),
        reference,
        issued_at: Some(issued_at),
        hardware: None,
    })
}

/// Every field against the reference values of its kind. Report data and, where the platform has a field for it, the
/// configuration digest are exact whatever those say (I3).
fn appraise_hardware(
    evidence: &hardware::Evidence,
    endorsements: &hardware::Endorsements,
    report_data: [u8; crate::REPORT_DATA_LEN],
    binding: &Binding,
    allowed: &[ReferenceValue],
    ctx: &Context<'_>,
) -> Result<Appraisal, Refusal> {
    let expected = hardware::Expected {
        report_data: Rule::Exact(Hex(report_data)),
        config: Rule::Exact(Hex(*binding.config.as_bytes())),
    };
    let real: Vec<_> = allowed
        .iter()
        .filter_map(|value| Some((value, value.held()?)))
        .collect();
    let held: Vec<_> = real.iter().map(|(_, held)| *held).collect();
    let roots = &ctx.anchors.vendors;
    let (found, place) =
        hardware::appraise_as_one_of(evidence, endorsements, roots, &held, &expected, ctx.now)
            .map_err(|why| Refusal::Hardware(Box::new(why)))?;
    let (reference, _) = real.get(place).ok_or(Refusal::NoReferenceValue)?;
    Ok(Appraisal {
        binding: binding.clone(),
        reference: (*reference).clone(),
        issued_at: found.authentic().made_at(),
        hardware: Some(found),
    })
}

fn check_issued(issued_at: Timestamp, now: Timestamp) -> Result<(), Refusal> {
    match issued_at > now.plus(CLOCK_SKEW) {
        true => Err(Refusal::FromFuture { issued_at, now }),
        false => Ok(()),
    }
}

/// The three gates of I11 (build, genesis, policy) before a byte of the body is read.
fn simulated_claims(body: &[u8], ctx: &Context<'_>) -> Result<Claims, Refusal> {
    if ctx.genesis_profile != Profile::Simulation || ctx.profile != Profile::Simulation {
        return Err(Refusal::SimulationNotAllowed {
            genesis: ctx.genesis_profile,
            policy: ctx.profile,
        });
    }
    verify_simulated(body, ctx.anchors)
}

#[cfg(feature = "simulation")]
fn verify_simulated(body: &[u8], anchors: &TrustAnchors) -> Result<Claims, Refusal> {
    let root = anchors.simulation_root.as_ref().ok_or(Refusal::NoAnchor)?;
    crate::simulated::verify(body, root)
}

#[cfg(not(feature = "simulation"))]
fn verify_simulated(_: &[u8], _: &TrustAnchors) -> Result<Claims, Refusal> {
    Err(Refusal::SimulationNotBuilt)
}

#[cfg(test)]
mod tests;

/// A build without the simulator. `cargo test -p siegel-attest` without features runs it.
#[cfg(all(test, not(feature = "simulation")))]
mod without_simulator {
    use super::*;

    // I11: even where genesis and policy say simulation, a production build refuses.
    #[test]
    fn i11_production_build_refuses_simulated_evidence() {
        let binding = Binding {
            role: Role::Worker,
            deployment: Some(ClusterId::from_bytes([1; 32])),
            signing_key: vec![2; 32],
            kem_key: vec![0, 2, 3],
            config: ConfigDigest::from_bytes([4; 32]),
            challenge: vec![5; 32],
            checkpoint: None,
        };
        let measurement = Measurement::from_bytes([6; 32]);
        let allowed = [ReferenceValue::simulated(measurement)];
        let anchors = TrustAnchors {
            simulation_root: Some([7; 32]),
            ..TrustAnchors::default()
        };
        let ctx = Context {
            now: Timestamp(1),
            profile: Profile::Simulation,
            genesis_profile: Profile::Simulation,
            anchors: &anchors,
        };
        let evidence = [1, 0xF0, 0, 0, 0, 1, 0];
        let result = appraise(&evidence, &binding, &allowed, &ctx);
        assert_eq!(result, Err(Refusal::SimulationNotBuilt));
    }
}
