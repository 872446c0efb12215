//! `https://`: a log behind a loopback TLS server whose certificate is made here.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::get;
use der::asn1::{ObjectIdentifier, OctetString};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::*;
use crate::signer::new_pkcs8;
use crate::tsa::certificate::{extension, issue, name, root};

const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");

/// A root, and a server's certificate for 127.0.0.1 under it with its key.
fn chain() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let plan = Plan {
        organization: "a made-up authority",
        not_before: Timestamp(1_000),
        not_after: Timestamp(4_000_000_000),
    };
    let above = PolicySigner::generate().unwrap();
    let pkcs8 = new_pkcs8().unwrap().as_ref().to_vec();
    let key = PolicySigner::from_pkcs8(&pkcs8, std::path::Path::new("server")).unwrap();
    let loopback = GeneralName::IpAddress(OctetString::new([127, 0, 0, 1]).unwrap());
    let names = extension(ALTERNATIVE_NAMES, false, &SubjectAltName(vec![loopback]));
    let issuer = name(plan.organization, "time stamp root").unwrap();
    let subject = name(plan.organization, "server").unwrap();
    let server = issue(&plan, &issuer, &above, &subject, &key.key(), &[2], [names]).unwrap();
    (root(&plan, &above, &[1]).unwrap(), server, pkcs8)
}

struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = tokio_rustls::server::TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, from) = self.listener.accept().await.unwrap();
            // A client that does not believe the certificate breaks off here.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Serves one path over TLS: it answers with the agent's name.
async fn serve_tls(certificate: Vec<u8>, pkcs8: Vec<u8>) -> (String, JoinHandle<()>) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate)],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8)),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    // The agent's name as the checkpoint: what was sent is seen in what is read.
    let agent = |headers: HeaderMap| async move {
        headers["user-agent"]
            .to_str()
            .unwrap_or_default()
            .to_owned()
    };
    let router = Router::new().route("/api/v2/checkpoint", get(agent));
    let listener = TlsListener { listener, acceptor };
    let serving = tokio::spawn(async move {
        let _ = axum::serve(listener, router).await;
    });
    (url, serving)
}

/// Catches: a client that believes any certificate, or none.
#[tokio::test]
async fn https_believes_only_the_given_root() {
    let (root, server, key) = chain();
    let (other_root, ..) = chain();
    let (url, serving) = serve_tls(server, key).await;
    let client = LogClient::with_root(&url, &root).unwrap();
    assert!(client.checkpoint().await.unwrap().starts_with("siegel/"));
    let read = LogClient::with_root(&url, &other_root).unwrap();
    assert!(matches!(
        read.checkpoint().await,
        Err(RekorError::Network { .. })
    ));
    // Under another name than the certificate's.
    let named = url.replace("127.0.0.1", "localhost");
    let read = LogClient::with_root(&named, &root).unwrap();
    assert!(matches!(
        read.checkpoint().await,
        Err(RekorError::Network { .. })
    ));
    // Plain HTTP there is no answer, and no way around TLS.
    let plain = LogClient::new(&url.replace("https", "http")).unwrap();
    assert!(plain.checkpoint().await.is_err());
    assert!(matches!(
        LogClient::with_root(&url, b"no"),
        Err(RekorError::Tls(_))
    ));
    serving.abort();
}
