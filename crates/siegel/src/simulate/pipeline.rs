//! One simulation, from the first process to the verdict.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use siegel_fleet::clients::{self, ClientsOptions, Heard};
use siegel_fleet::cluster::Options;
use siegel_fleet::data::Dataset;
use siegel_fleet::deployment::Deployment;
use siegel_fleet::keeper::Keeper;
use siegel_ident::{EpochId, Seconds, Step};
use siegel_operator::{RunEvent, RunOrder};
use siegel_policy::Policy;
use siegel_program::{Bundle, Intrinsic, Plan};

use super::assemble::{Parts, report};
use super::outputs::Released;
use super::prepare::{WITNESSES, kills, load, mode, random, seed_bytes};
use super::progress::Progress;
use super::remote::remote_log;
use super::report::{Report, SimulatorOnly, Timing};
use super::shipped::{Chosen, choose};
use super::trouble::{all_refused, deployment_failure, fleet_failure, operator_failure, with_logs};
use super::truth::Truth;
use super::verdict::{audit, unfired, write_anchors};
use super::{SimulateArgs, card, curve, folder, model, plot, registration, rehearse};
use crate::failure::Failure;

/// How long a run may hold its keys, at most.
const RUN_TIME: Seconds = Seconds(3_600);
/// Simulated clients at work at a time.
const CONCURRENCY: usize = 64;

pub async fn run(args: &SimulateArgs, progress: &mut Progress) -> Result<Report, Failure> {
    let chosen = choose(&args.program, args.policy.as_deref())?;
    let seed = args.seed.map(seed_bytes);
    let rounds = args.rounds.unwrap_or(chosen.rounds);
    let kills = kills(args, rounds)?;
    let remote = remote_log(args).await?;
    let mut dataset = load(args, seed, progress).await?;
    let mut plan = rehearse::plan(&chosen, rounds, dataset.clients.len() as u64)?;
    if rehearse::training(&plan).is_some() {
        dataset = dataset.hold_out();
        plan = rehearse::plan(&chosen, rounds, dataset.clients.len() as u64)?;
    }
    let dataset = Arc::new(dataset);
    let truth = truth_of(&plan, &chosen.bundle)?;
    let mode = mode(args, progress).await?;

    let started = Instant::now();
    let run_id = hex::encode(random::<8>()?);
    let dir = folder::create(args.out.as_deref(), &run_id)?;
    let told = |failure: Failure| with_logs(failure, &dir);

    progress.phase(match remote {
        None => "starting witnesses, log, depot, key service, workers and root",
        Some(_) => "starting depot, key service, workers and root",
    });
    let mut options = Options::new(dir.clone(), &run_id, chosen.bundle.digest());
    options.kms = args.kms as u32;
    options.workers = args.workers as u32;
    options.witnesses = WITNESSES;
    options.log = remote;
    options.seed = seed;
    let mut deployment = Deployment::start(mode, options)
        .await
        .map_err(deployment_failure)
        .map_err(told)?;
    let tell = progress.teller();
    let keeper = Keeper::start(&deployment.cluster, &kills, move |incident| {
        tell(&incident.to_string());
    })
    .map_err(fleet_failure)
    .map_err(told)?;
    let start_s = started.elapsed().as_secs_f64();

    let publish_started = Instant::now();
    progress.phase("publishing program and policy");
    let policy = deployment
        .build_policy(&chosen.policy, &chosen.bundle)
        .map_err(rehearse::bad_policy)?;
    write_anchors(&deployment, &policy, None, &dir)?;
    folder::write(&dir, "policy.json", policy.bytes())?;
    let publish = deployment.publish(&chosen.bundle, &policy);
    let published = keeper
        .guard(publish)
        .await
        .map_err(fleet_failure)
        .and_then(|published| published.map_err(operator_failure))
        .map_err(told)?;
    let general = keeper
        .guard(deployment.operator.general_bundle(&published))
        .await
        .map_err(fleet_failure)
        .and_then(|bundle| bundle.map_err(operator_failure))
        .map_err(told)?;
    folder::write(&dir, "policy.proof.json", &published.bundle)?;
    folder::write(&dir, "policy.sigstore.json", &general)?;

    let publish_s = publish_started.elapsed().as_secs_f64();

    let upload_started = Instant::now();
    keeper.uploading();
    progress.counted(
        "clients verify, seal and upload",
        dataset.clients.len() as u64,
    );
    let (offer, epoch) = keeper
        .guard(deployment.offer(&policy, &published))
        .await
        .map_err(fleet_failure)
        .and_then(|offer| offer.map_err(deployment_failure))
        .map_err(told)?;
    let options = ClientsOptions {
        config: deployment.client_config(&policy),
        seed,
        concurrency: CONCURRENCY,
        heard: truth
            .clone()
            .map(|truth| -> Heard { Arc::new(move |words| truth.hear(words)) }),
    };
    let offer = Arc::new(offer);
    let mut at = |done| progress.at(done as u64);
    let (depot, clock) = (deployment.operator.depot(), deployment.cluster.clock());
    let upload = clients::upload_all(&dataset, &offer, &options, depot, clock, &mut at);
    let depot_failure = |why| Failure::failed("upload", "depot", why, "the depot's log says more");
    let tally = keeper
        .guard(upload)
        .await
        .map_err(fleet_failure)
        .and_then(|tally| tally.map_err(depot_failure))
        .map_err(told)?;
    all_refused(&tally)?;
    let upload_s = upload_started.elapsed().as_secs_f64();

    let run_started = Instant::now();
    match plan.steps.len() as u64 {
        0 | 1 => progress.phase("running the program"),
        steps => progress.counted("running the program, steps", steps),
    }
    let order = order(rounds, &deployment, &policy, &chosen.bundle, epoch)?;
    let run = run_and_open(&mut deployment, &keeper, &order, &plan, &dir, progress);
    let released = keeper
        .guard(run)
        .await
        .map_err(fleet_failure)
        .flatten()
        .map_err(told)?;
    let kept = registration::keep(&deployment, &policy, epoch, &dir);
    keeper
        .guard(kept)
        .await
        .map_err(fleet_failure)
        .flatten()
        .map_err(told)?;
    let run_s = run_started.elapsed().as_secs_f64();

    let audit_started = Instant::now();
    progress.phase("auditing the log");
    let mut audit = keeper
        .guard(audit(&deployment, &policy, &dir))
        .await
        .map_err(fleet_failure)
        .flatten()
        .map_err(told)?;
    let audit_s = audit_started.elapsed().as_secs_f64();
    let kept = keeper.finish().await.map_err(fleet_failure).map_err(told)?;
    audit.part.findings.extend(unfired(&kept.unfired));
    let simulator_only = match rehearse::training(&plan).is_some() {
        true => try_models(&dir, &plan, &chosen, &policy, &dataset, &released.models)?,
        false => draw_and_compare(&dir, &policy, truth.as_deref(), &released)?,
    };
    let report = report(Parts {
        args,
        run_id,
        dir: &dir,
        cluster: &deployment.cluster,
        build: deployment.build(),
        policy: &policy,
        log_index: published.log_index,
        clients: dataset.clients.len() as u64,
        rounds,
        tally,
        outputs: released.outputs,
        simulator_only,
        audit,
        deaths: kept.incidents,
        timing: Timing {
            start_s,
            publish_s,
            upload_s,
            run_s,
            audit_s,
            total_s: started.elapsed().as_secs_f64(),
            uploads_per_s: dataset.clients.len() as f64 / upload_s.max(1e-9),
        },
    });
    let bytes = serde_json::to_vec_pretty(&report)
        .map_err(|why| Failure::failed("json", "report.json", why, ""))?;
    folder::write(&dir, "report.json", &bytes)?;
    if let Some(spec) = rehearse::training(&plan) {
        let facts = card::Facts {
            spec,
            program: chosen.bundle.digest().to_string(),
            data: &args.data,
        };
        let text = card::card(&report, &facts)
            .map_err(|why| Failure::failed("model-card", card::FILE, why, ""))?;
        folder::write(&dir, card::FILE, text.as_bytes())?;
    }
    Ok(report)
}

