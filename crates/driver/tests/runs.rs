//! The plan and the run (I6, I7, I12), and what a driver cannot do at all.

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{ASK, Fixed, RHO, bundle, dry, public, table, with_step};
use proptest::prelude::*;
use siegel_driver::{Driver, DriverError, Public, State};
use siegel_ident::{Budget, NanoRho, Step};
use siegel_program::{Bundle, ClippedSumSpec, Executor, HistogramSpec, Intrinsic, Stop, Table};

fn run(driver: &Driver, public: &Public, answer: &[i64]) -> Result<Table, DriverError> {
    let plan = driver.dry_run(public)?.plan;
    let mut state = driver.init(public)?;
    let mut exec = Fixed(answer.to_vec(), 0);
    for n in 1..=plan.rounds {
        state = driver.step(public, &plan, &state, Step(n.into()), &mut exec)?;
        // What a restarted root does between any two steps.
        state = State::from_bytes(&state.to_bytes()?)?;
    }
    table(driver, &plan, &state)
}

fn load(text: &str) -> Driver {
    Driver::load(&bundle(text)).unwrap()
}

// The shipped program: its plan is exactly what its comment says.
#[test]
fn word_histogram_asks_for_everything_once() {
    let text = include_str!("../../../policies/programs/word-histogram.star");
    let words = include_str!("../../../policies/programs/common-words-en.txt");
    let assets = [("common-words-en.txt".to_owned(), words.to_owned())].into();
    let bundle = Bundle::new("word-histogram", text, assets).unwrap();
    let driver = Driver::load(&bundle).unwrap();
    let dry_run = driver.dry_run(&public(1)).unwrap();
    let plan = &dry_run.plan;
    assert_eq!(plan.total, public(1).budget);
    let Intrinsic::Histogram(spec) = &plan.steps[0].intrinsics[0] else {
        panic!("another intrinsic");
    };
    assert_eq!((spec.max_per_user, spec.column.as_str()), (32, "words"));
    assert_eq!(spec.bins as usize, words.lines().count() + 1);
    assert_eq!(
        driver.dry_run(&public(1)).unwrap(),
        dry_run,
        "deterministic"
    );
    // ε = 2 at δ = 1e-6 is what the pipeline promises.
    let rho = siegel_dp::zcdp::max_rho(2.0, 1e-6);
    let whole = Public {
        budget: Budget {
            rho_nano: rho,
            ..Budget::ZERO
        },
        ..public(1)
    };
    assert_eq!(driver.dry_run(&whole).unwrap().plan.total.rho_nano, rho);
    // More than one look is refused before registration.
    assert!(matches!(
        driver.dry_run(&public(2)),
        Err(DriverError::Script { .. })
    ));

    let table = run(&driver, &public(1), &vec![7; spec.bins as usize]).unwrap();
    assert_eq!(table.name, "word-histogram");
    assert!(
        table
            .rows
            .iter()
            .map(|row| row.label.as_str())
            .eq(words.lines().chain(["other"]))
    );
}

// I12: catches a size that tells something about the counts.
#[test]
fn sizes_are_the_plans_whatever_the_counts() {
    let driver = load(
        &with_step(&format!("return [n, {ASK}]"))
            .replace("table(\"t\", state)", "table(\"t\", state[1])"),
    );
    let plan = driver.dry_run(&public(1)).unwrap().plan;
    for counts in [[0; 4], [i64::MIN; 4], [i64::MAX; 4], [-1, 1, 10, 100]] {
        let mut exec = Fixed(counts.to_vec(), 0);
        let state = driver.init(&public(1)).unwrap();
        let state = driver
            .step(&public(1), &plan, &state, Step(1), &mut exec)
            .unwrap();
        assert_eq!(
            state.to_bytes().unwrap().len() as u64,
            plan.checkpoint_bytes
        );
        let table = table(&driver, &plan, &state).unwrap();
        let release = plan.steps[0].release.as_ref().unwrap();
        assert_eq!(table.to_csv().unwrap().len() as u64, release.bytes);
        assert!(table.rows.iter().map(|row| row.count).eq(counts));
    }
}

