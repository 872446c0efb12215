//! One intrinsic over all workers: lease, open, add, and the noise that was drawn before.

use std::sync::Arc;
use std::time::Duration;

use siegel_ident::{Fencing, PolicyDigest, RunId, Secret, SecretBytes, Step, Transcript};
use siegel_program::{BlockSum, Intrinsic, Noise, Total};
use siegel_seal::kdf::{RunPurpose, chunk_key};
use siegel_seal::sealed_box::open_box;
use siegel_session::Purpose;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::events::Events;
use crate::leases::{Lease, Leases};
use crate::question::Question;
use crate::serve::Node;
use crate::stop::RunStop;
use crate::workers::{Hand, Trouble, Worker};

/// How long there may be trouble and no success, and every worker be asked twice in vain, before the
/// run stops.
const OUTAGE: Duration = Duration::from_secs(30);
/// Pauses before a worker that was in trouble is asked again.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(4);

/// What is the same for all steps of a run.
pub(crate) struct Crew<H> {
    job: Job,
    open: Open,
    members: Vec<Member<H>>,
}

/// What the sums are of, and what hides them.
pub(crate) struct Job {
    pub(crate) run: RunId,
    pub(crate) policy: PolicyDigest,
    pub(crate) fencing: Fencing,
    /// Public; from the registration.
    pub(crate) blob_count: u64,
    /// The run's noise key.
    pub(crate) noise: Arc<Secret<32>>,
}

impl Job {
    /// What its sessions are for.
    fn purpose(&self) -> Purpose {
        Purpose {
            run: self.run,
            policy: self.policy,
            fencing: self.fencing,
        }
    }
}

/// Opens a box that is sealed to this root.
pub(crate) type Open = Arc<dyn Fn(&Transcript, &[u8]) -> Option<SecretBytes> + Send + Sync>;

/// A worker between questions.
struct Member<H> {
    /// `None` while it is asked something.
    worker: Option<H>,
    ready_at: Instant,
    pause: Duration,
    /// Troubles in a row.
    troubles: u32,
}

/// A question that came back: the worker, the lease, and the opened sums.
struct Returned<H> {
    at: usize,
    worker: H,
    lease: Lease,
    result: Result<Vec<BlockSum>, Trouble>,
}

impl Crew<Worker> {
    /// All workers that this root was placed with.
    pub(crate) fn of(node: &Arc<Node>, job: Job) -> Self {
        let workers = node.workers.iter();
        let workers = workers.map(|at| Worker::new(node.clone(), at.clone(), job.purpose()));
        let workers = workers.collect();
        let keys = node.clone();
        let open = move |info: &Transcript, sealed: &[u8]| {
            open_box(keys.kms.keys().kem(), info, sealed).ok()
        };
        Self::new(job, workers, Arc::new(open))
    }
}

impl<H: Hand> Crew<H> {
    pub(crate) fn new(job: Job, workers: Vec<H>, open: Open) -> Self {
        let member = |worker| Member {
            worker: Some(worker),
            ready_at: Instant::now(),
            pause: PAUSE_MIN,
            troubles: 0,
        };
        let members = workers.into_iter().map(member).collect();
        Self { job, open, members }
    }

    /// The noisy sum of intrinsic number `index` of step `step`. The noise is drawn first, in one
    /// go: when a sum arrives and when a total leaves says nothing about it (I12).
    pub(crate) async fn noisy_sum(
        &mut self,
        events: &Events,
        step: Step,
        index: u32,
        intrinsic: Intrinsic,
        state: Vec<u8>,
    ) -> Result<Vec<i64>, RunStop> {
        let (key, of) = (self.job.noise.clone(), intrinsic.clone());
        let drawn = tokio::task::spawn_blocking(move || {
            let chunk = |n| chunk_key(&key, RunPurpose::Noise, step, index.into(), n);
            Noise::draw(&of, chunk)
        });
        let noise = drawn.await.map_err(|_| RunStop::Broken)??;
        let question = Question::new(&self.job, step, index, intrinsic, state)?;
        let question = Arc::new(question);
        let total = self.total(events, &question).await?;
        Ok(total.release(noise)?)
    }

