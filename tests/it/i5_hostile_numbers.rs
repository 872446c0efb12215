//! I5, I12: numbers that no honest leaf returns are bounded or zero, and nobody outside learns whose
//! they were.

use std::path::Path;

use serde_json::Value;
use siegel_dp::lattice::Lattice;
use siegel_fleet::cluster::Mode;
use siegel_tests::World;
use siegel_tests::outside::Outside;
use siegel_tests::raw::{Column, seal_raw, send};
use siegel_tests::training::{SCALE, parameters};

const ROUNDS: u64 = 2;
const HONEST: usize = 4;
/// A row that trains: three numbers and the class.
const ROW: [f32; 4] = [0.5, -1.0, 2.0, 1.0];

/// What one user sends: rows, or none if it sends something else.
type Content = Option<Vec<f32>>;

/// What counts zero, exactly.
fn zeros() -> Vec<(&'static str, Content)> {
    let row = |x: f32| Some(vec![x, 1.0, 1.0, 1.0]);
    let class = |x: f32| Some(vec![0.5, 1.0, 1.0, x]);
    vec![
        ("NaN", row(f32::NAN)),
        ("infinity", row(f32::INFINITY)),
        ("minus infinity", row(f32::NEG_INFINITY)),
        ("a class out of range", class(2.0)),
        ("a negative class", class(-1.0)),
        ("a class between two", class(0.5)),
        ("a class that is no number", class(f32::NAN)),
        ("half a row", Some(ROW[..2].to_vec())),
        ("no column of numbers", None),
    ]
}

/// What counts, within the clip. Of two classes one is the wrong one, so huge rows move the weights;
/// denormal ones move what is added to them.
fn bounded() -> Vec<(&'static str, Content)> {
    let rows = |x: f32, class: f32| Some(vec![x, -x, x, class, x, -x, x, 1.0]);
    vec![("1e38", rows(1e38, 0.0)), ("denormals", rows(1e-45, 1.0))]
}

/// What a run under one seed gave, and what was to be seen of it.
struct Seen {
    outside: Outside,
    models: Vec<Vec<f32>>,
    /// What root and worker logged, if they are processes.
    logs: Vec<String>,
}

/// Trains on honest users and on one user for each of the contents above. Of these, `speaks` says
/// who sends it; the others send no rows. The users, and so the blobs, are always the same.
async fn train(honest: Content, speaks: impl Fn(&str) -> bool) -> Seen {
    train_in(Mode::InProcess, honest, speaks).await
}

async fn train_in(mode: Mode, honest: Content, speaks: impl Fn(&str) -> bool) -> Seen {
    let mut world = World::classifying(mode, ROUNDS, |options| {
        options.seed = Some([1; 32]);
        options.workers = 1;
    })
    .await;
    let honest = (0..HONEST).map(|_| ("", honest.clone()));
    let hostile = zeros().into_iter().chain(bounded());
    let verified = world.verified().await;
    for (user, (what, content)) in honest.chain(hostile).enumerate() {
        let column = match content {
            Some(rows) if what.is_empty() || speaks(what) => Column::floats("rows", rows),
            None if speaks(what) => Column::text("rows", "0.5,1.0,1.0,1"),
            _ => Column::floats("rows", Vec::new()),
        };
        let name = format!("user {user}");
        send(&world, seal_raw(&world, &verified, &name, column)).await;
    }
    let (run, outside) = world.run_watched(verified.epoch()).await;
    let models = world.open_all(&run).await;
    let models = models.iter().map(|model| parameters(model)).collect();
    let logs = logged(world.deployment.cluster.logs());
    Seen {
        outside,
        models,
        logs,
    }
}

/// How far the sums of the first round are from each other, in lattice units (L2). Both runs have
/// the same noise and start from the same weights, and a model is the start plus the noisy sum: so
/// the difference of two models is that of the exact sums, in whole units.
fn apart(one: &Seen, other: &Seen) -> f64 {
    let dimension = one.models[0].len();
    let unit = Lattice::new(SCALE, dimension).unwrap().unit(1.0);
    let pairs = one.models[0].iter().zip(&other.models[0]);
    let squares = pairs.map(|(one, other)| {
        let units = (f64::from(*one) - f64::from(*other)) / unit;
        assert!((units - units.round()).abs() < 0.05, "{units}");
        units.round().powi(2)
    });
    squares.sum::<f64>().sqrt()
}

/// What root and worker logged, in order, but for times and ports. Which node of the key service leads
/// is chance, so what is said of sessions with it is left out.
fn logged(folder: &Path) -> Vec<String> {
    let lines = ["root.jsonl", "worker-1.jsonl"].map(|file| {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        text.lines().filter_map(said).collect::<Vec<_>>()
    });
    lines.concat()
}

fn said(line: &str) -> Option<String> {
    let mut line: Value = serde_json::from_str(line).expect("a log line");
    let fields = line.as_object_mut().expect("fields");
    fields.remove("ts").expect("a time");
    fields.remove("endpoint");
    let of_keys = fields["target"].as_str()?.starts_with("siegel_keys");
    (!of_keys).then(|| line.to_string())
}

fn finite(seen: &Seen) -> bool {
    seen.models.iter().flatten().all(|x| x.is_finite())
}

/// The bound is S, the sensitivity that the noise is drawn for: one user's exact lattice
/// contribution has an L2 norm of at most S, so two sums that differ in one user differ by no more.
///
/// Catches a NaN or a huge number that gets into a sum or a state, a clip that is not in the L2
/// norm, a user that stops the run, and a refusal, an event, a receipt or a size that tells of it.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_numbers_are_bounded_and_not_seen() {
    let honest = || Some(ROW.to_vec());
    let silent = train(honest(), |_| false).await;
    assert!(finite(&silent));
    let zero = |who: &str| zeros().iter().any(|(what, _)| *what == who);
    let same = train(honest(), zero).await;
    assert_eq!(apart(&same, &silent), 0.0, "all these count zero");
    assert!(same.models == silent.models, "in every round");
    assert_eq!(same.outside, silent.outside);
    for (one, least) in [("1e38", 0.99), ("denormals", 0.0)] {
        let other = train(honest(), |who| who == one).await;
        let apart = apart(&other, &silent);
        assert!(apart <= SCALE as f64, "{one}: {apart}");
        // It is one voice, not none: the comparison can see it.
        assert!(apart > least * SCALE as f64, "{one}: {apart}");
        assert!(finite(&other), "{one}");
        assert_eq!(other.outside, silent.outside, "{one}");
    }
    let worst = Some([f32::MAX, -1e38, 1e-45, 1.0].repeat(16));
    let all = train(worst, |_| true).await;
    assert!(finite(&all));
    // Of the honest ones, what they said before and what they say now.
    let voices = 2 * HONEST + bounded().len();
    let apart = apart(&all, &silent);
    assert!(apart <= voices as f64 * SCALE as f64, "{apart}");
    assert_eq!(all.outside, silent.outside);
}

/// The same for what processes log. Catches a line, or a field of one, about a record that does not
/// open or does not train.
#[tokio::test(flavor = "multi_thread")]
async fn logs_do_not_tell_of_hostile_numbers() {
    let honest = || Some(ROW.to_vec());
    let silent = train_in(siegel_tests::processes().await, honest(), |_| false).await;
    let spoken = train_in(siegel_tests::processes().await, honest(), |_| true).await;
    assert!(silent.logs.len() > 6, "{:?}", silent.logs);
    assert_eq!(silent.logs, spoken.logs);
    assert_eq!(silent.outside, spoken.outside);
}
