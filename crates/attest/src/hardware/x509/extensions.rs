//! What certificates say that they are for. What is not understood and critical is refused.

use der::asn1::ObjectIdentifier;
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{BasicConstraints, KeyUsage, KeyUsages};

use super::Certificate;

const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const REASON_CODE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.21");

/// Most extensions of a certificate, a list or an entry (I14). AMD's certificates have eleven.
const EXTENSIONS_MAX: usize = 64;

/// Critical extensions of certificates that this module understands.
pub(super) const OF_CERTIFICATE: &[ObjectIdentifier] = &[KEY_USAGE, BASIC_CONSTRAINTS];
/// Of revocation lists: none. A list of deltas or of a part of the certificates says so critically.
pub(super) const OF_LIST: &[ObjectIdentifier] = &[];
/// Of entries in a revocation list. An entry of another issuer says so critically.
pub(super) const OF_ENTRY: &[ObjectIdentifier] = &[REASON_CODE];

/// No extension twice, and none critical but the `known` ones.
pub(super) fn check(all: Option<&[Extension]>, known: &[ObjectIdentifier]) -> Result<(), String> {
    let all = all.unwrap_or_default();
    if all.len() > EXTENSIONS_MAX {
        return Err(format!(
            "{} extensions, at most {EXTENSIONS_MAX} (I14)",
            all.len()
        ));
    }
    for (at, one) in all.iter().enumerate() {
        let oid = one.extn_id;
        if one.critical && !known.contains(&oid) {
            return Err(format!("critical extension {oid} is not understood"));
        }
        if all.iter().take(at).any(|before| before.extn_id == oid) {
            return Err(format!("extension {oid} stands twice"));
        }
    }
    Ok(())
}

impl Certificate {
    /// Basic constraints say CA, and key usage, where it stands, says certificate signing.
    pub(super) fn check_authority(&self) -> Result<(), String> {
        let is_authority = self.constraints()?.is_some_and(|found| found.ca);
        match is_authority && self.may(KeyUsages::KeyCertSign)? {
            true => Ok(()),
            false => Err(format!("{} may not issue certificates", self.name())),
        }
    }

    /// No more than `below` certification authorities may stand under it.
    pub(crate) fn check_path_len(&self, below: usize) -> Result<(), String> {
        let max = self
            .constraints()?
            .and_then(|found| found.path_len_constraint);
        match max {
            Some(max) if usize::from(max) < below => Err(format!(
                "{} allows {max} authorities below it, found {below}",
                self.name()
            )),
            _ => Ok(()),
        }
    }

    /// Key usage, where it stands, says revocation list signing.
    pub(super) fn check_list_signer(&self) -> Result<(), String> {
        match self.may(KeyUsages::CRLSign)? {
            true => Ok(()),
            false => Err(format!("{} may not sign revocation lists", self.name())),
        }
    }

    /// Signs evidence, and therefore is no certification authority.
    pub(super) fn check_signer(&self) -> Result<(), String> {
        let is_authority = self.constraints()?.is_some_and(|found| found.ca);
        match !is_authority && self.may(KeyUsages::DigitalSignature)? {
            true => Ok(()),
            false => Err(format!("{} may not sign evidence", self.name())),
        }
    }

    fn constraints(&self) -> Result<Option<BasicConstraints>, String> {
        let found = self.0.tbs_certificate().get_extension();
        let found = found.map_err(|e: der::Error| format!("{}: {e}", self.name()))?;
        Ok(found.map(|(_, constraints)| constraints))
    }

    fn may(&self, usage: KeyUsages) -> Result<bool, String> {
        let found = self.0.tbs_certificate().get_extension::<KeyUsage>();
        let found = found.map_err(|e| format!("{}: {e}", self.name()))?;
        Ok(found.is_none_or(|(_, found)| found.0.contains(usage)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use der::asn1::OctetString;

    fn extension(extn_id: ObjectIdentifier, critical: bool) -> Extension {
        Extension {
            extn_id,
            critical,
            extn_value: OctetString::new([]).unwrap(),
        }
    }

    #[test]
    fn what_is_critical_is_understood_and_nothing_stands_twice() {
        let name_constraints = ObjectIdentifier::new_unwrap("2.5.29.30");
        let check = |all: &[Extension]| check(Some(all), OF_CERTIFICATE);
        let good = [
            extension(KEY_USAGE, true),
            extension(BASIC_CONSTRAINTS, true),
            extension(name_constraints, false),
        ];
        assert!(check(&good).is_ok() && check(&[]).is_ok());
        assert!(check(&[extension(name_constraints, true)]).is_err());
        assert!(check(&[good[0].clone(), good[2].clone(), good[0].clone()]).is_err());
        let many: Vec<Extension> = (0..=EXTENSIONS_MAX as u32)
            .map(|arc| {
                extension(
                    ObjectIdentifier::new_unwrap("1.2.3").push_arc(arc).unwrap(),
                    false,
                )
            })
            .collect();
        assert!(check(&many[1..]).is_ok() && check(&many).is_err());
    }
}
