//! The simulated TEE: evidence signed by a simulation root. It proves that a launcher measured a
//! process, and nothing against whoever runs that launcher (I11).

use coset::{CborSerializable, CoseSign1, CoseSign1Builder, HeaderBuilder, iana};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use siegel_ident::{ConfigDigest, Digest, Measurement, Secret, Timestamp, Transcript};

use crate::appraisal::Claims;
use crate::evidence::{KIND_SIMULATED, frame};
use crate::{REPORT_DATA_LEN, Refusal};

mod eat;

/// External data of the COSE signature: no other COSE message can be passed off as evidence.
const SIGNATURE_LABEL: &[u8] = b"siegel/simulated-evidence/v1";
/// Media type in the protected header.
const MEDIA_TYPE: &str = "application/vnd.siegel.simulated-evidence+cwt";

/// The measurement of a simulated process: executable, argv and environment, in this order; the
/// environment is sorted, as it has no order of its own.
pub fn measurement(exe: Digest, argv: &[&str], env: &[(&str, &str)]) -> Measurement {
    let mut env = env.to_vec();
    env.sort_unstable();
    let transcript = Transcript::new("siegel/simulated-measurement/v1")
        .field(exe.as_bytes())
        .list(argv.iter().map(|arg| arg.as_bytes()))
        .u64(env.len() as u64);
    env.iter()
        .fold(transcript, |t, (name, value)| {
            t.field(name.as_bytes()).field(value.as_bytes())
        })
        .digest()
        .into()
}

/// Signs simulated evidence. Held by the launcher, never by a measured process.
pub struct Attester {
    key: Ed25519KeyPair,
}

impl Attester {
    /// An attester with this seed. `None` never happens for 32 bytes, but `ring` cannot say so.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] if `ring` refuses the seed.
    pub fn new(seed: &Secret<32>) -> Result<Self, Refusal> {
        Ed25519KeyPair::from_seed_unchecked(seed.expose())
            .map(|key| Self { key })
            .map_err(|_| Refusal::Malformed {
                what: "attester seed must have 32 bytes",
            })
    }

    /// The simulation root: what goes into [`crate::TrustAnchors`].
    pub fn public_key(&self) -> [u8; 32] {
        let mut out = [0u8; 32];
        out.copy_from_slice(self.key.public_key().as_ref());
        out
    }

    /// Evidence for a process that the launcher measured.
    pub fn attest(
        &self,
        measurement: Measurement,
        config: ConfigDigest,
        report_data: [u8; REPORT_DATA_LEN],
        issued_at: Timestamp,
    ) -> Vec<u8> {
        self.sign(&Claims {
            measurement,
            config,
            report_data,
            issued_at,
            debug: false,
        })
    }

    pub(crate) fn sign(&self, claims: &Claims) -> Vec<u8> {
        let unsigned = unsigned(claims);
        let signature = self.key.sign(&unsigned.tbs_data(SIGNATURE_LABEL));
        frame(KIND_SIMULATED, &encode(claims, signature.as_ref()))
    }
}

/// Verifies the body of simulated evidence.
///
/// The body must equal, byte for byte, what [`Attester`] would write for the same claims and
/// signature. So CBOR's many spellings, unprotected headers, tags and trailing bytes are refused
/// without a rule for each.
pub(crate) fn verify(body: &[u8], root: &[u8; 32]) -> Result<Claims, Refusal> {
    let malformed = Refusal::Malformed {
        what: "not an untagged COSE_Sign1",
    };
    let signed = CoseSign1::from_slice(body).map_err(|_| malformed)?;
    let payload = signed.payload.as_deref().unwrap_or_default();
    let claims = eat::decode(payload)?;
    if encode(&claims, &signed.signature) != body {
        return Err(Refusal::Malformed {
            what: "not the one encoding of these claims",
        });
    }
    UnparsedPublicKey::new(&ED25519, root)
        .verify(
            &unsigned(&claims).tbs_data(SIGNATURE_LABEL),
            &signed.signature,
        )
        .map_err(|_| Refusal::Signature)?;
    Ok(claims)
}

fn unsigned(claims: &Claims) -> CoseSign1 {
    let protected = HeaderBuilder::new()
        .algorithm(iana::Algorithm::EdDSA)
        .content_type(MEDIA_TYPE.to_owned())
        .build();
    CoseSign1Builder::new()
        .protected(protected)
        .payload(eat::encode(claims))
        .build()
}

fn encode(claims: &Claims, signature: &[u8]) -> Vec<u8> {
    let mut signed = unsigned(claims);
    signed.signature = signature.to_vec();
    // Writing to memory does not fail; an empty body would be refused by `verify` anyway.
    signed.to_vec().unwrap_or_default()
}

#[cfg(test)]
mod tests;
