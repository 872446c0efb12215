//! The task that kills and restarts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use siegel_ident::Step;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Death, Incident, Journal};
use crate::cluster::{Cluster, Keyring, Parts};
use crate::kills::{Kill, KillPlan, Victim};
use crate::supervisor::Crash;
use crate::{FleetError, Part, ProcessName};

/// A process that dies more often than this within [`WINDOW`], unordered, is given up.
const MOST_DEATHS: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// Pause before the restart after a crash, times the number of recent ones: a port or file may
/// need a moment.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) enum Order {
    Uploading,
    Committed(Step),
    Finish,
}

type Tell = Box<dyn Fn(&Incident) + Send + Sync>;
type Outcome = (ProcessName, u32, Result<(), FleetError>);

pub(super) struct Watch {
    parts: Arc<Parts>,
    keyring: Arc<Keyring>,
    kms: Vec<ProcessName>,
    plan: KillPlan,
    orders: mpsc::UnboundedReceiver<Order>,
    crashes: Option<mpsc::UnboundedReceiver<Crash>>,
    journal: Arc<Journal>,
    tell: Tell,
    /// When the clients began to upload.
    since: Option<Instant>,
    timers: VecDeque<(Duration, Vec<Kill>)>,
    /// Whose moment has come, but who must wait for somebody's return.
    due: Vec<Vec<Kill>>,
    restarting: JoinSet<Outcome>,
    /// Since when somebody is being restarted.
    away: BTreeMap<ProcessName, Instant>,
    joining: JoinSet<Outcome>,
    /// Replacements that are not full members yet.
    learners: BTreeSet<ProcessName>,
    deaths: BTreeMap<ProcessName, VecDeque<Instant>>,
    finishing: bool,
}

impl Watch {
    pub(super) fn new(
        cluster: &Cluster,
        plan: &KillPlan,
        orders: mpsc::UnboundedReceiver<Order>,
        journal: Arc<Journal>,
        tell: Tell,
    ) -> Result<Self, FleetError> {
        let nodes = cluster.kms().len();
        Ok(Self {
            parts: cluster.parts(),
            keyring: Arc::new(cluster.keyring()?),
            kms: (1..)
                .map(|n| ProcessName::new(Part::Kms, n))
                .take(nodes)
                .collect(),
            plan: plan.clone(),
            orders,
            crashes: cluster.crashes(),
            journal,
            tell,
            since: None,
            timers: plan.timed().into(),
            due: Vec::new(),
            restarting: JoinSet::new(),
            away: BTreeMap::new(),
            joining: JoinSet::new(),
            learners: BTreeSet::new(),
            deaths: BTreeMap::new(),
            finishing: false,
        })
    }

    pub(super) async fn run(mut self) -> Result<(), FleetError> {
        loop {
            for kills in std::mem::take(&mut self.due) {
                let (now, later) = split(kills, &self.away, &self.learners);
                if !later.is_empty() {
                    self.due.push(later);
                }
                if !now.is_empty() {
                    self.kill(now).await?;
                }
            }
            if self.finishing && self.restarting.is_empty() {
                return Ok(());
            }
            let timer = self.next_timer();
            tokio::select! {
                biased;
                Some(done) = self.restarting.join_next() => self.restarted(done)?,
                Some(done) = self.joining.join_next() => self.joined(done)?,
                Some(crash) = next_crash(&mut self.crashes) => self.crashed(crash)?,
                order = self.orders.recv(), if !self.finishing => self.ordered(order),
                () = at(timer), if !self.finishing => {
                    self.due.extend(self.timers.pop_front().map(|(_, kills)| kills));
                }
            }
        }
    }

