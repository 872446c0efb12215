//! The claims as a CBOR map in the manner of an Entity Attestation Token (RFC 9711).

use ciborium::Value;
use siegel_ident::{ConfigDigest, Measurement, Timestamp};

use crate::appraisal::Claims;
use crate::{REPORT_DATA_LEN, Refusal};

/// `iat`: when it was issued, unix seconds.
const ISSUED_AT: i64 = 6;
/// `eat_nonce`: the report data.
const REPORT_DATA: i64 = 10;
/// `dbgstat`: 0 enabled, 1 disabled.
const DEBUG_STATUS: i64 = 263;
/// `eat_profile`.
const PROFILE: i64 = 265;
/// Private use: the measurement.
const MEASUREMENT: i64 = -70_001;
/// Private use: the configuration digest, as HOST_DATA or MRCONFIGID would hold it.
const CONFIG: i64 = -70_002;

const PROFILE_NAME: &str = "tag:siegel.dev,2026:simulated-evidence";

/// The one encoding: fields in the order below.
pub(super) fn encode(claims: &Claims) -> Vec<u8> {
    let map = Value::Map(vec![
        (ISSUED_AT.into(), claims.issued_at.0.into()),
        (
            REPORT_DATA.into(),
            Value::Bytes(claims.report_data.to_vec()),
        ),
        (DEBUG_STATUS.into(), u8::from(!claims.debug).into()),
        (PROFILE.into(), PROFILE_NAME.into()),
        (
            MEASUREMENT.into(),
            Value::Bytes(claims.measurement.to_vec()),
        ),
        (CONFIG.into(), Value::Bytes(claims.config.to_vec())),
    ]);
    let mut out = Vec::new();
    // Writing to memory does not fail; `verify` would refuse an empty payload anyway.
    let _ = ciborium::into_writer(&map, &mut out);
    out
}

/// Reads the fields; that nothing else stands there is checked by encoding them again.
pub(super) fn decode(payload: &[u8]) -> Result<Claims, Refusal> {
    let map = ciborium::from_reader::<Value, _>(payload)
        .ok()
        .and_then(|value| value.into_map().ok())
        .ok_or(Refusal::Malformed {
            what: "payload is not a CBOR map",
        })?;
    let field = |key: i64| {
        map.iter()
            .find(|(k, _)| *k == Value::from(key))
            .map(|(_, value)| value)
            .ok_or(Refusal::Malformed {
                what: "a claim is missing",
            })
    };
    let number = |key| field(key).and_then(as_u64);
    Ok(Claims {
        measurement: Measurement::from_bytes(as_array(field(MEASUREMENT)?)?),
        config: ConfigDigest::from_bytes(as_array(field(CONFIG)?)?),
        report_data: as_array::<REPORT_DATA_LEN>(field(REPORT_DATA)?)?,
        issued_at: Timestamp(number(ISSUED_AT)?),
        debug: match number(DEBUG_STATUS)? {
            0 => true,
            1 => false,
            _ => {
                return Err(Refusal::Malformed {
                    what: "dbgstat must be 0 or 1",
                });
            }
        },
    })
}

fn as_u64(value: &Value) -> Result<u64, Refusal> {
    value
        .as_integer()
        .and_then(|n| u64::try_from(n).ok())
        .ok_or(Refusal::Malformed {
            what: "a numeric claim is not an unsigned integer",
        })
}

fn as_array<const N: usize>(value: &Value) -> Result<[u8; N], Refusal> {
    value
        .as_bytes()
        .and_then(|bytes| bytes.as_slice().try_into().ok())
        .ok_or(Refusal::Malformed {
            what: "a claim is not a byte string of its length",
        })
}
