//! `siegel serve witness`.

use std::path::PathBuf;

use clap::Args;
use siegel_rekor::{RekorError, Witness, WitnessLog, Witnessing, serve_witness};

use super::{host_clock, stop, taken};
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
}

pub(super) async fn serve(args: WitnessArgs) -> Result<Exit, Failure> {
    let failed = |why: RekorError| {
        let help = match why {
            RekorError::StateLost { .. } => {
                "choose a --key file and a --state folder that are not there yet"
            }
            _ => "",
        };
        Failure::failed("serve-witness", "witness", why, help)
    };
    let (key_file, state) = (args.key.unwrap_or_default(), args.state.unwrap_or_default());
    let name = args.name.unwrap_or_default();
    let with = Witnessing {
        name: &name,
        key_file: &key_file,
        state: &state,
        logs: &args.log,
    };
    let witness = Witness::open(&with, host_clock()).map_err(failed)?;
    let key = hex::encode(witness.named_key("").key);
    let listener = tokio::net::TcpListener::bind(&args.listen)
        .await
        .map_err(|why| taken(&args.listen, why))?;
    note(&format!("witness {name} on http://{}", args.listen));
    note(&format!(
        "for `siegel serve log`: --witness {name}={key}@http://{}",
        args.listen
    ));
    serve_witness(listener, witness, stop())
        .await
        .map_err(failed)?;
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
