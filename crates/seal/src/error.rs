//! Why something could not be sealed or opened. Nothing in an error is derived from plaintext or a
//! key (I12): every failure after decryption began is one of two variants without content.

use siegel_ident::lp::LpError;

use crate::Suite;

/// Why something could not be sealed: always the caller's input or a bad public key.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// The plaintext is longer than its format allows; split or shorten it.
    #[error("plaintext of {len} bytes is longer than the {max} that fit")]
    TooLong {
        /// Its length in bytes.
        len: u64,
        /// The most that fits.
        max: u64,
    },
    /// The receiver's public key gives no shared secret (a point of low order); fetch another.
    #[error("the receiver's public key is degenerate: refuse it and get the key from its owner")]
    DegenerateKey,
    /// The key is of another suite than this format takes.
    #[error("expected a key of suite {expected}, got one of suite {got}")]
    WrongSuite {
        /// What the format takes.
        expected: Suite,
        /// What the key is.
        got: Suite,
    },
    /// The cipher refused its input; lengths are checked before, so this points at a defect here.
    #[error("the cipher refused its input")]
    Cipher,
}

/// Why something could not be opened.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The header is truncated, or a field is longer than its bound.
    #[error("malformed header: {0}")]
    Header(#[from] LpError),
    /// A version that this build does not know.
    #[error("format version {got} is not known (this build reads version {known})")]
    Version {
        /// What stands in the header.
        got: u8,
        /// What this build reads.
        known: u8,
    },
    /// A suite number that this build does not know.
    #[error("suite {0} is not known (1 = X25519, 2 = X-Wing)")]
    UnknownSuite(u16),
    /// A known suite, but not that of the key.
    #[error("sealed under suite {got}, but the key is of suite {expected}")]
    WrongSuite {
        /// The suite of the key.
        expected: Suite,
        /// The suite in the header.
        got: Suite,
    },
    /// A field whose length or value the format fixes is otherwise.
    #[error("header field {field:?} does not have the form that the format fixes")]
    Field {
        /// Which field.
        field: &'static str,
    },
    /// The header names another policy, epoch, run, step or purpose than the caller expects.
    #[error("sealed for another {field}")]
    WrongContext {
        /// Which part of the context.
        field: &'static str,
    },
    /// The number of bytes is not the one that the header implies.
    #[error("{got} bytes, but the header implies exactly {expected}")]
    Length {
        /// What the header implies.
        expected: u64,
        /// How many there are.
        got: u64,
    },
    /// A public or private key that does not parse.
    #[error("not a key of suite {suite}")]
    BadKey {
        /// Which suite.
        suite: Suite,
    },
    /// Authentication failed: other key, other context, or changed bytes. One error for all of
    /// them.
    #[error("does not open: wrong key, wrong context or changed bytes")]
    NotAuthentic,
    /// Authentic, but the padding inside is not what the format fixes: a broken sender.
    #[error("authentic, but the framing inside is not that of the format")]
    Framing,
}