    fn ordered(&mut self, order: Option<Order>) {
        match order {
            Some(Order::Uploading) => self.since = Some(Instant::now()),
            Some(Order::Committed(step)) => {
                let kills = self.plan.after_step(step);
                self.due.extend((!kills.is_empty()).then_some(kills));
            }
            // Nobody gives orders any more: whoever is still due stays unfired.
            Some(Order::Finish) | None => {
                self.finishing = true;
                self.due.clear();
            }
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let (time, _) = self.timers.front()?;
        Some(self.since? + *time)
    }

    /// Kills all of them first, and then restarts them: they are away together.
    async fn kill(&mut self, kills: Vec<Kill>) -> Result<(), FleetError> {
        let mut dead = Vec::new();
        for (name, kill) in self.resolve(kills).await? {
            self.journal.fired(kill);
            if !dead.contains(&name) {
                self.parts.kill(name).await?;
                self.died(name, Death::Ordered(kill));
                dead.push(name);
            }
        }
        self.check_quorum()?;
        dead.into_iter()
            .for_each(|name| self.restart(name, Duration::ZERO));
        Ok(())
    }

    /// Who leads and who follows is decided at the moment of the kill.
    async fn resolve(&self, kills: Vec<Kill>) -> Result<Vec<(ProcessName, Kill)>, FleetError> {
        let ranks = |kill: &Kill| !matches!(kill.who, Victim::Process(_));
        let leader = match kills.iter().any(ranks) {
            true => Some(self.keyring.leader().await?),
            false => None,
        };
        let mut named: Vec<(ProcessName, Kill)> = Vec::new();
        for kill in kills {
            let free = |node: &&ProcessName| {
                Some(**node) != leader && named.iter().all(|(other, _)| other != *node)
            };
            let name = match kill.who {
                Victim::Process(name) => Some(name),
                Victim::KmsLeader => leader,
                Victim::KmsFollower => self.kms.iter().find(free).copied(),
            };
            named.extend(name.map(|name| (name, kill)));
        }
        Ok(named)
    }

    fn crashed(&mut self, crash: Crash) -> Result<(), FleetError> {
        let Crash {
            name,
            incarnation,
            why,
            tail,
        } = crash;
        // Old news: that one has been replaced already.
        if self.away.contains_key(&name) || self.parts.incarnation(name) != Some(incarnation) {
            return Ok(());
        }
        let now = Instant::now();
        let deaths = self.deaths.entry(name).or_default();
        deaths.retain(|death| now - *death < WINDOW);
        deaths.push_back(now);
        let times = deaths.len();
        self.died(name, Death::Unordered(why.clone()));
        if times > MOST_DEATHS {
            return Err(FleetError::CrashLoop {
                name,
                times,
                why,
                tail,
            });
        }
        self.check_quorum()?;
        self.restart(name, PAUSE * times as u32);
        Ok(())
    }

    fn died(&mut self, name: ProcessName, why: Death) {
        let now = Instant::now();
        let incident = Incident {
            name,
            why,
            at: self.since.map_or(Duration::ZERO, |since| now - since),
            away: None,
        };
        (self.tell)(&incident);
        self.journal.died(incident);
        self.away.insert(name, now);
        self.learners.remove(&name);
    }

    /// Nodes that are dead or not yet taken in again do not count. Without a majority of full
    /// members nobody can be taken in: the keys are gone (I10).
    fn check_quorum(&self) -> Result<(), FleetError> {
        let gone =
            |node: &&ProcessName| self.away.contains_key(node) || self.learners.contains(node);
        let dead: Vec<ProcessName> = self.kms.iter().filter(gone).copied().collect();
        let nodes = self.kms.len();
        match nodes - dead.len() > nodes / 2 {
            true => Ok(()),
            false => Err(FleetError::QuorumLost { dead, nodes }),
        }
    }

    fn restart(&mut self, name: ProcessName, pause: Duration) {
        let parts = Arc::clone(&self.parts);
        self.restarting.spawn(async move {
            tokio::time::sleep(pause).await;
            let result = parts.restart(name).await;
            (name, parts.incarnation(name).unwrap_or_default(), result)
        });
    }

    fn restarted(
        &mut self,
        done: Result<Outcome, tokio::task::JoinError>,
    ) -> Result<(), FleetError> {
        let (name, incarnation, result) = done.map_err(|_| FleetError::Ended)?;
        result?;
        let away = self.away.remove(&name).map(|since| since.elapsed());
        if let Some(incident) = self.journal.returned(name, away.unwrap_or_default()) {
            (self.tell)(&incident);
        }
        if name.part == Part::Kms {
            self.learners.insert(name);
            let keyring = Arc::clone(&self.keyring);
            self.joining
                .spawn(async move { (name, incarnation, keyring.caught_up(name).await) });
        }
        Ok(())
    }

    fn joined(&mut self, done: Result<Outcome, tokio::task::JoinError>) -> Result<(), FleetError> {
        let (name, incarnation, result) = done.map_err(|_| FleetError::Ended)?;
        // Not if it has died again meanwhile: another one joins in its place.
        if self.parts.incarnation(name) == Some(incarnation) && !self.away.contains_key(&name) {
            result?;
            self.learners.remove(&name);
        }
        Ok(())
    }
}

/// Who of those that were ordered for one moment dies now, and who must wait.
///
/// Who is away cannot be killed again; and no KMS node dies while the replacement of another is not
/// a full member, unless both were ordered for one moment.
fn split(
    kills: Vec<Kill>,
    away: &BTreeMap<ProcessName, Instant>,
    learners: &BTreeSet<ProcessName>,
) -> (Vec<Kill>, Vec<Kill>) {
    let kms_away = !learners.is_empty() || away.keys().any(|name| name.part == Part::Kms);
    kills.into_iter().partition(|kill| match kill.who {
        who if who.is_kms() => !kms_away,
        Victim::Process(name) => !away.contains_key(&name),
        Victim::KmsLeader | Victim::KmsFollower => true,
    })
}

async fn next_crash(crashes: &mut Option<mpsc::UnboundedReceiver<Crash>>) -> Option<Crash> {
    match crashes {
        Some(crashes) => crashes.recv().await,
        None => pending().await,
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kills::Moment;

    // Catches a kill that is held back by another one of the same moment, and a second KMS node that
    // dies while the first one's replacement is still learning.
    #[test]
    fn who_must_wait_holds_back_nobody_else() {
        let when = Moment::Step(Step(1));
        let kill = |who| Kill { who, when };
        let name = |part, number| ProcessName::new(part, number);
        let process = |part, number| kill(Victim::Process(name(part, number)));
        let (worker, other) = (process(Part::Worker, 1), process(Part::Worker, 2));
        let (node, leader) = (process(Part::Kms, 2), kill(Victim::KmsLeader));
        let all = vec![worker, node, other, leader];
        let nobody = (BTreeMap::new(), BTreeSet::new());

        let (now, later) = split(all.clone(), &nobody.0, &nobody.1);
        assert_eq!((now, later), (all.clone(), vec![]));
        let away = BTreeMap::from([(name(Part::Worker, 1), Instant::now())]);
        let (now, later) = split(all.clone(), &away, &nobody.1);
        assert_eq!((now, later), (vec![node, other, leader], vec![worker]));
        let learners = BTreeSet::from([name(Part::Kms, 1)]);
        let (now, later) = split(all.clone(), &nobody.0, &learners);
        assert_eq!((now, later), (vec![worker, other], vec![node, leader]));
        let away = BTreeMap::from([(name(Part::Kms, 1), Instant::now())]);
        let (_, later) = split(all, &away, &nobody.1);
        assert_eq!(later, [node, leader]);
    }
}
