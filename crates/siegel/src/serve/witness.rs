//! `siegel serve witness`.

use std::path::PathBuf;

use clap::Args;
use siegel_rekor::{Witness, WitnessLog, Witnessing, serve_witness};

use super::ready::Ready;
use super::tls::TlsArgs;
use super::trouble::Opening;
use super::{host_clock, stop};
use crate::failure::{Exit, Failure};
use crate::say::note;

#[derive(Debug, Args)]
pub(super) struct WitnessArgs {
    /// Its private key (PEM); made together with the state folder
    #[arg(long, value_name = "FILE", required_unless_present = "launched")]
    key: Option<PathBuf>,
    /// Its name in signature lines
    #[arg(long, required_unless_present = "launched")]
    name: Option<String>,
    /// Where it remembers what it has cosigned, and keeps evidence against logs
    #[arg(long, value_name = "DIR", required_unless_present = "launched")]
    state: Option<PathBuf>,
    /// A log that it watches; may be given several times
    #[arg(long, value_name = "ORIGIN=HEXKEY", required_unless_present = "launched", value_parser = watched)]
    log: Vec<WitnessLog>,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:8092")]
    listen: String,
    #[command(flatten)]
    tls: TlsArgs,
}

pub(super) async fn serve(args: WitnessArgs, json: bool) -> Result<Exit, Failure> {
    let (key_file, state) = (args.key.unwrap_or_default(), args.state.unwrap_or_default());
    let name = args.name.unwrap_or_default();
    let with = Witnessing {
        name: &name,
        key_file: &key_file,
        state: &state,
        logs: &args.log,
    };
    let (listening, place) = args.tls.listen(&args.listen).await?;
    let url = &place.url;
    let opening = Opening {
        part: "witness",
        option: "--key or --state",
        path: &state,
    };
    let witness = Witness::open(&with, host_clock()).map_err(|why| opening.failed(why))?;
    let key = witness.named_key("").key;
    note(&format!("witness {name} on {url}"));
    note(&format!(
        "for `siegel serve log`: --witness {name}={}@{url}",
        hex::encode(key)
    ));
    Ready::at("witness", &place)
        .signing(&name, &key)
        .say(json)?;
    serve_witness(listening, witness, stop())
        .await
        .map_err(|why| Failure::failed("serve-witness", "witness", why, ""))?;
    Ok(Exit::Ok)
}

fn watched(text: &str) -> Result<WitnessLog, String> {
    let (origin, key) = text.rsplit_once('=').ok_or("a log is ORIGIN=HEXKEY")?;
    let key: siegel_ident::Digest = key.parse().map_err(|_| "its key is 64 hex digits")?;
    Ok(WitnessLog {
        origin: origin.to_owned(),
        key: *key.as_bytes(),
    })
}
