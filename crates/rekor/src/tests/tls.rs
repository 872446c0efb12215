//! `https://`: a client and whom it believes.

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::get;

use super::*;
use crate::server::run;
use crate::testing::TestAuthority;
use crate::{Listening, TlsIdentity};

/// Serves one path over TLS: it answers with the agent's name.
async fn serve_tls(authority: &TestAuthority) -> (String, JoinHandle<()>) {
    let dir = tempfile::tempdir().unwrap();
    let (certificate, key) = authority.issue(2).write(dir.path());
    let identity = TlsIdentity::read(&certificate, &key).unwrap();
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
    let listening = Listening::over_tls(listener, identity);
    let serving = tokio::spawn(async move {
        let _ = run(listening, router, "serving", std::future::pending()).await;
    });
    (url, serving)
}

/// Catches: a client that believes any certificate, or none; that does not say what to do; and that
/// asks again and again for what will not be believed.
#[tokio::test]
async fn https_believes_only_the_given_root() {
    let (authority, other) = (TestAuthority::generate(), TestAuthority::generate());
    let (url, serving) = serve_tls(&authority).await;
    let root = authority.root();
    let client = LogClient::with_root(&url, root).unwrap();
    assert!(client.checkpoint().await.unwrap().starts_with("siegel/"));
    let named = url.replace("127.0.0.1", "localhost");
    for (url, root, says) in [
        (&url, other.root(), "SSL_CERT_FILE"),
        // Under another name than the certificate's.
        (&named, root, "not valid for name"),
    ] {
        let patience = std::time::Duration::from_secs(20);
        let begun = std::time::Instant::now();
        let read = LogClient::with_root(url, root).unwrap();
        let error = read.with_patience(patience).checkpoint().await.unwrap_err();
        assert!(matches!(error, RekorError::Network { .. }), "{error}");
        assert!(begun.elapsed() < patience);
        assert!(
            !error.is_transient() && error.to_string().contains(says),
            "{error}"
        );
    }
    // Plain HTTP there is no answer, and no way around TLS.
    let plain = LogClient::new(&url.replace("https", "http")).unwrap();
    assert!(plain.checkpoint().await.is_err());
    assert!(matches!(
        LogClient::with_root(&url, b"no"),
        Err(RekorError::Tls(_))
    ));
    serving.abort();
}

/// Catches: words about broken messages, for an URL whose scheme is wrong.
#[tokio::test]
async fn https_to_a_plain_server_is_explained() {
    let served = Served::start(memory()).await;
    let url = served.client.url().replace("http", "https");
    let read = LogClient::with_root(&url, TestAuthority::generate().root()).unwrap();
    let said = read.checkpoint().await.unwrap_err().to_string();
    assert!(said.contains("is its URL http://?"), "{said}");
    served.stop().await;
}
