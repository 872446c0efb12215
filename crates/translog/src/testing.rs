//! A log and a signer in memory, for tests: real signatures, real proofs, no server.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use siegel_ident::{NamedKey, Seconds, Timestamp, WitnessQuorum};

use crate::archived::Archived;
use crate::bundle::Bundle;
use crate::checkpoint::{Checkpoint, log_id};
use crate::cosignature;
use crate::dsse::{Envelope, pae};
use crate::error::ProofError;
use crate::hashedrekord::HashedRekord;
use crate::intoto::Statement;
use crate::key::SpkiKey;
use crate::tlog_entry::{InclusionProof, TlogEntry};
use crate::tree::Tree;
use crate::verify::LogAnchors;

/// A P-256 key that signs statements. Its signatures are random, as everywhere.
pub struct TestSigner {
    pair: EcdsaKeyPair,
    key: SpkiKey,
}

impl TestSigner {
    /// A fresh key.
    ///
    /// # Errors
    /// [`ProofError::Key`] if the random source fails.
    pub fn generate() -> Result<Self, ProofError> {
        let (rng, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let failed = ProofError::Key("cannot make a test key");
        let Ok(pkcs8) = EcdsaKeyPair::generate_pkcs8(algorithm, &rng) else {
            return Err(failed);
        };
        let Ok(pair) = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &rng) else {
            return Err(failed);
        };
        let key = SpkiKey::from_point(pair.public_key().as_ref())?;
        Ok(Self { pair, key })
    }

    /// The public key.
    pub fn key(&self) -> SpkiKey {
        self.key
    }

    /// Signs any payload, right or wrong.
    ///
    /// # Errors
    /// [`ProofError::Key`] if the random source fails.
    pub fn sign(&self, payload: Vec<u8>) -> Result<Envelope, ProofError> {
        let signature = self
            .pair
            .sign(&SystemRandom::new(), &pae(&payload))
            .map_err(|_| ProofError::Key("cannot sign"))?
            .as_ref()
            .to_vec();
        Ok(Envelope { payload, signature })
    }
}

/// A witness that cosigns whatever it is shown: with a seeded key, at any time.
pub struct TestWitness {
    named: NamedKey,
    pair: Ed25519KeyPair,
}

impl TestWitness {
    /// Witness `n`, run by operator `n`.
    pub fn new(n: u8) -> Self {
        let (named, pair) = named_key('w', n);
        Self { named, pair }
    }

    /// What a verifier would pin.
    pub fn named_key(&self) -> &NamedKey {
        &self.named
    }

    /// The same witness, run by another operator.
    #[must_use]
    pub fn of_operator(mut self, operator: &str) -> Self {
        self.named.operator = operator.to_owned();
        self
    }

    /// Its signature line over a note's text.
    pub fn cosign(&self, note_text: &str, time: Timestamp) -> String {
        let signature = sign(&self.pair, &cosignature::signed_text(note_text, time));
        cosignature::line(&self.named.name, &self.named.key, time, &signature)
    }

    /// A quorum of `required` of these.
    pub fn quorum(witnesses: &[Self], required: u32, max_age: Seconds) -> WitnessQuorum {
        WitnessQuorum {
            required,
            max_age,
            witnesses: witnesses.iter().map(|w| w.named.clone()).collect(),
        }
    }
}

/// A mirror that says whatever it is told, with a seeded key.
pub struct TestMirror {
    named: NamedKey,
    pair: Ed25519KeyPair,
}

impl TestMirror {
    /// Mirror `n`, run by operator `n`.
    pub fn new(n: u8) -> Self {
        let (named, pair) = named_key('m', n);
        Self { named, pair }
    }

    /// What a verifier would pin.
    pub fn named_key(&self) -> &NamedKey {
        &self.named
    }

    /// Gives it to another operator.
    pub fn set_operator(&mut self, operator: &str) {
        self.named.operator = operator.to_owned();
    }

    /// Its note, right or wrong.
    pub fn sign(&self, said: &Archived) -> String {
        said.to_note(&self.named, &sign(&self.pair, &said.text()))
    }
}

/// A log with a seeded Ed25519 key.
pub struct TestLog {
    origin: String,
    pair: Ed25519KeyPair,
    tree: Tree,
    witnesses: Vec<TestWitness>,
    quorum: WitnessQuorum,
    time: Timestamp,
}

