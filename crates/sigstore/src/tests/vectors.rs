//! Bundles of other people's logs, by path (SIEGEL_VECTORS); absent = a printed skip.
#![allow(clippy::disallowed_methods)] // a test reads files

use std::path::{Path, PathBuf};

use siegel_ident::Timestamp;
use siegel_translog::SpkiKey;

use crate::encoding::from_b64;
use crate::{Artifact, BundleError, PUBLIC_GOOD, Signer, Verified, verify_bundle};

const IDENTITY: &str = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/\
                        .github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const ISSUER: &str = "https://token.actions.githubusercontent.com";
/// Which check of ours refuses: the one that the folder is about, and not the second opinion.
const REFUSALS: [(&str, &str); 11] = [
    ("checkpoint-wrong-roothash_fail", "field"),
    ("inclusion-proof-corrupted-hash_fail", "inclusion-proof"),
    ("invalid-inclusion-proof_fail", "missing"),
    ("managed-key-no-key_fail", "signer"),
    ("managed-key-wrong-key_fail", "signer"),
    ("rekor2-checkpoint-missing-origin_fail", "checkpoint-form"),
    ("rekor2-dsse-invalid-sig_fail", "signature"),
    ("rekor2-no-inclusion-proof_fail", "missing"),
    (
        "rekor2-timestamp-payload-mismatch_fail",
        "timestamp-imprint",
    ),
    ("set-invalid-signature_fail", "entry-timestamp"),
    ("rekor2-no-timestamp_fail", "no-time"),
];
/// 1 December 2026.
pub(super) const NOW: Timestamp = Timestamp(1_796_083_200);

pub(super) fn vectors() -> Option<PathBuf> {
    let root = std::env::var("SIEGEL_VECTORS").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let dir = root.join("sigstore");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no {} (set SIEGEL_VECTORS)", dir.display());
    None
}

/// A case as the conformance suite lays it out.
pub(super) struct Case {
    pub(super) bundle: Vec<u8>,
    pub(super) artifact: Vec<u8>,
    pub(super) root: String,
    /// The pinned key, if there is one; `Err` if its file is malformed.
    pub(super) key: Option<Result<SpkiKey, ()>>,
}

impl Case {
    pub(super) fn read(folder: &Path) -> Self {
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let key = text("key.pub").map(|pem| {
            let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
            let der = from_b64(&body).ok_or(())?;
            SpkiKey::from_spki_der(&der).map_err(|_| ())
        });
        let artifact = std::fs::read(folder.join("artifact"));
        Self {
            bundle: std::fs::read(folder.join("bundle.sigstore.json")).unwrap(),
            artifact: artifact
                .unwrap_or_else(|_| std::fs::read(folder.parent().unwrap().join("a.txt")).unwrap()),
            root: text("trusted_root.json").unwrap_or_else(|| PUBLIC_GOOD.to_owned()),
            key,
        }
    }

    fn signer(&self) -> Result<Signer<'_>, BundleError> {
        Ok(match &self.key {
            Some(Ok(key)) => Signer::Key(key),
            Some(Err(())) => return Err(BundleError::Signer("the key file is malformed")),
            None => Signer::Certificate {
                identity: IDENTITY,
                issuer: ISSUER,
            },
        })
    }

    /// Both verifiers.
    pub(super) fn verify(&self, artifact: &Artifact<'_>) -> Result<Verified, BundleError> {
        verify_bundle(&self.bundle, artifact, &self.signer()?, &self.root, NOW)
    }
}

/// Every folder gives the verdict that its name says, by the artifact and by its digest.
#[test]
fn every_folder_gives_the_verdict_of_its_name() {
    let Some(dir) = vectors() else { return };
    let mut seen = (0, 0);
    for folder in std::fs::read_dir(&dir).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let case = Case::read(&folder);
        let by_bytes = case.verify(&Artifact::Bytes(&case.artifact));
        let digest = siegel_ident::Digest::of(&case.artifact);
        let by_digest = case.verify(&Artifact::Digest(digest));
        println!("{name}: {by_bytes:?}");
        assert_eq!(by_bytes.is_err(), name.ends_with("_fail"), "{name}");
        assert_eq!(by_digest.is_err(), name.ends_with("_fail"), "{name}");
        match by_bytes {
            Ok(_) => seen.0 += 1,
            Err(why) => {
                seen.1 += 1;
                let known = REFUSALS.iter().find(|(folder, _)| *folder == name);
                if let Some((_, check)) = known {
                    assert_eq!(why.check(), *check, "{name}: {why}");
                }
            }
        }
    }
    assert!(seen.0 >= 6 && seen.1 >= 9, "{seen:?}");
}
