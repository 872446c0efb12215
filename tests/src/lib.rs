//! The harness of the end-to-end tests: one small pipeline as a value.
//!
//! What counts as a failure: an output that is not the bounded truth within its noise; a release
//! without a logged receipt; a key for anything that the policy does not name; a difference outside
//! that depends on who a user is; a panic or a hang. Every test states the invariant and the bug
//! that it catches, and was seen to fail with that bug put in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::Arc;

use siegel_attest::Profile;
use siegel_fleet::binaries::{BuildProfile, NodeBinaries, Request, find};
use siegel_fleet::clients::{self, ClientsOptions, OfferBytes, UploadReport};
use siegel_fleet::cluster::{Mode, Options};
use siegel_fleet::data::{ClientData, Dataset};
use siegel_fleet::deployment::Deployment;
use siegel_ident::{EpochId, RunId, Seconds, SecretBytes};
use siegel_operator::{CommittedStep, FinishedRun, OperatorError, Published, RunOrder};
use siegel_policy::{AccessPolicy, Policy};
use siegel_program::{Bundle, Table};
use tempfile::TempDir;

pub mod endorse;
pub mod gate;
pub mod launched;
pub mod orders;
pub mod outside;
pub mod raw;
pub mod training;

/// The shipped driver.
pub const DRIVER: &str = include_str!("../../policies/programs/word-histogram.star");
/// The shipped policy.
pub const POLICY: &str = include_str!("../../policies/word-histogram.toml");
/// The shipped list.
pub const WORDS: &str = include_str!("../../policies/programs/common-words-en.txt");

/// The shipped program, or another driver over the shipped list.
pub fn bundle(driver: &str) -> Bundle {
    let assets = BTreeMap::from([("common-words-en.txt".to_owned(), WORDS.to_owned())]);
    Bundle::new("word-histogram", driver, assets).expect("a bundle")
}

/// Clients that say these texts.
pub fn people(texts: &[&str]) -> Arc<Dataset> {
    let client = |(n, text): (usize, &&str)| ClientData {
        name: format!("client-{n}"),
        texts: vec![(*text).to_owned()],
    };
    Arc::new(Dataset::of(texts.iter().enumerate().map(client).collect()))
}

/// A small crowd: `n` clients that all say the same few words.
pub fn crowd(n: usize, text: &str) -> Arc<Dataset> {
    people(&vec![text; n])
}

/// A pipeline up to its published policy.
pub struct World {
    /// Removed with the world.
    pub dir: TempDir,
    /// The parts and their operator.
    pub deployment: Deployment,
    /// The program.
    pub bundle: Bundle,
    /// The policy.
    pub policy: Policy,
    /// Its proof.
    pub published: Published,
    /// Seed, if it is a repeatable world.
    pub seed: Option<[u8; 32]>,
    /// How many steps its runs have.
    pub rounds: u64,
}

/// What a finished run gave.
pub struct Result {
    /// The run.
    pub run: FinishedRun,
    /// Its CSV.
    pub csv: Vec<u8>,
    /// The same as a table.
    pub table: Table,
}

impl World {
    /// In one process, shipped program and policy.
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// The same with other options.
    pub async fn with(change: impl FnOnce(&mut Options)) -> Self {
        Self::start(Mode::InProcess, &bundle(DRIVER), change, |_| {}).await
    }

    /// The same with another policy.
    pub async fn under(change: impl FnOnce(&mut AccessPolicy)) -> Self {
        Self::start(Mode::InProcess, &bundle(DRIVER), |_| {}, change).await
    }

    /// Another program or mode, under the shipped policy.
    pub async fn start(
        mode: Mode,
        bundle: &Bundle,
        options_change: impl FnOnce(&mut Options),
        policy_change: impl FnOnce(&mut AccessPolicy),
    ) -> Self {
        Self::of(mode, bundle, POLICY, options_change, policy_change).await
    }

