//! The anchors that a hand-served log suggests to those who audit it or write to it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use siegel_audit::AuditAnchors;
use siegel_ident::{NamedKey, Seconds, WitnessQuorum};
use siegel_rekor::WitnessAt;
use siegel_translog::LogAnchors;

use crate::failure::Failure;
use crate::say::note;

/// Oldest cosignature that counts, as in a simulation.
const MAX_AGE: Seconds = Seconds(24 * 3_600);

/// Writes `anchors.json` beside the key, if it is not there; returns where it is, or nothing if a file of
/// that name is not this log's anchors.
///
/// A file that is there belongs to whoever edited it: it is left as it is, and what does not fit is
/// said. Only one that this command wrote before there were witnesses gets the witnesses.
pub(super) fn beside_key(
    key_file: &Path,
    log: &LogAnchors,
    witnesses: &[WitnessAt],
) -> Result<Option<PathBuf>, Failure> {
    let path = key_file.with_file_name("anchors.json");
    let at = path.display().to_string();
    let failed = |why: io::Error| {
        let help = "auditors of this log need its anchors: make the folder of --key writable";
        Failure::usage("cannot-write", &at, format!("anchors: {why}"), help)
    };
    let bytes = |anchors: &LogAnchors| {
        serde_json::to_vec_pretty(&AuditAnchors::of(anchors.clone()))
            .map_err(|why| Failure::failed("json", &at, why, ""))
    };
    let asked = demanding(log, witnesses);
    let new = bytes(&asked)?;
    let found = match fs::read(&path) {
        Ok(found) => found,
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            put(&path, &new).map_err(failed)?;
            suggested(&at, &asked);
            return Ok(Some(path));
        }
        Err(why) => return Err(failed(why)),
    };
    if found == new {
        return Ok(Some(path));
    }
    if found == bytes(log)? {
        put(&path, &new).map_err(failed)?;
        note(&format!("{at} did not know the witnesses; it does now"));
        suggested(&at, &asked);
        return Ok(Some(path));
    }
    match serde_json::from_slice::<AuditAnchors>(&found) {
        Ok(theirs) if (&theirs.log.origin, theirs.log.key) != (&log.origin, log.key) => {
            note(&format!(
                "WARNING: {at} is of another log, and was left as it is: give it to nobody as this log's. Move it \
                 away, and start again, to have this log's"
            ));
            return Ok(None);
        }
        Ok(theirs) if theirs.log.witnesses.witnesses != asked.witnesses.witnesses => note(
            &format!("{at} was left as it is: it names other witnesses than --witness does"),
        ),
        Ok(_) => {}
        Err(why) => {
            note(&format!(
                "WARNING: {at} is no file of anchors, and was left as it is: {why}. Move it away, and start again, \
                 to have this log's"
            ));
            return Ok(None);
        }
    }
    Ok(Some(path))
}

/// All witnesses that are asked, each as an operator of its own: more than that nobody knows here.
fn demanding(log: &LogAnchors, asked: &[WitnessAt]) -> LogAnchors {
    if asked.is_empty() {
        return log.clone();
    }
    let named = asked.iter().map(|witness| NamedKey {
        name: witness.name.clone(),
        operator: witness.name.clone(),
        key: witness.key,
    });
    let mut witnesses: Vec<NamedKey> = named.collect();
    witnesses.sort_by(|a, b| a.name.cmp(&b.name));
    LogAnchors {
        witnesses: WitnessQuorum {
            required: witnesses.len() as u32,
            max_age: MAX_AGE,
            witnesses,
        },
        ..log.clone()
    }
}

fn suggested(at: &str, anchors: &LogAnchors) {
    if !anchors.witnesses.is_none() {
        note(&format!(
            "{at} demands all {} witnesses, and takes each for an operator of its own: correct that if \
             two are one person's",
            anchors.witnesses.required
        ));
    }
}

/// Whole or not at all.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("json.new");
    let written = File::create(&new)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // What is left of it is of no use; the error is what counts.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witness(name: &str, key: u8) -> WitnessAt {
        format!("{name}={}@http://127.0.0.1:1", hex::encode([key; 32]))
            .parse()
            .unwrap()
    }

    fn read(path: &Path) -> AuditAnchors {
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    /// Catches: anchors that nobody could enforce, a second start that changes them, and one that
    /// throws away what somebody wrote into them.
    #[test]
    fn what_is_there_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key.pem");
        let log = LogAnchors::unwitnessed("log.example.test", [7; 32]);
        let path = beside_key(&key, &log, &[]).unwrap().unwrap();
        assert_eq!(path, dir.path().join("anchors.json"));
        assert_eq!(read(&path).log, log);
        let first = fs::read(&path).unwrap();
        beside_key(&key, &log, &[]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), first);
        // Witnesses came, in any order.
        let both = [witness("b.test", 2), witness("a.test", 1)];
        beside_key(&key, &log, &both).unwrap();
        let anchors = read(&path).log;
        anchors.check().unwrap();
        assert_eq!(anchors.witnesses.required, 2);
        // They do not go away again.
        beside_key(&key, &log, &[]).unwrap();
        assert_eq!(read(&path).log, anchors);
        // Somebody's own file, and one of another log.
        let mut own = read(&path);
        own.log.witnesses.required = 1;
        let other = LogAnchors::unwitnessed("log.example.test", [8; 32]);
        let other = serde_json::to_vec(&AuditAnchors::of(other)).unwrap();
        for (theirs, ours) in [
            (serde_json::to_vec(&own).unwrap(), true),
            (other, false),
            (b"no JSON".to_vec(), false),
        ] {
            fs::write(&path, &theirs).unwrap();
            let said = beside_key(&key, &log, &both).unwrap();
            assert_eq!(said, ours.then(|| path.clone()));
            assert_eq!(fs::read(&path).unwrap(), theirs);
        }
        assert!(!dir.path().join("anchors.json.new").exists());
    }
}
