//! I11: the binaries of flavour production hold no simulator, and take part in no simulation.

use std::collections::BTreeSet;
use std::path::Path;

use siegel_attest::simulated::Attester;
use siegel_attest::{ClusterConfig, Profile, ReferenceValue, RootConfig};
use siegel_fleet::binaries::NodeBinaries;
use siegel_fleet::supervisor::free_port;
use siegel_ident::{
    ConfigDigest, NamedKey, ProgramDigest, Seconds, Secret, Timestamp, WitnessQuorum, json,
};
use siegel_platform::{Clock as _, SystemClock};
use siegel_tests::binaries;
use siegel_tests::launched::{Launched, Said, measured};
use siegel_wire::v1;

/// What the simulator leaves in a file: its labels, its media type, its symbols, its source files.
const TRACES: [&str; 4] = [
    "siegel/simulated-evidence/",
    "vnd.siegel.simulated-evidence",
    "siegel_attest9simulated",
    "attest/src/simulated",
];

/// All printable runs in a file that hold "simulated".
fn words(binary: &Path) -> BTreeSet<String> {
    const WORD: &[u8] = b"simulated";
    let bytes = std::fs::read(binary).unwrap();
    let printable = |b: &u8| b.is_ascii_graphic();
    let hits = bytes.windows(WORD.len()).enumerate();
    let hits = hits.filter(|(_, window)| *window == WORD);
    hits.map(|(at, _)| {
        let before = bytes[..at]
            .iter()
            .rev()
            .take(200)
            .take_while(|b| printable(b));
        let after = bytes[at..].iter().take(200).take_while(|b| printable(b));
        let run = &bytes[at - before.count()..];
        let run = &run[..run.len().min(400)];
        let end = after.count();
        let len = run.iter().take_while(|b| printable(b)).count().max(end);
        String::from_utf8_lossy(&run[..len]).into_owned()
    })
    .collect()
}

fn all(binaries: &NodeBinaries) -> [&Path; 3] {
    [&binaries.kms, &binaries.root, &binaries.worker]
}

// Catches a feature that brings the simulator into a file that ships, and traces that no build
// leaves any more: then this test would look for nothing.
#[tokio::test]
async fn no_production_file_holds_the_simulator() {
    for file in all(&binaries(Profile::Simulation).await) {
        let words = words(file);
        for trace in TRACES {
            let left = words.iter().any(|word| word.contains(trace));
            assert!(left, "{} has no {trace}: {words:?}", file.display());
        }
    }
    for file in all(&binaries(Profile::Production).await) {
        let found = words(file);
        let simulator = |word: &&String| TRACES.iter().any(|trace| word.contains(trace));
        let found: Vec<_> = found.iter().filter(simulator).collect();
        assert!(found.is_empty(), "{}: {found:?}", file.display());
    }
}

fn attester() -> Attester {
    Attester::new(&Secret::new([7; 32])).unwrap()
}

/// A configuration whose only members are processes of this binary.
fn config(profile: Profile, kms: &Path) -> ClusterConfig {
    let simulation = profile == Profile::Simulation;
    ClusterConfig {
        schema: ClusterConfig::SCHEMA.into(),
        profile,
        simulation_root: simulation.then(|| attester().public_key()),
        peers: vec![match profile {
            Profile::Simulation => ReferenceValue::simulated(measured(kms)),
            Profile::Production => siegel_policy::testing::real(1),
        }],
        min_voters: 2,
        log_origin: "log.example".into(),
        log_key: [4; 32],
        witnesses: if simulation {
            WitnessQuorum::none()
        } else {
            witnesses()
        },
        seed: None,
    }
}

fn witnesses() -> WitnessQuorum {
    let witness = |n: u8| NamedKey {
        name: format!("w{n}.example"),
        operator: format!("operator {n}"),
        key: [n; 32],
    };
    WitnessQuorum {
        required: 2,
        max_age: Seconds(3600),
        witnesses: (1..=2).map(witness).collect(),
    }
}

