//! A log with one long history in it: a cluster's birth, policies and key offers as a real ledger
//! takes them, then one chain of receipts of many runs.

use std::path::Path;
use std::time::Instant;

use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use siegel_audit::testing::{START, Scene, Signer, TTL, chained, lived, log_key, signed_note};
use siegel_ident::{
    Budget, Digest, EpochId, Fencing, ObjectDigest, PolicyDigest, RunId, Step, Timestamp,
};
use siegel_ledger::{Fact, Receipt};
use siegel_rekor::{FolderLog, Log, RekorError, Storage};
use siegel_translog::{Envelope, HashedRekord, Statement, predicate};

use super::folder::Folder;

/// The auditor's anchors, beside the log.
pub const ANCHORS: &str = "anchors.json";
/// Steps of each run, so that a run has a hundred receipts.
const STEPS: u64 = 97;
/// Receipts at a time: with their statements they make one pack of about 16 MiB, which is what a log
/// merges packs of more than 2 MiB into.
const BATCH: usize = 16_384;
/// Signatures that are verified alone.
const SAMPLE: usize = 20_000;

/// What went into the log.
pub struct Made {
    sample: Vec<Envelope>,
    key: Vec<u8>,
    /// Entries that are no receipts.
    pub before: u64,
    /// Of the log's folder.
    pub bytes: u64,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Log(#[from] RekorError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("a receipt that cannot be written: {0}")]
    Receipt(#[from] siegel_ledger::ReceiptError),
    #[error("{0}")]
    Other(&'static str),
}

impl Made {
    /// Makes a log of so many entries in a folder, with [`ANCHORS`] in it.
    pub fn log(dir: &Path, entries: u64) -> Result<Self, Trouble> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let (scene, receipts) = runtime.block_on(begin(dir))?;
        let size = scene.log.size();
        let before = size - receipts.len() as u64;
        let anchors = serde_json::to_vec(&scene.anchors())?;
        let Scene {
            log,
            cluster,
            genesis,
            ..
        } = scene;
        // The log lets go of its folder.
        drop(log);
        drop(runtime);
        let bodies = read(dir, size)?;
        let id = genesis
            .cluster_id()
            .map_err(|_| Trouble::Other("the genesis has no id"))?;
        let last = chained(id, &receipts).pop();
        let mut chain = Chain::after(last.ok_or(Trouble::Other("no receipts"))?)?;
        let mut folder = Folder::after(dir, &bodies)?;
        let mut sample = Vec::new();
        let mut left = entries.saturating_sub(size) as usize;
        while left > 0 {
            let batch = (0..left.min(BATCH)).map(|_| chain.receipt());
            let batch: Vec<Vec<u8>> = batch.collect::<Result<_, _>>()?;
            left -= batch.len();
            let signed = sign(&cluster, &batch);
            let mut objects = Vec::with_capacity(2 * batch.len());
            for (body, (envelope, entry)) in batch.into_iter().zip(signed) {
                folder.append(&entry)?;
                let pae = envelope.pae();
                objects.push((Digest::of(&pae), pae));
                objects.push((Digest::of(&body), body));
                if sample.len() < SAMPLE {
                    sample.push(envelope);
                }
            }
            folder.pack(objects)?;
        }
        std::fs::write(dir.join(ANCHORS), anchors)?;
        Ok(Self {
            sample,
            key: cluster.key().point().to_vec(),
            before,
            bytes: folder.publish(signed_note)?,
        })
    }

    /// Seconds to verify so many signatures and nothing else, on all cores.
    pub fn verify_alone(&self, count: u64) -> Result<f64, Trouble> {
        let messages: Vec<_> = self
            .sample
            .iter()
            .map(|e| (e.pae(), &e.signature))
            .collect();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.key);
        let begun = Instant::now();
        let good = on_all_cores(&messages, |(message, signature)| {
            key.verify(message, signature).is_ok()
        });
        let seconds = begun.elapsed().as_secs_f64();
        match good.iter().all(|good| *good) {
            true => Ok(seconds * count as f64 / messages.len() as f64),
            false => Err(Trouble::Other("a signature does not verify")),
        }
    }
}

/// The beginning, by a real log: all that receipts stand on, and the first of them.
async fn begin(dir: &Path) -> Result<(Scene, Vec<Receipt>), RekorError> {
    let scene = Scene::over(Log::open(&Storage::folder(dir), log_key())?);
    let mut receipts = lived(&scene).await;
    let Some(last) = receipts.last().cloned() else {
        return Ok((scene, receipts));
    };
    let policy = receipts
        .iter()
        .rev()
        .find_map(|receipt| match receipt.fact {
            Fact::EpochOpened { policy, .. } => Some(policy),
            _ => None,
        });
    let policy = policy.unwrap_or(PolicyDigest::of(b""));
    scene.offer(policy, EPOCH, last.at.0).await;
    receipts.push(Receipt {
        fact: Fact::EpochOpened {
            epoch: EPOCH,
            policy,
            expires: Timestamp(last.at.0 + TTL),
        },
        ..last
    });
    scene.log_receipts(&receipts).await;
    debug_assert!(last.at.0 > START);
    Ok((scene, receipts))
}

/// The epoch that all runs read.
const EPOCH: EpochId = EpochId(3);

fn read(dir: &Path, size: u64) -> Result<Vec<Vec<u8>>, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(FolderLog::open(dir)?.entries(0, size))?)
}

