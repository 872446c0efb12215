//! The rounds: what a worker and a root do, with the same calls.

use siegel_ident::{Secret, SecretBytes};
use siegel_program::{BlockCount, IndexKey, Intrinsic, Noise, Query, Record, SumBuilder, Total};

use super::data::Source;
use super::workload::{TrainTrouble, Workload};
use crate::timing::{cpu_seconds, median};

/// The trained model, and the median round in processor seconds.
pub struct Run {
    /// Parameters after the last round.
    pub params: Vec<f32>,
    /// All of a round.
    pub whole_s: f64,
    /// Worker: decode the kept plaintexts, join them to units.
    pub gather_s: f64,
    /// Worker: train, clip, place, add, wipe.
    pub sum_s: f64,
    /// Root: draw the noise.
    pub noise_s: f64,
    /// Root: add block sums, take out the noisy total, update the model.
    pub root_s: f64,
}

/// One round, in processor seconds.
#[derive(Clone, Copy)]
struct Times {
    gather: f64,
    sum: f64,
    noise: f64,
    root: f64,
}

/// Trains from the initial parameters.
pub fn run(workload: &Workload, opened: &[SecretBytes]) -> Result<Run, TrainTrouble> {
    let mut params = workload.initial();
    let mut source = Source::new(19);
    let mut rounds = Vec::new();
    for round in 0..u64::from(workload.rounds) {
        let drawn = source.distinct(workload.cohort as usize, opened.len());
        let cohort: Vec<&SecretBytes> = drawn.iter().filter_map(|&at| opened.get(at)).collect();
        rounds.push(one(workload, &cohort, round, &mut params)?);
    }
    let middle = |of: fn(&Times) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
    Ok(Run {
        params,
        whole_s: middle(|t| t.gather + t.sum + t.noise + t.root),
        gather_s: middle(|t| t.gather),
        sum_s: middle(|t| t.sum),
        noise_s: middle(|t| t.noise),
        root_s: middle(|t| t.root),
    })
}

fn one(
    workload: &Workload,
    cohort: &[&SecretBytes],
    round: u64,
    params: &mut [f32],
) -> Result<Times, TrainTrouble> {
    let intrinsic = &workload.intrinsic;
    let key = IndexKey::new(&Secret::new([3; 32]));
    let blocks = BlockCount::for_blobs(cohort.len() as u64);
    let wanted: Vec<u32> = (0..blocks.get()).collect();
    let state: Vec<u8> = params.iter().flat_map(|p| p.to_le_bytes()).collect();

    let start = cpu_seconds();
    let query = Query::new(intrinsic, &workload.bundle, &state)?;
    let mut builder = SumBuilder::new(&query, &key, blocks, &wanted)?;
    for plaintext in cohort {
        builder.add(&Record::decode(plaintext.expose())?);
    }
    let gathered = cpu_seconds();
    let sums = builder.finish()?;
    let summed = cpu_seconds();
    let noise = Noise::draw(intrinsic, |chunk| noise_key(round, chunk))?;
    let drawn = cpu_seconds();
    let mut total = Total::new(intrinsic, blocks);
    for sum in &sums {
        total.add(sum)?;
    }
    let noisy = total.release(noise)?;
    let unit = unit(intrinsic)? / cohort.len().max(1) as f64;
    for (param, step) in params.iter_mut().zip(noisy) {
        *param += (step as f64 * unit) as f32;
    }
    // Wiping raw sums is part of the work.
    drop((sums, query));
    let end = cpu_seconds();
    Ok(Times {
        gather: gathered - start,
        sum: summed - gathered,
        noise: drawn - summed,
        root: end - drawn,
    })
}

/// What one lattice unit is worth.
fn unit(intrinsic: &Intrinsic) -> Result<f64, TrainTrouble> {
    match intrinsic {
        Intrinsic::ClippedSum(spec) => Ok(spec.unit()?),
        Intrinsic::Histogram(_) => Ok(1.0),
    }
}

/// A stream of its own for every round and chunk, as the root derives them from the run's key.
fn noise_key(round: u64, chunk: u64) -> Secret<32> {
    let step = siegel_ident::Step(round + 1);
    let purpose = siegel_seal::kdf::RunPurpose::Noise;
    siegel_seal::kdf::chunk_key(&Secret::new([4; 32]), purpose, step, 0, chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::data::Data;
    use crate::train::uploads::Uploads;
    use crate::train::workload::{CLIP, COLUMN, SCALE};
    use siegel_dp::lattice::Lattice;
    use siegel_seal::Suite;
    use siegel_tensor::{Examples, Scratch, train};

    // The path must be the real one, whole: what comes out of a round is the sum of every client's
    // own clipped update, up to the noise (σ = 0.1 clip norms) and nothing else. Catches a client
    // left out or counted twice, another clip, and a mean over another number.
    #[test]
    fn a_round_is_the_mean_of_clipped_updates_and_noise() {
        let clients = 5;
        let workload = Workload::new(0, clients as u32, 1).unwrap();
        let data = Data::new(clients);
        let (opened, _) = Uploads::seal(&data, Suite::X25519).unwrap().open().unwrap();
        let run = run(&workload, &opened).unwrap();

        let (params, dimension) = (workload.initial(), workload.dimension());
        let lattice = Lattice::new(SCALE, dimension).unwrap();
        let mut mean = vec![0f64; dimension];
        let (mut update, mut placed) = (vec![0f32; dimension], vec![0i64; dimension]);
        for rows in &data.clients {
            let rows = Examples::Rows(rows);
            let (sgd, mut scratch) = (workload.sgd(), Scratch::default());
            train(
                &workload.model,
                &params,
                &rows,
                &sgd,
                &mut scratch,
                &mut update,
            )
            .unwrap();
            assert!(lattice.place(&update, CLIP, &mut placed));
            let share = lattice.unit(CLIP) / clients as f64;
            mean.iter_mut()
                .zip(&placed)
                .for_each(|(m, q)| *m += *q as f64 * share);
        }
        let off: Vec<f64> = run
            .params
            .iter()
            .zip(&mean)
            .map(|(p, m)| f64::from(*p) - m)
            .collect();
        let deviation = (off.iter().map(|x| x * x).sum::<f64>() / dimension as f64).sqrt();
        let expected = 0.1 * CLIP / clients as f64;
        assert!(
            (0.95..1.05).contains(&(deviation / expected)),
            "{deviation} for {expected}"
        );
        // Noise has no part along the mean; a missing client would.
        let along = off.iter().zip(&mean).map(|(x, m)| x * m).sum::<f64>();
        let norm2 = mean.iter().map(|m| m * m).sum::<f64>();
        assert!(
            (along / norm2).abs() < 5.0 * expected / norm2.sqrt(),
            "{}",
            along / norm2
        );
        assert_eq!(
            Record::decode(opened[0].expose())
                .ok()
                .unwrap()
                .floats(COLUMN),
            data.clients[0]
        );
    }
}
