//! An RFC 3161 time stamp authority beside the log.
//!
//! Rekor v2 entries carry no time, so a general Sigstore bundle brings a token: "these signature
//! bytes existed then", signed by an authority that the verifier pins. No policy proof needs one.
//! [`authority`] is the shell (key file, clock, randomness); the other modules are functions of
//! their arguments (I15).

mod asn1;
mod authority;
pub(crate) mod certificate;
mod query;
mod token;

pub use authority::TimestampAuthority;
pub(crate) use token::{check_reply, query};

/// Largest request, in bytes. A usual one has about 70.
pub(crate) const MAX_QUERY: usize = 64 * 1024;
/// Largest reply that is read, in bytes. One of ours has about 1,000.
pub(crate) const MAX_REPLY: usize = 16 * 1024;
/// Media type of a request in DER.
pub(crate) const QUERY_TYPE: &str = "application/timestamp-query";
/// Media type of a reply.
pub(crate) const REPLY_TYPE: &str = "application/timestamp-reply";
/// Media type of the certificate chain.
pub(crate) const CHAIN_TYPE: &str = "application/pem-certificate-chain";