    /// Anything else. `policy` is TOML.
    pub async fn of(
        mode: Mode,
        bundle: &Bundle,
        policy: &str,
        options_change: impl FnOnce(&mut Options),
        policy_change: impl FnOnce(&mut AccessPolicy),
    ) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut options = Options::new(dir.path().into(), "test", bundle.digest());
        options_change(&mut options);
        let seed = options.seed;
        let mut deployment = Box::pin(Deployment::start(mode, options))
            .await
            .expect("a deployment");
        let policy = deployment.build_policy(policy, bundle).expect("a policy");
        let policy = changed(&policy, policy_change);
        endorse::vouch(&mut deployment, &policy).await;
        let published = deployment
            .publish(bundle, &policy)
            .await
            .expect("publishing");
        Self {
            dir,
            deployment,
            bundle: bundle.clone(),
            policy,
            published,
            seed,
            rounds: 1,
        }
    }

    /// Publishes a successor of the present policy and registers it; the world goes on under it.
    pub async fn succeed(
        &mut self,
        change: impl FnOnce(&mut AccessPolicy),
    ) -> std::result::Result<(), OperatorError> {
        let before = self.policy.digest();
        let policy = changed(&self.policy, |policy| {
            policy.predecessor = Some(before);
            change(policy);
        });
        endorse::vouch(&mut self.deployment, &policy).await;
        let operator = &self.deployment.operator;
        let published = operator.publish_policy(&policy).await?;
        let endorsements = self.deployment.endorsements(&policy);
        operator.register_policy(&published, endorsements).await?;
        (self.policy, self.published) = (policy, published);
        Ok(())
    }

    /// What clients fetch.
    pub async fn offer(&self) -> (OfferBytes, EpochId) {
        self.deployment
            .offer(&self.policy, &self.published)
            .await
            .expect("an offer")
    }

    /// How its clients behave.
    pub fn clients(&self) -> ClientsOptions {
        ClientsOptions {
            config: self.deployment.client_config(&self.policy),
            seed: self.seed,
            concurrency: 8,
            heard: None,
        }
    }

    /// Everybody verifies, seals and uploads.
    pub async fn upload(&self, data: &Arc<Dataset>) -> (UploadReport, EpochId) {
        let (offer, epoch) = self.offer().await;
        let report = clients::upload_all(
            data,
            &Arc::new(offer),
            &self.clients(),
            self.deployment.operator.depot(),
            self.deployment.cluster.clock(),
            &mut |_| (),
        )
        .await
        .expect("uploads");
        (report, epoch)
    }

    /// What the root is asked for.
    pub fn order(&self, epoch: EpochId) -> RunOrder {
        RunOrder {
            policy: self.policy.bytes().to_vec(),
            program: self.bundle.digest(),
            epochs: vec![epoch],
            deadline: self.deployment.cluster.clock().now().plus(Seconds(600)),
            params: format!("{{\"rounds\":{}}}", self.rounds).into_bytes(),
        }
    }

    /// Runs without opening.
    pub async fn run(&self, epoch: EpochId) -> std::result::Result<FinishedRun, OperatorError> {
        self.deployment
            .operator
            .run(&self.order(epoch), |_| ())
            .await
    }

    /// Runs, logs the receipts, opens the release.
    pub async fn run_and_open(&mut self, epoch: EpochId) -> Result {
        let run = self.run(epoch).await.expect("a run");
        let plain = self.open(&run).await.expect("a release");
        let csv = plain.expose().to_vec();
        let table = Table::from_csv("word-histogram", std::str::from_utf8(&csv).expect("text"))
            .expect("a table");
        Result { run, csv, table }
    }

    /// Opens the last step's release.
    pub async fn open(
        &mut self,
        run: &FinishedRun,
    ) -> std::result::Result<SecretBytes, OperatorError> {
        let step = run.steps.last().expect("a step");
        self.open_step(run.run, step).await
    }

    /// Opens the release of each step.
    pub async fn open_all(&mut self, run: &FinishedRun) -> Vec<Vec<u8>> {
        let mut opened = Vec::new();
        for step in &run.steps {
            let plain = self.open_step(run.run, step).await.expect("a release");
            opened.push(plain.expose().to_vec());
        }
        opened
    }

    /// Opens the release of one step.
    ///
    /// # Errors
    /// As the operator.
    pub async fn open_step(
        &mut self,
        run: RunId,
        step: &CommittedStep,
    ) -> std::result::Result<SecretBytes, OperatorError> {
        let (_, digest) = step.release.as_ref().expect("a release");
        let Deployment {
            operator, trail, ..
        } = &mut self.deployment;
        operator
            .open_release(trail, run, step.step, *digest)
            .await
            .map(|(plain, _)| plain)
    }
}

/// Real processes, of binaries that are found or built.
pub async fn processes() -> Mode {
    Mode::processes(binaries(Profile::Simulation).await, None)
}

/// Node binaries of a flavour, in cargo's dev profile.
pub async fn binaries(flavour: Profile) -> NodeBinaries {
    let request = Request {
        dir: None,
        profile: BuildProfile::Dev,
        flavour,
        offline: true,
    };
    let found = tokio::task::spawn_blocking(move || find(&request, &mut |_| ()));
    found.await.expect("a search").expect("node binaries")
}

/// A policy with one thing changed.
pub fn changed(policy: &Policy, change: impl FnOnce(&mut AccessPolicy)) -> Policy {
    let mut other: AccessPolicy = (**policy).clone();
    change(&mut other);
    AccessPolicy::parse(&other.to_bytes().expect("JSON")).expect("a policy that parses")
}

/// The stable code of a refusal, wherever it came from.
pub fn code(error: &OperatorError) -> String {
    use siegel_keys::KeysError;
    match error {
        OperatorError::Stopped { code, .. } => code.clone(),
        OperatorError::Kms {
            source: KeysError::Refused(refusal),
            ..
        } => refusal.code.clone(),
        OperatorError::Kms {
            source: KeysError::NoQuorum { .. },
            ..
        } => "no-quorum".into(),
        other => format!("{other}"),
    }
}
