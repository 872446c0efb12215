//! `siegel-bench attest`: full appraisals of real evidence, beside the bare signatures of the same chain.

mod bare;
mod subject;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::report::Report;
use crate::timing::{Seconds, interleaved, microseconds};
use subject::{Subject, Trouble};

/// Appraise real evidence, beside bare signature checks.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel-bench attest --vectors ../shared/vectors
  siegel-bench attest --json | jq .attest.tdx_per_s

An appraisal is the whole of it: sizes, framing, chain, signatures, and every field held against a
reference value. ratio is the time of the bare signature checks over that of the appraisal.")]
pub struct AttestArgs {
    /// The folder with public evidence, which is kept outside of the project
    /// [default: SIEGEL_VECTORS, or else ../shared/vectors]
    #[arg(long, value_name = "FOLDER")]
    vectors: Option<PathBuf>,

    #[command(flatten)]
    time: Seconds,
}

/// What is reported.
#[derive(Debug, Serialize)]
struct Figures {
    snp_per_s: f64,
    tdx_per_s: f64,
    ratio_snp: f64,
    ratio_tdx: f64,
    /// Signatures of one chain.
    signatures_snp: usize,
    signatures_tdx: usize,
}

/// What stands beside every result.
const BASELINE: [&str; 2] = [
    "bare = ring's verification of each signature once: SNP report, VCEK, ASK, ARK; quote, QE report, PCK \
     chain, TCB info, QE identity and their signer, both revocation lists. Keys, messages and signatures are \
     taken out beforehand: it parses and hashes nothing else, and asks no date and no field.",
    "Rates are per second of processor time of one thread; ours and bare in turns of 2 ms, medians. Collateral \
     is read from its bytes in every appraisal, which makes its only copy.",
];

/// Measures both kinds.
pub fn attest(args: &AttestArgs) -> Result<Report, Failure> {
    let vectors = args.vectors.clone().unwrap_or_else(|| {
        let named = std::env::var_os("SIEGEL_VECTORS").map(PathBuf::from);
        named.unwrap_or_else(|| PathBuf::from("../shared/vectors"))
    });
    let failed = |why: Trouble| {
        let help = "point --vectors or SIEGEL_VECTORS to the folder with public evidence";
        Failure::failed("attest", &vectors.display().to_string(), why, help)
    };
    let subjects = [
        Subject::snp(&vectors).map_err(failed)?,
        Subject::tdx(&vectors).map_err(failed)?,
    ];
    let time = args.time.share(subjects.len());
    let mut pairs = Vec::new();
    for subject in &subjects {
        eprintln!("attest: {}", subject.name);
        let pair = interleaved(time, || subject.appraise(), || subject.bare());
        pairs.push((subject, pair.map_err(failed)?));
    }
    let [(snp, snp_pair), (tdx, tdx_pair)] = pairs.as_slice() else {
        return Err(failed(Trouble::Shape("two kinds")));
    };
    let figures = Figures {
        snp_per_s: snp_pair.ours_per_s(),
        tdx_per_s: tdx_pair.ours_per_s(),
        ratio_snp: snp_pair.ratio(),
        ratio_tdx: tdx_pair.ratio(),
        signatures_snp: snp.signatures(),
        signatures_tdx: tdx.signatures(),
    };
    let json = serde_json::to_value(&figures);
    let rows = pairs.iter().map(|(subject, pair)| {
        vec![
            subject.name.to_owned(),
            format!("{:.0}", pair.ours_per_s()),
            format!("{:.0}", microseconds(pair.ours_s)),
            format!("{:.0}", microseconds(pair.raw_s)),
            format!("{:.2}", pair.ratio()),
        ]
    });
    Ok(Report {
        name: "attest",
        figures: json.map_err(|why| Failure::failed("json", "attest", why, "report this"))?,
        notes: BASELINE.map(str::to_owned).to_vec(),
        heads: ["evidence", "per s", "µs", "bare µs", "to bare"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    })
}
