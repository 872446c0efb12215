//! TLS of the client: rustls on ring, versions 1.2 and 1.3.
//!
//! A log is believed for its signed checkpoint, not for its host's certificate: TLS hides from the
//! network what is asked and answered, and adds nothing to what is believed.

use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::error::RekorError;

/// Trusts this root only, else the system's.
pub(super) fn config(root: Option<&[u8]>) -> Result<ClientConfig, RekorError> {
    let mut roots = RootCertStore::empty();
    match root {
        Some(root) => {
            let root = CertificateDer::from(root.to_vec());
            roots
                .add(root)
                .map_err(|e| RekorError::Tls(e.to_string()))?;
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err(nobody_to_trust(&found.errors));
            }
        }
    }
    with(roots)
}

fn nobody_to_trust(errors: &[rustls_native_certs::Error]) -> RekorError {
    let why = "no certificate authorities are found: install ca-certificates, or name a PEM file with \
               SSL_CERT_FILE";
    RekorError::Tls(match errors.first() {
        Some(error) => format!("{why} ({error})"),
        None => why.into(),
    })
}

/// For clients that never speak TLS.
pub(crate) fn trusting_nobody() -> Result<ClientConfig, RekorError> {
    with(RootCertStore::empty())
}

fn with(roots: RootCertStore) -> Result<ClientConfig, RekorError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| RekorError::Tls(e.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
