//! Launcher and supervisor with real child processes: this test binary starts itself again.
//!
//! A failure is: evidence of something else than what ran, a child that outlives its supervisor or
//! is left as a zombie, a crash without its reason, a wait without an end.
#![cfg(feature = "simulation")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use siegel_attest::{
    Binding, ClusterConfig, Context, Profile, ReferenceValue, Role, appraise, worker_config,
};
use siegel_fleet::launcher::{Image, Launcher};
use siegel_fleet::supervisor::{Supervisor, free_port};
use siegel_fleet::{FleetError, Part, ProcessName};
use siegel_ident::{ClusterId, ConfigDigest, Digest, Measurement, NodeId, Secret};
use siegel_platform::{Clock as _, Platform, StartInfo, SystemClock, run_node};

const WORKER: ProcessName = ProcessName::new(Part::Worker, 1);
/// Variable that makes the copy of this binary a child; its value says how it behaves.
const CHILD: &str = "SIEGEL_TEST_CHILD";

/// Not a test of its own: what the copies run.
#[test]
fn child() {
    match std::env::var(CHILD).as_deref() {
        Err(_) => {}
        Ok("supervisor") => supervise_and_sleep(),
        Ok(mode) => {
            let mode = mode.to_owned();
            let code = run_node("child", |platform| behave(platform, mode));
            // libtest must not turn the code into its own.
            std::process::exit(if code == std::process::ExitCode::SUCCESS {
                0
            } else {
                1
            });
        }
    }
}

async fn behave(platform: Platform, mode: String) -> Result<(), String> {
    match mode.as_str() {
        "serve" => {
            let config = worker_config(ConfigDigest::of(&platform.start.config));
            let data = binding(config).report_data().map_err(|e| e.to_string())?;
            let evidence = platform.quote(data).await.map_err(|e| e.to_string())?;
            tracing::info!(target: "siegel_test", "quoted");
            platform.ready(
                evidence
                    .iter()
                    .map(|b| format!("{b:02x}"))
                    .collect::<String>(),
            );
        }
        "fail" => return Err("the port is taken".into()),
        "crash" => {
            platform.ready("somewhere");
            tokio::time::sleep(Duration::from_millis(50)).await;
            std::process::exit(7);
        }
        _ => {}
    }
    std::future::pending().await
}

fn binding(config: ConfigDigest) -> Binding {
    Binding {
        role: Role::Worker,
        deployment: Some(ClusterId::of(b"cluster")),
        signing_key: vec![1; 32],
        kem_key: vec![2; 34],
        config,
        challenge: vec![3; 32],
        checkpoint: None,
    }
}

fn image(mode: &str) -> Image {
    let exe = std::env::current_exe().unwrap();
    let image = Image::open(&exe, "child")
        .unwrap()
        .arg("child")
        .arg("--exact");
    image.arg("--nocapture").env(CHILD, mode)
}

fn launcher() -> Launcher {
    Launcher::new(&Secret::new([9; 32]), Arc::new(SystemClock)).unwrap()
}

fn config() -> ClusterConfig {
    let measurement = Measurement::of(b"kms");
    ClusterConfig {
        schema: ClusterConfig::SCHEMA.into(),
        profile: Profile::Simulation,
        simulation_root: Some(launcher().public_key()),
        peers: vec![ReferenceValue::simulated(measurement)],
        min_voters: 1,
        log_origin: "log".into(),
        log_key: [0; 32],
        witnesses: siegel_ident::WitnessQuorum::none(),
        seed: None,
    }
}

fn start_info() -> StartInfo {
    StartInfo {
        config: config().to_bytes().unwrap(),
        run_label: "run".into(),
        node: NodeId(1),
        ..StartInfo::default()
    }
}

fn supervisor(dir: &Path) -> Supervisor {
    Supervisor::new(launcher(), dir).unwrap()
}

