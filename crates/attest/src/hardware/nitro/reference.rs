//! What a policy demands of a Nitro enclave. Every field must be named.

use serde::{Deserialize, Serialize};

use crate::hardware::{Freshness, Hex, Rule};

/// One accepted enclave. Debug enclaves are always refused; registers without a rule must be zero.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// For people; never empty.
    #[serde(deserialize_with = "crate::hardware::rule::name")]
    pub name: String,
    /// The document must be this young.
    pub age: Freshness,
    /// The enclave's image.
    pub pcr0: Rule<Hex<48>>,
    /// Kernel and boot ramdisk.
    pub pcr1: Rule<Hex<48>>,
    /// The application.
    pub pcr2: Rule<Hex<48>>,
    /// The IAM role of the parent instance.
    pub pcr3: Rule<Hex<48>>,
    /// The parent instance.
    pub pcr4: Rule<Hex<48>>,
    /// The certificate that signed the image.
    pub pcr8: Rule<Hex<48>>,
    /// Instance and enclave.
    pub module_id: Rule<String>,
    /// Lower-case hexadecimal.
    pub nonce: Rule<String>,
    /// Lower-case hexadecimal.
    pub public_key: Rule<String>,
    /// Lower-case hexadecimal. Where report data is expected, it must be that besides.
    pub user_data: Rule<String>,
}
