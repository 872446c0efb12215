//! The independent verifier `sigstore-verify` on the same bundles: it takes what we build, and
//! ours refuses what it lets through (the table in its documentation is ours to close).

use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey, VerificationAlgorithm};
use sigstore_types::{Bundle as TheirBundle, DerPublicKey, HashAlgorithm};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result as TheirResult, SigningScheme,
    install_default_provider,
};
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::{PublicKeyVerificationPolicy, verify};

use super::{ARTIFACT, Logged, ORIGIN};
use crate::encoding::b64;
use crate::{Bundle, LogAnchors, SpkiKey};

/// Its arithmetic on ring, so that the tests need no second C library.
#[derive(Debug)]
struct OnRing;

struct Sha256(ring::digest::Context);

impl HashContext for Sha256 {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

impl CryptoProvider for OnRing {
    fn hash(&self, algorithm: HashAlgorithm) -> TheirResult<Box<dyn HashContext>> {
        match algorithm {
            HashAlgorithm::Sha2256 => Ok(Box::new(Sha256(ring::digest::Context::new(
                &ring::digest::SHA256,
            )))),
            other => Err(Error::UnsupportedAlgorithm(other.to_string())),
        }
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        data: &[u8],
        signature: &[u8],
    ) -> TheirResult<()> {
        let algorithm: &'static dyn VerificationAlgorithm = match scheme {
            SigningScheme::EcdsaP256Sha256 => &ECDSA_P256_SHA256_ASN1,
            SigningScheme::Ed25519 => &ED25519,
            other => return Err(Error::UnsupportedAlgorithm(format!("{other:?}"))),
        };
        UnparsedPublicKey::new(algorithm, key)
            .verify(data, signature)
            .map_err(|_| Error::Verification("does not verify".into()))
    }

    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        _key: &[u8],
        _digest: &[u8],
        _signature: &[u8],
    ) -> TheirResult<()> {
        Err(Error::UnsupportedAlgorithm(format!(
            "{scheme:?} over a digest"
        )))
    }
}

/// A Sigstore trusted root that knows one log.
fn trusted_root(anchors: &LogAnchors) -> TrustedRoot {
    let ed25519_spki = [
        &[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0][..],
        &anchors.key,
    ]
    .concat();
    let json = format!(
        "{{\"mediaType\":\"application/vnd.dev.sigstore.trustedroot+json;version=0.1\",\"tlogs\":[{{\
         \"baseUrl\":\"https://{}\",\"hashAlgorithm\":\"SHA2_256\",\"publicKey\":{{\"rawBytes\":\"{}\",\
         \"keyDetails\":\"PKIX_ED25519\",\"validFor\":{{\"start\":\"2020-01-01T00:00:00Z\"}}}},\
         \"logId\":{{\"keyId\":\"{}\"}}}}],\"certificateAuthorities\":[],\"ctlogs\":[],\
         \"timestampAuthorities\":[]}}",
        anchors.origin,
        b64(&ed25519_spki),
        b64(anchors.log_id().as_bytes()),
    );
    TrustedRoot::from_json(&json).unwrap()
}

fn they_accept(bundle: &[u8], artifact: &[u8], key: &SpkiKey, anchors: &LogAnchors) -> bool {
    let _ = install_default_provider(&OnRing);
    let Ok(bundle) = TheirBundle::from_json(std::str::from_utf8(bundle).unwrap()) else {
        return false;
    };
    let policy = PublicKeyVerificationPolicy::new(DerPublicKey::new(key.spki_der()));
    verify(artifact, &bundle, &policy, &trusted_root(anchors)).is_ok_and(|r| r.tlog_verified())
}

#[test]
fn they_accept_what_we_build_and_refuse_other_bytes() {
    let good = Logged::new();
    assert!(they_accept(
        &good.bundle,
        ARTIFACT,
        &good.key(),
        &good.anchors
    ));
    assert!(!they_accept(
        &good.bundle,
        b"other",
        &good.key(),
        &good.anchors
    ));
    let other = crate::testing::TestLog::new(ORIGIN, [1; 32]).anchors();
    assert!(!they_accept(&good.bundle, ARTIFACT, &good.key(), &other));
}

/// If one of these starts to fail, upstream became stricter: good news, shorten the list.
#[test]
fn ours_refuses_what_they_let_through() {
    let good = Logged::new();
    let mut wrong_log = Bundle::parse(&good.bundle).unwrap();
    wrong_log.entry.log_id = siegel_ident::Digest::of(b"another log");
    let text = String::from_utf8(good.bundle.clone()).unwrap();
    let (head, rest) = text.split_once("\"tlogEntries\":[").unwrap();
    let entry = rest.strip_suffix("]}}").unwrap();
    let twice = format!("{head}\"tlogEntries\":[{entry},{entry}]}}}}");
    for (what, bent) in [
        ("the entry twice", twice.into_bytes()),
        (
            "unknown field",
            text.replacen('{', "{\"note\":1,", 1).into_bytes(),
        ),
        (
            "hint of another key",
            text.replacen("\"hint\":\"", "\"hint\":\"AA", 1)
                .into_bytes(),
        ),
    ] {
        assert!(
            they_accept(&bent, ARTIFACT, &good.key(), &good.anchors),
            "{what}"
        );
        assert!(good.verify(&bent).is_err(), "{what}");
    }
    assert!(good.verify(&wrong_log.to_json().unwrap()).is_err());
}
