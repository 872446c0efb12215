//! Certificates and revocation lists of vendors: read once, re-encoded to the same bytes or refused, and
//! verified with `ring`. There is no path building: every kind of evidence knows its chain.

use der::asn1::ObjectIdentifier;
use der::{Decode, Encode};
use ring::signature::UnparsedPublicKey;
use siegel_ident::Timestamp;
use x509_cert::spki::AlgorithmIdentifierOwned;

pub(crate) mod algorithm;
mod crl;
mod extensions;
mod path;
mod profile;

pub(crate) use crl::RevocationList;
pub(crate) use path::verify_path;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// A certificate whose bytes are exactly the DER encoding of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate(x509_cert::Certificate);

/// A window in seconds since 1970, both ends included (RFC 5280, 4.1.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

impl Window {
    pub(crate) fn contains(&self, now: Timestamp) -> bool {
        self.from <= now && now <= self.until
    }
}

impl Certificate {
    /// Reads DER. The error says what is wrong. No extension stands twice, and none is critical that is not
    /// understood here (RFC 5280, 4.2).
    pub(crate) fn parse(der: &[u8]) -> Result<Self, String> {
        let read =
            x509_cert::Certificate::from_der(der).map_err(|e| format!("not a certificate: {e}"))?;
        let same = read.to_der().is_ok_and(|again| again == der);
        if !same {
            return Err("certificate is not in the one DER encoding".to_owned());
        }
        if read.signature_algorithm() != read.tbs_certificate().signature() {
            return Err("certificate names two signature algorithms".to_owned());
        }
        if read.signature().unused_bits() != 0 {
            return Err("certificate's signature is not of whole bytes".to_owned());
        }
        extensions::check(
            read.tbs_certificate().extensions().map(Vec::as_slice),
            extensions::OF_CERTIFICATE,
        )?;
        Ok(Self(read))
    }

    /// Whether `issuer` signed it and may do so: name, signature, and the right to sign certificates.
    pub(crate) fn verify_issued_by(&self, issuer: &Self) -> Result<(), String> {
        if self.0.tbs_certificate().issuer() != issuer.0.tbs_certificate().subject() {
            return Err(format!(
                "{} was issued by {}, not by {}",
                self.name(),
                self.issuer_name(),
                issuer.name()
            ));
        }
        issuer.check_authority()?;
        // `parse` compared the re-encoding of the whole certificate, so this is the signed range as it came.
        let signed = self
            .0
            .tbs_certificate()
            .to_der()
            .map_err(|e| e.to_string())?;
        issuer
            .verify_signature(
                self.0.signature_algorithm(),
                &signed,
                self.0.signature().raw_bytes(),
            )
            .map_err(|why| format!("{}: {why}", self.name()))
    }

    /// Verifies `signature` over `signed` with this certificate's key.
    pub(crate) fn verify_signature(
        &self,
        algorithm: &AlgorithmIdentifierOwned,
        signed: &[u8],
        signature: &[u8],
    ) -> Result<(), String> {
        let (with, key) = algorithm::of(algorithm)?;
        let info = self.0.tbs_certificate().subject_public_key_info();
        if info.algorithm.oid != key {
            return Err(format!("{} has another kind of key", self.name()));
        }
        UnparsedPublicKey::new(with, self.public_key())
            .verify(signed, signature)
            .map_err(|_| format!("signature is not by {}", self.name()))
    }

    /// The bits of the public key: a P-384 point, or PKCS#1.
    pub(crate) fn public_key(&self) -> &[u8] {
        self.0
            .tbs_certificate()
            .subject_public_key_info()
            .subject_public_key
            .raw_bytes()
    }

    /// SHA-256 of the SubjectPublicKeyInfo: how a root is pinned.
    pub(crate) fn spki_sha256(&self) -> Result<[u8; 32], String> {
        let spki = self
            .0
            .tbs_certificate()
            .subject_public_key_info()
            .to_der()
            .map_err(|e| e.to_string())?;
        let mut out = [0u8; 32];
        out.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, &spki).as_ref());
        Ok(out)
    }

    pub(crate) fn window(&self) -> Window {
        let validity = self.0.tbs_certificate().validity();
        let seconds = |time: &x509_cert::time::Time| Timestamp(time.to_unix_duration().as_secs());
        Window {
            from: seconds(&validity.not_before),
            until: seconds(&validity.not_after),
        }
    }

    pub(crate) fn check_valid(&self, now: Timestamp) -> Result<(), String> {
        let Window { from, until } = self.window();
        match self.window().contains(now) {
            true => Ok(()),
            false => Err(format!(
                "{} is valid from {from} to {until}, now is {now}",
                self.name()
            )),
        }
    }

    /// The value of an extension; `Err` if it stands twice.
    pub(crate) fn extension(&self, oid: ObjectIdentifier) -> Result<Option<&[u8]>, String> {
        let all = self
            .0
            .tbs_certificate()
            .extensions()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut found = all.iter().filter(|extension| extension.extn_id == oid);
        let first = found
            .next()
            .map(|extension| extension.extn_value.as_bytes());
        match found.next() {
            None => Ok(first),
            Some(_) => Err(format!("{}: extension {oid} stands twice", self.name())),
        }
    }

    pub(crate) fn serial(&self) -> &[u8] {
        self.0.tbs_certificate().serial_number().as_bytes()
    }

    /// Subject's common name, or what stands for it.
    pub(crate) fn name(&self) -> String {
        common_name(self.0.tbs_certificate().subject())
    }

    /// Issuer's common name.
    pub(crate) fn issuer_name(&self) -> String {
        common_name(self.0.tbs_certificate().issuer())
    }

    pub(crate) fn subject(&self) -> &x509_cert::name::Name {
        self.0.tbs_certificate().subject()
    }
}

fn common_name(name: &x509_cert::name::Name) -> String {
    let mut parts = name.iter().filter(|part| part.oid == COMMON_NAME);
    let text = parts.next().and_then(|part| {
        let value = part.value.value();
        std::str::from_utf8(value).ok().map(str::to_owned)
    });
    // Printed for people, so nothing that could move a cursor.
    text.filter(|text| text.chars().all(|c| !c.is_control()))
        .unwrap_or_else(|| name.to_string().replace(char::is_control, "?"))
}
