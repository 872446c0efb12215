//! What newer enclaves have where the first ones had reserved bytes: key separation and sharing (KSS, Intel SDM 3D,
//! "REPORT"). An enclave without it has zeros there.

use dcap_qvl::quote::EnclaveReport;

use super::Reference;
use crate::hardware::outcome::Outcomes;
use crate::hardware::{Check, Expected, Hex, Rule};

/// The fields, and whether all other reserved bytes are zero.
pub(super) struct Fields {
    ext_prod_id: Hex<16>,
    config_id: Hex<64>,
    config_svn: u16,
    family_id: Hex<16>,
    rest_is_zero: bool,
}

impl Fields {
    pub(super) fn read(body: &EnclaveReport) -> Self {
        let (rest1, ext_prod_id) = tail(&body.reserved1);
        let (rest3, config_id) = tail(&body.reserved3);
        let (rest4, family_id) = tail(&body.reserved4);
        let (config_svn, rest4) = match rest4 {
            [low, high, rest @ ..] => (u16::from_le_bytes([*low, *high]), rest),
            _ => (0, rest4),
        };
        let mut rest = rest1
            .iter()
            .chain(&body.reserved2)
            .chain(rest3)
            .chain(rest4);
        Self {
            ext_prod_id,
            config_id,
            config_svn,
            family_id,
            rest_is_zero: rest.all(|byte| *byte == 0),
        }
    }

    pub(super) fn claims(&self) -> [(&'static str, String); 4] {
        [
            ("config_id", self.config_id.to_string()),
            ("config_svn", self.config_svn.to_string()),
            ("isv_family_id", self.family_id.to_string()),
            ("isv_ext_prod_id", self.ext_prod_id.to_string()),
        ]
    }

    pub(super) fn hold(&self, reference: &Reference, expected: &Expected, outcomes: &mut Outcomes) {
        let check = Check::SgxMeasurement;
        outcomes.rule(check, "CONFIGID", &reference.config_id, &self.config_id);
        outcomes.rule(check, "CONFIGSVN", &reference.config_svn, &self.config_svn);
        outcomes.rule(
            check,
            "ISVFAMILYID",
            &reference.isv_family_id,
            &self.family_id,
        );
        outcomes.rule(
            check,
            "ISVEXTPRODID",
            &reference.isv_ext_prod_id,
            &self.ext_prod_id,
        );
        outcomes.must(check, self.rest_is_zero, "reserved bytes: wanted zeros");
        let (digest, zeros) = self.config_id.0.split_at(32);
        if !matches!(expected.config, Rule::Ignore(_)) {
            let zeros = zeros.iter().all(|byte| *byte == 0);
            outcomes.must(
                check,
                zeros,
                "CONFIGID: zeros after the configuration digest",
            );
        }
        let mut found = Hex([0; 32]);
        found.0.copy_from_slice(digest);
        outcomes.rule(
            check,
            "configuration digest in CONFIGID",
            &expected.config,
            &found,
        );
    }
}

/// The last `N` bytes, and what is before them. `bytes` are at least that long.
fn tail<const N: usize>(bytes: &[u8]) -> (&[u8], Hex<N>) {
    bytes
        .split_last_chunk::<N>()
        .map_or((bytes, Hex([0; N])), |(rest, last)| (rest, Hex(*last)))
}