    async fn total<'q>(
        &mut self,
        events: &Events,
        question: &'q Arc<Question>,
    ) -> Result<Total<'q>, RunStop> {
        let count = question.blocks.get();
        let mut total = Total::new(&question.intrinsic, question.blocks);
        let mut leases = Leases::new(count, self.members.len(), question.most_blocks());
        let mut asked: JoinSet<Returned<H>> = JoinSet::new();
        // Since when there is only trouble.
        let mut troubled: Option<Instant> = None;
        loop {
            self.hand_out(&mut leases, &mut asked, question);
            if asked.is_empty() && leases.is_empty() {
                return Ok(total);
            }
            let returned = tokio::select! {
                Some(returned) = asked.join_next() => returned.map_err(|_| RunStop::Broken)?,
                () = tokio::time::sleep_until(self.next_ready()), if !leases.is_empty() => continue,
            };
            let Returned {
                at,
                worker,
                lease,
                result,
            } = returned;
            self.take_back(at, worker, result.is_ok());
            match result {
                Ok(sums) => {
                    sums.iter().try_for_each(|sum| total.add(sum))?;
                    troubled = None;
                    events.progress("blocks", (count - total.missing()).into(), count.into());
                }
                Err(Trouble::Over(error)) => return Err(error.into()),
                Err(Trouble::Refused(refusal)) => {
                    tracing::warn!(
                        worker = at + 1,
                        code = refusal.code,
                        "a worker refused blocks"
                    );
                    if leases.refused(lease, at).is_err() {
                        return Err(RunStop::Refused(refusal));
                    }
                }
                Err(Trouble::Lost(last)) => {
                    tracing::warn!(worker = at + 1, why = last, "blocks are leased again");
                    leases.lost(lease);
                    let stuck = troubled.get_or_insert_with(Instant::now).elapsed();
                    if stuck > OUTAGE && self.members.iter().all(|m| m.troubles > 1) {
                        return Err(RunStop::WorkersLost {
                            seconds: stuck.as_secs(),
                            last,
                        });
                    }
                }
            }
        }
    }

    /// Asks every worker that is free and rested.
    fn hand_out(
        &mut self,
        leases: &mut Leases,
        asked: &mut JoinSet<Returned<H>>,
        question: &Arc<Question>,
    ) {
        let now = Instant::now();
        for (at, member) in self.members.iter_mut().enumerate() {
            if member.ready_at > now || member.worker.is_none() {
                continue;
            }
            let Some(lease) = leases.take(at) else {
                continue;
            };
            let Some(worker) = member.worker.take() else {
                continue;
            };
            asked.spawn(ask(self.open.clone(), question.clone(), at, worker, lease));
        }
    }

    fn take_back(&mut self, at: usize, worker: H, fine: bool) {
        let Some(member) = self.members.get_mut(at) else {
            return;
        };
        member.worker = Some(worker);
        if fine {
            (member.pause, member.troubles) = (PAUSE_MIN, 0);
        } else {
            member.troubles += 1;
            member.ready_at = Instant::now() + member.pause;
            member.pause = (member.pause * 2).min(PAUSE_MAX);
        }
    }

    /// When the next free worker is rested; far away if none is free.
    fn next_ready(&self) -> Instant {
        let now = Instant::now();
        let free = self.members.iter().filter(|member| member.worker.is_some());
        // A free worker that is rested has refused all that waits: look again later.
        let when = free
            .map(|member| member.ready_at)
            .filter(|&at| at > now)
            .min();
        when.unwrap_or(now + PAUSE_MAX)
    }
}

async fn ask<H: Hand>(
    open: Open,
    question: Arc<Question>,
    at: usize,
    mut worker: H,
    lease: Lease,
) -> Returned<H> {
    let result = match worker.ask(question.to_wire(&lease), question.limit).await {
        Ok(sums) => question.open(&open, &lease, sums).ok_or_else(|| {
            let what = "the sums are not those that were asked for, or do not open";
            Trouble::Refused(Box::new(siegel_link::refusal(
                "bad-answer",
                "I4",
                "worker",
                what,
            )))
        }),
        Err(trouble) => Err(trouble),
    };
    Returned {
        at,
        worker,
        lease,
        result,
    }
}

#[cfg(test)]
mod tests;
