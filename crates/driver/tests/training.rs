//! A program that trains: steps, snapshots, and what its tensors can and cannot do (I5, I7, I12).

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Fixed, public};
use siegel_driver::{Driver, DriverError, State};
use siegel_ident::Step;
use siegel_program::{Bundle, Intrinsic, Kind, Plan, Released};

const TEXT: &str = r#"
MODEL = next_char(alphabet = "a.txt", context = 2, embedding = 3, hidden = 4)

def init(public):
    weights = initial(MODEL, seed = 1)
    return {"weights": weights, "velocity": zeros(MODEL), "users": public["blobs"], "rounds": public["rounds"]}

def step(state, n, clients):
    update = dp_clipped_sum(
        clients, model = MODEL, at = state["weights"], column = "text", max_per_user = 16,
        epochs = 1, batch = 4, rate = 0.5, clip = 1.0, scale = 65536, share = 1.0 / state["rounds"],
    )
    velocity = 0.5 * state["velocity"] + update / state["users"]
    return {
        "weights": state["weights"] + velocity * 2,
        "velocity": velocity,
        "users": state["users"],
        "rounds": state["rounds"],
    }

def snapshot(state):
    return tensors("model-by-round", MODEL, state["weights"])

def finish(state):
    return tensors("model", MODEL, state["weights"])
"#;

fn bundle(text: &str) -> Bundle {
    Bundle::new("t", text, [("a.txt".to_owned(), "ab \n".to_owned())].into()).unwrap()
}

fn dry(text: &str) -> Result<Plan, DriverError> {
    Ok(Driver::load(&bundle(text))?.dry_run(&public(3))?.plan)
}

/// Runs all rounds with this answer; the releases and the sizes of the states.
fn run(text: &str, q: i64) -> Result<(Vec<Released>, Vec<usize>), DriverError> {
    let driver = Driver::load(&bundle(text))?;
    let plan = driver.dry_run(&public(3))?.plan;
    let dimension = plan.steps[0].intrinsics[0].dimension();
    let mut exec = Fixed(vec![q; dimension], 0);
    let mut state = driver.init(&public(3))?;
    let (mut released, mut sizes) = (Vec::new(), Vec::new());
    for n in 1..=3 {
        state = driver.step(&public(3), &plan, &state, Step(n), &mut exec)?;
        let bytes = state.to_bytes()?;
        sizes.push(bytes.len());
        // What a restarted root does between any two steps.
        state = State::from_bytes(&bytes)?;
        released.extend(driver.release(&plan, &state, Step(n))?);
    }
    Ok((released, sizes))
}

fn values(released: &Released) -> Vec<f32> {
    match released {
        Released::Tensors(tensors) => tensors.flat(),
        Released::Table(_) => panic!("a table"),
    }
}

#[test]
fn every_round_is_planned_with_its_release() {
    let plan = dry(TEXT).unwrap();
    assert_eq!(plan.rounds, 3);
    let names = plan
        .steps
        .iter()
        .map(|s| s.release.as_ref().unwrap().name.as_str());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["model-by-round", "model-by-round", "model"]
    );
    let Intrinsic::ClippedSum(spec) = &plan.steps[2].intrinsics[0] else {
        panic!("another intrinsic");
    };
    assert_eq!(
        spec,
        match &plan.steps[0].intrinsics[0] {
            Intrinsic::ClippedSum(first) => first,
            Intrinsic::Histogram(_) => panic!("another intrinsic"),
        }
    );
    assert_eq!(
        (spec.rate_micro, spec.clip_micro, spec.scale),
        (500_000, 1_000_000, 65_536)
    );
    // Three thirds, each rounded down, are within the budget (I6).
    let total = public(3).budget.rho_nano.0;
    assert!(plan.total.rho_nano.0 <= total && plan.total.rho_nano.0 + 3 > total);
    // Without a snapshot only the last step releases.
    let quiet = TEXT.replace("def snapshot(state):", "def other(state):");
    let plan = dry(&quiet).unwrap();
    assert!(plan.steps[0].release.is_none() && plan.steps[2].release.is_some());
}

