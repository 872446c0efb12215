//! Log entry bodies, rebuilt from what the bundle says and compared byte for byte.
//!
//! That pins kind, version, digest, signature and signer at once, whatever a parser might overlook.
//! Two values of Rekor v1 cannot be computed from a bundle, because they are hashes over a spelling
//! of the envelope that nobody kept: `envelopeHash` of `dsse` and `hash` of `intoto`. They are taken
//! from the logged body, must be a SHA-256 in hex, and decide nothing. So is, for `intoto`, where the
//! line breaks of the signer's PEM stand: Rekor keeps it as the client wrote it.

use serde::Deserialize;
use siegel_ident::Digest;
use siegel_translog::SpkiKey;

use crate::bundle::{Content, Kind};
use crate::encoding::{Base64, b64};
use crate::error::BundleError;

/// Who signed, as an entry names it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verifier<'a> {
    /// A certificate, DER.
    Certificate(&'a [u8]),
    /// A managed key.
    Key(&'a SpkiKey),
}

impl Verifier<'_> {
    fn pem_parts(self) -> (&'static str, String) {
        match self {
            Self::Certificate(der) => ("CERTIFICATE", b64(der)),
            Self::Key(key) => ("PUBLIC KEY", b64(&key.spki_der())),
        }
    }
}

/// Compares `logged` with what follows from the other parts of the bundle. `digest` is SHA-256 of what
/// was signed: the artifact, or the PAE of an envelope.
///
/// # Errors
/// [`BundleError::OtherEntry`]; [`BundleError::Field`] for a kind that does not fit the content.
pub(crate) fn check_body(
    logged: &[u8],
    kind: Kind,
    content: &Content,
    digest: &Digest,
    verifier: Verifier<'_>,
) -> Result<(), BundleError> {
    let signature = content.signature();
    let candidates = match (kind, content) {
        (Kind::HashedRekord002, _) => vec![hashedrekord_002(digest, signature, verifier)],
        (Kind::HashedRekord001, Content::Message { .. }) => {
            vec![hashedrekord_001(digest, signature, verifier)]
        }
        (
            Kind::Dsse001,
            Content::Envelope {
                payload, signature, ..
            },
        ) => vec![dsse_001(
            &stated_hash(logged)?,
            payload,
            signature,
            verifier,
        )],
        (Kind::Intoto002, Content::Envelope { .. }) => intoto_002(logged, content, verifier)?,
        (Kind::HashedRekord001 | Kind::Dsse001 | Kind::Intoto002, _) => {
            let expected = "a kind for this content";
            return Err(BundleError::field(
                "kindVersion",
                expected,
                &format!("{kind:?}"),
            ));
        }
    };
    let same = |body: &String| {
        body.bytes()
            .zip(logged)
            .take_while(|(a, b)| a == *b)
            .count()
    };
    if candidates.iter().any(|body| body.as_bytes() == logged) {
        return Ok(());
    }
    Err(BundleError::OtherEntry {
        at: candidates.iter().map(same).max().unwrap_or(0),
    })
}

fn hashedrekord_002(digest: &Digest, signature: &[u8], verifier: Verifier<'_>) -> String {
    let verifier = match verifier {
        Verifier::Certificate(der) => {
            format!("\"x509Certificate\":{{\"rawBytes\":\"{}\"}}", b64(der))
        }
        Verifier::Key(key) => format!(
            "\"publicKey\":{{\"rawBytes\":\"{}\"}}",
            b64(&key.spki_der())
        ),
    };
    format!(
        "{{\"apiVersion\":\"0.0.2\",\"kind\":\"hashedrekord\",\"spec\":{{\"hashedRekordV002\":\
         {{\"data\":{{\"algorithm\":\"SHA2_256\",\"digest\":\"{}\"}},\"signature\":{{\"content\":\"{}\",\
         \"verifier\":{{\"keyDetails\":\"PKIX_ECDSA_P256_SHA_256\",{verifier}}}}}}}}}}}",
        b64(digest.as_bytes()),
        b64(signature),
    )
}

fn hashedrekord_001(digest: &Digest, signature: &[u8], verifier: Verifier<'_>) -> String {
    format!(
        "{{\"apiVersion\":\"0.0.1\",\"kind\":\"hashedrekord\",\"spec\":{{\"data\":{{\"hash\":\
         {{\"algorithm\":\"sha256\",\"value\":\"{digest}\"}}}},\"signature\":{{\"content\":\"{}\",\
         \"publicKey\":{{\"content\":\"{}\"}}}}}}}}",
        b64(signature),
        b64(pem(verifier).as_bytes()),
    )
}

