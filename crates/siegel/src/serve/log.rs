//! `siegel serve log`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use siegel_ident::Seconds;
use siegel_rekor::{
    Log, LogKey, RekorError, RootFile, Services, Storage, WitnessAt, Witnesses, log_in,
};

use super::ready::Ready;
use super::tls::TlsArgs;
use super::trouble::Opening;
use super::{anchors, host_clock, stop};
use crate::failure::{Exit, Failure};
use crate::say::note;

#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Where entries and archive lie
    #[arg(long, value_name = "DIR", required_unless_present = "launched")]
    folder: Option<PathBuf>,
    /// The log's private key (PEM); made if it is not there. Beside it: the time stamp authority's
    /// key, NAME.tsa.pem, anchors.json for auditors, and trusted_root.json for other Sigstore clients.
    /// Of these two, one that somebody has changed, or that is another log's, is left as it is
    #[arg(long, value_name = "FILE", required_unless_present = "launched")]
    key: Option<PathBuf>,
    /// The log's name in its checkpoints
    #[arg(long, default_value = "log.example.invalid")]
    origin: String,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:8090")]
    listen: String,
    #[command(flatten)]
    tls: TlsArgs,
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
        let help = "a witness is NAME=HEXKEY@http://HOST:PORT, or https://";
        Failure::usage("bad-witness", "--witness", why, help)
    })?;
    let (listening, place) = args.tls.listen(&args.listen).await?;
    fits(&of_folder, &key_file, origin)?;
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
    note(&format!("log {origin} on {}", place.url));
    note(&format!("its key: {}", hex::encode(anchors.key)));
    let anchors_file = anchors::beside_key(&key_file, &anchors, &args.witness)?;
    if let Some(file) = &anchors_file {
        let file = file.display();
        note(&format!(
            "its anchors, for --anchors of audit and simulate: {file}"
        ));
    }
    let root = root_file(&key_file, services.root_file.as_ref());
    if let Some(root) = &root {
        note(&format!("for other Sigstore clients: {root}"));
    }
    if args.witness.is_empty() {
        note("UNWITNESSED: no --witness is asked");
    }
    let mut ready = Ready::at("log", &place).signing(origin, &anchors.key);
    ready.anchors = anchors_file.map(|file| file.display().to_string());
    ready.trusted_root = root;
    ready.say(json)?;
    let (every, now) = (Seconds(args.refresh), host_clock());
    tokio::select! {
        served = siegel_rekor::serve(listening, services, stop()) => served
            .map_err(|why| Failure::failed("serve-log", "log", why, ""))?,
        () = witnesses.keep_fresh(&kept, every, &now) => {}
    }
    Ok(Exit::Ok)
}

/// The folder is new, or of a log of this name whose key is there: looked at before a key is made.
fn fits(folder: &Opening<'_>, key_file: &Path, origin: &str) -> Result<(), Failure> {
    let Some(found) = log_in(folder.path).map_err(|why| folder.failed(why))? else {
        return Ok(());
    };
    let at = folder.path.display();
    // A first line that is no name is damage, which opening it tells.
    let named = siegel_translog::checkpoint::check_origin(&found).is_ok();
    if named && found != origin {
        let message = format!("the log in this folder is {found:?}, not {origin:?}");
        let help = format!("give --origin {found}, or name another --folder for a new log");
        return Err(
            Failure::usage("other-origin", &format!("--folder {at}"), message, &help).under("I1"),
        );
    }
    if !key_file.exists() {
        let message =
            format!("there is no such file, and the log {found:?} in {at} was made with a key");
        let help = "name its key file; nothing was made. A log whose key is lost cannot go on: name another --folder";
        let at = format!("--key {}", key_file.display());
        return Err(Failure::usage("no-key", &at, message, help).under("I1"));
    }
    Ok(())
}

/// Where the trusted root of this log is; `None` if a file of that name is somebody else's, which is said.
fn root_file(key_file: &Path, became: Option<&RootFile>) -> Option<String> {
    let root = key_file.with_file_name("trusted_root.json");
    let root = root.display().to_string();
    match became? {
        RootFile::Current => {}
        RootFile::Renewed => note(&format!(
            "{root} named a time stamp authority that is gone; it names the one of now"
        )),
        RootFile::Foreign(why) => {
            note(&format!(
                "WARNING: {root} was left as it is: {why}. Move it away, and start again, to have this log's"
            ));
            return None;
        }
    }
    Some(root)
}
