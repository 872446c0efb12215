//! `--tls-cert` and `--tls-key` of a part that serves over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use siegel_rekor::{Listening, TlsFileError, TlsIdentity};

use super::trouble;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(super) struct TlsArgs {
    /// Serve https only, with this chain of certificates (PEM, the server's own first); looked at again
    /// every minute. TLS hides from the network who reads and writes what; what is said here is believed
    /// for its signatures
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of that certificate (PEM: PKCS#8 or SEC1), not readable by everybody
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl TlsArgs {
    /// Listens, and says at which URL: a port of 0 is any free one. The files are read first.
    pub(super) async fn listen(&self, address: &str) -> Result<(Listening, Place), Failure> {
        let identity = self.identity()?;
        let (tcp, at) = trouble::listen(address).await?;
        let scheme = if identity.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{at}");
        let listening = match identity {
            Some(identity) => Listening::over_tls(tcp, identity),
            None => tcp.into(),
        };
        Ok((listening, Place { at, url }))
    }

    fn identity(&self) -> Result<Option<TlsIdentity>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let read = TlsIdentity::read(certificate, key);
        read.map(Some).map_err(|why| match &why {
            TlsFileError::Certificate { path, .. } => {
                let help = "name the chain of certificates that your authority issued for this server's name";
                Failure::usage("bad-tls-cert", &format!("--tls-cert {path}"), &why, help)
            }
            TlsFileError::Key { path, .. } => {
                let help = "name the key that the certificate was issued for, in a file that only its owner can read";
                Failure::usage("bad-tls-key", &format!("--tls-key {path}"), &why, help)
            }
            TlsFileError::Pair { key, .. } => {
                let help = "give both files of one certificate";
                Failure::usage("other-tls-key", &format!("--tls-key {key}"), &why, help)
            }
            _ => Failure::failed("tls", "--tls-cert", &why, "serve without TLS, behind a proxy that has it"),
        })
    }
}

/// Where a part serves.
pub(super) struct Place {
    pub(super) at: SocketAddr,
    pub(super) url: String,
}
