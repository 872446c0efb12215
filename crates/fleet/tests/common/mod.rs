//! One small pipeline up to its published policy, for the tests that kill parts of it.

// Each test binary uses its own half.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use siegel_attest::Profile;
use siegel_fleet::binaries::{BuildProfile, Request, find};
use siegel_fleet::clients::{self, ClientsError, ClientsOptions, UploadReport};
use siegel_fleet::cluster::{Mode, Options};
use siegel_fleet::data::{ClientData, Dataset};
use siegel_fleet::deployment::Deployment;
use siegel_fleet::{Part, ProcessName};
use siegel_ident::{EpochId, Seconds};
use siegel_operator::{FinishedRun, Published, RunOrder};
use siegel_policy::Policy;
use siegel_program::Bundle;
use tempfile::TempDir;

const DRIVER: &str = include_str!("../../../../policies/programs/word-histogram.star");
const POLICY: &str = include_str!("../../../../policies/word-histogram.toml");
const WORDS: &str = include_str!("../../../../policies/programs/common-words-en.txt");

pub(crate) const DEPOT: ProcessName = ProcessName::new(Part::Depot, 1);
pub(crate) const LOG: ProcessName = ProcessName::new(Part::Log, 1);
pub(crate) const ROOT: ProcessName = ProcessName::new(Part::Root, 1);

pub(crate) const fn worker(n: u32) -> ProcessName {
    ProcessName::new(Part::Worker, n)
}

pub(crate) const fn kms(n: u32) -> ProcessName {
    ProcessName::new(Part::Kms, n)
}

/// A seeded pipeline: its output is a function of the data.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) deployment: Deployment,
    pub(crate) bundle: Bundle,
    pub(crate) policy: Policy,
    pub(crate) published: Published,
}

/// Real nodes. The log and depot stay in this process, as there is no `siegel` here.
pub(crate) async fn processes() -> Mode {
    let request = Request {
        dir: None,
        profile: BuildProfile::Dev,
        flavour: Profile::Simulation,
        offline: true,
    };
    let found = tokio::task::spawn_blocking(move || find(&request, &mut |_| ()));
    Mode::processes(found.await.unwrap().unwrap(), None)
}

pub(crate) fn people(n: usize) -> Arc<Dataset> {
    let texts = [
        "the cat and the dog",
        "a dog",
        "the house",
        "zzyzx",
        "one two three",
    ];
    let client = |n: usize| ClientData {
        name: format!("client-{n}"),
        texts: vec![texts[n % texts.len()].to_owned()],
    };
    Arc::new(Dataset::of((0..n).map(client).collect()))
}

impl World {
    pub(crate) async fn start(mode: Mode) -> Self {
        let assets = BTreeMap::from([("common-words-en.txt".to_owned(), WORDS.to_owned())]);
        Self::of(mode, Bundle::new("word-histogram", DRIVER, assets).unwrap()).await
    }

    pub(crate) async fn of(mode: Mode, bundle: Bundle) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::new(dir.path().into(), "kills", bundle.digest());
        options.seed = Some([1; 32]);
        let deployment = Box::pin(Deployment::start(mode, options)).await.unwrap();
        let policy = deployment.build_policy(POLICY, &bundle).unwrap();
        let published = deployment.publish(&bundle, &policy).await.unwrap();
        Self {
            dir,
            deployment,
            bundle,
            policy,
            published,
        }
    }

    /// Everybody uploads; `done` hears how many are.
    pub(crate) async fn upload(
        &self,
        data: &Arc<Dataset>,
        done: &mut (dyn FnMut(usize) + Send),
    ) -> Result<(UploadReport, EpochId), ClientsError> {
        let offer = self.deployment.offer(&self.policy, &self.published).await;
        let (offer, epoch) = offer.unwrap();
        let offer = Arc::new(offer);
        let options = ClientsOptions {
            config: self.deployment.client_config(&self.policy),
            seed: Some([1; 32]),
            concurrency: 16,
            heard: None,
        };
        let depot = self.deployment.operator.depot();
        let clock = self.deployment.cluster.clock();
        let report = clients::upload_all(data, &offer, &options, depot, clock, done);
        Ok((report.await?, epoch))
    }

    pub(crate) fn order(&self, epoch: EpochId, rounds: u64) -> RunOrder {
        RunOrder {
            policy: self.policy.bytes().to_vec(),
            program: self.bundle.digest(),
            epochs: vec![epoch],
            deadline: self.deployment.cluster.clock().now().plus(Seconds(600)),
            params: format!("{{\"rounds\":{rounds}}}").into_bytes(),
        }
    }

    /// The last step's release, opened.
    pub(crate) async fn open(&mut self, run: &FinishedRun) -> Vec<u8> {
        let step = run.steps.last().unwrap();
        let (_, digest) = step.release.as_ref().unwrap();
        let Deployment {
            operator, trail, ..
        } = &mut self.deployment;
        let opened = operator
            .open_release(trail, run.run, step.step, *digest)
            .await;
        opened.unwrap().0.expose().to_vec()
    }

    /// What a run gives that nobody disturbs.
    pub(crate) async fn undisturbed(data: &Arc<Dataset>) -> Vec<u8> {
        let mut world = Self::start(Mode::InProcess).await;
        let (_, epoch) = world.upload(data, &mut |_| ()).await.unwrap();
        let order = world.order(epoch, 1);
        let run = world.deployment.operator.run(&order, |_| ()).await.unwrap();
        world.open(&run).await
    }
}

/// Returns when a process has written this into its log.
pub(crate) async fn logged(dir: &Path, name: ProcessName, words: &str) {
    let path = dir.join("logs").join(format!("{}.jsonl", name.file_stem()));
    let said = || std::fs::read_to_string(&path).is_ok_and(|log| log.contains(words));
    for _ in 0..6_000 {
        if said() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{name} never said {words:?}");
}
