//! What log and client refuse, and in which words.

use siegel_ident::Digest;

use super::*;
use crate::MAX_ARCHIVED;

/// I2: the archive holds exactly what its names say.
#[tokio::test]
async fn the_archive_checks_names_and_sizes() {
    let served = Served::start(memory()).await;
    let put = |name: String, bytes: Vec<u8>| {
        let url = format!("{}archive/{name}", served.client.url());
        async move {
            plain_client()
                .put(url)
                .body(bytes)
                .send()
                .await
                .unwrap()
                .status()
                .as_u16()
        }
    };
    let big = vec![7; MAX_ARCHIVED];
    assert_eq!(put(Digest::of(&big).to_string(), big.clone()).await, 201);
    assert_eq!(put(Digest::of(&big).to_string(), big.clone()).await, 200);
    assert_eq!(put(Digest::of(b"a").to_string(), b"b".to_vec()).await, 400);
    assert_eq!(put("zz".into(), b"b".to_vec()).await, 400);
    assert_eq!(
        put(Digest::of(b"A").to_string().to_uppercase(), b"A".to_vec()).await,
        400
    );
    let bigger = vec![7; MAX_ARCHIVED + 1];
    assert_eq!(
        put(Digest::of(&bigger).to_string(), bigger.clone()).await,
        413
    );
    assert!(matches!(
        served.client.archive_put(&bigger).await,
        Err(RekorError::TooLong { .. })
    ));
    assert_eq!(
        served.client.archive_get(&Digest::of(&big)).await.unwrap(),
        big
    );
    let absent = served.client.archive_get(&Digest::of(b"absent")).await;
    assert!(matches!(absent, Err(RekorError::NotFound(_))));
    served.stop().await;
}

#[tokio::test]
async fn the_client_says_what_it_cannot() {
    for bad in ["log.example.test", "ftp://x", "", "http://x/?a=1"] {
        assert!(
            matches!(LogClient::new(bad), Err(RekorError::Url(_))),
            "{bad}"
        );
    }
    // A port that nobody listens on.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let read = LogClient::new(&url).unwrap().checkpoint().await;
    assert!(matches!(read, Err(RekorError::Network { .. })));
}

/// Catches: a statement published under a key that did not sign it.
#[tokio::test]
async fn publish_checks_the_signature_before_anything_is_sent() {
    let served = Served::start(memory()).await;
    let (signer, other) = (
        PolicySigner::generate().unwrap(),
        PolicySigner::generate().unwrap(),
    );
    let envelope = signed(&signer, 1);
    let sent = served
        .client
        .publish(&envelope, &other.key(), &artifact(1))
        .await;
    assert!(matches!(sent, Err(RekorError::Proof(_))));
    assert!(
        served
            .client
            .archive_get(&Digest::of(&artifact(1)))
            .await
            .is_err()
    );
    served.stop().await;
}

/// I2, I14. Catches: a client that takes what it did not ask for, or as much as it is sent.
#[tokio::test]
async fn the_client_does_not_believe_the_log() {
    let log = memory();
    let signer = PolicySigner::generate().unwrap();
    let other = log
        .submit(&record(&signer, 2))
        .await
        .unwrap()
        .to_answer()
        .unwrap();
    let liar = axum::Router::new()
        .route(
            "/archive/{digest}",
            axum::routing::get(|| async { "other bytes" }),
        )
        .route(
            "/api/v2/log/entries",
            axum::routing::post(move || async move { other }),
        )
        .route(
            "/api/v2/checkpoint",
            axum::routing::get(|| async { "x".repeat(10_000) }),
        )
        .route(
            "/api/v2/tile/{*path}",
            axum::routing::get(|| async { "\0\u{9}torn" }),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = LogClient::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let server = tokio::spawn(async move { axum::serve(listener, liar).await });
    let got = client.archive_get(&Digest::of(b"asked for")).await;
    assert!(matches!(got, Err(RekorError::OtherBytes { .. })));
    let got = client.submit(&signed(&signer, 1), &signer.key()).await;
    assert!(matches!(got, Err(RekorError::Answer { .. })));
    assert!(matches!(
        client.checkpoint().await,
        Err(RekorError::TooLong { .. })
    ));
    assert!(matches!(
        client.entries(0, 1).await,
        Err(RekorError::Answer { .. })
    ));
    server.abort();
}
