//! Where a server listens, plain or over TLS.

use tokio::net::TcpListener;

use super::tls::TlsIdentity;

/// A listener for one of this crate's servers.
///
/// TLS hides from the network who reads and writes what. What a log, a witness or a mirror says is
/// believed for its signatures, over TLS as over plain HTTP.
pub struct Listening {
    tcp: TcpListener,
    tls: Option<TlsIdentity>,
}

impl Listening {
    /// Speaks TLS, and nothing else, under this identity.
    pub fn over_tls(tcp: TcpListener, identity: TlsIdentity) -> Self {
        let tls = Some(identity);
        Self { tcp, tls }
    }

    pub(super) fn into_parts(self) -> (TcpListener, Option<TlsIdentity>) {
        (self.tcp, self.tls)
    }
}

/// Plain HTTP.
impl From<TcpListener> for Listening {
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, tls: None }
    }
}
