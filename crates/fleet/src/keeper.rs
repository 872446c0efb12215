//! Who stands beside a running pipeline: kills what the plan says, and starts again what died,
//! ordered or not.
//!
//! A death that the pipeline survives is an [`Incident`] and no more. One that it cannot survive
//! (a restart that fails, a part that dies again and again, a lost quorum) ends [`Keeper::guard`]
//! at once, so that nobody waits for a dead part until some timeout.

mod watch;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use siegel_ident::Step;
use tokio::sync::{mpsc, watch as channel};
use tokio::task::JoinHandle;

use crate::cluster::Cluster;
use crate::kills::{Kill, KillPlan};
use crate::{FleetError, Part, ProcessName};

use watch::{Order, Watch};

/// Keeps one cluster alive. Dropping it stops the keeping, and kills nobody.
pub struct Keeper {
    orders: mpsc::UnboundedSender<Order>,
    journal: Arc<Journal>,
    lost: channel::Receiver<bool>,
    task: JoinHandle<()>,
}

/// The death of a process, and its return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Which process.
    pub name: ProcessName,
    /// Why it died.
    pub why: Death,
    /// When, counted from the start of the uploads; zero before it.
    pub at: Duration,
    /// How long it took until it was ready again; none until then.
    pub away: Option<Duration>,
}

/// Why a process died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Death {
    /// It was killed by this order.
    Ordered(Kill),
    /// By itself: its own words, or how it ended.
    Unordered(String),
}

/// What happened while a cluster was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chronicle {
    /// In order of the deaths.
    pub incidents: Vec<Incident>,
    /// Ordered kills whose moment never came, or that still waited for a KMS replacement when the
    /// run was over.
    pub unfired: Vec<Kill>,
}

/// What the task and its owner share.
#[derive(Default)]
struct Journal {
    chronicle: Mutex<Chronicle>,
    error: Mutex<Option<FleetError>>,
}

impl Keeper {
    /// Begins to keep this cluster, and takes its crash reports. `tell` hears of every death and
    /// every return as it happens.
    ///
    /// # Errors
    /// [`FleetError::Config`] if the list of KMS nodes is none.
    pub fn start(
        cluster: &Cluster,
        plan: &KillPlan,
        tell: impl Fn(&Incident) + Send + Sync + 'static,
    ) -> Result<Self, FleetError> {
        let (orders, received) = mpsc::unbounded_channel();
        let (lose, lost) = channel::channel(false);
        let journal = Arc::new(Journal::default());
        journal.chronicle().unfired = plan.kills().to_vec();
        let watch = Watch::new(
            cluster,
            plan,
            received,
            Arc::clone(&journal),
            Box::new(tell),
        )?;
        let errors = Arc::clone(&journal);
        let task = tokio::spawn(async move {
            if let Err(error) = watch.run().await {
                tracing::error!(%error, "the fleet cannot go on");
                *lock(&errors.error) = Some(error);
                let _ = lose.send(true);
            }
        });
        Ok(Self {
            orders,
            journal,
            lost,
            task,
        })
    }

    /// The clients begin to upload: the times of the plan count from here.
    pub fn uploading(&self) {
        let _ = self.orders.send(Order::Uploading);
    }

    /// A step is committed.
    pub fn committed(&self, step: Step) {
        let _ = self.orders.send(Order::Committed(step));
    }

    /// Does some work, and gives it up at once when the fleet cannot go on.
    ///
    /// # Errors
    /// What the fleet cannot survive.
    pub async fn guard<T>(&self, work: impl Future<Output = T>) -> Result<T, FleetError> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            error = self.lost() => Err(error),
        }
    }

    /// The work is over: waits for restarts that are under way, and tells what happened.
    ///
    /// # Errors
    /// What the fleet could not survive.
    pub async fn finish(mut self) -> Result<Chronicle, FleetError> {
        let _ = self.orders.send(Order::Finish);
        // A panic there was reported, and leaves the journal as it is.
        let _ = (&mut self.task).await;
        match lock(&self.journal.error).take() {
            Some(error) => Err(error),
            None => Ok(self.journal.chronicle().clone()),
        }
    }

    /// Resolves with the reason when the fleet cannot go on.
    async fn lost(&self) -> FleetError {
        let mut lost = self.lost.clone();
        // The sender is gone without a word when the keeping is over: nothing is lost then.
        if lost.wait_for(|lost| *lost).await.is_err() {
            std::future::pending::<()>().await;
        }
        lock(&self.journal.error)
            .take()
            .unwrap_or(FleetError::Ended)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Journal {
    fn chronicle(&self) -> MutexGuard<'_, Chronicle> {
        lock(&self.chronicle)
    }

    fn died(&self, incident: Incident) {
        self.chronicle().incidents.push(incident);
    }

    /// The incident that it came back from.
    fn returned(&self, name: ProcessName, away: Duration) -> Option<Incident> {
        let mut chronicle = self.chronicle();
        let mut latest = chronicle.incidents.iter_mut().rev();
        let incident = latest.find(|incident| incident.name == name)?;
        incident.away = Some(away);
        Some(incident.clone())
    }

    fn fired(&self, kill: Kill) {
        let mut chronicle = self.chronicle();
        if let Some(at) = chronicle.unfired.iter().position(|other| *other == kill) {
            chronicle.unfired.remove(at);
        }
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.as_secs_f64();
        match &self.why {
            Death::Ordered(kill) => write!(f, "{} killed at {at:.1} s ({kill})", self.name)?,
            Death::Unordered(why) => write!(f, "{} died at {at:.1} s ({why})", self.name)?,
        }
        match self.away {
            // A new member of the key service still has to be taken in.
            Some(away) if self.name.part == Part::Kms => {
                write!(
                    f,
                    ", a new one asks to join after {:.1} s",
                    away.as_secs_f64()
                )
            }
            Some(away) => write!(f, ", back after {:.1} s", away.as_secs_f64()),
            None => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