// I6: the plan is the whole cost; what goes beyond the budget is refused before registration.
#[test]
fn costs_add_up_and_overspending_is_refused() {
    let ask = |share: &str| ASK.replace("share = 1", &format!("share = {share}"));
    let two = |a: &str, b: &str| with_step(&format!("x = {}\nreturn {}", ask(a), ask(b)));
    let plan = dry(&two("0.25", "0.5")).unwrap().plan;
    assert_eq!(plan.total.rho_nano, NanoRho(RHO / 4 * 3));
    assert!(matches!(
        dry(&two("0.6", "0.5")),
        Err(DriverError::Budget { step: Step(1), .. })
    ));
    assert!(matches!(
        dry(&two("1", "0.1")),
        Err(DriverError::Budget { .. })
    ));
    let repeated = load(&with_step(&format!("return {}", ask("0.6"))));
    let refused = repeated.dry_run(&public(2));
    assert!(matches!(
        refused,
        Err(DriverError::Budget { step: Step(2), .. })
    ));
    // Ten tenths fit, though a tenth is no binary fraction.
    let tenths = load(&with_step(&format!("return {}", ask("0.1"))));
    assert!(tenths.dry_run(&public(10)).unwrap().plan.total.rho_nano <= NanoRho(RHO));
    for bad in [
        "0",
        "0.0",
        "-1",
        "2",
        "1.5",
        "'1'",
        "None",
        "float('nan')",
        "1e-300",
    ] {
        assert!(
            dry(&with_step(&format!("return {}", ask(bad)))).is_err(),
            "{bad}"
        );
    }
}

// I5, I6: a branch on a noisy result may change the table, never the mechanisms.
#[test]
fn a_run_that_deviates_from_its_plan_is_stopped() {
    let half = ASK.replace("share = 1", "share = 0.5");
    let other = half.replace("max_per_user = 2", "max_per_user = 1");
    let skip = format!("c = {half}\nif c[0] > 5:\n    return c\nreturn {half}");
    let swap = format!("c = {half}\nif c[0] > 5:\n    return {other}\nreturn {half}");
    let more = format!("c = {half}\nif c[0] > 5:\n    c = {half}\n    c = {half}\nreturn {half}");
    for text in [&skip, &swap, &more] {
        let driver = load(&with_step(text));
        assert!(run(&driver, &public(1), &[0; 4]).is_ok());
        let stopped = run(&driver, &public(1), &[9; 4]);
        assert!(
            matches!(stopped, Err(DriverError::Deviates { step: Step(1), .. })),
            "{text}"
        );
    }
    // The refused intrinsic was not computed.
    let driver = load(&with_step(&swap));
    let plan = driver.dry_run(&public(1)).unwrap().plan;
    let mut exec = Fixed(vec![9; 4], 0);
    let state = driver.init(&public(1)).unwrap();
    assert!(
        driver
            .step(&public(1), &plan, &state, Step(1), &mut exec)
            .is_err()
    );
    assert_eq!(exec.1, 1);
}

#[test]
fn a_state_or_release_that_outgrows_the_plan_is_stopped() {
    let grow = with_step(&format!(
        "c = {ASK}\nreturn [c, 'x' * 50 if c[0] > 5 else '']"
    ))
    .replace("table(\"t\", state)", "table(\"t\", state[0])");
    assert!(matches!(
        run(&load(&grow), &public(1), &[9; 4]),
        Err(DriverError::StateSize)
    ));
    assert!(run(&load(&grow), &public(1), &[1; 4]).is_ok());
    let rename = with_step(&format!("return {ASK}")).replace(
        "table(\"t\", state)",
        "table(\"u\" if state[0] > 5 else \"t\", state)",
    );
    assert!(matches!(
        run(&load(&rename), &public(1), &[9; 4]),
        Err(DriverError::OtherRelease)
    ));
}

