//! The two signature algorithms of vendors, with exactly the parameters that `ring` assumes.

use der::asn1::ObjectIdentifier;
use der::{Encode, Tag, Tagged};
use ring::signature::{ECDSA_P384_SHA384_ASN1, RSA_PSS_2048_8192_SHA384, VerificationAlgorithm};
use x509_cert::spki::AlgorithmIdentifierOwned;

pub(crate) const RSA_PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");
const ECDSA_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3");
/// Kinds of public keys.
const RSA_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
pub(crate) const EC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

/// RSASSA-PSS-params (RFC 4055): SHA-384, MGF1 with SHA-384, 48 bytes of salt, trailer left to its default.
pub(crate) const PSS_SHA384: &[u8] = &[
    0x30, 0x34, 0xa0, 0x0f, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
    0x02, 0x05, 0x00, 0xa1, 0x1c, 0x30, 0x1a, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01,
    0x01, 0x08, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02, 0x05,
    0x00, 0xa2, 0x03, 0x02, 0x01, 0x30,
];
/// The same with the trailer written out, as AMD's older certificates do.
const TRAILER: &[u8] = &[0xa3, 0x03, 0x02, 0x01, 0x01];

/// How to verify what `algorithm` names, and the kind of key for it. Parameters that say something else than what is then done are refused: two
/// readers of one certificate must not differ about it.
pub(crate) fn of(
    algorithm: &AlgorithmIdentifierOwned,
) -> Result<(&'static dyn VerificationAlgorithm, ObjectIdentifier), String> {
    match algorithm.oid {
        RSA_PSS => match is_pss_sha384(algorithm) {
            true => Ok((&RSA_PSS_2048_8192_SHA384, RSA_KEY)),
            false => Err(
                "RSASSA-PSS is accepted with SHA-384, MGF1 with SHA-384 and 48 bytes of salt only"
                    .to_owned(),
            ),
        },
        ECDSA_SHA384 => match algorithm.parameters {
            None => Ok((&ECDSA_P384_SHA384_ASN1, EC_KEY)),
            Some(_) => Err("ECDSA with SHA-384 has no parameters".to_owned()),
        },
        other => Err(format!("signature algorithm {other} is not accepted")),
    }
}

fn is_pss_sha384(algorithm: &AlgorithmIdentifierOwned) -> bool {
    let Some(parameters) = algorithm
        .parameters
        .as_ref()
        .filter(|any| any.tag() == Tag::Sequence)
    else {
        return false;
    };
    let Ok(der) = parameters.to_der() else {
        return false;
    };
    let long = [&PSS_SHA384[2..], TRAILER].concat();
    der == PSS_SHA384 || (der.starts_with(&[0x30, 0x39]) && der.get(2..) == Some(&long))
}
