//! The part of a Sigstore trusted root that our checks need: logs and timestamp authorities.

use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;
use siegel_ident::{Digest, Seconds, Timestamp};
use siegel_translog::SpkiKey;
use siegel_translog::checkpoint::log_id;

use crate::clock_text::from_rfc3339;
use crate::encoding::{Base64, Base64Digest};
use crate::error::{BundleError, bounded};

/// Longest trusted root that is read, in bytes.
pub const MAX_ROOT: usize = 1 << 20;

/// DER of `SEQUENCE { SEQUENCE { id-Ed25519 }, BIT STRING (33) }` up to the key.
const ED25519_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// Logs and timestamp authorities that the verifier trusts. It comes from the verifier's own
/// configuration, never from the thing that is checked.
#[derive(Clone, Debug)]
pub struct TrustedRoot {
    logs: Vec<LogJson>,
    pub(crate) authorities: Vec<Authority>,
}

/// A transparency log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    /// Its name in signature lines: the base URL without scheme and final slash.
    pub(crate) name: String,
    /// Its 32-byte id. The first four bytes are the key id in its checkpoints.
    pub(crate) id: Digest,
    pub(crate) key: LogKey,
    pub(crate) valid: Window,
}

/// The key of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogKey {
    P256(SpkiKey),
    Ed25519([u8; 32]),
}

/// A timestamp authority.
#[derive(Clone, Debug)]
pub(crate) struct Authority {
    /// Its chain, DER; the first certificate signs tokens.
    pub(crate) chain: Vec<Vec<u8>>,
    pub(crate) valid: Window,
}

/// From when to when, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    start: Timestamp,
    end: Option<Timestamp>,
}

impl Window {
    pub(crate) fn covers(&self, time: Timestamp) -> bool {
        self.start <= time && self.end.is_none_or(|end| time <= end)
    }

    pub(crate) fn has_started(&self, now: Timestamp) -> bool {
        self.start <= now
    }
}

impl LogKey {
    /// Whether `signature` over `message` verifies.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::P256(key) => key.verify(message, signature).is_ok(),
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key)
                .verify(message, signature)
                .is_ok(),
        }
    }
}

impl TrustedRoot {
    /// Reads the JSON of a trusted root.
    ///
    /// # Errors
    /// [`BundleError::TrustedRoot`].
    pub fn parse(text: &str) -> Result<Self, BundleError> {
        bounded("trusted root", text.len(), MAX_ROOT)?;
        let root: RootJson =
            serde_json::from_str(text).map_err(|why| BundleError::TrustedRoot(why.to_string()))?;
        if !root
            .media_type
            .starts_with("application/vnd.dev.sigstore.trustedroot")
        {
            let what = format!("unknown media type {:?}", root.media_type);
            return Err(BundleError::TrustedRoot(what));
        }
        let authorities = root.timestamp_authorities.into_iter();
        Ok(Self {
            logs: root.tlogs,
            authorities: authorities.map(Authority::from).collect(),
        })
    }

    /// The log with this id.
    ///
    /// # Errors
    /// [`BundleError::UnknownLog`]; [`BundleError::TrustedRoot`] if the id is not that of the log's
    /// name and key, or stands there twice.
    pub(crate) fn log(&self, id: &Digest) -> Result<Log, BundleError> {
        let mut found = self.logs.iter().filter(|log| log.log_id.key_id.0 == *id);
        let log = found.next().ok_or(BundleError::UnknownLog(*id))?;
        if found.next().is_some() {
            return Err(BundleError::TrustedRoot(format!(
                "two logs have the id {id}"
            )));
        }
        log.read()
    }
}

impl LogJson {
    fn read(&self) -> Result<Log, BundleError> {
        let wrong =
            |what: &str| BundleError::TrustedRoot(format!("the log {:?}: {what}", self.base_url));
        let (_, name) = self
            .base_url
            .split_once("://")
            .ok_or_else(|| wrong("its baseUrl is no URL"))?;
        let name = name.trim_end_matches('/').to_owned();
        let der = &self.public_key.raw_bytes.0;
        let (key, id) = match (
            der.strip_prefix(&ED25519_PREFIX),
            SpkiKey::from_spki_der(der),
        ) {
            (Some(key), _) => {
                let key = <[u8; 32]>::try_from(key).map_err(|_| wrong("its key is malformed"))?;
                (LogKey::Ed25519(key), log_id(&name, &key))
            }
            (None, Ok(key)) => (LogKey::P256(key), Digest::of(der)),
            (None, Err(_)) => return Err(wrong("its key is neither P-256 nor Ed25519")),
        };
        if id != self.log_id.key_id.0 {
            return Err(wrong("its logId is not that of this name and key"));
        }
        let valid = self
            .public_key
            .valid_for
            .clone()
            .map_or(ALWAYS, Window::from);
        Ok(Log {
            name,
            id,
            key,
            valid,
        })
    }
}

impl From<AuthorityJson> for Authority {
    fn from(json: AuthorityJson) -> Self {
        let chain = json.cert_chain.certificates.into_iter();
        Self {
            chain: chain.map(|certificate| certificate.raw_bytes.0).collect(),
            valid: json.valid_for.map_or(ALWAYS, Window::from),
        }
    }
}

const ALWAYS: Window = Window {
    start: Timestamp(0),
    end: None,
};

impl From<RangeJson> for Window {
    fn from(json: RangeJson) -> Self {
        Self {
            start: json.start.0,
            end: json.end.map(|end| end.1),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RootJson {
    media_type: String,
    #[serde(default)]
    tlogs: Vec<LogJson>,
    #[serde(default)]
    timestamp_authorities: Vec<AuthorityJson>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogJson {
    base_url: String,
    public_key: KeyJson,
    log_id: LogIdJson,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyJson {
    raw_bytes: Base64,
    valid_for: Option<RangeJson>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogIdJson {
    key_id: Base64Digest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthorityJson {
    cert_chain: ChainJson,
    valid_for: Option<RangeJson>,
}

#[derive(Deserialize)]
struct ChainJson {
    certificates: Vec<CertificateJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CertificateJson {
    raw_bytes: Base64,
}

#[derive(Clone, Debug, Deserialize)]
struct RangeJson {
    start: TimeJson,
    end: Option<TimeJson>,
}

/// RFC 3339, as the whole seconds not before and not after it.
#[derive(Clone, Copy, Debug)]
struct TimeJson(Timestamp, Timestamp);

impl<'de> Deserialize<'de> for TimeJson {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::{Error as _, Unexpected};
        let text = String::deserialize(d)?;
        let wrong = || D::Error::invalid_value(Unexpected::Str(&text), &"a time as of RFC 3339");
        let (floor, more) = from_rfc3339(&text).ok_or_else(wrong)?;
        let ceiling = floor.plus(Seconds(u64::from(more)));
        Ok(Self(ceiling, floor))
    }
}
