//! What is asked: which bytes, signed by whom.

use siegel_ident::Digest;
use siegel_translog::SpkiKey;

/// The artifact that a bundle must be about. For a DSSE envelope it is a subject of the statement.
#[derive(Clone, Copy, Debug)]
pub enum Artifact<'a> {
    /// Its bytes.
    Bytes(&'a [u8]),
    /// Its SHA-256, where the bytes are somewhere else.
    Digest(Digest),
}

impl Artifact<'_> {
    /// Its SHA-256.
    pub fn digest(&self) -> Digest {
        match self {
            Self::Bytes(bytes) => Digest::of(bytes),
            Self::Digest(digest) => *digest,
        }
    }
}

/// Who must have signed.
#[derive(Clone, Copy, Debug)]
pub enum Signer<'a> {
    /// The owner of this P-256 key.
    Key(&'a SpkiKey),
    /// Whoever has a certificate of a trusted authority that says so.
    Certificate {
        /// The certificate's subject alternative name, exactly.
        identity: &'a str,
        /// The issuer of the identity (OIDC), exactly.
        issuer: &'a str,
    },
}