fn runs(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

// I3: catches a launcher that measures one file and runs another, leaves argv or the environment
// out, or signs the configuration that the child claims instead of the one it got.
#[tokio::test]
async fn evidence_binds_executable_arguments_environment_and_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = supervisor(dir.path());
    let hex = supervisor
        .start(WORKER, image("serve"), start_info())
        .await
        .unwrap();
    let nibble = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    let evidence: Vec<u8> = hex
        .as_bytes()
        .chunks(2)
        .map(|pair| nibble(pair[0]) << 4 | nibble(pair[1]))
        .collect();
    let anchors = config().anchors();
    let ctx = Context {
        now: SystemClock.now(),
        profile: Profile::Simulation,
        genesis_profile: Profile::Simulation,
        anchors: &anchors,
    };
    let bound = binding(worker_config(config().digest().unwrap()));
    let check = |image: &Image, bound: &Binding| {
        let measurement = image.measurement();
        let allowed = [ReferenceValue::simulated(measurement)];
        appraise(&evidence, bound, &allowed, &ctx)
    };
    assert_eq!(
        image("serve").digest(),
        Digest::of(&std::fs::read("/proc/self/exe").unwrap())
    );
    assert!(check(&image("serve"), &bound).is_ok());
    assert!(check(&image("other"), &bound).is_err());
    assert!(check(&image("serve").arg("more"), &bound).is_err());
    assert!(check(&image("serve").env("LD_PRELOAD", "x"), &bound).is_err());
    let kms = binding(config().digest().unwrap());
    assert!(check(&image("serve"), &kms).is_err());

    // The log carries run and process; the report knows pid and memory.
    let log = std::fs::read_to_string(dir.path().join("worker-1.jsonl")).unwrap();
    assert!(log.contains(r#""run":"run","process":"child-1""#), "{log}");
    let report = supervisor.reports().remove(0);
    assert_eq!((report.name.as_str(), report.restarts), ("worker#1", 0));
    assert!(report.peak_rss_bytes > 1 << 20, "{report:?}");
}

// Catches an orphan or a zombie after a kill, a restart or a drop.
#[tokio::test]
async fn every_child_is_killed_and_reaped_by_pid() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = supervisor(dir.path());
    let mut crashes = supervisor.crashes().unwrap();
    let second = ProcessName::new(Part::Worker, 2);
    supervisor
        .start(WORKER, image("serve"), start_info())
        .await
        .unwrap();
    supervisor
        .start(second, image("serve"), start_info())
        .await
        .unwrap();
    let (one, two) = (
        supervisor.pid(WORKER).unwrap(),
        supervisor.pid(second).unwrap(),
    );
    supervisor.kill(WORKER).unwrap();
    assert!(!runs(one) && runs(two));
    assert_eq!(supervisor.pid(WORKER), None);
    supervisor.restart(WORKER).await.unwrap();
    let again = supervisor.pid(WORKER).unwrap();
    let reports = supervisor.reports();
    assert_eq!((reports[0].restarts, reports[1].restarts), (1, 0));
    assert!(reports[0].peak_rss_bytes > 1 << 20);
    drop(supervisor);
    assert!(!runs(again) && !runs(two));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(crashes.try_recv().is_err(), "our own kills are not crashes");
}

// Catches a reason that is lost: the child's own words, and the exit code of a silent death.
#[tokio::test]
async fn failures_and_crashes_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = supervisor(dir.path()).with_ready_timeout(Duration::from_millis(500));
    let error = supervisor
        .start(WORKER, image("fail"), start_info())
        .await
        .unwrap_err();
    let shown = error.to_string();
    assert!(matches!(error, FleetError::Stopped { .. }), "{shown}");
    assert!(
        shown.contains("worker#1 stopped: the port is taken"),
        "{shown}"
    );
    assert!(shown.contains("worker-1.jsonl"), "{shown}");

    let error = supervisor
        .start(WORKER, image("silent"), start_info())
        .await
        .unwrap_err();
    assert!(matches!(error, FleetError::NotReady { .. }), "{error}");
    assert_eq!(supervisor.pid(WORKER), None);

    let mut crashes = supervisor.crashes().unwrap();
    supervisor
        .start(WORKER, image("crash"), start_info())
        .await
        .unwrap();
    // The two failed starts are not crashes: this is the first one.
    let crash = tokio::time::timeout(Duration::from_secs(10), crashes.recv()).await;
    let crash = crash.unwrap().unwrap();
    assert_eq!((crash.name, crash.why.as_str()), (WORKER, "exit status: 7"));

    let bad = StartInfo {
        config: b"{}".to_vec(),
        ..start_info()
    };
    let error = supervisor
        .start(WORKER, image("serve"), bad)
        .await
        .unwrap_err();
    assert!(matches!(error, FleetError::Config { .. }), "{error}");
}

// Catches a child that goes on after its supervisor was killed without a chance to clean up.
#[test]
fn children_end_with_a_killed_supervisor() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let mut middle = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture"])
        .env(CHILD, "supervisor")
        .env("SIEGEL_TEST_DIR", dir.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let wait = |done: &dyn Fn() -> bool| {
        while !done() {
            assert!(Instant::now() < until, "timed out");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait(&|| std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n')));
    let text = std::fs::read_to_string(&pid_file).unwrap();
    let child: u32 = text.trim().parse().unwrap();
    assert!(runs(child));
    middle.kill().unwrap();
    middle.wait().unwrap();
    wait(&|| {
        let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
        status.is_empty() || status.contains("State:\tZ")
    });
}

#[tokio::main]
async fn supervise_and_sleep() {
    let dir = std::env::var("SIEGEL_TEST_DIR").unwrap();
    let supervisor = supervisor(Path::new(&dir));
    supervisor
        .start(WORKER, image("serve"), start_info())
        .await
        .unwrap();
    let pid = supervisor.pid(WORKER).unwrap();
    std::fs::write(Path::new(&dir).join("pid"), format!("{pid}\n")).unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[test]
fn free_ports_differ_and_lie_below_the_ephemeral_range() {
    let ports: Vec<u16> = (0..20).map(|_| free_port().unwrap()).collect();
    let mut distinct = ports.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 20);
    assert!(ports.iter().all(|p| (20_000..30_000).contains(p)));
}
