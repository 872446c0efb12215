//! `siegel-bench seal`: uploads sealed and opened per second, beside raw `hpke` and `ring`.

mod raw;
mod setting;

pub use setting::rng;

use std::time::Duration;

use clap::Args;
use hpke::Kem;
use hpke::kem::{X25519HkdfSha256, XWing};
use serde::Serialize;
use siegel_seal::Suite;
use siegel_seal::upload::MAX_PADDED;

use crate::failure::Failure;
use crate::report::Report;
use crate::seal::setting::{SealTrouble, Setting};
use crate::timing::{Pair, Seconds, interleaved};

/// Seal and open uploads, beside raw hpke and ring.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel-bench seal
  siegel-bench seal --size 4096 --size 262144 --seconds 20
  siegel-bench seal --json | jq '[.seal[] | .ratio_seal, .ratio_open] | min'

ratio_seal and ratio_open are our speed over that of the raw libraries, both timed in turns in the
same run: 1 is as fast, 0.5 takes twice as long.")]
pub struct SealArgs {
    /// Plaintext bytes of one upload; may be given several times
    #[arg(long = "size", value_name = "BYTES", default_values_t = [1024, 65_536, 1_048_576])]
    sizes: Vec<usize>,

    #[command(flatten)]
    time: Seconds,
}

/// One suite and size.
#[derive(Debug, Clone, Serialize)]
struct Row {
    /// Number of the KEM suite.
    suite: u16,
    /// Plaintext bytes.
    size: usize,
    /// Our uploads sealed per second and core.
    seal_per_s: f64,
    /// Our uploads opened per second and core.
    open_per_s: f64,
    /// Our sealing speed over the raw one.
    ratio_seal: f64,
    /// Our opening speed over the raw one.
    ratio_open: f64,
}

/// What stands beside every result.
const BASELINE: [&str; 2] = [
    "raw = the same cryptography by hpke and ring alone: a fresh data key under HPKE (same info and \
     associated data), SHA-256 of the header, AES-256-GCM in chunks of 64 KiB bound to that hash. \
     Raw keeps its keys parsed, does not pad, check or zeroise: all of that is our cost. The \
     SHA-256 that names an upload is made outside of crate seal and is in neither.",
    "Rates are per second of processor time of one thread; ours and raw in turns of 2 ms, medians.",
];

/// Measures every suite and size.
pub fn seal(args: &SealArgs) -> Result<Report, Failure> {
    for &size in &args.sizes {
        if size == 0 || siegel_seal::upload::padded_len(size as u64) > MAX_PADDED {
            let why = format!("{size} bytes do not make an upload");
            return Err(Failure::usage(
                "bad-size",
                "--size",
                why,
                "from 1 byte to below 16 MiB",
            ));
        }
    }
    // Two suites, sealing and opening.
    let time = args.time.share(args.sizes.len() * 4);
    let mut rows = Vec::new();
    for &size in &args.sizes {
        rows.push(measure::<X25519HkdfSha256>(Suite::X25519, size, time)?);
        rows.push(measure::<XWing>(Suite::XWing, size, time)?);
    }
    rows.sort_by_key(|row| (row.suite, row.size));
    report(&rows)
}

fn measure<K: Kem>(suite: Suite, size: usize, time: Duration) -> Result<Row, Failure> {
    eprintln!("seal: suite {suite}, {size} bytes");
    let (sealing, opening) = timed::<K>(suite, size, time).map_err(|why| {
        let at = format!("suite {suite}, {size} bytes");
        Failure::failed(
            "seal",
            &at,
            why,
            "the code under measurement is broken: run its tests",
        )
    })?;
    Ok(Row {
        suite: suite.number(),
        size,
        seal_per_s: sealing.ours_per_s(),
        open_per_s: opening.ours_per_s(),
        ratio_seal: sealing.ratio(),
        ratio_open: opening.ratio(),
    })
}

fn timed<K: Kem>(suite: Suite, size: usize, time: Duration) -> Result<(Pair, Pair), SealTrouble> {
    let setting = Setting::<K>::new(suite, size)?;
    let (mut rng, mut raw_rng) = (rng(1), rng(1));
    let sealing = interleaved(
        time,
        || setting.seal(&mut rng).map(drop),
        || setting.raw_seal(&mut raw_rng).map(drop),
    )?;
    let (ours, raw) = (setting.seal(&mut rng)?, setting.raw_seal(&mut raw_rng)?);
    setting.check(&ours, &raw)?;
    let opening = interleaved(
        time,
        || setting.open(&ours).map(drop),
        || setting.raw_open(&raw).map(drop),
    )?;
    Ok((sealing, opening))
}

fn report(rows: &[Row]) -> Result<Report, Failure> {
    let figures = serde_json::to_value(rows)
        .map_err(|why| Failure::failed("json", "seal", why, "report this"))?;
    let cells = |row: &Row| {
        vec![
            row.suite.to_string(),
            row.size.to_string(),
            format!("{:.0}", row.seal_per_s),
            format!("{:.2}", row.ratio_seal),
            format!("{:.0}", row.open_per_s),
            format!("{:.2}", row.ratio_open),
        ]
    };
    Ok(Report {
        name: "seal",
        figures,
        notes: BASELINE.map(str::to_owned).to_vec(),
        heads: ["suite", "bytes", "seal/s", "to raw", "open/s", "to raw"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.iter().map(cells).collect(),
    })
}
