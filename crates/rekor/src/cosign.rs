//! The log's client of witnesses: asks them for their cosignatures before a checkpoint is published.
//!
//! All of them are asked at the same time, for a bounded time. One that is away is left out, and then
//! not asked for a growing while; [`Witnesses::keep_fresh`] asks it again. What a witness answers goes
//! into the note only if it verifies under the key that this log was given for it.

mod peer;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use siegel_ident::{Seconds, WitnessQuorum};
use siegel_translog::Checkpoint;
use siegel_translog::cosignature::CLOCK_SKEW;
use siegel_translog::note::Note;
use tokio::runtime::{Builder, Runtime};

use crate::cosigner::{CosignRequest, Cosigner};
use crate::error::RekorError;
use crate::log::Log;
use crate::witness::{AddCheckpoint, Now};

pub use peer::WitnessAt;
use peer::{Peer, Said};

/// How long a checkpoint waits for its witnesses.
const WAIT: Duration = Duration::from_secs(2);
/// How often it is looked whether the cosignatures are still good.
const LOOK: Duration = Duration::from_secs(1);

/// The witnesses of a log.
pub struct Witnesses {
    peers: Vec<Arc<Peer>>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Witnesses {
    /// Witnesses at these places. Nobody is asked yet.
    ///
    /// # Errors
    /// [`RekorError::Url`] for a place, [`RekorError::Request`] for more than
    /// a verifier looks at, [`RekorError::Io`].
    pub fn new(witnesses: &[WitnessAt]) -> Result<Self, RekorError> {
        if witnesses.len() > WitnessQuorum::MAX {
            let most = WitnessQuorum::MAX;
            let why = format!(
                "{} witnesses, at most {most} are looked at",
                witnesses.len()
            );
            return Err(RekorError::Request(why));
        }
        // Before there is a runtime, which must not be dropped here again.
        let peers = witnesses.iter().map(|at| Peer::new(at).map(Arc::new));
        let peers = peers.collect::<Result<_, _>>()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("log-witnesses")
            .enable_all()
            .build()
            .map_err(|source| RekorError::Io {
                what: "starting the client of witnesses".into(),
                source,
            })?;
        Ok(Self {
            peers,
            runtime: Some(runtime),
        })
    }

    /// Publishes the log's checkpoint again whenever a cosignature in it is `every` old, or missing
    /// while its witness may be back. Never returns. First it looks whether they have seen more than this
    /// log has.
    pub async fn keep_fresh(&self, log: &Log, every: Seconds, now: &Now) {
        self.look_ahead(&log.checkpoint()).await;
        loop {
            tokio::time::sleep(LOOK).await;
            if self.due(&log.checkpoint(), every, now)
                && let Err(error) = log.refresh().await
            {
                tracing::warn!(%error, "the checkpoint was not cosigned anew");
            }
        }
    }

    /// Asks every witness how much it has seen, by offering it the checkpoint as if it had seen nothing: its
    /// answer then is a size, or its first cosignature, which will be asked for again.
    async fn look_ahead(&self, note: &str) {
        let size = match note.split_once("\n\n") {
            Some((text, _)) => Checkpoint::parse_text(&format!("{text}\n")),
            None => return,
        };
        let Ok(Checkpoint { size: here, .. }) = size else {
            return;
        };
        let body = AddCheckpoint {
            old: 0,
            proof: Vec::new(),
            note: note.to_owned(),
        };
        let asked = self.peers.iter().map(|peer| async {
            // Who is away is asked again soon.
            if let Said::Has(size) = peer.add_checkpoint(&body, WAIT).await {
                peer.has(size);
                if size > here {
                    peer.is_ahead(size, here);
                }
            }
        });
        futures::future::join_all(asked).await;
    }

    /// Some witness that can be asked has not cosigned this note, or long ago, or in the future.
    fn due(&self, note: &str, every: Seconds, now: &Now) -> bool {
        let (Ok(note), now) = (Note::parse(note), now()) else {
            return false;
        };
        let old = |peer: &Arc<Peer>| match peer.time_in(&note) {
            Some(time) => time.plus(every) <= now || time > now.plus(CLOCK_SKEW),
            None => true,
        };
        let mut awake = self.peers.iter().filter(|peer| !peer.rests());
        awake.any(old)
    }

    /// Sends one witness the checkpoint, from the size that it has; false if there is no proof.
    fn ask(
        &self,
        n: usize,
        from: u64,
        request: &CosignRequest<'_>,
        answers: &Sender<(usize, Said)>,
    ) -> bool {
        let (Some(peer), Some(runtime)) = (self.peers.get(n), &self.runtime) else {
            return false;
        };
        let Some(proof) = request.consistency_proof(from) else {
            let (name, size) = (peer.name(), request.size);
            tracing::debug!(%name, from, size, "no proof from what the witness has seen");
            return false;
        };
        let body = AddCheckpoint {
            old: from,
            proof,
            note: request.note.to_owned(),
        };
        let (peer, answers) = (Arc::clone(peer), answers.clone());
        runtime.spawn(async move {
            let said = peer.add_checkpoint(&body, WAIT).await;
            // Nobody listens any more to one that was too slow.
            let _ = answers.send((n, said));
        });
        true
    }
}

impl Cosigner for Witnesses {
    fn cosign(&self, request: CosignRequest<'_>) -> Vec<String> {
        let until = Instant::now() + WAIT;
        let (answers, answered) = mpsc::channel();
        let mut open = BTreeMap::new();
        for (n, peer) in self.peers.iter().enumerate().filter(|(_, p)| !p.rests()) {
            match self.ask(n, peer.size(), &request, &answers) {
                true => drop(open.insert(n, 1u32)),
                false => {
                    peer.is_ahead(peer.size(), request.size);
                    peer.failed("it has seen more than this log has");
                }
            }
        }
        let mut lines = BTreeMap::new();
        while !open.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((n, said)) = answered.recv_timeout(left) else {
                break;
            };
            let Some(peer) = self.peers.get(n) else {
                continue;
            };
            let tries = open.remove(&n).unwrap_or_default();
            match said {
                Said::Cosigned(line) => {
                    peer.cosigned(request.size);
                    lines.insert(n, line);
                }
                Said::Has(size) if size > request.size || (size == request.size && tries > 1) => {
                    peer.has(size);
                    peer.is_ahead(size, request.size);
                    peer.failed(&format!(
                        "it has {size} entries, more or others than this log"
                    ));
                }
                // It has seen another checkpoint than we thought: once more, from there.
                Said::Has(size) if tries == 1 && self.ask(n, size, &request, &answers) => {
                    peer.has(size);
                    open.insert(n, 2);
                }
                Said::Has(size) => peer.failed(&format!("it has {size} entries")),
                Said::Failed(why) => peer.failed(&why),
            }
        }
        for peer in open.into_keys().filter_map(|n| self.peers.get(n)) {
            peer.failed("it did not answer in time");
        }
        lines.into_values().collect()
    }

    fn asks_anybody(&self) -> bool {
        !self.peers.is_empty()
    }
}

impl Drop for Witnesses {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Does not wait: this may be dropped inside of another runtime.
            runtime.shutdown_background();
        }
    }
}
