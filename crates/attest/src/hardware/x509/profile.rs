//! What the certificates of one vendor have in common, beyond what every chain needs.

use der::asn1::ObjectIdentifier;
use x509_cert::ext::Extensions;
use x509_cert::ext::pkix::{KeyUsage, KeyUsages};

use super::Certificate;
use super::algorithm::RSA_PSS;

const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
/// Basic constraints and key usage: what [`Certificate::verify_issued_by`] reads.
const KNOWN: [ObjectIdentifier; 2] = [
    ObjectIdentifier::new_unwrap("2.5.29.19"),
    ObjectIdentifier::new_unwrap("2.5.29.15"),
];

impl Certificate {
    /// AMD: signed with RSASSA-PSS, no critical extension that nobody here understands (RFC 5280, 4.2).
    pub(crate) fn check_amd(&self) -> Result<(), String> {
        let with = self.0.signature_algorithm().oid;
        if let Some(oid) = unknown_critical(self.0.tbs_certificate().extensions(), &KNOWN) {
            return Err(format!(
                "{}: critical extension {oid} is not understood",
                self.name()
            ));
        }
        match with == RSA_PSS {
            true => Ok(()),
            false => Err(format!(
                "{} is signed with {with}, expected RSASSA-PSS",
                self.name()
            )),
        }
    }

    /// The public key is a point of P-384, by its algorithm identifier.
    pub(crate) fn check_p384_key(&self) -> Result<(), String> {
        let algorithm = &self.0.tbs_certificate().subject_public_key_info().algorithm;
        let curve = algorithm.parameters.as_ref();
        match algorithm.oid == EC_PUBLIC_KEY
            && curve.is_some_and(|any| any.decode_as::<ObjectIdentifier>() == Ok(P384))
        {
            true => Ok(()),
            false => Err(format!("{} has no P-384 key", self.name())),
        }
    }

    /// Key usage, where it stands, says signing of revocation lists.
    pub(super) fn check_list_signer(&self) -> Result<(), String> {
        let usage = self.0.tbs_certificate().get_extension::<KeyUsage>();
        match usage
            .is_ok_and(|usage| usage.is_none_or(|(_, usage)| usage.0.contains(KeyUsages::CRLSign)))
        {
            true => Ok(()),
            false => Err(format!("{} may not sign revocation lists", self.name())),
        }
    }
}

/// The first critical extension that is not among `known`.
pub(super) fn unknown_critical(
    extensions: Option<&Extensions>,
    known: &[ObjectIdentifier],
) -> Option<ObjectIdentifier> {
    let mut all = extensions.into_iter().flatten();
    all.find(|one| one.critical && !known.contains(&one.extn_id))
        .map(|one| one.extn_id)
}
