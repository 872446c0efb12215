//! What a run keeps over several grants.

use std::sync::Arc;

use siegel_ident::{BlobDigest, Digest};
use siegel_keys::WorkerGrant;
use siegel_link::depot::{DepotClient, ObjectKind};
use siegel_program::{Bundle, Plan};
use tokio::sync::{Mutex, OnceCell};

use crate::inputs;
use crate::opened::Opened;
use crate::pool::Pool;
use crate::stop::Stop;

/// Fetched and checked once per run: public documents, and opened uploads. A fresh grant of the
/// same run takes it over while the old one's lease is live; dropped, and its plaintexts zeroised,
/// with the last [`crate::run::Run`] that has it (I9, I13).
#[derive(Default)]
pub(crate) struct Kept {
    plan: OnceCell<Plan>,
    bundle: OnceCell<Arc<Bundle>>,
    inputs: OnceCell<Vec<BlobDigest>>,
    /// All opened uploads of the run, if they fit the space for them.
    pub(crate) opened: Mutex<Option<Arc<Opened>>>,
}

impl Kept {
    /// True if all that was fetched and opened under one grant is what the other one names, too.
    pub(crate) fn serves(one: &WorkerGrant, other: &WorkerGrant) -> bool {
        one.run == other.run
            && one.cluster == other.cluster
            && one.policy.digest() == other.policy.digest()
            && one.epochs == other.epochs
            && one.program == other.program
            && one.parameters == other.parameters
            && one.input_root == other.input_root
            && one.blob_count == other.blob_count
            && one.index.same(&other.index)
    }

    /// The plan that the key service registered.
    pub(crate) async fn plan(
        &self,
        grant: &WorkerGrant,
        depot: &DepotClient,
    ) -> Result<&Plan, Stop> {
        let fetched = self.plan.get_or_try_init(|| fetch_plan(grant, depot));
        fetched.await
    }

    /// The program that the policy names.
    pub(crate) async fn bundle(
        &self,
        grant: &WorkerGrant,
        depot: &DepotClient,
    ) -> Result<Arc<Bundle>, Stop> {
        let fetched = self
            .bundle
            .get_or_try_init(|| fetch_bundle(grant.program.digest(), depot));
        Ok(fetched.await?.clone())
    }

    /// The registered uploads, ascending.
    pub(crate) async fn inputs(
        &self,
        grant: &WorkerGrant,
        depot: &DepotClient,
        pool: &Pool,
    ) -> Result<&[BlobDigest], Stop> {
        let fetched = self
            .inputs
            .get_or_try_init(|| inputs::fetch_list(grant, depot, pool));
        Ok(fetched.await?)
    }
}

async fn fetch_plan(grant: &WorkerGrant, depot: &DepotClient) -> Result<Plan, Stop> {
    let (parameters, max) = (&grant.parameters, siegel_program::plan::MAX_PLAN);
    // `get` checks the digest: the bytes are the registered ones (I2).
    let bytes = depot.get(ObjectKind::Plan, parameters.plan, max).await;
    let plan = Plan::parse(&bytes.map_err(Stop::PlanFetch)?).map_err(Stop::Plan)?;
    // The root made both: the key service pays the one, we compute the other (I6).
    let costs = plan.steps.iter().map(|step| &step.cost);
    if costs.eq(&parameters.steps) {
        Ok(plan)
    } else {
        Err(Stop::PlanCosts)
    }
}

async fn fetch_bundle(program: Digest, depot: &DepotClient) -> Result<Arc<Bundle>, Stop> {
    let max = siegel_program::bundle::MAX_BUNDLE;
    // As above (I2).
    let bytes = depot.get(ObjectKind::Program, program, max).await;
    let bundle = Bundle::parse(&bytes.map_err(Stop::ProgramFetch)?);
    Ok(Arc::new(bundle.map_err(Stop::Program)?))
}
