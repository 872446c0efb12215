//! A signer, a Rekor v1 and a Rekor v2 in memory: bundles of every entry kind, with real signatures.
//! Bodies are written by a JSON writer, not by the code under test.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use siegel_ident::{Digest, Timestamp, json::to_canonical};
use siegel_translog::checkpoint::log_id;
use siegel_translog::merkle::leaf_hash;
use siegel_translog::{SpkiKey, Tree, dsse};

use crate::encoding::b64;
use crate::{Artifact, BundleError, Kind, Signer, TrustedRoot, Verified, verify_strict};

pub(super) const ARTIFACT: &[u8] = b"an artifact";
pub(super) const V1: &str = "rekor.example.test";
pub(super) const V2: &str = "log.example.test";
/// Index of the first entry of the v1 shard.
pub(super) const SHARD: u64 = 1000;
pub(super) const INTEGRATED: u64 = 1_700_000_000;
/// The full minute before.
pub(super) const MINUTE: u64 = 1_699_999_980;
pub(super) const NOW: Timestamp = Timestamp(INTEGRATED + 100);
pub(super) const KINDS: [Kind; 4] = [
    Kind::HashedRekord002,
    Kind::HashedRekord001,
    Kind::Dsse001,
    Kind::Intoto002,
];

/// A P-256 key.
pub(super) struct Pair(EcdsaKeyPair);

impl Pair {
    pub(super) fn new() -> Self {
        let (rng, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &rng).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &rng).unwrap())
    }

    pub(super) fn key(&self) -> SpkiKey {
        SpkiKey::from_point(self.0.public_key().as_ref()).unwrap()
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature = self.0.sign(&SystemRandom::new(), message).unwrap();
        signature.as_ref().to_vec()
    }
}

/// Keys of everybody.
pub(super) struct World {
    pub(super) signer: Pair,
    pub(super) v1: Pair,
    v2: Ed25519KeyPair,
}

