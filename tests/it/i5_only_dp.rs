//! I5: a driver has no way from client values to anything but a mechanism.

use siegel_driver::{Driver, Public};
use siegel_fleet::cluster::Mode;
use siegel_ident::{Budget, Delta, NanoRho};
use siegel_tests::{World, bundle, code, crowd};

const HEAD: &str = r#"
def init(public):
    return None

def finish(state):
    return table("word-histogram", state)

def step(state, n, clients):
"#;

const HONEST: &str = r#"    return dp_histogram(clients, column = "words", vocabulary = "common-words-en.txt", max_per_user = 32, share = 1)
"#;

fn dry_run(step: &str) -> Result<(), String> {
    let bundle = bundle(&format!("{HEAD}{step}"));
    let driver = Driver::load(&bundle).map_err(|why| why.to_string())?;
    let budget = Budget {
        rho_nano: NanoRho(100_000_000),
        delta0: Delta(0),
    };
    let public = Public {
        params: [("rounds".to_owned(), 1)].into(),
        blob_count: 10,
        budget,
    };
    driver
        .dry_run(&public)
        .map(|_| ())
        .map_err(|why| why.to_string())
}

/// Catches a client handle that does anything but go into a mechanism.
#[test]
fn the_dry_run_refuses_every_other_use_of_clients() {
    dry_run(HONEST).expect("the honest driver");
    let attempts = [
        ("release", "    return clients\n"),
        ("print", "    print(clients)\n"),
        ("str", "    x = str(clients)\n"),
        ("repr", "    x = repr(clients)\n"),
        ("format", "    x = \"{}\".format(clients)\n"),
        ("percent", "    x = \"%s\" % clients\n"),
        ("compare", "    x = clients == clients\n"),
        ("order", "    x = clients < clients\n"),
        ("branch", "    if clients:\n        pass\n"),
        ("len", "    x = len(clients)\n"),
        ("iterate", "    for c in clients:\n        pass\n"),
        ("index", "    x = clients[0]\n"),
        ("hash", "    x = {clients: 1}\n"),
        ("convert", "    x = int(clients)\n"),
        ("add", "    x = clients + 1\n"),
        ("in", "    x = 1 in clients\n"),
        ("list", "    x = list(clients)\n"),
        ("dir", "    x = getattr(clients, \"words\")\n"),
    ];
    for (what, line) in attempts {
        assert!(
            dry_run(&format!("{line}{HONEST}")).is_err(),
            "{what} went through"
        );
    }
}

/// Catches a root that registers, and so debits, before the driver was tried.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_driver_is_refused_before_anything_is_debited() {
    let bad = bundle(&format!("{HEAD}    print(clients)\n{HONEST}"));
    let mut world = World::start(Mode::InProcess, &bad, |_| {}, |_| {}).await;
    let (_, epoch) = world.upload(&crowd(4, "a cat")).await;
    let stopped = world
        .run(epoch)
        .await
        .expect_err("a driver that prints clients");
    assert_eq!(code(&stopped), "kind");
    let deployment = &mut world.deployment;
    deployment
        .operator
        .carry_receipts(&mut deployment.trail)
        .await
        .unwrap();
    let debited = deployment.trail.carried().iter().any(|carried| {
        matches!(
            carried.receipt.fact,
            siegel_ledger::Fact::RunRegistered { .. }
        )
    });
    assert!(!debited, "nothing was registered");
}
