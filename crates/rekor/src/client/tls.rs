//! TLS of the client: rustls on ring, versions 1.2 and 1.3.
//!
//! A log is believed for its signed checkpoint, not for its host's certificate: TLS keeps out who
//! stands on the way and would withhold or delay.

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::error::RekorError;

/// How this crate's clients name themselves.
const USER_AGENT: &str = concat!("siegel/", env!("CARGO_PKG_VERSION"));

/// A builder of clients for hosts at `url`, `http://` or `https://`; they follow no redirection.
/// Every client of this crate starts here: one without a TLS configuration cannot be built.
///
/// # Errors
/// [`RekorError::Url`] for another scheme; [`RekorError::Tls`].
pub(crate) fn builder(url: &Url, root: Option<&[u8]>) -> Result<ClientBuilder, RekorError> {
    let tls = match url.scheme() {
        // Plain HTTP needs no roots, and no time to read them.
        "http" => trusting_nobody()?,
        "https" => config(root)?,
        _ => {
            let why = format!("{:?}: expected http:// or https://", url.as_str());
            return Err(RekorError::Url(why));
        }
    };
    Ok(reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .tls_backend_preconfigured(tls))
}

/// Trusts this root only, else the system's.
fn config(root: Option<&[u8]>) -> Result<ClientConfig, RekorError> {
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
                let why = "this system has no certificate authorities: install ca-certificates, or \
                           name a PEM file with SSL_CERT_FILE";
                return Err(RekorError::Tls(why.into()));
            }
        }
    }
    with(roots)
}

/// For clients that never speak TLS.
fn trusting_nobody() -> Result<ClientConfig, RekorError> {
    with(RootCertStore::empty())
}

fn with(roots: RootCertStore) -> Result<ClientConfig, RekorError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| RekorError::Tls(e.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