impl TestLog {
    /// An empty log. The key is a function of the seed.
    pub fn new(origin: &str, seed: [u8; 32]) -> Self {
        Self {
            origin: origin.to_owned(),
            pair: pair_of(&seed),
            tree: Tree::new(),
            witnesses: Vec::new(),
            quorum: WitnessQuorum::none(),
            time: Timestamp(0),
        }
    }

    /// The same log under these witnesses, of which all must have cosigned within `max_age`.
    #[must_use]
    pub fn witnessed(mut self, witnesses: Vec<TestWitness>, max_age: Seconds) -> Self {
        self.quorum = TestWitness::quorum(&witnesses, witnesses.len() as u32, max_age);
        self.witnesses = witnesses;
        self
    }

    /// When its witnesses will cosign from now on.
    pub fn set_time(&mut self, time: Timestamp) {
        self.time = time;
    }

    /// The log's name.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The log's public key.
    pub fn key(&self) -> [u8; 32] {
        public_key(&self.pair)
    }

    /// What a verifier would pin.
    pub fn anchors(&self) -> LogAnchors {
        LogAnchors {
            witnesses: self.quorum.clone(),
            ..LogAnchors::unwitnessed(&self.origin, self.key())
        }
    }

    /// The signed and cosigned checkpoint of the log as it stands.
    pub fn checkpoint(&self) -> String {
        let checkpoint = Checkpoint {
            origin: self.origin.clone(),
            size: self.tree.size(),
            root: self.tree.root(),
        };
        let text = checkpoint.note_text();
        let mut note = checkpoint.to_note(&self.key(), &self.sign(&text));
        for witness in &self.witnesses {
            note.push_str(&witness.cosign(&text, self.time));
        }
        note
    }

    /// The log key's signature over any note text, right or wrong.
    pub fn sign(&self, text: &str) -> [u8; 64] {
        sign(&self.pair, text)
    }

    /// Signs a statement about `artifact`, logs it and returns the bundle bytes.
    ///
    /// # Errors
    /// [`ProofError`] if signing or writing fails.
    pub fn publish(
        &mut self,
        signer: &TestSigner,
        name: &str,
        artifact: &[u8],
        predicate_type: &str,
    ) -> Result<Vec<u8>, ProofError> {
        let statement = Statement::about(name, artifact, predicate_type).to_bytes()?;
        let envelope = signer.sign(statement)?;
        self.log(&envelope, &signer.key())
    }

    /// Logs an envelope as it is and returns the bundle bytes.
    ///
    /// # Errors
    /// [`ProofError`] if writing fails.
    pub fn log(&mut self, envelope: &Envelope, key: &SpkiKey) -> Result<Vec<u8>, ProofError> {
        let entry = self.append(HashedRekord::of(envelope, key).canonical_body());
        Bundle::new(envelope.clone(), key, entry).to_json()
    }

    /// Appends any body and returns the entry with its proof.
    pub fn append(&mut self, body: Vec<u8>) -> TlogEntry {
        let index = self.tree.push(crate::merkle::leaf_hash(&body));
        let size = self.tree.size();
        let hashes = self.tree.inclusion_proof(index, size).unwrap_or_default();
        TlogEntry {
            log_index: index,
            log_id: log_id(&self.origin, &self.key()),
            proof: InclusionProof::new(index, size, self.tree.root(), hashes, self.checkpoint()),
            canonicalized_body: body,
        }
    }
}

/// The name, operator and key of witness or mirror `n`.
fn named_key(letter: char, n: u8) -> (NamedKey, Ed25519KeyPair) {
    let pair = pair_of(&[n; 32]);
    let named = NamedKey {
        name: format!("{letter}{n}.example.test"),
        operator: format!("operator {n}"),
        key: public_key(&pair),
    };
    (named, pair)
}

#[allow(clippy::expect_used)] // 32 bytes are always a seed
fn pair_of(seed: &[u8; 32]) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(seed).expect("32 bytes")
}

fn public_key(pair: &Ed25519KeyPair) -> [u8; 32] {
    let mut key = [0; 32];
    key.copy_from_slice(pair.public_key().as_ref());
    key
}

fn sign(pair: &Ed25519KeyPair, text: &str) -> [u8; 64] {
    let mut signature = [0; 64];
    signature.copy_from_slice(pair.sign(text.as_bytes()).as_ref());
    signature
}