/// Two nodes of the key service; the first one founds.
fn placed(config: &[u8], ports: [u16; 2], node: u64) -> v1::Start {
    let address = |n: usize| format!("127.0.0.1:{}", ports[n - 1]);
    let peer = |n: usize| v1::PeerAddress {
        node_number: n as u64,
        address: address(n),
    };
    v1::Start {
        config: config.to_vec(),
        listen: address(node as usize),
        run_label: "production".into(),
        node_number: node,
        founder: node == 1,
        kms: vec![peer(1), peer(2)],
        workers: vec![peer(1)],
        depot: address(1),
        ..v1::Start::default()
    }
}

fn launch(binary: &Path, start: v1::Start) -> Launched {
    let config = ConfigDigest::of(&start.config);
    let now: Timestamp = SystemClock.now();
    Launched::start(binary, start, config, attester(), now)
}

fn ports() -> [u16; 2] {
    [free_port().unwrap(), free_port().unwrap()]
}

/// It ends with a reason that holds all of these words, and never serves.
fn refuses(binary: &Path, config: &[u8], words: &[&str]) {
    let mut node = launch(binary, placed(config, ports(), 2));
    let Said::Failed(why) = node.heard() else {
        panic!("{} does not refuse", binary.display());
    };
    assert!(words.iter().all(|word| why.contains(word)), "{why}");
    assert_eq!(node.exit_code(), Some(1), "{why}");
}

// Catches a production binary that starts for a simulation.
#[tokio::test]
async fn production_binaries_take_no_simulation() {
    let production = binaries(Profile::Production).await;
    let cluster = config(Profile::Simulation, &production.kms);
    let bytes = cluster.to_bytes().unwrap();
    let root = RootConfig {
        schema: RootConfig::SCHEMA.into(),
        cluster: cluster.clone(),
        program: ProgramDigest::of(b"program"),
    };
    let why = ["production build", "simulator", "I11"];
    refuses(&production.kms, &bytes, &why);
    refuses(&production.worker, &bytes, &why);
    refuses(&production.root, &root.to_bytes().unwrap(), &why);

    // A simulation root under the name of production.
    let mut disguised = config(Profile::Production, &production.kms);
    disguised.simulation_root = Some(attester().public_key());
    let bytes = json::to_canonical(&disguised).unwrap();
    refuses(&production.kms, &bytes, &["simulation_root", "I11"]);
    refuses(&production.worker, &bytes, &["simulation_root", "I11"]);

    // The same start message is good for the other flavour.
    let simulation = binaries(Profile::Simulation).await;
    let bytes = config(Profile::Simulation, &simulation.kms)
        .to_bytes()
        .unwrap();
    for (binary, node) in [(&simulation.kms, 2), (&simulation.worker, 2)] {
        let mut node = launch(binary, placed(&bytes, ports(), node));
        let said = node.heard();
        assert!(matches!(said, Said::Ready(_)), "{said:?}");
    }
}

/// What the founder says in the end. The other node waits to be invited meanwhile.
fn founding(flavour: Profile, binaries: &NodeBinaries) -> Said {
    let bytes = config(flavour, &binaries.kms).to_bytes().unwrap();
    let ports = ports();
    let mut invited = launch(&binaries.kms, placed(&bytes, ports, 2));
    assert!(matches!(invited.heard(), Said::Ready(_)));
    let close = invited.closer();
    // It goes on to answer for evidence.
    let invited = std::thread::spawn(move || drop(invited.heard()));
    let mut founder = launch(&binaries.kms, placed(&bytes, ports, 1));
    assert!(matches!(founder.heard(), Said::Ready(_)));
    let said = founder.heard();
    close();
    invited.join().unwrap();
    said
}

// Catches evidence of a launcher that counts as that of hardware: whoever runs the launcher could
// read everything. Both nodes run production's own binary.
#[tokio::test]
async fn a_production_cluster_takes_no_simulated_evidence() {
    let production = binaries(Profile::Production).await;
    let Said::Failed(why) = founding(Profile::Production, &production) else {
        panic!("a cluster was founded on simulated evidence");
    };
    assert!(why.contains("simulated"), "{why}");
}
