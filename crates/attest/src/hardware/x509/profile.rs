//! What the certificates of one vendor have in common, beyond what every chain needs.

use der::asn1::ObjectIdentifier;

use super::Certificate;
use super::algorithm::{EC_KEY, RSA_PSS};

const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");

impl Certificate {
    /// AMD signs certificates with RSASSA-PSS.
    pub(crate) fn check_amd(&self) -> Result<(), String> {
        let with = self.0.signature_algorithm().oid;
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
        match algorithm.oid == EC_KEY
            && curve.is_some_and(|any| any.decode_as::<ObjectIdentifier>() == Ok(P384))
        {
            true => Ok(()),
            false => Err(format!("{} has no P-384 key", self.name())),
        }
    }
}
