//! Small programs that train, and what is done around them.

use std::collections::BTreeMap;
use std::sync::Arc;

use siegel_fleet::cluster::{Mode, Options};
use siegel_fleet::data::Dataset;
use siegel_ident::EpochId;
use siegel_operator::FinishedRun;
use siegel_policy::{AccessPolicy, ColumnKind};
use siegel_program::{Bundle, Tensors};
use siegel_tensor::{Classifier, Model};

use crate::gate::Gate;
use crate::{World, people};

/// The shipped policy of training programs; suite 2.
pub const POLICY: &str = include_str!("../../policies/next-char.toml");

/// Predicts the next of six characters, and shows its model after every round.
pub const NEXT_CHAR: &str = r#"
MODEL = next_char(alphabet = "characters.txt", context = 2, embedding = 3, hidden = 4)

def init(public):
    return {
        "weights": initial(MODEL, seed = 1),
        "velocity": zeros(MODEL),
        "users": public["blobs"],
        "rounds": public["rounds"],
    }

def step(state, n, clients):
    update = dp_clipped_sum(
        clients, model = MODEL, at = state["weights"], column = "text", max_per_user = 64,
        epochs = 1, batch = 8, rate = 1.0, clip = 1.0, scale = 65536,
        share = 1.0 / state["rounds"],
    )
    velocity = state["velocity"] * 0.5 + update / state["users"]
    return {
        "weights": state["weights"] + velocity,
        "velocity": velocity,
        "users": state["users"],
        "rounds": state["rounds"],
    }

def snapshot(state):
    return tensors("model-by-round", MODEL, state["weights"])

def finish(state):
    return tensors("model", MODEL, state["weights"])
"#;

/// Tells rows of three numbers apart. Every round moves the weights by the noisy sum itself,
/// so that the sum can be read off the models, to the lattice unit.
pub const CLASSIFIER: &str = r#"
MODEL = classifier(features = 3, hidden = 0, classes = 2)

def init(public):
    return {"weights": initial(MODEL, seed = 1), "rounds": public["rounds"]}

def step(state, n, clients):
    update = dp_clipped_sum(
        clients, model = MODEL, at = state["weights"], column = "rows", max_per_user = 16,
        epochs = 1, batch = 4, rate = 0.5, clip = 1.0, scale = 1024,
        share = 1.0 / state["rounds"],
    )
    return {"weights": state["weights"] + update, "rounds": state["rounds"]}

def snapshot(state):
    return tensors("model-by-round", MODEL, state["weights"])

def finish(state):
    return tensors("model", MODEL, state["weights"])
"#;

/// S of [`CLASSIFIER`]: no user moves the sum by more, in lattice units (L2).
pub const SCALE: u64 = 1024;

/// [`NEXT_CHAR`] with its characters.
pub fn next_char() -> Bundle {
    let assets = BTreeMap::from([("characters.txt".to_owned(), "abcd\n".to_owned())]);
    Bundle::new("next-char", NEXT_CHAR, assets).expect("a bundle")
}

/// [`CLASSIFIER`].
pub fn classifier() -> Bundle {
    Bundle::new("next-char", CLASSIFIER, BTreeMap::new()).expect("a bundle")
}

/// The model of [`CLASSIFIER`].
const fn classifier_model() -> Model {
    Model::Classifier(Classifier {
        features: 3,
        hidden: 0,
        classes: 2,
    })
}

/// Everybody writes something else.
pub fn writers(n: usize) -> Arc<Dataset> {
    let letter = |at: usize| char::from(b'a' + (at % 5) as u8);
    let text = |user: usize| -> String {
        let letters = (0..40 + user).map(|at| letter(at * at + user * (at / 3)));
        letters.collect()
    };
    let texts: Vec<String> = (0..n).map(text).collect();
    people(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What one training gave.
pub struct Trained {
    /// The run.
    pub run: FinishedRun,
    /// The opened releases of all rounds.
    pub models: Vec<Vec<u8>>,
}

impl World {
    /// A world whose program is [`NEXT_CHAR`], in one process.
    pub async fn training(rounds: u64, change: impl FnOnce(&mut Options)) -> Self {
        Self::training_under(rounds, change, |_| {}).await
    }

    /// The same under another policy.
    pub async fn training_under(
        rounds: u64,
        options: impl FnOnce(&mut Options),
        policy: impl FnOnce(&mut AccessPolicy),
    ) -> Self {
        let bundle = next_char();
        let world = Self::of(Mode::InProcess, &bundle, POLICY, options, policy).await;
        Self { rounds, ..world }
    }

    /// A world of seed 1 behind a gate, after the uploads of these writers.
    pub async fn gated(rounds: u64, gate: &Arc<Gate>, data: &Arc<Dataset>) -> (Self, EpochId) {
        let world = Self::training(rounds, |options| {
            options.seed = Some([1; 32]);
            options.store = Some(gate.store());
        })
        .await;
        let (_, epoch) = world.upload(data).await;
        (world, epoch)
    }

    /// A world whose program is [`CLASSIFIER`]; clients send numbers.
    pub async fn classifying(mode: Mode, rounds: u64, options: impl FnOnce(&mut Options)) -> Self {
        let numbers = |policy: &mut AccessPolicy| {
            for column in &mut policy.input.columns {
                column.name = "rows".into();
                column.kind = ColumnKind::Floats;
            }
        };
        let world = Self::of(mode, &classifier(), POLICY, options, numbers).await;
        Self { rounds, ..world }
    }

    /// Runs and opens everything.
    pub async fn train(&mut self, epoch: EpochId) -> Trained {
        let run = self.run(epoch).await.expect("a run");
        let models = self.open_all(&run).await;
        Trained { run, models }
    }
}

/// The parameters in an opened release of [`CLASSIFIER`].
pub fn parameters(release: &[u8]) -> Vec<f32> {
    let tensors = Tensors::from_safetensors("model", &classifier_model(), release);
    tensors.expect("the model's tensors").flat()
}
