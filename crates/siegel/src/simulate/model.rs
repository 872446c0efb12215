//! The released models, tried on text that never left the simulator.

use std::collections::BTreeMap;

use siegel_dp::zcdp;
use siegel_fleet::data::{Client, Dataset};
use siegel_ident::secret::Wiped;
use siegel_ident::{NanoRho, Step};
use siegel_program::{Alphabet, Bundle, ClippedSumSpec, Plan, Tensors};
use siegel_tensor::{Examples, Scratch, accuracy};

use super::report::{RoundTruth, TrainingTruth};

/// A model that a step released.
pub(super) struct Model {
    pub(super) step: Step,
    pub(super) tensors: Tensors,
}

/// Why a model could not be tried.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrialError {
    #[error(transparent)]
    Program(#[from] siegel_program::ProgramError),
    #[error("trying a released model: {0}")]
    Tensor(#[from] siegel_tensor::TensorError),
}

/// Tries every released model on the clients that were held out: each of their characters, up to
/// the bound of a user who trains, is guessed from those before it. Beside it the best guess that
/// looks at nothing: always the symbol that is most frequent in the (bounded) texts of the clients
/// that uploaded.
///
/// None where there is nothing to try: a model of another kind, no model, or no held-out text.
/// `delta` is the policy's; budget and ε by round are over the plan's steps up to that round.
pub(super) fn evaluate(
    plan: &Plan,
    spec: &ClippedSumSpec,
    bundle: &Bundle,
    delta: f64,
    models: &[Model],
    data: &Dataset,
) -> Result<Option<TrainingTruth>, TrialError> {
    let Some(asset) = &spec.alphabet else {
        return Ok(None);
    };
    let alphabet = Alphabet::parse(bundle.asset(asset)?)?;
    let most = spec.max_items_per_user as usize;
    let encode = |client: Client<'_>| alphabet.encode(&client.text(), most);
    let held_out: Vec<Wiped<u8>> = data.held_out.iter().map(encode).collect();
    let characters: usize = held_out.iter().map(|text| text.len()).sum();
    let Some(last) = models.last().filter(|_| characters > 0) else {
        return Ok(None);
    };
    let mut by_round = Vec::new();
    for model in models {
        let spent = plan
            .steps
            .iter()
            .take(model.step.0 as usize)
            .fold(0, |sum: u64, step| sum.saturating_add(step.cost.rho_nano.0));
        by_round.push(RoundTruth {
            round: model.step.0,
            accuracy: share_right(spec, &model.tensors, &held_out)?,
            rho: NanoRho(spent).to_string(),
            epsilon: zcdp::epsilon(NanoRho(spent), delta),
        });
    }
    let accuracy = match by_round.last() {
        Some(round) if round.round == last.step.0 => round.accuracy,
        _ => return Ok(None),
    };
    let trained = data.clients.iter().map(encode);
    Ok(Some(TrainingTruth {
        accuracy,
        unigram: unigram(trained, &held_out),
        users: held_out.len() as u64,
        characters: characters as u64,
        by_round,
    }))
}

fn share_right(
    spec: &ClippedSumSpec,
    tensors: &Tensors,
    texts: &[Wiped<u8>],
) -> Result<f64, TrialError> {
    let (params, mut scratch) = (tensors.flat(), Scratch::default());
    let (mut right, mut of) = (0, 0);
    for text in texts {
        let found = accuracy(&spec.model, &params, &Examples::Symbols(text), &mut scratch)?;
        right += found.0;
        of += found.1;
    }
    Ok(share(right, of))
}

/// How often the most frequent symbol of `trained` is right on `texts`.
fn unigram(trained: impl Iterator<Item = Wiped<u8>>, texts: &[Wiped<u8>]) -> f64 {
    let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
    for text in trained {
        for symbol in text.iter() {
            *counts.entry(*symbol).or_default() += 1;
        }
    }
    // Of equally frequent ones the first.
    let guess = counts.iter().rev().max_by_key(|(_, count)| **count);
    let guess = guess.map(|(symbol, _)| *symbol);
    let all = texts.iter().flat_map(|text| text.iter());
    let right = all.filter(|symbol| Some(**symbol) == guess).count();
    share(
        right as u64,
        texts.iter().map(|text| text.len() as u64).sum(),
    )
}

fn share(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::rehearse;
    use super::super::shipped::choose;
    use super::*;
    use siegel_fleet::data::{ClientData, Clients};

    fn client(text: &str) -> ClientData {
        ClientData {
            name: text.into(),
            texts: vec![text.into()],
        }
    }

    /// All zero but the bias of one symbol: always guesses that symbol.
    fn always(spec: &ClippedSumSpec, symbol: usize) -> Tensors {
        let mut params = vec![0.0; spec.dimension()];
        let biases = params.len() - 63;
        params[biases + symbol] = 1.0;
        Tensors::of("m", &spec.model, &params).unwrap()
    }

    // Catches a model tried on the clients that trained it, a baseline taken from the clients it is
    // tried on, a bound that is not kept, and a budget by round that is not the sum so far.
    #[test]
    fn models_are_tried_on_held_out_text_beside_the_most_frequent_symbol() {
        let chosen = choose("next-char", None).unwrap();
        let plan = rehearse::plan(&chosen, 2, 3).unwrap();
        let spec = rehearse::training(&plan).unwrap();
        let data = Dataset {
            clients: Clients::listed(vec![client("aaab"), client("aa")]),
            held_out: Clients::listed(vec![client("abbb"), client(&"b".repeat(600)), client("")]),
        };
        let models: Vec<Model> = [(1, 1), (2, 2)]
            .map(|(step, symbol)| Model {
                step: Step(step),
                tensors: always(spec, symbol),
            })
            .into();
        let bundle = &chosen.bundle;
        let truth = evaluate(&plan, spec, bundle, 1e-4, &models, &data)
            .unwrap()
            .unwrap();
        assert_eq!((truth.users, truth.characters), (3, 4 + 512));
        let (a, b) = (1.0 / 516.0, 515.0 / 516.0);
        assert_eq!((truth.accuracy, truth.unigram), (b, a));
        let rounds: Vec<_> = truth
            .by_round
            .iter()
            .map(|r| (r.round, r.accuracy))
            .collect();
        assert_eq!(rounds, [(1, a), (2, b)]);
        let [first, second] = &truth.by_round[..] else {
            panic!("two rounds");
        };
        assert!(first.epsilon < second.epsilon && second.epsilon <= 8.0);
        assert_eq!(second.rho, plan.total.rho_nano.to_string());
        assert_eq!(first.rho, plan.steps[0].cost.rho_nano.to_string());

        let nobody = Dataset::of(vec![client("aaab")]);
        let none = evaluate(&plan, spec, bundle, 1e-4, &models, &nobody).unwrap();
        assert!(none.is_none());
    }
}
