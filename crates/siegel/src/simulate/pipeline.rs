//! One simulation, from the first process to the verdict.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use siegel_driver::{Driver, DriverError, Public};
use siegel_fleet::clients::{self, ClientsOptions};
use siegel_fleet::cluster::Options;
use siegel_fleet::data::Dataset;
use siegel_fleet::deployment::Deployment;
use siegel_ident::{Digest, EpochId, Seconds, Step};
use siegel_operator::{RunEvent, RunOrder};
use siegel_policy::Policy;
use siegel_program::{Bundle, Plan, Table};

use super::assemble::{Parts, report};
use super::prepare::{load, mode, random, seed_bytes};
use super::progress::Progress;
use super::report::{OutputPart, Report, SimulatorOnly, Timing};
use super::shipped::choose;
use super::trouble::{all_refused, deployment_failure, operator_failure, with_logs};
use super::verdict::{audit, write_anchors};
use super::{SimulateArgs, folder, plot, truth};
use crate::failure::Failure;

/// How long a run may hold its keys, at most.
const RUN_TIME: Seconds = Seconds(3_600);
/// Simulated clients at work at a time.
const CONCURRENCY: usize = 64;

/// Everything that a run has in the end.
pub(super) struct Released {
    pub(super) outputs: Vec<OutputPart>,
    pub(super) tables: Vec<Table>,
}

pub async fn run(args: &SimulateArgs, progress: &mut Progress) -> Result<Report, Failure> {
    let chosen = choose(&args.program, args.policy.as_deref())?;
    let seed = args.seed.map(seed_bytes);
    let dataset = Arc::new(load(args, seed)?);
    let mode = mode(args, progress).await?;

    let started = Instant::now();
    let run_id = hex::encode(random::<8>()?);
    let dir = folder::create(args.out.as_deref(), &run_id)?;
    let told = |failure: Failure| with_logs(failure, &dir);

    progress.phase("starting log, depot, key service, workers and root");
    let mut options = Options::new(dir.clone(), &run_id, chosen.bundle.digest());
    options.kms = args.kms as u32;
    options.workers = args.workers as u32;
    options.seed = seed;
    let mut deployment = Deployment::start(mode, options)
        .await
        .map_err(deployment_failure)
        .map_err(told)?;
    write_anchors(&deployment, None, &dir)?;
    progress.phase("publishing program and policy");
    let policy = deployment
        .build_policy(&chosen.policy, &chosen.bundle)
        .map_err(|why| {
            Failure::usage(
                "bad-policy",
                "--policy",
                why,
                "see policies/ for an example",
            )
        })?;
    folder::write(&dir, "policy.json", policy.bytes())?;
    let plan = dry_run(args, &chosen.bundle, &policy, dataset.clients.len() as u64)?;
    let published = deployment
        .publish(&chosen.bundle, &policy)
        .await
        .map_err(operator_failure)
        .map_err(told)?;

    let upload_started = Instant::now();
    progress.counted(
        "clients verify, seal and upload",
        dataset.clients.len() as u64,
    );
    let (offer, epoch) = deployment
        .offer(&policy, &published)
        .await
        .map_err(deployment_failure)
        .map_err(told)?;
    let options = ClientsOptions {
        config: deployment.client_config(&policy.pipeline),
        seed,
        concurrency: CONCURRENCY,
    };
    let tally = clients::upload_all(
        &dataset,
        &Arc::new(offer),
        &options,
        deployment.operator.depot(),
        deployment.cluster.clock(),
        &mut |done| progress.at(done as u64),
    )
    .await
    .map_err(|why| Failure::failed("upload", "depot", why, "the depot's log says more"))
    .map_err(told)?;
    all_refused(&tally)?;
    let upload_s = upload_started.elapsed().as_secs_f64();

    let run_started = Instant::now();
    progress.phase("running the program");
    let order = order(args, &deployment, &policy, &chosen.bundle, epoch)?;
    let released = run_and_open(&mut deployment, &order, &dir, progress)
        .await
        .map_err(told)?;
    let run_s = run_started.elapsed().as_secs_f64();

    progress.phase("auditing the log");
    let audit = audit(&deployment, &policy.pipeline, &dir)
        .await
        .map_err(told)?;
    let simulator_only = draw_and_compare(&dir, &plan, &policy, &dataset, &released)?;
    let report = report(Parts {
        args,
        run_id,
        dir: &dir,
        cluster: &deployment.cluster,
        policy: &policy,
        log_index: published.log_index,
        clients: dataset.clients.len() as u64,
        tally,
        released,
        simulator_only,
        audit,
        timing: Timing {
            upload_s,
            run_s,
            total_s: started.elapsed().as_secs_f64(),
            uploads_per_s: dataset.clients.len() as f64 / upload_s.max(1e-9),
        },
    });
    let bytes = serde_json::to_vec_pretty(&report)
        .map_err(|why| Failure::failed("json", "report.json", why, ""))?;
    folder::write(&dir, "report.json", &bytes)?;
    Ok(report)
}

