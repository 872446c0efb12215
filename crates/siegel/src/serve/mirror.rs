//! `siegel serve mirror`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use siegel_endorse::{Endorsement, Subject};
use siegel_ident::Digest;
use siegel_rekor::{LogReader, Mirror, Mirroring, RekorError, serve_mirror};
use siegel_translog::predicate;

use super::ready::Ready;
use super::tls::TlsArgs;
use super::trouble::Opening;
use super::{host_clock, stop};
use crate::audit_cmd::read_anchors;
use crate::failure::{Exit, Failure};
use crate::say::note;

#[derive(Debug, Args)]
pub(super) struct MirrorArgs {
    /// The log that it follows
    #[arg(long, value_name = "URL")]
    of: String,
    /// Anchors of that log (JSON), as for `siegel audit`: name, key, witnesses
    #[arg(long, value_name = "FILE")]
    anchors: PathBuf,
    /// Its private key (PEM); made together with the state folder
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Its name in signature lines
    #[arg(long)]
    name: String,
    /// Where it keeps payloads, and since when
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:8093")]
    listen: String,
    #[command(flatten)]
    tls: TlsArgs,
}

pub(super) async fn serve(args: MirrorArgs, json: bool) -> Result<Exit, Failure> {
    let failed = |why: RekorError| Failure::failed("serve-mirror", "mirror", why, "");
    let anchors = read_anchors(&args.anchors)?.log;
    let log = LogReader::new(&args.of).map_err(|why| {
        Failure::usage("bad-log", &args.of, why, "name an http:// or https:// URL")
    })?;
    let with = Mirroring {
        name: &args.name,
        key_file: &args.key,
        state: &args.state,
        anchors: &anchors,
        names: Box::new(names),
    };
    let (listening, place) = args.tls.listen(&args.listen).await?;
    let opening = Opening {
        part: "mirror",
        option: "--key or --state",
        path: &args.state,
    };
    let opened = Mirror::open(with, host_clock()).await;
    let mirror = Arc::new(opened.map_err(|why| opening.failed(why))?);
    let (name, key) = (&args.name, mirror.named_key("").key);
    note(&format!("mirror {name} of {} on {}", args.of, place.url));
    note(&format!("its key: {}", hex::encode(key)));
    Ready::at("mirror", &place).signing(name, &key).say(json)?;
    let served = serve_mirror(listening, Arc::clone(&mirror), stop());
    tokio::select! {
        served = served => served.map_err(failed)?,
        followed = mirror.follow(&log) => followed.map_err(failed)?,
    }
    Ok(Exit::Ok)
}

/// What an endorsement names by digest: whoever rebuilds needs source manifest and recipe.
fn names(kind: &str, artifact: &[u8]) -> Vec<Digest> {
    let endorsement = (kind == predicate::ENDORSEMENT).then(|| Endorsement::parse(artifact));
    let Some(Ok(endorsement)) = endorsement else {
        return Vec::new();
    };
    match endorsement.subject {
        Subject::Binaries(binaries) => binaries
            .build
            .into_iter()
            .flat_map(|build| [Some(build.source), build.recipe])
            .flatten()
            .collect(),
        // A program is published by itself.
        Subject::Program(_) => Vec::new(),
    }
}