/// A bundle that verifies, as a JSON value to bend.
pub(super) struct Sample {
    pub(super) bundle: Value,
    pub(super) key: SpkiKey,
    pub(super) root: String,
    certified: bool,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            signer: Pair::new(),
            v1: Pair::new(),
            v2: Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap(),
        }
    }

    fn v2_key(&self) -> [u8; 32] {
        self.v2.public_key().as_ref().try_into().unwrap()
    }

    /// Id of the log that has entries of this kind.
    pub(super) fn log_id(&self, kind: Kind) -> Digest {
        match kind.is_v2() {
            true => log_id(V2, &self.v2_key()),
            false => Digest::of(&self.v1.key().spki_der()),
        }
    }

    /// A signed note with this text, in the name of `name`.
    pub(super) fn note(&self, kind: Kind, text: &str, name: &str) -> String {
        let signature = match kind.is_v2() {
            true => self.v2.sign(text.as_bytes()).as_ref().to_vec(),
            false => self.v1.sign(text.as_bytes()),
        };
        let id = self.log_id(kind);
        let line = [&id.as_bytes()[..4], &signature[..]].concat();
        format!("{text}\n\u{2014} {name} {}\n", b64(&line))
    }

    /// The text of a checkpoint.
    pub(super) fn text(kind: Kind, size: u64, root: &Digest) -> String {
        let (origin, more) = match kind.is_v2() {
            true => (V2.to_owned(), ""),
            false => (format!("{V1} - 42"), "Timestamp: 1700000000000000000\n"),
        };
        format!("{origin}\n{size}\n{}\n{more}", b64(root.as_bytes()))
    }

    /// The promise for an entry.
    pub(super) fn promise(&self, body: &[u8], time: u64, index: u64) -> Vec<u8> {
        let signed = json!({
            "body": b64(body),
            "integratedTime": time,
            "logID": self.log_id(Kind::Dsse001),
            "logIndex": index,
        });
        self.v1.sign(&to_canonical(&signed).unwrap())
    }

    /// A bundle with an entry of this kind: of an envelope, or of the artifact itself.
    pub(super) fn bundle(&self, kind: Kind, envelope: bool) -> Sample {
        self.make(kind, envelope, None)
    }

    /// The same by a certificate with this validity. Nobody signed it: for ours alone.
    pub(super) fn certified(&self, kind: Kind, validity: (u64, u64)) -> Sample {
        let certificate = self.certificate(validity);
        self.make(kind, kind == Kind::Dsse001, Some(&certificate))
    }

    fn certificate(&self, (from, to): (u64, u64)) -> Vec<u8> {
        let element = |tag: u8, content: &[u8]| {
            let len = match content.len() {
                short @ ..=127 => vec![short as u8],
                long => vec![0x81, long as u8],
            };
            [&[tag][..], &len, content].concat()
        };
        // Only the seconds of one minute are told apart.
        let time = |at: u64| element(0x17, format!("2311142213{:02}Z", at - MINUTE).as_bytes());
        let name = element(0x30, &[]);
        let parts = [
            element(0xa0, &element(2, &[2])),
            element(2, &[1]),
            element(0x30, &[]),
            name.clone(),
            element(0x30, &[time(from), time(to)].concat()),
            name,
            self.signer.key().spki_der(),
        ];
        let signed = element(0x30, &parts.concat());
        element(
            0x30,
            &[signed, element(0x30, &[]), element(3, &[0])].concat(),
        )
    }

    fn make(&self, kind: Kind, envelope: bool, certificate: Option<&[u8]>) -> Sample {
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "name": "a", "digest": { "sha256": Digest::of(ARTIFACT) } }],
            "predicateType": "https://example.test/predicate",
            "predicate": {},
        })
        .to_string();
        let signed = match envelope {
            true => dsse::pae(statement.as_bytes()),
            false => ARTIFACT.to_vec(),
        };
        let signature = self.signer.sign(&signed);
        let body = self.body(kind, &signed, statement.as_bytes(), &signature, certificate);
        let mut bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "publicKey": { "hint": self.signer.key().hint() },
                "tlogEntries": [self.entry(kind, &body)],
            },
        });
        if let Some(certificate) = certificate {
            let material = bundle["verificationMaterial"].as_object_mut().unwrap();
            material.remove("publicKey");
            material.insert(
                "certificate".into(),
                json!({ "rawBytes": b64(certificate) }),
            );
        }
        match envelope {
            true => {
                bundle["dsseEnvelope"] = json!({
                    "payload": b64(statement.as_bytes()),
                    "payloadType": dsse::PAYLOAD_TYPE,
                    "signatures": [{ "sig": b64(&signature) }],
                });
            }
            false => {
                bundle["messageSignature"] = json!({
                    "messageDigest": {
                        "algorithm": "SHA2_256",
                        "digest": b64(Digest::of(ARTIFACT).as_bytes()),
                    },
                    "signature": b64(&signature),
                });
            }
        }
        Sample {
            bundle,
            key: self.signer.key(),
            root: self.root(),
            certified: certificate.is_some(),
        }
    }

    fn body(
        &self,
        kind: Kind,
        signed: &[u8],
        statement: &[u8],
        signature: &[u8],
        certificate: Option<&[u8]>,
    ) -> Vec<u8> {
        let spki = self.signer.key().spki_der();
        let (member, label, der) = match certificate {
            Some(certificate) => ("x509Certificate", "CERTIFICATE", certificate),
            None => ("publicKey", "PUBLIC KEY", spki.as_slice()),
        };
        let text = b64(der);
        let lines: Vec<&str> = (0..text.len())
            .step_by(64)
            .map(|at| &text[at..text.len().min(at + 64)])
            .collect();
        let lines = lines.join("\n");
        let pem = format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n");
        let pem = b64(pem.as_bytes());
        let hash = |bytes: &[u8]| json!({ "algorithm": "sha256", "value": Digest::of(bytes) });
        let spec = match kind {
            Kind::HashedRekord002 => json!({ "hashedRekordV002": {
                "data": { "algorithm": "SHA2_256", "digest": b64(Digest::of(signed).as_bytes()) },
                "signature": {
                    "content": b64(signature),
                    "verifier": {
                        "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                        member: { "rawBytes": text },
                    },
                },
            } }),
            Kind::HashedRekord001 => json!({
                "data": { "hash": hash(signed) },
                "signature": { "content": b64(signature), "publicKey": { "content": pem } },
            }),
            Kind::Dsse001 => json!({
                "envelopeHash": hash(b"a spelling that nobody kept"),
                "payloadHash": hash(statement),
                "signatures": [{ "signature": b64(signature), "verifier": pem }],
            }),
            Kind::Intoto002 => json!({ "content": {
                "envelope": {
                    "payloadType": dsse::PAYLOAD_TYPE,
                    "signatures": [{ "publicKey": pem, "sig": b64(b64(signature).as_bytes()) }],
                },
                "hash": hash(b"a spelling that nobody kept"),
                "payloadHash": hash(statement),
            } }),
        };
        let (name, version) = name(kind);
        to_canonical(&json!({ "apiVersion": version, "kind": name, "spec": spec })).unwrap()
    }

    /// The entry of this body: number 4 of 7 in its tree.
    pub(super) fn entry(&self, kind: Kind, body: &[u8]) -> Value {
        let mut tree = Tree::new();
        for i in 0..7u8 {
            tree.push(match i {
                4 => leaf_hash(body),
                other => leaf_hash(&[other; 40]),
            });
        }
        let root = tree.root();
        let hashes = tree.inclusion_proof(4, 7).unwrap();
        let hashes: Vec<String> = hashes.iter().map(|hash| b64(hash.as_bytes())).collect();
        let note_name = if kind.is_v2() { V2 } else { V1 };
        let index = if kind.is_v2() { 4 } else { SHARD + 4 };
        let (name, version) = name(kind);
        let mut entry = json!({
            "logIndex": index.to_string(),
            "logId": { "keyId": b64(self.log_id(kind).as_bytes()) },
            "kindVersion": { "kind": name, "version": version },
            "inclusionProof": {
                "logIndex": "4",
                "rootHash": b64(root.as_bytes()),
                "treeSize": "7",
                "hashes": hashes,
                "checkpoint": { "envelope": self.note(kind, &Self::text(kind, 7, &root), note_name) },
            },
            "canonicalizedBody": b64(body),
        });
        if !kind.is_v2() {
            let promise = self.promise(body, INTEGRATED, index);
            entry["integratedTime"] = json!(INTEGRATED.to_string());
            entry["inclusionPromise"] = json!({ "signedEntryTimestamp": b64(&promise) });
        }
        entry
    }

    /// A trusted root with both logs.
    fn root(&self) -> String {
        let ed25519 = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
        let log = |name: &str, id: Digest, spki: &[u8], details: &str| {
            json!({
                "baseUrl": format!("https://{name}"),
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": b64(spki),
                    "keyDetails": details,
                    "validFor": { "start": "2023-01-01T00:00:00Z", "end": "2023-11-14T22:13:20Z" },
                },
                "logId": { "keyId": b64(id.as_bytes()) },
            })
        };
        let (v1, v2) = (Kind::HashedRekord001, Kind::HashedRekord002);
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [
                log(V1, self.log_id(v1), &self.v1.key().spki_der(), "PKIX_ECDSA_P256_SHA_256"),
                log(V2, self.log_id(v2), &[&ed25519[..], &self.v2_key()].concat(), "PKIX_ED25519"),
            ],
            "certificateAuthorities": [],
            "ctlogs": [],
            "timestampAuthorities": [],
        })
        .to_string()
    }
}

