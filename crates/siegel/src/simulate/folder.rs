//! The run's folder: new or empty, never somebody's files.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Makes the folder of a run. One that exists and holds something is refused.
pub fn create(out: Option<&Path>, run_id: &str) -> Result<PathBuf, Failure> {
    let path = out.map_or_else(|| Path::new("siegel-runs").join(run_id), Path::to_path_buf);
    let at = path.display().to_string();
    let failed = |why: std::io::Error| {
        Failure::failed(
            "run-folder",
            &at,
            format!("cannot make the run's folder: {why}"),
            "choose another place with --out DIR",
        )
    };
    match std::fs::read_dir(&path) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(Failure::usage(
                    "run-folder-not-empty",
                    &at,
                    "the run's folder exists and is not empty; nothing in it was touched",
                    "choose a new one with --out DIR",
                ));
            }
        }
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(&path).map_err(failed)?;
        }
        Err(why) => return Err(failed(why)),
    }
    path.canonicalize().map_err(failed)
}

/// Makes a folder inside the run's folder, if it is not there.
pub fn sub_folder(dir: &Path, name: &str) -> Result<(), Failure> {
    let path = dir.join(name);
    std::fs::create_dir_all(&path).map_err(|why| {
        let at = path.display().to_string();
        let help = "choose another place with --out DIR";
        Failure::failed("cannot-write", &at, why, help)
    })
}

/// Writes one of the run's files; a full disk says so.
pub fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let path = dir.join(name);
    std::fs::write(&path, bytes).map_err(|why| {
        Failure::failed(
            "cannot-write",
            &path.display().to_string(),
            why,
            "free some space, or choose another place with --out DIR",
        )
    })?;
    Ok(path)
}
