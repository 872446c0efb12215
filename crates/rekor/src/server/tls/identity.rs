//! Certificate and key of a server over TLS: two PEM files that are looked at again while it serves.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, ServerConfig};
use siegel_ident::SecretBytes;
use siegel_ident::secret::Wiped;

/// How often the files are looked at for a renewed certificate.
pub(in crate::server) const LOOK: Duration = Duration::from_secs(60);
/// Longest file, bytes: a chain of a dozen certificates.
const MAX_FILE: usize = 64 * 1024;
/// Bits of a file's mode that let everybody read it.
const READ_BY_ALL: u32 = 0o004;

/// What a server shows to those who connect. No `Debug`: it holds the private key.
pub struct TlsIdentity {
    files: Files,
    shown: Arc<Shown>,
    config: Arc<ServerConfig>,
}

/// Why a server has no identity for TLS. Every variant names the file; the help is in its text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsFileError {
    /// The certificate file cannot be read, or holds no certificates.
    #[error("certificate {path}: {why}")]
    Certificate {
        /// The file.
        path: String,
        /// What is wrong, and what it should be.
        why: String,
    },
    /// The key file cannot be read, can be read by everybody, or holds no key.
    #[error("key {path}: {why}")]
    Key {
        /// The file.
        path: String,
        /// What is wrong, and what it should be.
        why: String,
    },
    /// Both are good, and do not belong together.
    #[error(
        "the key in {key} is not the key of the first certificate in {certificate}: name the key that \
         this certificate was issued for, and put the server's own certificate before those of authorities"
    )]
    Pair {
        /// The certificate file.
        certificate: String,
        /// The key file.
        key: String,
    },
    /// TLS could not be set up; neither file is at fault.
    #[error("TLS: {0}")]
    Setup(String),
}

#[derive(Clone)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// Whoever connects gets the pair that was read last.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl TlsIdentity {
    /// Reads a chain of certificates, the server's own first, and its private key (PKCS#8, SEC1 or
    /// PKCS#1), both PEM. TLS 1.2 and 1.3 are spoken, and HTTP/1.1 over it.
    ///
    /// # Errors
    /// [`TlsFileError`] for a file that is missing or of another form, for a key that everybody on this
    /// machine can read, and for a key that is not the certificate's.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsFileError> {
        let files = Files {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        };
        let provider = Arc::new(default_provider());
        let pair = files.read(&provider)?;
        let shown = Arc::new(Shown(RwLock::new(Arc::new(pair))));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| TlsFileError::Setup(why.to_string()))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&shown) as _);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let config = Arc::new(config);
        Ok(Self {
            files,
            shown,
            config,
        })
    }

    pub(in crate::server) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Takes up a renewed pair within `look`. While the files are bad, half written say, the pair of
    /// before is shown, and what is wrong is said once.
    pub(in crate::server) async fn keep_current(&self, look: Duration) -> Infallible {
        let provider = default_provider();
        let mut said = None;
        loop {
            tokio::time::sleep(look).await;
            // Two small files: no thread is held up by them.
            match self.files.read(&provider) {
                Ok(pair) => {
                    said = None;
                    if self.shown.replace(pair) {
                        tracing::info!("a renewed TLS certificate is shown from now on");
                    }
                }
                Err(error) => {
                    let now = Some(error.to_string());
                    if said != now {
                        tracing::warn!(%error, "the TLS certificate is not renewed");
                        said = now;
                    }
                }
            }
        }
    }
}

impl Files {
    fn read(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsFileError> {
        let shown = |path: &Path| path.display().to_string();
        let bad_certificate = |why: String| {
            let path = shown(&self.certificate);
            TlsFileError::Certificate { path, why }
        };
        let bad_key = |why: String| {
            let path = shown(&self.key);
            TlsFileError::Key { path, why }
        };
        let (text, _) = read(&self.certificate).map_err(bad_certificate)?;
        let chain = CertificateDer::pem_slice_iter(text.expose()).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|why| bad_certificate(format!("not a PEM file: {why}")))?;
        if chain.is_empty() {
            let why =
                "no certificate in it: expected PEM blocks \"CERTIFICATE\", the server's own first";
            return Err(bad_certificate(why.into()));
        }
        let (text, mode) = read(&self.key).map_err(bad_key)?;
        if mode & READ_BY_ALL != 0 {
            let why = "everybody on this machine can read it: take that away with chmod o= FILE, and renew \
                       certificate and key if somebody may have";
            return Err(bad_key(why.into()));
        }
        let key = PrivateKeyDer::from_pem_slice(text.expose()).map_err(|_| {
            let why = "no private key in it: expected a PEM block \"PRIVATE KEY\" or \"EC PRIVATE KEY\", not \
                       encrypted";
            bad_key(why.into())
        })?;
        CertifiedKey::from_der(chain, key, provider).map_err(|why| match why {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsFileError::Pair {
                certificate: shown(&self.certificate),
                key: shown(&self.key),
            },
            rustls::Error::InvalidCertificate(why) => bad_certificate(format!(
                "its first certificate does not parse ({why:?}): expected X.509, version 3"
            )),
            why => bad_key(format!(
                "{why}: expected an EC key (P-256, P-384), Ed25519 or RSA of 2048 bits or more"
            )),
        })
    }
}

impl Shown {
    /// True if it is another one.
    fn replace(&self, pair: CertifiedKey) -> bool {
        let mut shown = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let renewed = shown.cert != pair.cert;
        if renewed {
            *shown = Arc::new(pair);
        }
        renewed
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let shown = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&shown))
    }
}

/// A file, whole, and its mode. A device has no length to look at first (I14). A buffer that grew would
/// leave parts of a key behind.
fn read(path: &Path) -> Result<(SecretBytes, u32), String> {
    let mut text = Wiped::new(Vec::with_capacity(MAX_FILE + 1));
    let mode = read_to(path, &mut text).map_err(|why| format!("cannot be read: {why}"))?;
    match text.len() > MAX_FILE {
        true => Err(format!("longer than {MAX_FILE} bytes")),
        false => Ok((SecretBytes::new(std::mem::take(&mut *text)), mode)),
    }
}

fn read_to(path: &Path, text: &mut Vec<u8>) -> io::Result<u32> {
    let file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode();
    file.take(MAX_FILE as u64 + 1).read_to_end(text)?;
    Ok(mode)
}