/// Signs statements about receipts; returns envelope and entry of each.
fn sign(signer: &Signer, bodies: &[Vec<u8>]) -> Vec<(Envelope, Vec<u8>)> {
    on_all_cores(bodies, |body| {
        let envelope = signer.sign(&Statement::about("receipt", body, predicate::RECEIPT));
        let entry = HashedRekord::of(&envelope, &signer.key()).canonical_body();
        (envelope, entry)
    })
}

fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = items
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>()))
            .collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        // A thread that died leaves a gap, which the audit finds.
        joined.flat_map(Result::unwrap_or_default).collect()
    })
}

/// A cluster that goes on: run after run, each registered, taken, stepped to its end. They cost
/// nothing, so that the budget lasts.
struct Chain {
    last: Receipt,
    policy: PolicyDigest,
    expires: Timestamp,
    previous: Digest,
    /// Number of the run, and of its receipt.
    run: u64,
    place: u64,
    state: Digest,
}

impl Chain {
    /// After the receipt that opened [`EPOCH`].
    fn after(body: Vec<u8>) -> Result<Self, Trouble> {
        let last = Receipt::parse(&body)?;
        let Fact::EpochOpened {
            policy, expires, ..
        } = last.fact
        else {
            return Err(Trouble::Other("the last receipt opens no epoch"));
        };
        Ok(Self {
            previous: Digest::of(&body),
            policy,
            expires,
            last,
            run: 0,
            place: 0,
            state: Digest::of(b""),
        })
    }

    /// The body of the next receipt.
    fn receipt(&mut self) -> Result<Vec<u8>, Trouble> {
        let registers = self.place == 0;
        let fact = self.fact();
        self.last.seq += 1;
        self.last.previous = self.previous;
        self.last.fact = fact;
        let body = self.last.to_bytes()?;
        self.previous = Digest::of(&body);
        if registers {
            self.state = self.previous;
        }
        self.place += 1;
        if self.place == STEPS + 3 {
            (self.run, self.place) = (self.run + 1, 0);
        }
        Ok(body)
    }

    fn fact(&mut self) -> Fact {
        let mut id = [0xff; 16];
        for (to, from) in id.iter_mut().zip(self.run.to_be_bytes()) {
            *to = from;
        }
        let (run, policy, fencing) = (RunId::from_bytes(id), self.policy, Fencing(1));
        match self.place {
            0 => Fact::RunRegistered {
                run,
                policy,
                program: siegel_ident::ProgramDigest::of(siegel_audit::testing::PROGRAM),
                pipeline: siegel_audit::testing::PIPELINE.to_owned(),
                parameters: Digest::of(&id),
                epochs: vec![EPOCH],
                deadline: self.expires,
                input_root: siegel_ident::InputRoot::of(&id),
                blob_count: 10,
                steps: STEPS,
                cost: Budget::ZERO,
                spent: siegel_audit::testing::budget(90, 18),
            },
            1 => Fact::RunTaken { run, fencing },
            place if place == STEPS + 2 => Fact::RunFinished {
                run,
                step: Step(STEPS),
            },
            place => {
                let step = Step(place - 1);
                let name = |what: &str| ObjectDigest::of(format!("{what} {run} {step}").as_bytes());
                let checkpoint = name("checkpoint");
                let previous_state = std::mem::replace(&mut self.state, checkpoint.digest());
                Fact::StepCommitted {
                    run,
                    policy,
                    step,
                    fencing,
                    previous_state,
                    checkpoint,
                    release: Some(name("release")),
                    cost: Budget::ZERO,
                    used: Budget::ZERO,
                }
            }
        }
    }
}
