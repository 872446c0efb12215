//! What can go wrong between a log and those who use it.

use std::error::Error;
use std::io;
use std::path::Path;

use rustls::CertificateError;
use siegel_ident::Digest;
use siegel_store::StoreError;
use siegel_translog::ProofError;

/// An error of the log, its archive or their client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RekorError {
    /// The disk, quota or archive limit is used up; nothing was stored.
    #[error("no space left for {what}: free some or raise the limit, then try again")]
    StorageFull {
        /// What could not be stored.
        what: &'static str,
    },
    /// A file could not be read or written.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, to which path.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Another process serves the same folder.
    #[error("{0} is served by another process: stop it, or choose another folder")]
    Locked(String),
    /// A witness or mirror has its key, but not what it saw under it.
    #[error(
        "{state} is not the folder that key {key} was made with: what its holder has seen is lost. Make \
         a new key with a new folder, and have it pinned in place of this one (I1)"
    )]
    StateLost {
        /// The key file.
        key: String,
        /// The folder.
        state: String,
    },
    /// A witness or mirror has what it saw, but not its key.
    #[error(
        "{state} was written under a key that is not in {key}: restore the key, or choose another folder"
    )]
    KeyLost {
        /// The key file.
        key: String,
        /// The folder.
        state: String,
    },
    /// A file is damaged, or tells of another history. The text names it; nothing was changed in it.
    #[error("{0}")]
    Damaged(String),
    /// The folder is another log's, or its note is damaged. Nothing was changed in it.
    #[error("the file `{file}` is no note of the log {origin:?} under this key: {why}")]
    NotOwn {
        /// `checkpoint` or `pending`.
        file: &'static str,
        /// The name that the log was to be opened under.
        origin: String,
        /// What does not fit.
        why: Box<ProofError>,
    },
    /// The folder is one of an earlier version, which kept all entries in one file.
    #[error(
        "{0} is a log of an earlier format, with a file `entries`: this version cannot read it; \
         start a new log in another folder"
    )]
    OldFormat(String),
    /// Writing failed in a way that leaves the file unclear; the process must be restarted.
    #[error("the log stopped taking entries after a failed write: restart it")]
    Stopped,
    /// The log is shutting down or overloaded.
    #[error("the log is not taking entries now: try again")]
    Busy,
    /// The request asks for another kind of entry, or for none.
    #[error("invalid type, must be hashedrekord")]
    RequestType,
    /// The request is not of the accepted form.
    #[error("invalid request: {0}")]
    Request(String),
    /// The signature in the request does not verify over its digest.
    #[error("invalid request: the signature does not verify over the digest")]
    Signature,
    /// Not an X.509 certificate with a P-256 key.
    #[error("certificate: {0}; expected one X.509 certificate in DER with a P-256 key")]
    Certificate(String),
    /// A time stamp request or token that is not of the accepted form.
    #[error("time stamp: {0}")]
    Timestamp(String),
    /// The time stamp authority cannot answer; it is not the request's fault.
    #[error("time stamp authority: {0}")]
    Authority(String),
    /// The bytes have another digest than the name they were sent or stored under.
    #[error("these bytes have SHA-256 {found}, not {stated}")]
    OtherBytes {
        /// The name.
        stated: Digest,
        /// The digest of the bytes.
        found: Digest,
    },
    /// Longer than its bound.
    #[error("{what} is longer than the {max} bytes allowed")]
    TooLong {
        /// What is.
        what: &'static str,
        /// The bound.
        max: usize,
    },
    /// The log or archive has no such thing.
    #[error("{0} not found")]
    NotFound(String),
    /// TLS could not be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// Not a URL of a log.
    #[error("not a log URL: {0}")]
    Url(String),
    /// The log could not be reached, or broke off.
    #[error("{url}: {}", cause(source))]
    Network {
        /// What was asked.
        url: String,
        /// The client's error.
        source: reqwest::Error,
    },
    /// The log answers so slowly that waiting for it is no use.
    #[error(
        "{url}: too slow, {got} bytes came in {seconds} s: try again, or another way to the log"
    )]
    Slow {
        /// What was asked.
        url: String,
        /// Bytes of the answer.
        got: usize,
        /// How long they were waited for.
        seconds: u64,
    },
    /// The log refused.
    #[error("{url} answered {status}: {message}")]
    Refused {
        /// What was asked.
        url: String,
        /// HTTP status.
        status: u16,
        /// The log's words (cut to 300 characters).
        message: String,
    },
    /// The log has this entry already (409).
    #[error("{url} has this entry at index {index}")]
    Duplicate {
        /// What was asked.
        url: String,
        /// Where it is, as the log says.
        index: u64,
    },
    /// A proof from tiles is asked for, and they do not name the log.
    #[error("{0} only names the index of an entry it has: pin the log's key to get its proof")]
    LogId(String),
    /// The log answered something else than what was asked.
    #[error("{url} answered nonsense: {why}")]
    Answer {
        /// What was asked.
        url: String,
        /// What was wrong.
        why: String,
    },
    /// A key file is not a key.
    #[error("key {path}: {why}")]
    Key {
        /// Where.
        path: String,
        /// What was wrong.
        why: &'static str,
    },
    /// A proof, note or entry of the wrong form.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

