//! A session ends, and a fresh one takes its place.

use std::time::Duration;

use siegel_attest::Role;
use siegel_ident::{Seconds, Timestamp};
use siegel_platform::{Clock as _, TestClock};
use siegel_session::{Expect, SESSION_LIFETIME, SessionError};

use super::world::*;
use crate::{Endpoint, LinkError, Net, SessionStream, dial};

const START: Timestamp = Timestamp(1_900_000_000);
const HOUR: Duration = Duration::from_secs(SESSION_LIFETIME.0);

/// A worker and a KMS node, each with a clock of its own.
struct Pair {
    net: Net,
    at: Endpoint,
    worker: Node,
    of_worker: TestClock,
    of_node: TestClock,
}

impl Pair {
    async fn new(endpoint: &str) -> Self {
        let (of_worker, of_node) = (TestClock::at(START), TestClock::at(START));
        let net = Net::new();
        let kms = at_clock(Role::KmsPeer, 1, 1, &of_node);
        let (at, _task) = serve_echo(&net, endpoint, kms).await;
        let worker = at_clock(Role::Worker, 2, 3, &of_worker);
        Self {
            net,
            at,
            worker,
            of_worker,
            of_node,
        }
    }

    async fn dial(&self) -> Result<SessionStream, LinkError> {
        let setup = self.worker.setup(Expect::Kms(cluster()), None);
        dial(&self.worker.platform, self.net.channel(&self.at), setup).await
    }

    /// Fresh handshakes work: new challenges, new evidence.
    async fn dial_again(&self) {
        let mut stream = self.dial().await.unwrap();
        assert_eq!(stream.call(b"ab", SOON).await.unwrap(), b"ba");
    }
}

fn expired<T>(result: Result<T, LinkError>) {
    match result {
        Err(error @ LinkError::Session(SessionError::Expired { .. })) => {
            assert!(error.is_transient());
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not expired"),
    }
}

// I3: evidence of an hour ago says nothing about now. Catches a session without an end, on each way
// out and in; and a clock that brings one back.
#[tokio::test]
async fn i3_a_session_ends_by_the_clock_and_stays_over() {
    for endpoint in ["127.0.0.1:0", "pipe:kms"] {
        let pair = Pair::new(endpoint).await;
        let mut stream = pair.dial().await.unwrap();
        pair.of_worker.advance(Seconds(SESSION_LIFETIME.0 - 1));
        assert_eq!(stream.call(b"ab", SOON).await.unwrap(), b"ba");
        pair.of_worker.advance(Seconds(1));
        expired(stream.send(b"ab").await);
        expired(stream.recv().await);
        // Backwards: what was seen was seen.
        pair.of_worker.set(START);
        expired(stream.send(b"ab").await);
        expired(stream.recv().await);
        pair.dial_again().await;
    }
}

// I3: an answer that arrives after the end is not taken.
#[tokio::test]
async fn i3_nothing_is_taken_after_the_end() {
    let pair = Pair::new("pipe:kms").await;
    let mut stream = pair.dial().await.unwrap();
    stream.send(b"ab").await.unwrap();
    pair.of_worker.advance(SESSION_LIFETIME);
    expired(stream.recv().await);

    let mut stream = pair.dial_after(SESSION_LIFETIME).await;
    let clock = pair.of_worker.clone();
    let jump = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        clock.advance(SESSION_LIFETIME);
        // The node answers only now.
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    // Waits already when the clock is moved.
    let (received, ()) = tokio::join!(
        async {
            stream.send(b"late").await.unwrap();
            stream.recv().await
        },
        jump
    );
    expired(received);
}

// The accepting side's hour counts as well: the dialler sees a cut, which it may retry.
#[tokio::test]
async fn i3_the_acceptor_ends_it_too() {
    let pair = Pair::new("127.0.0.1:0").await;
    let mut stream = pair.dial().await.unwrap();
    assert!(stream.call(b"ab", SOON).await.is_ok());
    pair.of_node.advance(SESSION_LIFETIME);
    let error = stream.call(b"ab", SOON).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    pair.of_worker.advance(SESSION_LIFETIME);
    pair.dial_again().await;
}

// I3: a clock that stands still, or is set back during the hour, is no way to a longer session; and
// nobody waits for ever. Catches an end by the host's clock alone.
#[tokio::test(start_paused = true)]
async fn i3_a_clock_set_back_does_not_extend_a_session() {
    for set_back in [false, true] {
        let pair = Pair::new("pipe:kms").await;
        let mut stream = pair.dial().await.unwrap();
        if set_back {
            pair.of_worker.set(START.minus(Seconds(86_400)));
        }
        tokio::time::advance(HOUR - Duration::from_secs(30)).await;
        assert_eq!(stream.call(b"ab", SOON).await.unwrap(), b"ba");
        tokio::time::advance(Duration::from_secs(31)).await;
        expired(stream.send(b"ab").await);
        expired(stream.recv().await);
    }
    // Somebody who waits is told at the end.
    let pair = Pair::new("pipe:kms").await;
    let mut stream = pair.dial().await.unwrap();
    let begun = tokio::time::Instant::now();
    let ended = tokio::time::timeout(HOUR * 2, stream.recv()).await.unwrap();
    assert!(ended.is_err() && begun.elapsed() <= HOUR);
}

// Who asks for something long learns beforehand that the session is too old for it.
#[tokio::test]
async fn an_old_session_says_so() {
    let pair = Pair::new("pipe:kms").await;
    let stream = pair.dial().await.unwrap();
    let minute = Duration::from_secs(60);
    assert!(stream.lasts(HOUR - minute) && !stream.lasts(HOUR));
    assert!(!stream.lasts(Duration::MAX));
    pair.of_worker.advance(Seconds(SESSION_LIFETIME.0 - 30));
    assert!(stream.lasts(Duration::ZERO) && !stream.lasts(minute));
    pair.of_worker.advance(Seconds(15));
    assert!(!stream.lasts(Duration::ZERO));
    assert_eq!(pair.of_worker.now(), START.plus(Seconds(3585)));
}

impl Pair {
    /// Both clocks move on, and a fresh session is dialled.
    async fn dial_after(&self, by: Seconds) -> SessionStream {
        self.of_node.advance(by);
        self.of_worker.set(self.of_node.now());
        self.dial().await.unwrap()
    }
}
