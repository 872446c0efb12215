//! The two certificates of an authority, made of values: names, keys, times, serial numbers.

use std::time::Duration;

use der::asn1::{
    BitString, GeneralizedTime, ObjectIdentifier, OctetString, SetOfVec, UtcTime, Utf8StringRef,
};
use der::{Any, Decode as _, Encode as _};
use siegel_ident::{Digest, Timestamp};
use siegel_translog::SpkiKey;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages,
    SubjectKeyIdentifier,
};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};
use x509_cert::{Certificate, TbsCertificate, Version};

use super::asn1::ECDSA_WITH_SHA256;
use crate::error::RekorError;
use crate::signer::PolicySigner;

const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");
const SUBJECT_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.14");
const AUTHORITY_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.35");
const TIME_STAMPING: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.8");
/// Seconds in UTCTime's reach: to the end of 2049.
const UTC_TIME_END: u64 = 2_524_608_000;
/// Longest name in a certificate, characters (X.520).
const MAX_NAME: usize = 64;

/// What both certificates of a chain have in common.
pub(crate) struct Plan<'a> {
    /// Organization in all names.
    pub(crate) organization: &'a str,
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
}

/// A self-signed root that may sign one level of certificates.
pub(crate) fn root(
    plan: &Plan<'_>,
    key: &PolicySigner,
    serial: &[u8],
) -> Result<Vec<u8>, RekorError> {
    let name = name(plan.organization, "time stamp root").map_err(failed)?;
    let constraints = BasicConstraints {
        ca: true,
        path_len_constraint: Some(0),
    };
    let usage = KeyUsage(KeyUsages::KeyCertSign | KeyUsages::CRLSign);
    let extensions = [
        extension(BASIC_CONSTRAINTS, true, &constraints),
        extension(KEY_USAGE, true, &usage),
        extension(SUBJECT_KEY, false, &key_id(&key.key())?),
    ];
    issue(plan, &name, key, &name, &key.key(), serial, extensions)
}

/// The certificate of the key that signs tokens, and nothing else (RFC 3161, section 2.3).
pub(crate) fn leaf(
    plan: &Plan<'_>,
    root: &PolicySigner,
    key: &SpkiKey,
    serial: &[u8],
) -> Result<Vec<u8>, RekorError> {
    let issuer = name(plan.organization, "time stamp root").map_err(failed)?;
    let subject = name(plan.organization, "time stamp authority").map_err(failed)?;
    let authority = AuthorityKeyIdentifier {
        key_identifier: Some(key_id(&root.key())?.0),
        ..Default::default()
    };
    let usage = KeyUsage(KeyUsages::DigitalSignature.into());
    let extensions = [
        extension(KEY_USAGE, true, &usage),
        extension(
            EXTENDED_KEY_USAGE,
            true,
            &ExtendedKeyUsage(vec![TIME_STAMPING]),
        ),
        extension(SUBJECT_KEY, false, &key_id(key)?),
        extension(AUTHORITY_KEY, false, &authority),
    ];
    issue(plan, &issuer, root, &subject, key, serial, extensions)
}

pub(crate) fn issue<const N: usize>(
    plan: &Plan<'_>,
    issuer: &Name,
    issuer_key: &PolicySigner,
    subject: &Name,
    key: &SpkiKey,
    serial: &[u8],
    extensions: [der::Result<Extension>; N],
) -> Result<Vec<u8>, RekorError> {
    let unsigned = || -> der::Result<TbsCertificate> {
        Ok(TbsCertificate {
            version: Version::V3,
            serial_number: SerialNumber::new(serial)?,
            signature: ecdsa_with_sha256(),
            issuer: issuer.clone(),
            validity: Validity {
                not_before: time(plan.not_before)?,
                not_after: time(plan.not_after)?,
            },
            subject: subject.clone(),
            subject_public_key_info: SubjectPublicKeyInfoOwned::from_der(&key.spki_der())?,
            issuer_unique_id: None,
            subject_unique_id: None,
            extensions: Some(extensions.into_iter().collect::<der::Result<_>>()?),
        })
    };
    let tbs_certificate = unsigned().map_err(failed)?;
    let signature = issuer_key.sign_bytes(&tbs_certificate.to_der().map_err(failed)?)?;
    let signature = BitString::from_bytes(&signature).map_err(failed)?;
    let certificate = Certificate {
        tbs_certificate,
        signature_algorithm: ecdsa_with_sha256(),
        signature,
    };
    certificate.to_der().map_err(failed)
}

pub(super) fn ecdsa_with_sha256() -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned {
        oid: ECDSA_WITH_SHA256,
        parameters: None,
    }
}

/// A moment as certificates write it: two digits of the year up to 2049 (RFC 5280).
pub(super) fn time(at: Timestamp) -> der::Result<Time> {
    let since_1970 = Duration::from_secs(at.0);
    if at.0 < UTC_TIME_END {
        return Ok(Time::UtcTime(UtcTime::from_unix_duration(since_1970)?));
    }
    let general = GeneralizedTime::from_unix_duration(since_1970)?;
    Ok(Time::GeneralTime(general))
}

/// 160 bits of the SHA-256 of the key (RFC 7093).
fn key_id(key: &SpkiKey) -> Result<SubjectKeyIdentifier, RekorError> {
    let digest = Digest::of(key.point());
    let (id, _) = digest.as_bytes().split_at(20);
    Ok(SubjectKeyIdentifier(OctetString::new(id).map_err(failed)?))
}

pub(crate) fn name(organization: &str, common_name: &str) -> der::Result<Name> {
    let part = |oid, text: &str| -> der::Result<RelativeDistinguishedName> {
        let text: String = text.chars().take(MAX_NAME).collect();
        let value = Any::from(Utf8StringRef::new(&text)?);
        let only = SetOfVec::try_from(vec![AttributeTypeAndValue { oid, value }])?;
        Ok(RelativeDistinguishedName(only))
    };
    Ok(RdnSequence(vec![
        part(ORGANIZATION, organization)?,
        part(COMMON_NAME, common_name)?,
    ]))
}

pub(crate) fn extension(
    extn_id: ObjectIdentifier,
    critical: bool,
    value: &impl der::Encode,
) -> der::Result<Extension> {
    Ok(Extension {
        extn_id,
        critical,
        extn_value: OctetString::new(value.to_der()?)?,
    })
}

fn failed(why: der::Error) -> RekorError {
    RekorError::Authority(format!("its certificate could not be made: {why}"))
}