/// What to do about it, or the innermost words: the client's own only repeat the URL.
fn cause(error: &reqwest::Error) -> String {
    let tls = causes(error).find_map(of_tls);
    if let Some(help) = tls.and_then(tls_help) {
        return help.to_owned();
    }
    causes(error)
        .last()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |&error| {
        error.source()
    })
}

/// An error of the system hides from `source` what it was made of, and there may be one in another.
fn of_tls<'a>(mut error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    while let Some(outer) = error.downcast_ref::<io::Error>() {
        error = outer.get_ref()?;
    }
    error.downcast_ref()
}

fn tls_help(error: &rustls::Error) -> Option<&'static str> {
    match error {
        // A signature that does not fit is of an authority that has the name of a trusted one.
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
        ) => Some(
            "the server's certificate is of no authority that is trusted here: if it should be, name the \
             authority's PEM file with SSL_CERT_FILE",
        ),
        rustls::Error::InvalidMessage(_) => {
            Some("what answers there does not speak TLS: is its URL http://?")
        }
        _ => None,
    }
}

impl RekorError {
    /// True if the same request may go later: the log was away or restarting, not unwilling.
    pub fn is_transient(&self) -> bool {
        match self {
            // A certificate that is not believed will not be believed a moment later.
            Self::Network { source, .. } => {
                !source.is_builder() && causes(source).find_map(of_tls).is_none()
            }
            Self::Refused { status, .. } => (502..=504).contains(status),
            Self::Busy | Self::Slow { .. } => true,
            _ => false,
        }
    }

    /// Sorts an error of the store: no space has its own variant.
    pub(crate) fn store(what: &'static str) -> impl Fn(StoreError) -> Self {
        move |error| match error {
            StoreError::Full => Self::StorageFull { what },
            StoreError::TooLong { path, max } => {
                Self::Damaged(format!("{path} is longer than {max} bytes"))
            }
            not @ StoreError::NotAFile(_) => Self::Damaged(not.to_string()),
            error => Self::Io {
                what: what.to_owned(),
                source: io::Error::other(error),
            },
        }
    }

    /// The same failure for another one who waited for the same write.
    pub(crate) fn same_kind(&self) -> Self {
        match self {
            Self::StorageFull { what } => Self::StorageFull { what },
            Self::Io { what, source } => Self::Io {
                what: what.clone(),
                source: io::Error::new(source.kind(), source.to_string()),
            },
            _ => Self::Stopped,
        }
    }

    /// Sorts a system error: no space has its own variant.
    pub(crate) fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::StorageFull { what },
            _ => Self::Io {
                what: format!("{what} ({})", path.display()),
                source,
            },
        }
    }
}
