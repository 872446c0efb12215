//! The driver runs on a blocking thread and asks the asynchronous root through a channel.

use std::sync::Arc;

use siegel_driver::{Driver, DriverError, Public, State};
use siegel_ident::Step;
use siegel_program::{ClippedSumSpec, Executor, HistogramSpec, Intrinsic, Plan, Stop};
use tokio::sync::{mpsc, oneshot};

use crate::compute::Crew;
use crate::events::Events;
use crate::stop::RunStop;
use crate::workers::Hand;

/// One intrinsic that the driver waits for.
struct Ask {
    intrinsic: Intrinsic,
    /// What it broadcasts: `f32` little-endian.
    state: Vec<u8>,
    reply: oneshot::Sender<Result<Vec<i64>, Stop>>,
}

/// What a driver needs in every step.
pub(crate) struct Script {
    pub(crate) driver: Driver,
    pub(crate) public: Public,
    pub(crate) plan: Plan,
}

/// Runs one step of the driver; its intrinsics are carried out by the crew, one after the other.
pub(crate) async fn step<H: Hand>(
    script: &Arc<Script>,
    crew: &mut Crew<H>,
    events: &Events,
    state: State,
    n: Step,
) -> Result<State, RunStop> {
    let (asks, mut asked) = mpsc::channel(1);
    let for_thread = script.clone();
    let thread = tokio::task::spawn_blocking(move || {
        let Script {
            driver,
            public,
            plan,
        } = &*for_thread;
        driver.step(public, plan, &state, n, &mut Bridge { asks })
    });
    let mut stopped = None;
    let mut index = 0;
    while let Some(Ask {
        intrinsic,
        state,
        reply,
    }) = asked.recv().await
    {
        let answer = crew.noisy_sum(events, n, index, intrinsic, state).await;
        index += 1;
        let _ = reply.send(answer.map_err(|stop| {
            let told = stop.for_driver();
            stopped = Some(stop);
            told
        }));
    }
    let result: Result<State, DriverError> = thread.await.map_err(|_| RunStop::Broken)?;
    // The machine's own reason says more than what the driver was told.
    match (stopped, result) {
        (Some(stop), _) => Err(stop),
        (None, result) => Ok(result?),
    }
}

/// Runs a part of the driver that has no intrinsic.
pub(crate) async fn pure<T: Send + 'static>(
    script: &Arc<Script>,
    part: impl FnOnce(&Script) -> Result<T, DriverError> + Send + 'static,
) -> Result<T, RunStop> {
    let for_thread = script.clone();
    aside(move || part(&for_thread)).await
}

/// Runs a part of the driver on a thread of its own.
pub(crate) async fn aside<T: Send + 'static>(
    part: impl FnOnce() -> Result<T, DriverError> + Send + 'static,
) -> Result<T, RunStop> {
    let done = tokio::task::spawn_blocking(part).await;
    Ok(done.map_err(|_| RunStop::Broken)??)
}

struct Bridge {
    asks: mpsc::Sender<Ask>,
}

impl Bridge {
    fn ask(&mut self, intrinsic: Intrinsic, state: Vec<u8>) -> Result<Vec<i64>, Stop> {
        let gone = || Stop::new("internal", "the root is gone");
        let (reply, answer) = oneshot::channel();
        let ask = Ask {
            intrinsic,
            state,
            reply,
        };
        self.asks.blocking_send(ask).map_err(|_| gone())?;
        answer.blocking_recv().map_err(|_| gone())?
    }
}

impl Executor for Bridge {
    fn dp_histogram(&mut self, spec: &HistogramSpec) -> Result<Vec<i64>, Stop> {
        self.ask(Intrinsic::Histogram(spec.clone()), Vec::new())
    }

    fn dp_clipped_sum(&mut self, spec: &ClippedSumSpec, params: &[f32]) -> Result<Vec<i64>, Stop> {
        let state = params.iter().flat_map(|value| value.to_le_bytes());
        self.ask(Intrinsic::ClippedSum(spec.clone()), state.collect())
    }
}
