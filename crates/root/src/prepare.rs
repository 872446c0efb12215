//! Up to the first step: what there is to read, what the run will do and cost, and whose it is.
//!
//! A new run is planned, its plan and its list of inputs are stored, and only then is it registered
//! and paid for: whatever the key service has registered can be fetched, whoever dies (I8).

use std::sync::Arc;

use siegel_driver::{Driver, Public, State};
use siegel_ident::{BlobDigest, Digest};
use siegel_keys::{RegisterRun, RootGrant};
use siegel_link::depot::ObjectKind;
use siegel_program::bundle::MAX_BUNDLE;
use siegel_program::{Bundle, input_root};

use crate::bridge::{self, Script};
use crate::serve::Node;
use crate::stop::RunStop;
use crate::wish::Wish;

/// A run that this root holds, before its next step.
pub(crate) struct Held {
    pub(crate) script: Arc<Script>,
    pub(crate) grant: RootGrant,
    /// What the last committed step left, or the driver's first state.
    pub(crate) state: State,
}

/// Lists the uploads, makes the dry run, registers. Nothing is paid before the registration: a
/// driver that misuses a value or asks for too much is refused first (I5, I6).
pub(crate) async fn begin(node: &Node, wish: Wish) -> Result<Held, RunStop> {
    let uploads = list(node, &wish).await?;
    let blob_count = uploads.len() as u64;
    let root = input_root(&uploads)?;
    let script = plan(node, &wish, blob_count).await?;
    let inputs = uploads.iter().flat_map(|blob| *blob.as_bytes()).collect();
    let asked = RegisterRun {
        policy: wish.policy.digest(),
        program: node.program,
        parameters: parameters(&script)?,
        epochs: wish.epochs,
        deadline: wish.deadline,
        input_root: root,
        blob_count,
        inputs: store(node, ObjectKind::Inputs, inputs).await?,
    };
    store(node, ObjectKind::Plan, script.plan.to_bytes()?).await?;
    // Here the whole cost is debited; nothing is read before (I6).
    let grant = node.kms.register_run(node.kms.request_id(), &asked).await?;
    check_registered(&asked, &grant.registered)?;
    let state = bridge::pure(&script, |s| s.driver.init(&s.public)).await?;
    Ok(Held {
        script,
        grant,
        state,
    })
}

/// The program's plan for this wish over so many uploads.
pub(crate) async fn plan(
    node: &Node,
    wish: &Wish,
    blob_count: u64,
) -> Result<Arc<Script>, RunStop> {
    wish.policy.check_blobs(blob_count)?;
    let program = fetch_program(node).await?;
    let public = Public {
        params: wish.params.clone(),
        blob_count,
        budget: wish.policy.privacy.total,
    };
    let script = bridge::aside(move || {
        let driver = Driver::load(&program)?;
        let plan = driver.dry_run(&public)?.plan;
        Ok(Script {
            driver,
            public,
            plan,
        })
    });
    let script = script.await?;
    let plan = &script.plan;
    plan.check_policy(&wish.policy)?;
    tracing::info!(blobs = blob_count, rounds = plan.rounds, rho = %plan.total.rho_nano, "planned");
    Ok(Arc::new(script))
}

/// What the key service registers of a plan: its digest and its costs.
pub(crate) fn parameters(script: &Script) -> Result<Vec<u8>, RunStop> {
    let parameters = script.plan.run_parameters()?;
    parameters.to_bytes().map_err(|_| RunStop::Broken)
}

/// The registered run is the asked one in every part: same plan, same rules, same inputs (I2, I6).
pub(crate) fn check_registered(
    asked: &RegisterRun,
    registered: &RegisterRun,
) -> Result<(), RunStop> {
    let parts = [
        ("policy", asked.policy == registered.policy),
        ("program", asked.program == registered.program),
        ("plan", asked.parameters == registered.parameters),
        ("list of epochs", asked.epochs == registered.epochs),
        ("deadline", asked.deadline == registered.deadline),
    ];
    match parts.into_iter().find(|(_, same)| !same) {
        Some((part, _)) => Err(RunStop::OtherRun { part }),
        None if asked == registered => Ok(()),
        None => Err(RunStop::OtherRun { part: "inputs" }),
    }
}

/// The exact bytes of the measured digest; the depot is not believed (I2).
async fn fetch_program(node: &Node) -> Result<Bundle, RunStop> {
    let fetched = node
        .depot
        .get(ObjectKind::Program, node.program.digest(), MAX_BUNDLE)
        .await;
    let bytes = fetched.map_err(RunStop::depot("fetching the program"))?;
    Ok(Bundle::parse(&bytes)?)
}

/// All uploads of the epochs, ascending. What the depot hides now is not part of the run; what
/// comes later is not, either; what it lists and cannot serve later stops the run.
async fn list(node: &Node, wish: &Wish) -> Result<Vec<BlobDigest>, RunStop> {
    let mut all = Vec::new();
    for epoch in &wish.epochs {
        let listed = node.depot.list(wish.policy.digest(), *epoch).await;
        all.extend(listed.map_err(RunStop::depot("listing the uploads"))?);
    }
    all.sort_unstable();
    Ok(all)
}

/// Stores a public object of the run; durable when this returns.
async fn store(node: &Node, kind: ObjectKind, bytes: Vec<u8>) -> Result<Digest, RunStop> {
    let put = node.depot.put(kind, bytes.into()).await;
    let put = put.map_err(RunStop::depot("storing plan and inputs"))?;
    Ok(put.digest)
}

#[cfg(test)]
mod tests {
    use siegel_ident::{EpochId, InputRoot, PolicyDigest, ProgramDigest, Timestamp};

    use super::*;

    /// Makes one part another one.
    type Spoil = fn(&mut RegisterRun);

    // I2, I6: catches a part of the registration that nobody compares.
    #[test]
    fn a_run_is_another_one_if_any_part_differs() {
        let asked = RegisterRun {
            policy: PolicyDigest::of(b"policy"),
            program: ProgramDigest::of(b"program"),
            parameters: b"plan".to_vec(),
            epochs: vec![EpochId(1)],
            deadline: Timestamp(9),
            input_root: InputRoot::of(b"root"),
            blob_count: 3,
            inputs: Digest::of(b"list"),
        };
        check_registered(&asked, &asked).unwrap();
        let spoils: [(&str, Spoil); 8] = [
            ("policy", |r| r.policy = PolicyDigest::of(b"other")),
            ("program", |r| r.program = ProgramDigest::of(b"other")),
            ("plan", |r| r.parameters.push(b' ')),
            ("list of epochs", |r| r.epochs.push(EpochId(2))),
            ("deadline", |r| r.deadline.0 += 1),
            ("inputs", |r| r.input_root = InputRoot::of(b"other")),
            ("inputs", |r| r.blob_count += 1),
            ("inputs", |r| r.inputs = Digest::of(b"other")),
        ];
        for (name, spoil) in spoils {
            let mut registered = asked.clone();
            spoil(&mut registered);
            let stop = check_registered(&asked, &registered).unwrap_err();
            assert!(matches!(stop, RunStop::OtherRun { part } if part == name));
        }
    }
}
