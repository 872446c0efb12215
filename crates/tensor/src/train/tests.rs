//! Whole steps against plain f64 loops, golden bits, hostile numbers, learning.

use super::*;
use crate::layers::check::{numbers, wide};
use crate::{Classifier, NextChar};

const TEXT: Model = Model::NextChar(NextChar {
    alphabet: 11,
    context: 3,
    embedding: 2,
    hidden: 5,
});
const SYMBOLS: [u8; 9] = [3, 1, 4, 1, 5, 9, 2, 6, 10];

const fn rows_model(hidden: u32) -> Model {
    Model::Classifier(Classifier {
        features: 4,
        hidden,
        classes: 3,
    })
}

fn rows(count: usize) -> Vec<f32> {
    let mut rows = numbers(count * 5, 9);
    for (i, row) in rows.chunks_mut(5).enumerate() {
        row[4] = (i * 7 % 3) as f32;
    }
    rows
}

const fn sgd(epochs: u32, batch: u32, rate: f32) -> Sgd {
    Sgd {
        epochs,
        batch,
        rate,
    }
}

fn trained(model: &Model, params: &[f32], examples: &Examples<'_>, sgd: Sgd) -> Vec<f32> {
    let mut update = vec![7.0; params.len()];
    train(
        model,
        params,
        examples,
        &sgd,
        &mut Scratch::default(),
        &mut update,
    )
    .unwrap();
    update
}

/// One epoch of the same training in f64: plain loops over one example at a time, gradients of the
/// batch summed, then one step. Written from the definition, not from the code under test.
fn reference(model: &Model, params: &[f32], examples: &Examples<'_>, sgd: Sgd) -> Vec<f64> {
    let (inputs, hidden, classes) = match model {
        Model::NextChar(m) => (
            (m.context * m.embedding) as usize,
            m.hidden,
            m.alphabet as usize,
        ),
        Model::Classifier(m) => (m.features as usize, m.hidden, m.classes as usize),
    };
    let hidden = hidden as usize;
    let (context, width) = match model {
        Model::NextChar(m) => (m.context as usize, m.embedding as usize),
        Model::Classifier(_) => (0, 0),
    };
    let count = match examples {
        Examples::Symbols(text) => text.len(),
        Examples::Rows(rows) => rows.len() / (inputs + 1),
    };
    let start = wide(params);
    let mut p = start.clone();
    let first = if context > 0 { classes * width } else { 0 };
    let second = if hidden > 0 {
        first + inputs * hidden + hidden
    } else {
        first
    };
    let last = if hidden > 0 { hidden } else { inputs };
    for batch in (0..count).collect::<Vec<_>>().chunks(sgd.batch as usize) {
        let mut g = vec![0.0; p.len()];
        for &at in batch {
            // Where the input comes from, and what it is.
            let (places, x, class): (Vec<usize>, Vec<f64>, usize) = match examples {
                Examples::Symbols(text) => {
                    let symbol = |c: usize| {
                        if at + c < context {
                            0
                        } else {
                            text[at + c - context]
                        }
                    };
                    let places: Vec<usize> = (0..inputs)
                        .map(|i| usize::from(symbol(i / width)) * width + i % width)
                        .collect();
                    let x = places.iter().map(|&place| p[place]).collect();
                    (places, x, usize::from(text[at]))
                }
                Examples::Rows(rows) => {
                    let row = &rows[at * (inputs + 1)..(at + 1) * (inputs + 1)];
                    (Vec::new(), wide(&row[..inputs]), row[inputs] as usize)
                }
            };
            let h: Vec<f64> = (0..hidden)
                .map(|j| {
                    let bias = p[first + inputs * hidden + j];
                    let sum: f64 = (0..inputs).map(|i| x[i] * p[first + i * hidden + j]).sum();
                    if context > 0 {
                        (sum + bias).tanh()
                    } else {
                        (sum + bias).max(0.0)
                    }
                })
                .collect();
            let input = if hidden > 0 { &h } else { &x };
            let z: Vec<f64> = (0..classes)
                .map(|c| {
                    let bias = p[second + last * classes + c];
                    let sum: f64 = (0..last)
                        .map(|i| input[i] * p[second + i * classes + c])
                        .sum();
                    sum + bias
                })
                .collect();
            let total: f64 = z.iter().map(|z| z.exp()).sum();
            let dz: Vec<f64> = (0..classes)
                .map(|c| z[c].exp() / total - if c == class { 1.0 } else { 0.0 })
                .collect();
            for c in 0..classes {
                g[second + last * classes + c] += dz[c];
                for i in 0..last {
                    g[second + i * classes + c] += input[i] * dz[c];
                }
            }
            for j in 0..hidden {
                let sum: f64 = (0..classes)
                    .map(|c| dz[c] * p[second + j * classes + c])
                    .sum();
                let slope = match context {
                    0 if h[j] > 0.0 => 1.0,
                    0 => 0.0,
                    _ => 1.0 - h[j] * h[j],
                };
                g[first + inputs * hidden + j] += sum * slope;
                for i in 0..inputs {
                    g[first + i * hidden + j] += x[i] * sum * slope;
                    if context > 0 {
                        g[places[i]] += p[first + i * hidden + j] * sum * slope;
                    }
                }
            }
        }
        for (p, g) in p.iter_mut().zip(&g) {
            *p -= f64::from(sgd.rate) / batch.len() as f64 * g;
        }
    }
    p.iter()
        .zip(&start)
        .map(|(now, before)| now - before)
        .collect()
}