// Momentum by hand: v1 = u/n, v2 = v1/2 + u/n, w = w0 + 2·(v1 + v2 + v3); catches an operator that
// does something else than its sign says.
#[test]
fn tensors_compute_elementwise() {
    let (released, _) = run(TEXT, 65_536).unwrap();
    let plan = dry(TEXT).unwrap();
    let Intrinsic::ClippedSum(spec) = &plan.steps[0].intrinsics[0] else {
        panic!("another intrinsic");
    };
    let start: Vec<f32> = spec.model.initial(1);
    let u = 65_536.0 * spec.unit().unwrap() / 1000.0;
    let moved = [2.0 * u, 2.0 * (u + 1.5 * u), 2.0 * (u + 1.5 * u + 1.75 * u)];
    for (released, moved) in released.iter().zip(moved) {
        for (value, start) in values(released).iter().zip(&start) {
            let expected = (f64::from(*start) + moved) as f32;
            assert!((value - expected).abs() <= 1e-6, "{value} {expected}");
        }
    }
    let minus = TEXT.replace(
        "state[\"weights\"] + velocity * 2",
        "-(velocity - state[\"weights\"])",
    );
    let (released, _) = run(&minus, 65_536).unwrap();
    let expected = (f64::from(start[0]) - u) as f32;
    assert!((values(&released[0])[0] - expected).abs() <= 1e-6);
}

// I12: catches a state or a release whose size tells something about the values.
#[test]
fn sizes_do_not_depend_on_the_values() {
    let (zeros, sizes) = run(TEXT, 0).unwrap();
    let lengths = |released: &[Released]| {
        let length = |r: &Released| r.to_bytes().unwrap().len();
        released.iter().map(length).collect::<Vec<_>>()
    };
    for q in [1, -1, i64::MAX, i64::MIN, 12_345] {
        let (released, other) = run(TEXT, q).unwrap();
        assert_eq!(other, sizes, "{q}");
        assert_eq!(lengths(&released), lengths(&zeros), "{q}");
    }
}

// I5: a tensor shows nothing, not even whether it is zero.
#[test]
fn a_tensor_answers_no_question() {
    for attempt in [
        "print(update)",
        "x = str(update)",
        "x = 1 if update else 2",
        "x = update == zeros(MODEL)",
        "x = update < zeros(MODEL)",
        "x = {update: 1}",
        "fail(update)",
    ] {
        let text = TEXT.replace(
            "    velocity = 0.5",
            &format!("    {attempt}\n    velocity = 0.5"),
        );
        assert_ne!(text, TEXT);
        match dry(&text) {
            Err(DriverError::Kind {
                kind: Kind::Private,
                ..
            }) => {}
            other => panic!("{attempt}: {:?}", other.map(|_| ())),
        }
    }
    for attempt in [
        "x = update[0]",
        "x = [u for u in update]",
        "x = update + 1",
        "x = update / 0",
        "x = update * update",
    ] {
        let text = TEXT.replace(
            "    velocity = 0.5",
            &format!("    {attempt}\n    velocity = 0.5"),
        );
        assert!(dry(&text).is_err(), "{attempt}");
    }
}

// What cannot be computed exactly, or at all, is refused before registration.
#[test]
fn terms_out_of_bounds_are_refused() {
    for (from, to) in [
        ("scale = 65536", "scale = 3"),
        ("scale = 65536", "scale = -1"),
        ("max_per_user = 16", "max_per_user = 0"),
        ("epochs = 1", "epochs = 65"),
        ("batch = 4", "batch = 0"),
        ("rate = 0.5", "rate = 0"),
        ("rate = 0.5", "rate = -1.0"),
        ("clip = 1.0", "clip = float('nan')"),
        ("clip = 1.0", "clip = 1001"),
        ("at = state[\"weights\"]", "at = state[\"users\"]"),
        (
            "at = state[\"weights\"]",
            "at = zeros(classifier(features = 2, hidden = 0, classes = 2))",
        ),
        ("alphabet = \"a.txt\"", "alphabet = \"b.txt\""),
        ("hidden = 4", "hidden = 0"),
        // A share so small that the noise leaves the sampler's range.
        ("share = 1.0 / state[\"rounds\"]", "share = 0.00000002"),
    ] {
        let text = TEXT.replace(from, to);
        assert_ne!(text, TEXT, "{from}");
        assert!(dry(&text).is_err(), "{to}");
    }
}

// A checkpoint that was tampered with does not read (it is sealed; this is the second line).
#[test]
fn a_tensor_of_odd_digits_does_not_read() {
    let driver = Driver::load(&bundle(TEXT)).unwrap();
    let state = driver.init(&public(3)).unwrap();
    let text = String::from_utf8(state.to_bytes().unwrap()).unwrap();
    let at = text.find("\"hex\":\"").unwrap() + 7;
    for bad in ["é", "G", "0", ""] {
        let other = format!("{}{bad}{}", &text[..at], &text[at + 1..]);
        let same = other == text;
        assert!(
            same || bad == "0" || State::from_bytes(other.as_bytes()).is_err(),
            "{bad}"
        );
    }
    let shorter = format!("{}{}", &text[..at], &text[at + 1..]);
    assert!(State::from_bytes(shorter.as_bytes()).is_err());
}
