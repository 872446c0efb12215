//! `siegel serve log`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use siegel_ident::Seconds;
use siegel_rekor::{Log, LogKey, RekorError, Services, Storage, WitnessAt, Witnesses};

use super::ready::Ready;
use super::trouble::{Opening, listen};
use super::{anchors, host_clock, stop};
use crate::failure::{Exit, Failure};
use crate::say::note;

#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Where entries and archive lie
    #[arg(long, value_name = "DIR", required_unless_present = "launched")]
    folder: Option<PathBuf>,
    /// The log's private key (PEM); made if it is not there. Beside it: the time stamp authority's
    /// key, NAME.tsa.pem, anchors.json for auditors (one that is there is left as it is), and
    /// trusted_root.json for other Sigstore clients
    #[arg(long, value_name = "FILE", required_unless_present = "launched")]
    key: Option<PathBuf>,
    /// The log's name in its checkpoints
    #[arg(long, default_value = "log.example.invalid")]
    origin: String,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:8090")]
    listen: String,
    /// A witness that is asked to cosign every checkpoint; may be given several times
    #[arg(long, value_name = "NAME=HEXKEY@URL")]
    witness: Vec<WitnessAt>,
    /// Have the checkpoint cosigned anew when a cosignature is so old, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    refresh: u64,
}

pub(super) async fn serve(args: LogArgs, json: bool) -> Result<Exit, Failure> {
    let (folder, key_file) = (
        args.folder.unwrap_or_default(),
        args.key.unwrap_or_default(),
    );
    let opening = |option, path| Opening {
        part: "log",
        option,
        path,
    };
    let (of_key, of_folder) = (opening("--key", &key_file), opening("--folder", &folder));
    let origin = &args.origin;
    let witnesses = Witnesses::new(&args.witness).map_err(|why| {
        let help = "a witness is NAME=HEXKEY@http://HOST:PORT";
        Failure::usage("bad-witness", "--witness", why, help)
    })?;
    let (listener, at) = listen(&args.listen).await?;
    let key = LogKey::load_or_create(origin, &key_file).map_err(|why| match why {
        RekorError::Proof(why) => {
            let help = "a log's name is a URL without a scheme: log.example.org";
            Failure::usage("bad-origin", &format!("--origin {origin}"), why, help)
        }
        why => of_key.failed(why),
    })?;
    let anchors = key.anchors();
    let (witnesses, storage) = (Arc::new(witnesses), Storage::Folder(folder.clone()));
    let opened = Log::open_with(&storage, key, Arc::clone(&witnesses) as _);
    let log = opened.map_err(|why| of_folder.failed(why))?;
    let kept = log.clone();
    let services = Services::beside_key(log, &key_file).map_err(|why| of_key.failed(why))?;
    note(&format!("log {origin} on http://{at}"));
    note(&format!("its key: {}", hex::encode(anchors.key)));
    let anchors_file = anchors::beside_key(&key_file, &anchors, &args.witness)?;
    note(&format!(
        "its anchors, for --anchors of audit and simulate: {}",
        anchors_file.display()
    ));
    let root = key_file.with_file_name("trusted_root.json");
    note(&format!("for other Sigstore clients: {}", root.display()));
    if args.witness.is_empty() {
        note("UNWITNESSED: no --witness is asked");
    }
    let mut ready = Ready::of("log", at).signing(origin, &anchors.key);
    ready.anchors = Some(anchors_file.display().to_string());
    ready.trusted_root = Some(root.display().to_string());
    ready.say(json)?;
    let (every, now) = (Seconds(args.refresh), host_clock());
    tokio::select! {
        served = siegel_rekor::serve(listener, services, stop()) => served
            .map_err(|why| Failure::failed("serve-log", "log", why, ""))?,
        () = witnesses.keep_fresh(&kept, every, &now) => {}
    }
    Ok(Exit::Ok)
}