/// Runs the driver without clients, before anything is registered or uploaded: a driver that breaks
/// a rule is refused here, and its plan tells the bounds.
fn dry_run(
    args: &SimulateArgs,
    bundle: &Bundle,
    policy: &Policy,
    clients: u64,
) -> Result<Plan, Failure> {
    let refused = |why: DriverError| {
        Failure::usage(
            "driver-refused",
            bundle.name(),
            &why,
            "mend the program's driver",
        )
    };
    let public = Public {
        params: BTreeMap::from([("rounds".to_owned(), args.rounds as i64)]),
        blob_count: clients,
        budget: policy.privacy.total,
    };
    let driver = Driver::load(bundle).map_err(refused)?;
    Ok(driver.dry_run(&public).map_err(refused)?.plan)
}

fn order(
    args: &SimulateArgs,
    deployment: &Deployment,
    policy: &Policy,
    bundle: &Bundle,
    epoch: EpochId,
) -> Result<RunOrder, Failure> {
    let now = deployment.cluster.clock().now();
    Ok(RunOrder {
        policy: policy.bytes().to_vec(),
        program: bundle.digest(),
        epochs: vec![epoch],
        deadline: now.plus(Seconds(RUN_TIME.0.min(policy.key_ttl.0 / 2))),
        params: serde_json::to_vec(&serde_json::json!({ "rounds": args.rounds }))
            .map_err(|why| Failure::failed("json", "parameters", why, ""))?,
    })
}

async fn run_and_open(
    deployment: &mut Deployment,
    order: &RunOrder,
    dir: &Path,
    progress: &mut Progress,
) -> Result<Released, Failure> {
    let Deployment {
        operator, trail, ..
    } = deployment;
    let run = operator
        .run(order, |event| {
            if let RunEvent::Progress { phase, done, total } = event {
                progress.note(&format!("{phase}: {done} of {total}"));
            }
        })
        .await
        .map_err(operator_failure)?;
    let mut outputs = Vec::new();
    let mut tables = Vec::new();
    for step in &run.steps {
        let Some((name, digest)) = &step.release else {
            continue;
        };
        let (plain, receipt) = operator
            .open_release(trail, run.run, step.step, *digest)
            .await
            .map_err(operator_failure)?;
        let file = file_name(name);
        let path = folder::write(dir, &file, plain.expose())?;
        let csv = std::str::from_utf8(plain.expose())
            .map_err(|why| Failure::failed("bad-release", &file, why, ""))?;
        tables.push(
            Table::from_csv(name, csv)
                .map_err(|why| Failure::failed("bad-release", &file, why, ""))?,
        );
        outputs.push(OutputPart {
            name: name.clone(),
            path: path.display().to_string(),
            sha256: Digest::of(plain.expose()).to_string(),
            receipt,
        });
    }
    operator
        .carry_receipts(trail)
        .await
        .map_err(operator_failure)?;
    Ok(Released { outputs, tables })
}

fn file_name(name: &str) -> String {
    if name.ends_with(".csv") {
        name.to_owned()
    } else {
        format!("{name}.csv")
    }
}

fn draw_and_compare(
    dir: &Path,
    plan: &Plan,
    policy: &Policy,
    dataset: &Dataset,
    released: &Released,
) -> Result<Option<SimulatorOnly>, Failure> {
    for table in &released.tables {
        let bars: Vec<plot::Bar> = table.rows.iter().map(plot::Bar::from).collect();
        let title = format!(
            "{}: ε = {}, δ = {} (INSECURE SIMULATION)",
            table.name, policy.privacy.epsilon, policy.privacy.delta
        );
        let svg = plot::bars(&title, &bars)
            .map_err(|why| Failure::failed("plot", &table.name, why, ""))?;
        folder::write(dir, &format!("{}.svg", table.name), svg.as_bytes())?;
    }
    let spec = plan.intrinsic(Step(1), 0);
    Ok(released.tables.first().zip(spec).map(|(table, spec)| {
        let users = dataset.clients.iter().map(|client| client.words());
        truth::compare(table, spec.max_per_user, users)
    }))
}
