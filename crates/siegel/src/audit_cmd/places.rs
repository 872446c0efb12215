//! Where log, anchors and state are.

use std::path::{Path, PathBuf};

use siegel_audit::AuditAnchors;
use siegel_ident::Digest;

use super::AuditArgs;
use crate::failure::Failure;
use crate::policy_cmd::files;

/// Largest anchors file, in bytes.
const ANCHORS_MAX: usize = 1 << 20;

/// Where log and anchors are: the folder of a run has both.
pub(super) fn places(args: &AuditArgs) -> Result<(String, PathBuf), Failure> {
    let run = Path::new(&args.log);
    let is_run = !run.join("checkpoint").exists() && run.join("log").is_dir();
    let anchors = match (&args.anchors, is_run) {
        (Some(anchors), _) => anchors.clone(),
        (None, true) => run.join("anchors.json"),
        (None, false) if !is_url(&args.log) && !run.exists() => {
            let message = "there is no such folder";
            let help = "name a log's URL or folder, or the folder of a run";
            return Err(Failure::usage("no-such-log", &args.log, message, help));
        }
        (None, false) if !run.join("checkpoint").exists() && run.join("anchors.json").is_file() => {
            let message = "this run wrote to a log elsewhere: its folder has anchors and no log";
            let anchors = run.join("anchors.json").display().to_string();
            let help = format!(
                "run: siegel audit URL --anchors {anchors} (URL: what the run was given as --log)"
            );
            return Err(Failure::usage("log-elsewhere", &args.log, message, &help));
        }
        (None, false) => {
            return Err(Failure::usage(
                "no-anchors",
                &args.log,
                "only the folder of a run has anchors of its own",
                "give yours: --anchors FILE",
            ));
        }
    };
    let log = match is_run {
        true => run.join("log").display().to_string(),
        false => args.log.clone(),
    };
    Ok((log, anchors))
}

pub(super) fn is_url(log: &str) -> bool {
    log.contains("://")
}

/// A file or folder that is named must be there; whether a URL answers is for the audit to say.
pub(super) fn observers_are_there(observers: &[String]) -> Result<(), Failure> {
    let named = observers.iter().filter(|observer| !is_url(observer));
    for observer in named {
        std::fs::metadata(observer).map_err(|why| {
            let message = format!("there is no observer {observer}: {why}");
            let help = "name a file with a signed note, a log's folder, or a URL";
            Failure::usage("no-such-observer", observer, message, help)
        })?;
    }
    Ok(())
}

/// The trust anchors in a file. Those that nobody could enforce are refused here, for every command.
pub fn read_anchors(path: &Path) -> Result<AuditAnchors, Failure> {
    let at = path.display().to_string();
    let help = "see `siegel audit --help`";
    let bytes = files::read(path, "anchors file", ANCHORS_MAX)?;
    let bad = |why: &dyn std::fmt::Display, help| {
        Failure::usage("bad-anchors", &at, format!("anchors: {why}"), help)
    };
    let anchors: AuditAnchors = serde_json::from_slice(&bytes).map_err(|why| bad(&why, help))?;
    let help = "correct the log's name, key or witnesses in this file";
    let checked = anchors.log.check();
    checked.map_err(|why| bad(&why, help).under("I1"))?;
    Ok(anchors)
}

/// Where the state of a log at a URL is, unless its auditor says otherwise: by the log's name, so that
/// another key under that name is found out.
pub(super) fn default_state(origin: &str) -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let home = || absolute("HOME").map(|home| home.join(".local").join("state"));
    let base = absolute("XDG_STATE_HOME").or_else(home)?;
    Some(base.join("siegel").join("audit").join(folder_name(origin)))
}

/// A name for a folder. Two logs never share one.
fn folder_name(origin: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    if origin.chars().all(plain) && !origin.starts_with('.') && origin.len() <= 100 {
        return origin.to_owned();
    }
    let kept = origin.chars().take(60);
    let name: String = kept.map(|c| if plain(c) { c } else { '_' }).collect();
    let digest = Digest::of(origin.as_bytes()).to_string();
    let short: String = digest.chars().take(16).collect();
    format!("_{name}_{short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a log's name that leads out of the folder, or to another log's state.
    #[test]
    fn a_logs_name_is_one_folder() {
        assert_eq!(folder_name("log.example-1"), "log.example-1");
        let odd = ["..", ".", "a/b", "a_b", "a/../b", "ä", &"x".repeat(255)];
        let names: Vec<String> = odd.iter().map(|name| folder_name(name)).collect();
        for name in &names {
            let parts = Path::new(name).components().count();
            assert!(
                parts == 1 && !name.starts_with('.') && name.len() < 100,
                "{name}"
            );
        }
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len());
    }
}