// I12: after a run has begun, no error carries what the script says.
#[test]
fn errors_at_run_time_carry_no_text_of_the_script() {
    let text = with_step(&format!(
        "c = {ASK}\nif c[0] > 5:\n    fail('secret')\nreturn c"
    ));
    let stopped = run(&load(&text), &public(1), &[9; 4])
        .unwrap_err()
        .to_string();
    assert!(
        !stopped.contains("secret") && stopped.contains("line 7"),
        "{stopped}"
    );
    let dry_text = dry(&with_step("fail('reason')")).unwrap_err().to_string();
    assert!(dry_text.contains("reason"), "{dry_text}");
}

#[test]
fn a_stop_of_the_machine_is_passed_on() {
    struct Broken;
    impl Executor for Broken {
        fn dp_histogram(&mut self, _: &HistogramSpec) -> Result<Vec<i64>, Stop> {
            Err(Stop::new("workers-lost", "no worker is left"))
        }
        fn dp_clipped_sum(&mut self, _: &ClippedSumSpec, _: &[f32]) -> Result<Vec<i64>, Stop> {
            unreachable!("the driver asks for a histogram")
        }
    }
    let driver = load(&with_step(&format!("return {ASK}")));
    let plan = driver.dry_run(&public(1)).unwrap().plan;
    let state = driver.init(&public(1)).unwrap();
    let stopped = driver
        .step(&public(1), &plan, &state, Step(1), &mut Broken)
        .err()
        .unwrap();
    assert!(matches!(&stopped, DriverError::Stopped(stop) if stop.code == "workers-lost"));
    assert_eq!(stopped.code(), "workers-lost");
    let none = driver
        .step(&public(1), &plan, &state, Step(2), &mut Broken)
        .err()
        .unwrap();
    assert!(matches!(none, DriverError::NoSuchStep { rounds: 1, .. }));
}

#[test]
fn public_values_may_be_printed_and_reach_the_notes() {
    let text = with_step(&format!("print('step', n)\nreturn {ASK}"));
    assert_eq!(dry(&text).unwrap().notes, ["step 1"]);
}

// What Starlark here has not: each is refused by the dry run.
#[test]
fn no_load_no_io_no_clock_no_recursion_no_endless_loop() {
    for body in [
        "load('x.star', 'y')",
        "open('/etc/passwd')",
        "import os",
        "x = time.time()",
        "eval('1')",
        "x = __import__('os')",
        "while True: pass",
        "x = random()",
        "breakpoint()",
        "debug(1)",
        "def f(): f()\nf()",
        "for i in range(1000000000): pass",
        "x = [[j for j in range(100000)] for i in range(100000)]",
    ] {
        let text = with_step(&format!("{body}\nreturn {ASK}"));
        assert!(dry(&text).is_err(), "{body}");
    }
    assert!(dry("load('x.star', 'y')\n").is_err());
}

#[test]
fn intrinsics_live_only_in_steps_and_functions_must_be_there() {
    let outside = |name: &str, arg: &str| {
        let call =
            "dp_histogram(1, column = 'words', vocabulary = 'w.txt', max_per_user = 1, share = 1)";
        let honest = with_step(&format!("return {ASK}"));
        honest.replace(
            &format!("def {name}({arg}):\n"),
            &format!("def {name}({arg}):\n    x = {call}\n"),
        )
    };
    for (name, arg) in [("init", "public"), ("finish", "state")] {
        assert!(dry(&outside(name, arg)).is_err(), "{name}");
    }
    let honest = with_step(&format!("return {ASK}"));
    for name in ["init", "step", "finish"] {
        let missing = honest.replace(&format!("def {name}("), "def other(");
        assert!(
            matches!(dry(&missing), Err(DriverError::Form { .. })),
            "{name}"
        );
    }
    for returned in ["state", "1", "None", "[table('t', state)]"] {
        let text = honest.replace("table(\"t\", state)", returned);
        assert!(dry(&text).is_err(), "{returned}");
    }
}

