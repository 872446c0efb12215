//! What a policy demands of an enclave. Every field must be named.

use serde::{Deserialize, Serialize};

use crate::hardware::quote::QuoteRules;
use crate::hardware::{Hex, Rule};

/// One accepted enclave on one kind of platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// For people; never empty.
    #[serde(deserialize_with = "crate::hardware::rule::name")]
    pub name: String,
    /// Platform and collateral (21 to 25, 32).
    pub quote: QuoteRules,
    /// ATTRIBUTES: flags and XFRM (26, 27). Debugging and the provisioning key are always refused.
    pub attributes: Rule<Hex<16>>,
    /// MISCSELECT.
    pub misc_select: Rule<u32>,
    /// Measurement of the enclave (29).
    pub mrenclave: Rule<Hex<32>>,
    /// Hash of the key that signed the enclave (29).
    pub mrsigner: Rule<Hex<32>>,
    /// Product id.
    pub isv_prod_id: Rule<u16>,
    /// Security version.
    pub isv_svn: Rule<u16>,
    /// Chosen by the host at launch; zeros without key separation (KSS). Where a configuration digest is expected, it
    /// must be that besides, then zeros.
    pub config_id: Rule<Hex<64>>,
    /// Security version of the configuration; zero without KSS.
    pub config_svn: Rule<u16>,
    /// Family of products; zeros without KSS.
    pub isv_family_id: Rule<Hex<16>>,
    /// Long product id; zeros without KSS.
    pub isv_ext_prod_id: Rule<Hex<16>>,
}
