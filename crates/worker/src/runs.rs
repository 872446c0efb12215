//! The table of granted runs, and their erasure.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use siegel_ident::RunId;
use siegel_keys::WorkerGrant;
use tokio::sync::Notify;

use crate::kept::Kept;
use crate::run::Run;
use crate::stop::Stop;

/// Most runs at a time; the one whose lease ends first makes room.
const MAX: usize = 16;

#[derive(Default)]
pub(crate) struct Runs {
    table: Mutex<BTreeMap<RunId, Arc<Run>>>,
    changed: Notify,
}

impl Runs {
    /// Puts a fresh grant in place of an earlier one of the same run. What that one has fetched
    /// and opened serves the fresh one too, if it names the same things and the earlier lease is
    /// still live (I9).
    pub(crate) fn insert(&self, grant: WorkerGrant) {
        let mut table = self.lock();
        erase_ended(&mut table);
        let id = grant.run;
        let mut kept = Arc::default();
        if let Some(old) = table.remove(&id) {
            if Kept::serves(&old.grant, &grant) {
                kept = old.kept.clone();
            }
            // Else an answer to a question of this very root may still be under way.
            if old.grant.root != grant.root || !Arc::ptr_eq(&old.kept, &kept) {
                old.end();
            }
        } else if table.len() >= MAX {
            let first = table.iter().min_by_key(|(_, run)| run.lease());
            let first = first.map(|(id, _)| *id);
            if let Some(run) = first.and_then(|id| table.remove(&id)) {
                run.end();
            }
        }
        table.insert(id, Arc::new(Run::new(grant, kept)));
        drop(table);
        self.changed.notify_one();
    }

    /// The run, if it is prepared and its lease is live. A process that was paused erases before
    /// it serves (I9).
    pub(crate) fn get(&self, id: RunId) -> Result<Arc<Run>, Stop> {
        let mut table = self.lock();
        erase_ended(&mut table);
        table.get(&id).cloned().ok_or(Stop::NotPrepared(id))
    }

    /// Erases this very grant, unless a fresh one took its place meanwhile.
    pub(crate) fn erase(&self, run: &Arc<Run>) {
        let mut table = self.lock();
        if table
            .get(&run.grant.run)
            .is_some_and(|held| Arc::ptr_eq(held, run))
        {
            table.remove(&run.grant.run);
            run.end();
            tracing::info!(run = %run.grant.run, "keys erased");
        }
    }

    /// Erases each run as its lease ends, for ever (I9).
    pub(crate) async fn keep_erasing(&self) {
        loop {
            let next = {
                let mut table = self.lock();
                erase_ended(&mut table);
                table.values().map(|run| run.lease().until()).min()
            };
            match next {
                // A lease that was renewed meanwhile is looked at again and left alone.
                Some(until) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(until) => {}
                        () = self.changed.notified() => {}
                    }
                }
                None => self.changed.notified().await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<Run>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn erase_ended(table: &mut BTreeMap<RunId, Arc<Run>>) {
    table.retain(|id, run| {
        let live = run.is_live();
        if !live {
            tracing::info!(run = %id, "lease ended, keys erased");
        }
        live
    });
}

#[cfg(test)]
mod tests;
