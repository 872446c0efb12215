//! I9: after its time a key is gone.

use std::sync::Arc;

use siegel_ident::{Seconds, Timestamp};
use siegel_platform::{Clock, SystemClock, TestClock};
use siegel_tests::{World, code, crowd};

/// Catches a key service that hands out keys of an expired epoch, or opens its releases.
#[tokio::test(flavor = "multi_thread")]
async fn an_expired_epoch_gives_no_key() {
    let clock = TestClock::at(Timestamp(SystemClock.now().0));
    let mut world = World::with(|options| options.clock = Arc::new(clock.clone())).await;
    let (_, epoch) = world.upload(&crowd(6, "a cat")).await;
    let run = world.run(epoch).await.expect("within its time");
    clock.advance(Seconds(world.policy.key_ttl.0 + 1));
    let refused = world.open(&run).await.map(drop).expect_err("expired");
    assert_eq!(code(&refused), "run-erased");
    let refused = world.run(epoch).await.expect_err("expired");
    assert_eq!(code(&refused), "epoch-expired");
}
