//! Before a run is registered: what is asked, what there is to read, what it will do and cost.

use std::collections::BTreeMap;

use siegel_driver::{Driver, Public};
use siegel_ident::{EpochId, InputRoot, PolicyDigest, ProgramDigest, Timestamp, json};
use siegel_keys::RegisterRun;
use siegel_link::depot::ObjectKind;
use siegel_policy::{AccessPolicy, Policy};
use siegel_program::bundle::MAX_BUNDLE;
use siegel_program::{Bundle, Plan, input_root};
use siegel_wire::v1;

use crate::serve::Node;
use crate::stop::RunStop;

/// Longest parameters, in bytes.
const MAX_PARAMS: usize = 16 * 1024;

/// A run that can be registered.
pub(crate) struct Prepared {
    pub(crate) driver: Driver,
    pub(crate) public: Public,
    pub(crate) plan: Plan,
    pub(crate) register: RegisterRun,
}

/// What the operator asks for.
struct Wish {
    policy: Policy,
    epochs: Vec<EpochId>,
    deadline: Timestamp,
    params: BTreeMap<String, i64>,
}

/// Checks the wish, lists the uploads, and makes the dry run. Nothing is paid yet: a driver that
/// misuses a value or asks for too much is refused here (I5, I6).
pub(crate) async fn prepare(node: &Node, request: v1::RunRequest) -> Result<Prepared, RunStop> {
    let wish = convert(request, node.program, node.platform.now())?;
    let program = fetch_program(node).await?;
    let driver = Driver::load(&program)?;
    let (blob_count, root) = list(node, &wish).await?;
    wish.policy.check_blobs(blob_count)?;
    let budget = wish.policy.privacy.total;
    let public = Public {
        params: wish.params,
        blob_count,
        budget,
    };
    let plan = driver.dry_run(&public)?.plan;
    plan.check_policy(&wish.policy)?;
    let parameters = plan.run_parameters()?.to_bytes();
    let register = RegisterRun {
        policy: wish.policy.digest(),
        program: node.program,
        parameters: parameters.map_err(|_| RunStop::Broken)?,
        epochs: wish.epochs,
        deadline: wish.deadline,
        input_root: root,
        blob_count,
    };
    tracing::info!(blobs = blob_count, rounds = plan.rounds, rho = %plan.total.rho_nano, "planned");
    Ok(Prepared {
        driver,
        public,
        plan,
        register,
    })
}

fn convert(
    request: v1::RunRequest,
    program: ProgramDigest,
    now: Timestamp,
) -> Result<Wish, RunStop> {
    let policy = AccessPolicy::parse(&request.policy)?;
    let digest = PolicyDigest::try_from_slice(&request.policy_digest);
    if digest.ok_or(RunStop::BadRequest("policy digest"))? != policy.digest() {
        return Err(RunStop::OtherPolicy);
    }
    let asked = ProgramDigest::try_from_slice(&request.program_digest);
    if asked.ok_or(RunStop::BadRequest("program digest"))? != program {
        return Err(RunStop::OtherProgram);
    }
    policy.check_program(&program)?;
    policy.check_window(now)?;
    let epochs: Vec<EpochId> = request.epochs.into_iter().map(EpochId).collect();
    if epochs.is_empty() || !epochs.is_sorted_by(|a, b| a < b) {
        return Err(RunStop::Epochs);
    }
    let deadline = Timestamp(request.deadline);
    if deadline <= now {
        return Err(RunStop::Deadline { deadline, now });
    }
    let params = match request.params.as_slice() {
        [] => BTreeMap::new(),
        bytes => json::from_canonical(bytes, MAX_PARAMS).map_err(RunStop::Params)?,
    };
    Ok(Wish {
        policy,
        epochs,
        deadline,
        params,
    })
}

/// The exact bytes of the measured digest; the depot is not believed (I2).
async fn fetch_program(node: &Node) -> Result<Bundle, RunStop> {
    let fetched = node
        .depot
        .get(ObjectKind::Program, node.program.digest(), MAX_BUNDLE)
        .await;
    let bytes = fetched.map_err(|source| RunStop::Depot {
        doing: "fetching the program",
        source,
    })?;
    Ok(Bundle::parse(&bytes)?)
}

/// Number and Merkle root of all uploads of the epochs. What the depot hides now is not part of the
/// run; what it lists and cannot serve later stops the run.
async fn list(node: &Node, wish: &Wish) -> Result<(u64, InputRoot), RunStop> {
    let mut all = Vec::new();
    for epoch in &wish.epochs {
        let listed = node.depot.list(wish.policy.digest(), *epoch).await;
        let doing = "listing the uploads";
        all.extend(listed.map_err(|source| RunStop::Depot { doing, source })?);
    }
    all.sort_unstable();
    Ok((all.len() as u64, input_root(&all)?))
}