/// One step on the whole batch, and three with a short last one, for each model.
#[test]
fn steps_agree_with_plain_loops() {
    let rows = rows(7);
    let cases = [
        (TEXT, Examples::Symbols(&SYMBOLS)),
        (rows_model(0), Examples::Rows(&rows)),
        (rows_model(6), Examples::Rows(&rows)),
    ];
    for (model, examples) in cases {
        let params = model.initial(3);
        for batch in [100, 4] {
            let sgd = sgd(1, batch, 0.5);
            let ours = trained(&model, &params, &examples, sgd);
            let theirs = reference(&model, &params, &examples, sgd);
            for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
                let error = (f64::from(*a) - b).abs();
                assert!(error < 1e-6, "{model:?}, batch {batch}, {i}: {a}, not {b}");
            }
            assert!(theirs.iter().any(|b| b.abs() > 0.05));
        }
    }
}

/// By hand: two features, two classes, all parameters 0, one row (1, 2) of class 1, rate 1. Both
/// probabilities are ½, so the logits' gradient is (½, −½), the weights' x · that.
#[test]
fn one_step_by_hand() {
    let model = Model::Classifier(Classifier {
        features: 2,
        hidden: 0,
        classes: 2,
    });
    let update = trained(
        &model,
        &[0.0; 6],
        &Examples::Rows(&[1.0, 2.0, 1.0]),
        sgd(1, 1, 1.0),
    );
    assert_eq!(update, [-0.5, 0.5, -1.0, 1.0, -0.5, 0.5]);
}

fn hash(numbers: &[f32]) -> u64 {
    numbers.iter().fold(0xcbf2_9ce4_8422_2325, |hash, x| {
        (hash ^ u64::from(x.to_bits())).wrapping_mul(0x100_0000_01b3)
    })
}

/// I7. The same bits on every CPU and with every compiler, at the sizes that are used.
#[test]
fn i7_golden_updates() {
    let text: Vec<u8> = (0..200u32).map(|i| (i * i % 61) as u8).collect();
    let next = Model::NextChar(NextChar {
        alphabet: 63,
        context: 4,
        embedding: 8,
        hidden: 32,
    });
    let mut hashes = Vec::new();
    let params = next.initial(1);
    let examples = Examples::Symbols(&text);
    hashes.push(hash(&trained(&next, &params, &examples, sgd(2, 32, 0.5))));

    for hidden in [0, 64] {
        let model = Model::Classifier(Classifier {
            features: 784,
            hidden,
            classes: 10,
        });
        let mut rows = numbers(25 * 785, 6);
        for (i, row) in rows.chunks_mut(785).enumerate() {
            row[784] = (i % 10) as f32;
        }
        let params = model.initial(1);
        let examples = Examples::Rows(&rows);
        hashes.push(hash(&trained(&model, &params, &examples, sgd(1, 10, 0.05))));
    }
    assert_eq!(hashes, GOLDEN);
}
const GOLDEN: [u64; 3] = [
    2_780_108_546_307_031_971,
    3_377_685_763_140_221_819,
    862_819_170_358_027,
];

/// A used scratch, of any model and size, changes nothing.
#[test]
fn i7_scratch_carries_nothing_over() {
    let rows = rows(7);
    let mut scratch = Scratch::default();
    let sgd = sgd(2, 4, 0.5);
    let bad = vec![f32::NAN; TEXT.dimension()];
    let mut lost = vec![0.0; bad.len()];
    let symbols = Examples::Symbols(&SYMBOLS);
    train(&TEXT, &bad, &symbols, &sgd, &mut scratch, &mut lost).unwrap();
    for hidden in [6, 0, 6, 1] {
        let model = rows_model(hidden);
        let params = model.initial(4);
        let mut update = vec![0.0; params.len()];
        let examples = Examples::Rows(&rows);
        train(&model, &params, &examples, &sgd, &mut scratch, &mut update).unwrap();
        assert_eq!(
            hash(&update),
            hash(&trained(&model, &params, &examples, sgd))
        );
    }
}

