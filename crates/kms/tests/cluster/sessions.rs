//! I3: sessions with real nodes end, and are made anew with fresh evidence.

use std::sync::atomic::Ordering;
use std::time::Duration;

use siegel_ident::Seconds;
use siegel_session::SESSION_LIFETIME;
use tokio::time::Instant;

use crate::world::World;

/// The links between members are as long-lived as the cluster. Catches links that live longer than
/// the evidence they began with, and a group that does not come together again; a clock that is set
/// back changes neither.
#[tokio::test(flavor = "multi_thread")]
async fn i3_links_between_members_are_dialled_anew() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let quotes = world.quotes.clone();
    for set_back in [false, true] {
        // Nobody but the members dials anybody.
        let before = quotes.load(Ordering::SeqCst);
        world.clock.advance(SESSION_LIFETIME);
        if set_back {
            world.clock.advance(SESSION_LIFETIME);
        }
        // Between the leader and two others, both ways, two quotes each. The others have nothing to say
        // to each other: their link is dialled anew when they have.
        let begun = Instant::now();
        while quotes.load(Ordering::SeqCst) < before + 8 {
            assert!(begun.elapsed() < Duration::from_secs(10), "no fresh links");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if set_back {
            let now = siegel_platform::Clock::now(&world.clock);
            world.clock.set(now.minus(Seconds(2 * SESSION_LIFETIME.0)));
        }
        // What needs a quorum goes on.
        let id = world.request_id();
        world.bundle(id, &policy).await.unwrap();
    }
}