impl Sample {
    /// The one log entry.
    pub(super) fn entry(&mut self) -> &mut Value {
        &mut self.bundle["verificationMaterial"]["tlogEntries"][0]
    }

    /// Our checks alone.
    pub(super) fn verify(&self) -> Result<Verified, BundleError> {
        self.verify_bytes(self.bundle.to_string().as_bytes())
    }

    pub(super) fn verify_bytes(&self, bundle: &[u8]) -> Result<Verified, BundleError> {
        let root = TrustedRoot::parse(&self.root).unwrap();
        let artifact = Artifact::Bytes(ARTIFACT);
        let signer = match self.certified {
            false => Signer::Key(&self.key),
            true => Signer::Certificate {
                identity: "somebody",
                issuer: "https://example.test",
            },
        };
        verify_strict(bundle, &artifact, &signer, &root, NOW)
    }

    /// The second opinion alone.
    pub(super) fn they_accept(&self) -> bool {
        let bundle = self.bundle.to_string();
        let (artifact, signer) = (Artifact::Bytes(ARTIFACT), Signer::Key(&self.key));
        crate::second_opinion(bundle.as_bytes(), &artifact, &signer, &self.root).is_ok()
    }

    /// The name of the check that refuses.
    pub(super) fn refused(&self) -> &'static str {
        self.verify().expect_err("it verifies").check()
    }
}

/// Kind and version, as text.
pub(super) fn name(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::HashedRekord002 => ("hashedrekord", "0.0.2"),
        Kind::HashedRekord001 => ("hashedrekord", "0.0.1"),
        Kind::Dsse001 => ("dsse", "0.0.1"),
        Kind::Intoto002 => ("intoto", "0.0.2"),
    }
}

/// Every kind of entry, with the content that it can have.
pub(super) fn samples(world: &World) -> Vec<(String, Sample)> {
    let all = KINDS
        .iter()
        .flat_map(|kind| [(*kind, false), (*kind, true)]);
    all.filter(|(kind, envelope)| match kind {
        Kind::HashedRekord002 => true,
        Kind::HashedRekord001 => !envelope,
        Kind::Dsse001 | Kind::Intoto002 => *envelope,
    })
    .map(|(kind, envelope)| {
        let what = format!(
            "{kind:?}, {}",
            if envelope { "envelope" } else { "message" }
        );
        (what, world.bundle(kind, envelope))
    })
    .collect()
}
