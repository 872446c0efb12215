//! A witness that cosigns whatever it is shown.

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use siegel_ident::{NamedKey, Seconds, Timestamp, WitnessQuorum};
use siegel_translog::cosignature;

/// A witness with a key of its own.
pub struct Witness {
    pair: Ed25519KeyPair,
    /// What an auditor pins.
    pub named: NamedKey,
}

impl Witness {
    /// Witness number `n`, of operator number `n`.
    pub fn new(n: u8) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[n; 32]).unwrap();
        let named = NamedKey {
            name: format!("w{n}.example"),
            operator: format!("operator {n}"),
            key: pair.public_key().as_ref().try_into().unwrap(),
        };
        Self { pair, named }
    }

    /// The note with one more line.
    pub fn cosign(&self, note: &str, at: Timestamp) -> String {
        let (text, _) = note.split_once("\n\n").unwrap();
        let signed = cosignature::signed_text(&format!("{text}\n"), at);
        let signature = self.pair.sign(signed.as_bytes());
        let signature = signature.as_ref().try_into().unwrap();
        let NamedKey { name, key, .. } = &self.named;
        format!("{note}{}", cosignature::line(name, key, at, &signature))
    }
}

/// All of the first `n` witnesses must have cosigned within a minute.
pub fn quorum(n: u8) -> WitnessQuorum {
    WitnessQuorum {
        required: n.into(),
        max_age: Seconds(60),
        witnesses: (1..=n).map(|n| Witness::new(n).named).collect(),
    }
}
