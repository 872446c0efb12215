//! A log that drips its answers.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::client::Pace;
use crate::{LogClient, RekorError};

/// Answers each request with a head, if it has one to give, and then byte after byte.
async fn dripping(head: &'static str, pause: Duration) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(pause).await;
            }
        }
    });
    (url, server)
}

/// I14. Catches: a client that is held for as long as a log likes, by a byte now and then, be it in the
/// answer or before it.
#[tokio::test]
async fn i14_a_log_that_drips_holds_nobody() {
    let pace = Pace {
        grace: Duration::from_millis(200),
        rate: 1024,
    };
    let body = "HTTP/1.1 200 OK\r\ncontent-length: 4000\r\n\r\n";
    for head in [body, "HTTP/1.1 200 OK\r\nx-drip: "] {
        let (url, server) = dripping(head, Duration::from_millis(20)).await;
        let client = LogClient::new(&url).unwrap().with_pace(pace);
        let begun = Instant::now();
        let slow = client.checkpoint().await.unwrap_err();
        assert!(matches!(slow, RekorError::Slow { .. }), "{slow}");
        assert!(slow.is_transient());
        assert!(begun.elapsed() < Duration::from_secs(30));
        server.abort();
    }
}

/// Catches: a limit for small answers that cuts off a long one which comes steadily.
#[tokio::test]
async fn a_long_answer_may_take_longer() {
    let pace = Pace {
        grace: Duration::from_secs(1),
        rate: 2,
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    let (url, server) = dripping(head, Duration::from_millis(25)).await;
    let client = LogClient::new(&url).unwrap().with_pace(pace);
    assert_eq!(client.checkpoint().await.unwrap(), "x".repeat(100));
    server.abort();
}
