//! One question of the root: the sums of some blocks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::try_join_all;
use siegel_ident::Fencing;
use siegel_keys::KeysError;
use siegel_platform::Platform;
use siegel_program::{Bundle, Query, Record, Units};
use siegel_session::{PeerKeys, Purpose};
use siegel_wire::v1;

use crate::gather;
use crate::job::Job;
use crate::opened::{self, Opened};
use crate::question::Question;
use crate::run::Run;
use crate::serve::Node;
use crate::stop::Stop;

/// Answers one question. A final refusal by the key service erases the run (I9).
pub(crate) async fn compute(
    node: &Node,
    purpose: &Purpose,
    root: &PeerKeys,
    ask: v1::ComputeBlocks,
) -> Result<v1::BlockSums, Stop> {
    let run = node.runs.get(purpose.run)?;
    run.check_root(root, Fencing(ask.fencing))?;
    // The grant may be another one than when the session began.
    run.check_purpose(purpose)?;
    let answered = tokio::select! {
        // First, so that no answer is given without a live lease.
        biased;
        () = run.lease_over() => Err(Stop::NoLease(run.grant.run)),
        stop = run.keep_renewing(&node.kms) => Err(stop),
        answered = answer(node, &run, root, ask) => answered,
    };
    if let Err(Stop::Kms(KeysError::Refused(_)) | Stop::NoLease(_)) = answered {
        node.runs.erase(&run);
    }
    answered
}

/// Waits here, and works on plaintext elsewhere: the runtime stays free, whatever uploads hold.
async fn answer(
    node: &Node,
    run: &Arc<Run>,
    root: &PeerKeys,
    ask: v1::ComputeBlocks,
) -> Result<v1::BlockSums, Stop> {
    let plan = run.kept.plan(&run.grant, &node.depot).await?;
    let question = Question::check(run, plan, root, ask)?;
    run.renew(&node.kms).await?;
    let bundle = run.kept.bundle(&run.grant, &node.depot).await?;
    question.check_program(&bundle)?;
    let (job, _asker) = Job::new(run.clone(), question);
    let uploads = match job.question.asked_once {
        true => Uploads::Gathered(Mutex::new(gather::gathered(node, &job, &bundle).await?)),
        false => Uploads::Opened(opened::opened(node, &job).await?),
    };
    let work = Work {
        platform: node.platform.clone(),
        job: job.clone(),
        bundle,
        uploads,
        next: AtomicUsize::new(0),
    };
    let mut blocks = work.sums(node).await?;
    blocks.sort_by_key(|sum| sum.block);
    let step = job.question.step;
    tracing::info!(run = %run.grant.run, %step, blocks = blocks.len(), "blocks summed");
    Ok(v1::BlockSums { blocks })
}

/// The sums of a question, shared by threads.
struct Work {
    platform: Platform,
    job: Arc<Job>,
    bundle: Arc<Bundle>,
    uploads: Uploads,
    /// Which of the asked blocks comes next.
    next: AtomicUsize,
}

/// What the sums are made of.
enum Uploads {
    /// Plaintexts, kept as long as the run or the question.
    Opened(Arc<Opened>),
    /// Units already.
    Gathered(Mutex<Units>),
}

impl Work {
    /// Each task takes the next block until none is left; where there are fewer blocks than
    /// threads, a task has several for the units of its block. A unit lives in one block and is
    /// computed on one thread; sums are exact, so that it does not matter which thread that is
    /// (I4, I7).
    async fn sums(self, node: &Node) -> Result<Vec<v1::BlockSum>, Stop> {
        let threads = node.pool.threads();
        let tasks = self.job.question.wanted.len().clamp(1, threads);
        let each = threads / tasks;
        let work = Arc::new(self);
        let tasks = (0..tasks).map(|_| {
            let work = work.clone();
            let share = move || work.share(each, &|| work.job.check());
            node.pool.run_wide(each, share)
        });
        Ok(try_join_all(tasks).await?.into_iter().flatten().collect())
    }

    /// `check` is asked before each record and unit. A unit whose leaf fails or returns no finite
    /// numbers contributes zero, without an error and without a word: `program` sees to it, and
    /// nothing here could tell (I12).
    fn share(
        &self,
        threads: usize,
        check: &(dyn Fn() -> Result<(), Stop> + Sync),
    ) -> Result<Vec<v1::BlockSum>, Stop> {
        let (run, question) = (&*self.job.run, &self.job.question);
        let query = question.query(&self.bundle).map_err(Stop::Program)?;
        let mut rng = self.platform.rng();
        let mut sealed = Vec::new();
        while let Some(&block) = question
            .wanted
            .get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            let units = self.units(&query, block, check)?;
            let summed = units.sums(&query, &run.index, threads, &|| check().is_ok());
            // Also for a block without units; and says why it was interrupted.
            check()?;
            for sum in summed.map_err(|_| Stop::Sum)? {
                sealed.push(question.seal(&mut rng, run, &sum)?);
            }
        }
        Ok(sealed)
    }

    fn units(
        &self,
        query: &Query<'_>,
        block: u32,
        check: &(dyn Fn() -> Result<(), Stop> + Sync),
    ) -> Result<Units, Stop> {
        let opened = match &self.uploads {
            Uploads::Opened(opened) => opened,
            Uploads::Gathered(units) => {
                let mut units = units.lock().unwrap_or_else(PoisonError::into_inner);
                return Ok(units.take(block));
            }
        };
        let (run, blocks) = (&self.job.run, self.job.question.blocks);
        let mut units = Units::new(blocks, &[block]).map_err(Stop::Blocks)?;
        for plaintext in opened.of(block) {
            check()?;
            if let Ok(record) = Record::decode(plaintext.expose()) {
                units.add(query, &run.index, &record);
            }
        }
        Ok(units)
    }
}

#[cfg(test)]
mod tests;