fn order(
    rounds: u64,
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
        params: serde_json::to_vec(&serde_json::json!({ "rounds": rounds }))
            .map_err(|why| Failure::failed("json", "parameters", why, ""))?,
    })
}

async fn run_and_open(
    deployment: &mut Deployment,
    keeper: &Keeper,
    order: &RunOrder,
    plan: &Plan,
    dir: &Path,
    progress: &mut Progress,
) -> Result<Released, Failure> {
    let Deployment {
        operator, trail, ..
    } = deployment;
    let run = operator
        .run(order, |event| match event {
            RunEvent::Progress { phase, done, total } => {
                progress.note(&format!("{phase}: {done} of {total}"));
            }
            RunEvent::Committed(step) => {
                progress.at(step.step.0);
                keeper.committed(step.step);
            }
            _ => {}
        })
        .await
        .map_err(operator_failure)?;
    let mut released = Released::default();
    for step in &run.steps {
        let Some((_, digest)) = &step.release else {
            continue;
        };
        let (plain, receipt) = operator
            .open_release(trail, run.run, step.step, *digest)
            .await
            .map_err(operator_failure)?;
        released.keep(dir, plan, step.step, plain.expose(), receipt)?;
    }
    operator
        .carry_receipts(trail)
        .await
        .map_err(operator_failure)?;
    Ok(released)
}

fn draw_and_compare(
    dir: &Path,
    policy: &Policy,
    truth: Option<&Truth>,
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
    let (Some(truth), Some(table)) = (truth, released.tables.first()) else {
        return Ok(None);
    };
    Ok(Some(SimulatorOnly::Histogram(truth.compare(table))))
}

/// What will be counted while clients upload, if the program counts words.
fn truth_of(plan: &Plan, bundle: &Bundle) -> Result<Option<Arc<Truth>>, Failure> {
    let Some(Intrinsic::Histogram(spec)) = plan.intrinsic(Step(1), 0) else {
        return Ok(None);
    };
    let truth = Truth::new(spec, bundle);
    let truth = truth.map_err(|why| Failure::failed("evaluation", bundle.name(), why, ""))?;
    Ok(Some(Arc::new(truth)))
}

fn try_models(
    dir: &Path,
    plan: &Plan,
    chosen: &Chosen,
    policy: &Policy,
    dataset: &Dataset,
    models: &[model::Model],
) -> Result<Option<SimulatorOnly>, Failure> {
    let name = chosen.bundle.name();
    let (epsilon, delta) = (
        policy.privacy.epsilon.nearest(),
        policy.privacy.delta.lower(),
    );
    let Some(spec) = rehearse::training(plan) else {
        return Ok(None);
    };
    let truth = model::evaluate(plan, spec, &chosen.bundle, delta, models, dataset)
        .map_err(|why| Failure::failed("evaluation", name, why, ""))?;
    let Some(truth) = truth else {
        return Ok(None);
    };
    let title = format!("{name}: accuracy and budget by round (INSECURE SIMULATION)");
    let svg = curve::draw(&title, &truth, epsilon)
        .map_err(|why| Failure::failed("plot", name, why, ""))?;
    folder::write(dir, &format!("{name}.svg"), svg.as_bytes())?;
    Ok(Some(SimulatorOnly::Training(truth)))
}