fn dsse_001(
    envelope_hash: &Digest,
    payload: &[u8],
    signature: &[u8],
    verifier: Verifier<'_>,
) -> String {
    format!(
        "{{\"apiVersion\":\"0.0.1\",\"kind\":\"dsse\",\"spec\":{{\"envelopeHash\":{{\"algorithm\":\
         \"sha256\",\"value\":\"{envelope_hash}\"}},\"payloadHash\":{{\"algorithm\":\"sha256\",\"value\":\
         \"{}\"}},\"signatures\":[{{\"signature\":\"{}\",\"verifier\":\"{}\"}}]}}}}",
        Digest::of(payload),
        b64(signature),
        b64(pem(verifier).as_bytes()),
    )
}

/// The log keeps the payload, or drops it: both are forms of the same entry. In either, payload and
/// signature are base64 twice.
fn intoto_002(
    logged: &[u8],
    content: &Content,
    verifier: Verifier<'_>,
) -> Result<Vec<String>, BundleError> {
    let Content::Envelope {
        payload_type,
        payload,
        signature,
    } = content
    else {
        return Ok(Vec::new());
    };
    let hash = stated_hash(logged)?;
    let pem = stated_pem(logged, verifier).unwrap_or_else(|| pem(verifier));
    // The only value that could need an escape.
    let payload_type = serde_json::Value::from(payload_type.as_str()).to_string();
    let twice = |bytes: &[u8]| b64(b64(bytes).as_bytes());
    let kept = format!("\"payload\":\"{}\",", twice(payload));
    let form = |kept: &str| {
        format!(
            "{{\"apiVersion\":\"0.0.2\",\"kind\":\"intoto\",\"spec\":{{\"content\":{{\"envelope\":\
             {{{kept}\"payloadType\":{payload_type},\"signatures\":[{{\"publicKey\":\"{}\",\"sig\":\
             \"{}\"}}]}},\"hash\":{{\"algorithm\":\"sha256\",\"value\":\"{hash}\"}},\"payloadHash\":\
             {{\"algorithm\":\"sha256\",\"value\":\"{}\"}}}}}}}}",
            b64(pem.as_bytes()),
            twice(signature),
            Digest::of(payload),
        )
    };
    Ok(vec![form(""), form(&kept)])
}

/// RFC 7468, as OpenSSL and Go write it.
fn pem(verifier: Verifier<'_>) -> String {
    let (label, text) = verifier.pem_parts();
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = more;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// The PEM in an `intoto` body, if it is this signer's but for line breaks.
fn stated_pem(logged: &[u8], verifier: Verifier<'_>) -> Option<String> {
    let body: BodyJson = serde_json::from_slice(logged).ok()?;
    let envelope = body.spec.content?.envelope?;
    let text = envelope.signatures.into_iter().next()?.public_key.0;
    let text = String::from_utf8(text).ok()?;
    let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let (label, base64) = verifier.pem_parts();
    let own = format!("-----BEGIN {label}-----{base64}-----END {label}-----");
    (joined == own).then_some(text)
}

/// The one value that only the log knows.
fn stated_hash(logged: &[u8]) -> Result<Digest, BundleError> {
    let body: BodyJson =
        serde_json::from_slice(logged).map_err(BundleError::json("canonicalizedBody"))?;
    let inner = body.spec.content.and_then(|content| content.hash);
    let hash = body.spec.envelope_hash.or(inner);
    hash.map(|hash| hash.value).ok_or(BundleError::Missing(
        "the envelope's hash in the logged entry",
    ))
}

// Only values that cannot be computed are read; the comparison checks all the others.
#[derive(Deserialize)]
struct BodyJson {
    spec: SpecJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecJson {
    envelope_hash: Option<HashJson>,
    content: Option<ContentJson>,
}

#[derive(Deserialize)]
struct ContentJson {
    hash: Option<HashJson>,
    envelope: Option<EnvelopeJson>,
}

#[derive(Deserialize)]
struct EnvelopeJson {
    signatures: Vec<SignatureJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignatureJson {
    public_key: Base64,
}

#[derive(Deserialize)]
struct HashJson {
    value: Digest,
}
