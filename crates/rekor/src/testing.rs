//! For tests: an authority of their own, and certificates for servers on loopback.

// What a test cannot make ends it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use der::asn1::{ObjectIdentifier, OctetString};
use siegel_ident::{Digest, Timestamp};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::pem;
use crate::signer::{LABEL, PolicySigner, new_pkcs8};
use crate::tsa::certificate::{Plan, extension, issue, name, root};

const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
/// From 1970 to 2096.
fn plan(organization: &str) -> Plan<'_> {
    Plan {
        organization,
        not_before: Timestamp(1_000),
        not_after: Timestamp(4_000_000_000),
    }
}

/// A certificate authority that nobody trusts who is not told to.
pub struct TestAuthority {
    organization: String,
    key: PolicySigner,
    root: Vec<u8>,
}

/// A server's certificate for 127.0.0.1, and its key.
pub struct TestCertificate {
    /// DER.
    pub certificate: Vec<u8>,
    /// P-256, PKCS#8, DER.
    pub pkcs8: Vec<u8>,
}

impl TestAuthority {
    /// A new one, with a name of its own.
    pub fn generate() -> Self {
        let key = PolicySigner::generate().unwrap();
        let mut organization = format!("authority {}", Digest::of(key.key().point()));
        organization.truncate(30);
        let root = root(&plan(&organization), &key, &[1]).unwrap();
        Self {
            organization,
            key,
            root,
        }
    }

    /// Its certificate, DER.
    pub fn root(&self) -> &[u8] {
        &self.root
    }

    /// Its certificate as a PEM file, for `SSL_CERT_FILE`.
    pub fn write_root(&self, path: &Path) {
        std::fs::write(path, pem::block("CERTIFICATE", &self.root).expose()).unwrap();
    }

    /// A new key, and its certificate for 127.0.0.1. `serial` tells certificates apart.
    pub fn issue(&self, serial: u8) -> TestCertificate {
        let pkcs8 = new_pkcs8().unwrap().as_ref().to_vec();
        let key = PolicySigner::from_pkcs8(&pkcs8, Path::new("server")).unwrap();
        let loopback = GeneralName::IpAddress(OctetString::new([127, 0, 0, 1]).unwrap());
        let names = extension(ALTERNATIVE_NAMES, false, &SubjectAltName(vec![loopback]));
        let plan = plan(&self.organization);
        let issuer = name(plan.organization, "time stamp root").unwrap();
        let subject = name(plan.organization, "server").unwrap();
        let (key, names) = (key.key(), [names]);
        let certificate = issue(&plan, &issuer, &self.key, &subject, &key, &[serial], names);
        let certificate = certificate.unwrap();
        TestCertificate { certificate, pkcs8 }
    }
}

impl TestCertificate {
    /// Writes `tls.pem` and `tls-key.pem` (mode 0600) into `dir`, in place of what is there.
    pub fn write(&self, dir: &Path) -> (PathBuf, PathBuf) {
        let (certificate, key) = (dir.join("tls.pem"), dir.join("tls-key.pem"));
        let block = pem::block("CERTIFICATE", &self.certificate);
        std::fs::write(&certificate, block.expose()).unwrap();
        let _ = std::fs::remove_file(&key);
        pem::create(&key, LABEL, &self.pkcs8).unwrap();
        (certificate, key)
    }
}
