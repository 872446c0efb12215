//! The payload of an attestation document (Nitro Enclaves, "attestation document specification").

use std::collections::BTreeMap;

use ciborium::Value;
use siegel_ident::Timestamp;

use crate::hardware::{Check, Hex, Rejection};

/// Most bytes of nonce and user data, and of a public key (AWS's own bounds).
const DATA_MAX: usize = 512;
const KEY_MAX: usize = 1024;
const MODULE_ID_MAX: usize = 128;
const PCRS_MAX: usize = 32;

/// The fields of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Instance and enclave.
    pub module_id: String,
    /// Milliseconds since 1970.
    pub timestamp_ms: u64,
    /// Platform configuration registers, SHA-384.
    pub pcrs: BTreeMap<u8, Hex<48>>,
    /// Leaf, DER.
    pub certificate: Vec<u8>,
    /// From the root to the leaf's issuer, DER.
    pub cabundle: Vec<Vec<u8>>,
    /// What the enclave gave.
    pub public_key: Option<Vec<u8>>,
    /// What the enclave gave.
    pub user_data: Option<Vec<u8>>,
    /// What the enclave gave.
    pub nonce: Option<Vec<u8>>,
}

impl Document {
    /// Reads the payload: each field once, no others.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, Rejection> {
        let mut rest = payload;
        let read: Value =
            ciborium::from_reader(&mut rest).map_err(|_| bad("payload is not CBOR"))?;
        if !rest.is_empty() {
            return Err(bad("bytes follow the payload's map"));
        }
        let Value::Map(entries) = read else {
            return Err(bad("payload is not a map"));
        };
        let mut fields = Fields(BTreeMap::new());
        for (key, value) in entries {
            let key = key
                .into_text()
                .map_err(|_| bad("a key of the payload is not text"))?;
            if fields.0.insert(key, value).is_some() {
                return Err(bad("a field of the payload stands twice"));
            }
        }
        let digest = fields.text("digest")?;
        if digest != "SHA384" {
            return Err(bad("digest is not SHA384"));
        }
        let document = Self {
            module_id: fields.text("module_id")?,
            timestamp_ms: fields.number("timestamp")?,
            pcrs: fields.pcrs()?,
            certificate: fields.bytes("certificate")?,
            cabundle: fields.bundle()?,
            public_key: fields.optional("public_key", KEY_MAX)?,
            user_data: fields.optional("user_data", DATA_MAX)?,
            nonce: fields.optional("nonce", DATA_MAX)?,
        };
        if document.module_id.is_empty() || document.module_id.len() > MODULE_ID_MAX {
            return Err(bad("module_id is empty or too long"));
        }
        match fields.0.is_empty() {
            true => Ok(document),
            false => Err(bad("payload has a field that this build does not know")),
        }
    }

    /// When it was made, in whole seconds.
    pub fn made_at(&self) -> Timestamp {
        Timestamp(self.timestamp_ms / 1000)
    }

    /// A debug enclave has zeros in the registers that measure its image.
    pub fn is_debug(&self) -> bool {
        (0..3).any(|index| self.pcrs.get(&index).is_none_or(Hex::is_zero))
    }
}

struct Fields(BTreeMap<String, Value>);

impl Fields {
    fn take(&mut self, name: &'static str) -> Result<Value, Rejection> {
        self.0.remove(name).ok_or_else(|| missing(name))
    }

    fn text(&mut self, name: &'static str) -> Result<String, Rejection> {
        self.take(name)?.into_text().map_err(|_| missing(name))
    }

    fn number(&mut self, name: &'static str) -> Result<u64, Rejection> {
        let value = self.take(name)?.into_integer().map_err(|_| missing(name))?;
        u64::try_from(value).map_err(|_| missing(name))
    }

    fn bytes(&mut self, name: &'static str) -> Result<Vec<u8>, Rejection> {
        self.take(name)?.into_bytes().map_err(|_| missing(name))
    }

    /// Absent and null are the same; empty is something.
    fn optional(&mut self, name: &'static str, max: usize) -> Result<Option<Vec<u8>>, Rejection> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bytes(bytes)) if bytes.len() <= max => Ok(Some(bytes)),
            Some(_) => Err(missing(name)),
        }
    }

    fn bundle(&mut self) -> Result<Vec<Vec<u8>>, Rejection> {
        let name = "cabundle";
        let all = self.take(name)?.into_array().map_err(|_| missing(name))?;
        all.into_iter()
            .map(|one| one.into_bytes().map_err(|_| missing(name)))
            .collect()
    }

    fn pcrs(&mut self) -> Result<BTreeMap<u8, Hex<48>>, Rejection> {
        let name = "pcrs";
        let entries = self.take(name)?.into_map().map_err(|_| missing(name))?;
        let mut pcrs = BTreeMap::new();
        for (index, value) in entries {
            let index = index
                .into_integer()
                .ok()
                .and_then(|index| u8::try_from(index).ok());
            let index = index
                .filter(|index| usize::from(*index) < PCRS_MAX)
                .ok_or_else(|| missing(name))?;
            let value: [u8; 48] = value
                .into_bytes()
                .ok()
                .and_then(|value| value.try_into().ok())
                .ok_or_else(|| missing(name))?;
            if pcrs.insert(index, Hex(value)).is_some() {
                return Err(bad("a register stands twice"));
            }
        }
        Ok(pcrs)
    }
}

fn missing(name: &'static str) -> Rejection {
    Rejection::new(
        Check::NitroFormat,
        format!("{name} is missing, or not what it should be"),
    )
}

fn bad(why: &str) -> Rejection {
    Rejection::new(Check::NitroFormat, why)
}