#[test]
fn parameters_are_public_integers() {
    let text = with_step(&format!("return {ASK}")).replace(
        "    return None\n",
        "    if public['params']['size'] != 5 or public['blobs'] != 1000:\n        fail('x')\n    return None\n",
    );
    let mut public = public(1);
    assert!(load(&text).dry_run(&public).is_err());
    public.params.insert("size".into(), 5);
    assert!(load(&text).dry_run(&public).is_ok());
    for rounds in [0, -1, 1025, i64::MAX] {
        public.params.insert("rounds".into(), rounds);
        assert!(load(&text).dry_run(&public).is_err(), "{rounds}");
    }
}

#[test]
fn states_that_do_not_serialise_are_refused() {
    for state in [
        "1.5",
        "lambda: 1",
        "{1: 2}",
        "1 << 60",
        "table('t', c)",
        "range(3)",
    ] {
        assert!(
            dry(&with_step(&format!("c = {ASK}\nreturn [c, {state}]"))).is_err(),
            "{state}"
        );
    }
    let deep = format!("{}{}", "[".repeat(20), "]".repeat(20));
    assert!(dry(&with_step(&format!("return {deep}"))).is_err());
}

// I7: a state goes through its bytes in every run, so a restart cannot change what a driver sees.
#[test]
fn a_state_reads_back_as_it_was() {
    let text = "def init(public):\n    return {'b': (1, 'x', None), 'a': True}\n\n\
        def step(state, n, clients):\n    \
            if state['b'] != [1, 'x', None] or list(state.keys()) != ['a', 'b']:\n        fail('x')\n    \
            state['c'] = dp_histogram(clients, column = 'words', vocabulary = 'w.txt', max_per_user = 2, share = 0.5)\n    \
            return state\n\n\
        def finish(state):\n    return table('t', state['c'])\n";
    let driver = load(text);
    assert!(driver.dry_run(&public(1)).is_ok());
    let state = driver.init(&public(1)).unwrap();
    let bytes = state.to_bytes().unwrap();
    assert!(State::from_bytes(&bytes).unwrap() == state);
    assert!(State::from_bytes(&[&bytes[..], b" "].concat()).is_err());
}

// I14: a checkpoint's counts are one per bin, each of one spelling.
#[test]
fn states_with_other_counts_than_bins_do_not_read() {
    let driver = load(&with_step(&format!("return {ASK}")));
    let plan = driver.dry_run(&public(1)).unwrap().plan;
    let state = driver.init(&public(1)).unwrap();
    let mut exec = Fixed(vec![1; 4], 0);
    let state = driver
        .step(&public(1), &plan, &state, Step(1), &mut exec)
        .unwrap();
    let text = String::from_utf8(state.to_bytes().unwrap()).unwrap();
    let one = r#""0000000000000001""#;
    for other in [
        "",
        r#""000000000000000G","#,
        r#""1","#,
        r#""+000000000000001","#,
    ] {
        let bad = text.replacen(&format!("{one},"), other, 1);
        assert_ne!(bad, text);
        assert!(State::from_bytes(bad.as_bytes()).is_err(), "{other}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // I14: no text panics, neither parsed nor run.
    #[test]
    fn hostile_text_never_panics(
        body in "(return|if|for|clients|dp_histogram|table|[a-c(){}\\[\\]:=+<>,'\" 0-9\n]){0,24}",
    ) {
        let _ = dry(&body);
        let _ = dry(&with_step(&body));
    }

    #[test]
    fn hostile_states_never_panic(bytes in any::<Vec<u8>>(), at in 0usize..60, byte: u8) {
        let _ = State::from_bytes(&bytes);
        let driver = load(&with_step(&format!("return {ASK}")));
        let mut bytes = driver.init(&public(1)).unwrap().to_bytes().unwrap();
        let len = bytes.len();
        bytes[at % len] = byte;
        let _ = State::from_bytes(&bytes);
    }
}
