//! Vendor roots.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Check, Rejection, nitro, quote, snp};

/// Vendor roots, from the verifier's own configuration; a policy never chooses them (I1). A vendor that is not
/// there is not trusted: the default trusts none.
///
/// In documents: a list of [`Vendor`]s, each with the roots that are pinned in this build. Other roots than
/// those cannot be written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustRoots {
    /// AMD's root key of each product, by SHA-256 of the SubjectPublicKeyInfo.
    pub amd: Vec<(snp::Product, [u8; 32])>,
    /// Intel's SGX root CA, DER.
    pub intel: Option<Vec<u8>>,
    /// AWS's Nitro root certificate, by SHA-256 of its DER.
    pub aws_nitro: Option<[u8; 32]>,
}

/// Whose roots are pinned in this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vendor {
    /// AMD: SEV-SNP.
    Amd,
    /// AWS: Nitro Enclaves.
    Aws,
    /// Intel: TDX and SGX.
    Intel,
}

impl Vendor {
    /// All of them, ascending.
    pub const ALL: [Self; 3] = [Self::Amd, Self::Aws, Self::Intel];
}

impl TrustRoots {
    /// All vendors' own roots: AMD's ARKs as published by its key distribution service, Intel's and AWS's.
    pub fn vendors() -> Self {
        Self::of(&Vendor::ALL)
    }

    /// The pinned roots of these vendors.
    pub fn of(vendors: &[Vendor]) -> Self {
        let has = |vendor| vendors.contains(&vendor);
        Self {
            amd: if has(Vendor::Amd) {
                snp::ROOTS.to_vec()
            } else {
                Vec::new()
            },
            intel: has(Vendor::Intel).then(|| quote::ROOT.to_vec()),
            aws_nitro: has(Vendor::Aws).then_some(nitro::ROOT_SHA256),
        }
    }

    /// Intel's root.
    pub(crate) fn intel(&self) -> Result<&[u8], Rejection> {
        self.intel.as_deref().ok_or_else(|| {
            Rejection::new(
                Check::QuoteFormat,
                "this verifier's configuration trusts no root of Intel (I1)",
            )
        })
    }

    /// The vendors whose pinned roots these are; `None` if there are others.
    fn names(&self) -> Option<Vec<Vendor>> {
        let here = [
            (Vendor::Amd, !self.amd.is_empty()),
            (Vendor::Aws, self.aws_nitro.is_some()),
            (Vendor::Intel, self.intel.is_some()),
        ];
        let names: Vec<_> = here
            .into_iter()
            .filter_map(|(vendor, there)| there.then_some(vendor))
            .collect();
        (*self == Self::of(&names)).then_some(names)
    }
}

impl Serialize for TrustRoots {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.names();
        names
            .ok_or_else(|| {
                serde::ser::Error::custom("these roots are not the pinned ones: they have no name")
            })?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TrustRoots {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<Vendor>::deserialize(deserializer)?;
        match names.is_sorted_by(|a, b| a < b) {
            true => Ok(Self::of(&names)),
            false => Err(serde::de::Error::custom(
                "vendors: each once, in alphabetical order",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I1: roots are named, never brought along, and nobody is trusted by default.
    #[test]
    fn i1_only_pinned_roots_have_a_name() {
        let read = |text: &str| serde_json::from_str::<TrustRoots>(text);
        assert_eq!(
            read(r#"["amd","aws","intel"]"#).unwrap(),
            TrustRoots::vendors()
        );
        assert_eq!(read("[]").unwrap(), TrustRoots::default());
        for names in [&[][..], &[Vendor::Aws], &[Vendor::Amd, Vendor::Intel]] {
            let roots = TrustRoots::of(names);
            assert_eq!(
                read(&serde_json::to_string(&roots).unwrap()).unwrap(),
                roots
            );
        }
        for bad in [
            r#"["intel","amd"]"#,
            r#"["amd","amd"]"#,
            r#"["arm"]"#,
            r#"[[1]]"#,
            "null",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let mut other = TrustRoots::vendors();
        other.aws_nitro = Some([1; 32]);
        assert!(serde_json::to_string(&other).is_err());
    }
}