/// Hostile numbers never panic, in any place; what comes out is for the clip to bound (I5, I12).
#[test]
fn hostile_numbers_flow_through() {
    let hostile = [
        f32::NAN,
        f32::INFINITY,
        -f32::INFINITY,
        1e38,
        -1e38,
        f32::MAX,
        1e-40,
        -1e-45,
    ];
    let mut scratch = Scratch::default();
    for value in hostile {
        for model in [TEXT, rows_model(0), rows_model(6)] {
            let good = rows(6);
            let mut bad = good.clone();
            bad.chunks_mut(5).for_each(|row| row[..4].fill(value));
            let mut one = good.clone();
            one[6] = value;
            let mut params = vec![model.initial(1), vec![value; model.dimension()]];
            params[0][2] = value;
            for params in &params {
                let all = match model {
                    Model::NextChar(_) => vec![Examples::Symbols(&SYMBOLS)],
                    Model::Classifier(_) => [&good, &bad, &one].map(|x| Examples::Rows(x)).into(),
                };
                for examples in all {
                    let mut update = vec![0.0; params.len()];
                    for rate in [0.5, f32::MAX, 1e-45] {
                        let sgd = sgd(3, 4, rate);
                        let done =
                            train(&model, params, &examples, &sgd, &mut scratch, &mut update);
                        assert_eq!(done, Ok(()));
                    }
                    let (right, total) = accuracy(&model, params, &examples, &mut scratch).unwrap();
                    assert!(right <= total);
                }
            }
        }
    }
}

#[test]
fn wrong_arguments_are_errors_and_leave_zeros() {
    let params = TEXT.initial(1);
    let len = params.len();
    let mut scratch = Scratch::default();
    let mut check =
        |params: &[f32], symbols: &[u8], sgd: Sgd, expected: Result<(), TensorError>| {
            let mut update = vec![7.0; len];
            let examples = Examples::Symbols(symbols);
            let done = train(&TEXT, params, &examples, &sgd, &mut scratch, &mut update);
            assert_eq!(done, expected);
            if symbols.is_empty() || done.is_err() {
                assert!(update.iter().all(|&x| x == 0.0));
            }
        };
    let good = sgd(1, 4, 0.5);
    let wanted = len;
    let found = len - 1;
    check(&params, &SYMBOLS, good, Ok(()));
    check(&params, &[], good, Ok(()));
    check(&params, &[1, 11], good, Err(TensorError::Symbol));
    check(
        &params[1..],
        &SYMBOLS,
        good,
        Err(TensorError::Parameters { found, wanted }),
    );
    for rate in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        check(&params, &SYMBOLS, sgd(1, 4, rate), Err(TensorError::Rate));
    }
    let (field, found, min, max) = ("batch", 0, 1, 4096);
    let error = TensorError::Field {
        field,
        found,
        min,
        max,
    };
    check(&params, &SYMBOLS, sgd(1, 0, 0.5), Err(error));
}

/// A text that repeats is learned; so is a line between three classes.
#[test]
fn training_learns() {
    let mut scratch = Scratch::default();
    let text: Vec<u8> = (0..120).map(|i| [1, 2, 3, 1, 4, 5][i % 6]).collect();
    let model = Model::NextChar(NextChar {
        alphabet: 6,
        context: 2,
        embedding: 4,
        hidden: 8,
    });
    let rows: Vec<f32> = (0..90)
        .flat_map(|i| {
            let class = i % 3;
            let noise = numbers(4, i);
            let at = |j: u32| 0.4 * noise[j as usize] + if j == class { 1.0 } else { 0.0 };
            [at(0), at(1), at(2), at(3), class as f32]
        })
        .collect();
    let cases = [
        (model, Examples::Symbols(&text)),
        (rows_model(0), Examples::Rows(&rows)),
        (rows_model(6), Examples::Rows(&rows)),
    ];
    for (model, examples) in cases {
        let mut params = model.initial(2);
        let (before, total) = accuracy(&model, &params, &examples, &mut scratch).unwrap();
        let update = trained(&model, &params, &examples, sgd(30, 8, 0.3));
        params.iter_mut().zip(&update).for_each(|(p, u)| *p += u);
        let (after, _) = accuracy(&model, &params, &examples, &mut scratch).unwrap();
        assert!(before * 10 < total * 7, "{before} of {total} before");
        assert!(after * 10 >= total * 9, "{after} of {total} after");
    }
}

/// Accuracy counts every example once, across batches of evaluation.
#[test]
fn accuracy_counts_every_example() {
    // Logits are the features themselves: the prediction is the largest one.
    let model = Model::Classifier(Classifier {
        features: 2,
        hidden: 0,
        classes: 2,
    });
    let params = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    let rows: Vec<f32> = (0..150)
        .flat_map(|i| {
            if i < 100 {
                [2.0, 1.0, 0.0]
            } else {
                [2.0, 1.0, 1.0]
            }
        })
        .collect();
    let counted = accuracy(
        &model,
        &params,
        &Examples::Rows(&rows),
        &mut Scratch::default(),
    );
    assert_eq!(counted, Ok((100, 150)));
}
