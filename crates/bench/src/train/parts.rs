//! Each part of a worker's step alone, on the plaintexts of one cohort.

use std::hint::black_box;

use siegel_dp::lattice::Lattice;
use siegel_ident::SecretBytes;
use siegel_program::Record;
use siegel_tensor::{Examples, Scratch, train};

use super::workload::{CLIP, COLUMN, SCALE, TrainTrouble, Workload};
use crate::timing::{cpu_seconds, median};

/// Passes over the cohort; the median of each part counts.
const PASSES: usize = 7;

/// Processor seconds for one cohort.
pub struct Parts {
    /// Decoding records.
    pub decode_s: f64,
    /// Local training.
    pub leaf_s: f64,
    /// Clip and lattice.
    pub lattice_s: f64,
    /// Adding integers.
    pub add_s: f64,
}

/// Measures each part alone.
pub fn alone(
    workload: &Workload,
    opened: &[SecretBytes],
    params: &[f32],
) -> Result<Parts, TrainTrouble> {
    let cohort: Vec<&SecretBytes> = opened.iter().take(workload.cohort as usize).collect();
    let dimension = workload.dimension();
    let lattice = Lattice::new(SCALE, dimension)?;
    let mut scratch = Scratch::default();
    let mut update = vec![0f32; dimension];
    let (mut placed, mut sums) = (vec![0i64; dimension], vec![0i64; dimension]);
    let mut passes = [const { Vec::new() }; 4];
    for _ in 0..PASSES {
        let mut pass = [0f64; 4];
        for plaintext in &cohort {
            let mut clock = Clock::start();
            let record = Record::decode(plaintext.expose())?;
            let decode = clock.lap();
            let rows = Examples::Rows(record.floats(COLUMN));
            train(
                &workload.model,
                params,
                &rows,
                &workload.sgd(),
                &mut scratch,
                &mut update,
            )?;
            let leaf = clock.lap();
            black_box(lattice.place(&update, CLIP, &mut placed));
            let place = clock.lap();
            for (sum, q) in sums.iter_mut().zip(&placed) {
                *sum = sum.wrapping_add(*q);
            }
            black_box(&mut sums);
            let laps = [decode, leaf, place, clock.lap()];
            pass.iter_mut().zip(laps).for_each(|(sum, lap)| *sum += lap);
        }
        passes.iter_mut().zip(pass).for_each(|(all, s)| all.push(s));
    }
    let [decode_s, leaf_s, lattice_s, add_s] = passes.map(|mut all| median(&mut all));
    Ok(Parts {
        decode_s,
        leaf_s,
        lattice_s,
        add_s,
    })
}

/// A clock of processor time with laps.
struct Clock(f64);

impl Clock {
    fn start() -> Self {
        Self(cpu_seconds())
    }

    fn lap(&mut self) -> f64 {
        let before = std::mem::replace(&mut self.0, cpu_seconds());
        self.0 - before
    }
}
