//! Finds the node binaries, or has them built.

use std::fs::File;
use std::path::{Path, PathBuf};

use siegel_attest::Profile;
use siegel_ident::Digest;

use crate::build::{Progress, Script, run};
use crate::dev::{self, Dev};
use crate::record::{Record, SOURCE_FILE};
use crate::{NODES, RECORD_FILE, RecipeError, TreeState, checkout, of_tree, tree_state};

/// The three measured binaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeBinaries {
    /// The key service.
    pub kms: PathBuf,
    /// The root.
    pub root: PathBuf,
    /// The worker.
    pub worker: PathBuf,
    /// How they were found.
    pub origin: Origin,
    /// The record beside them; only if it fits all of them.
    pub record: Option<Record>,
    /// Exact bytes of the source manifest beside them; only if the record names them.
    pub source: Option<Vec<u8>>,
    /// Exact bytes of the recipe beside them; only if the record names them.
    pub recipe: Option<Vec<u8>>,
}

/// Where binaries came from; the summary says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `--binaries DIR`: taken as they are.
    Given,
    /// Packaged with the running executable.
    Beside,
    /// Built earlier from exactly this source.
    Built,
    /// Built just now.
    Fresh,
}

/// How to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildProfile {
    /// By the recipe: what `simulate` uses.
    Release,
    /// Cargo's dev profile: for tests.
    Dev,
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct Request {
    /// `--binaries DIR`.
    pub dir: Option<PathBuf>,
    /// How to build.
    pub profile: BuildProfile,
    /// With the simulator or without it (I11).
    pub flavour: Profile,
    /// Build without network.
    pub offline: bool,
}

/// Looks in `--binaries`; else beside the running executable; else in the checkout's own target
/// folder; else builds there.
///
/// # Errors
/// [`RecipeError::OtherFlavour`] if the record of given files says so (I11); a file that is missing;
/// a build that fails.
pub fn find(
    request: &Request,
    progress: &mut dyn FnMut(&Progress),
) -> Result<NodeBinaries, RecipeError> {
    if let Some(dir) = &request.dir {
        return given(dir, request.flavour);
    }
    let running = std::env::current_exe().map_err(RecipeError::io(Path::new("/proc/self/exe")))?;
    if let Some(dir) = running.parent()
        && let Some(record) = packaged(dir, &running)?
        && record.flavour == request.flavour
    {
        return in_dir(dir, Origin::Beside, Some(record));
    }
    let checkout = checkout().ok_or(RecipeError::NotFound)?;
    ensure(&checkout, request, progress)
}

/// Exactly these files. Files without a record are taken too: then nothing says what they are. A record
/// that says something else is refused, since somebody may rely on it (I2).
fn given(dir: &Path, flavour: Profile) -> Result<NodeBinaries, RecipeError> {
    for name in NODES {
        if !dir.join(name).is_file() {
            let dir = dir.to_owned();
            return Err(RecipeError::Missing { dir, name });
        }
    }
    let record = Record::fitting(dir)?;
    match &record {
        None if dir.join(RECORD_FILE).exists() => Err(RecipeError::OtherFiles {
            dir: dir.to_owned(),
        }),
        Some(record) if record.flavour != flavour => Err(RecipeError::OtherFlavour {
            dir: dir.to_owned(),
            found: record.flavour,
            expected: flavour,
        }),
        _ => in_dir(dir, Origin::Given, record),
    }
}

/// The record in `dir`, if its files were packaged together with the running executable: the record
/// names it by digest. What `cargo build --workspace` leaves beside it has no record, rightly: there,
/// unified features have put the simulator into every binary (I11).
fn packaged(dir: &Path, running: &Path) -> Result<Option<Record>, RecipeError> {
    let name = running.file_name().and_then(|name| name.to_str());
    let named = |record: &Record| name.is_some_and(|name| record.binaries.contains_key(name));
    Ok(Record::fitting(dir)?.filter(named))
}

fn ensure(
    checkout: &Path,
    request: &Request,
    progress: &mut dyn FnMut(&Progress),
) -> Result<NodeBinaries, RecipeError> {
    // A folder of its own, so that its flags and features never disturb an ordinary build.
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => checkout.join(dir).join("nodes"),
        None => checkout.join("target/nodes"),
    };
    std::fs::create_dir_all(&target).map_err(RecipeError::io(&target))?;
    // Tests run side by side: one builds, the others wait and then find the record.
    let lock_file = target.join("siegel.lock");
    let lock = File::create(&lock_file).map_err(RecipeError::io(&lock_file))?;
    lock.lock().map_err(RecipeError::io(&lock_file))?;

    let release = request.profile == BuildProfile::Release;
    let out = target.join(if release { "out" } else { "dev" });
    let out = out.join(request.flavour.as_str());
    let source = of_tree(checkout)?;
    let state = tree_state(checkout)?;
    let digest = source.digest()?;
    if let Some(record) = Record::fitting(&out)?
        && record.flavour == request.flavour
        && record.build.source == digest
        && (!release || says(&record, &state))
    {
        return in_dir(&out, Origin::Built, Some(record));
    }
    let record = if release {
        let script = Script {
            checkout: checkout.to_owned(),
            flavour: request.flavour,
            out: out.clone(),
            target_dir: Some(target.clone()),
            offline: request.offline,
            jobs: None,
        };
        run(&script, progress)?
    } else {
        let dev = Dev {
            checkout,
            target: &target,
            out: &out,
            flavour: request.flavour,
            offline: request.offline,
        };
        let record = dev::build(&dev, &source, progress)?;
        // A change during the build leaves no record, so that there is another build next time.
        if of_tree(checkout)?.digest()? == digest {
            record.write(&out)?;
        }
        record
    };
    in_dir(&out, Origin::Fresh, Some(record))
}

/// The same source can come to stand in another commit, and the record names it for those who
/// rebuild. Then the script runs again; cargo finds nothing to do.
fn says(record: &Record, state: &TreeState) -> bool {
    record.build.commit == state.commit && record.build.dirty == state.dirty
}

fn in_dir(dir: &Path, origin: Origin, record: Option<Record>) -> Result<NodeBinaries, RecipeError> {
    let at = |name: &str| dir.join(name);
    let beside = |name: &str, digest: Option<Digest>| {
        let bytes = std::fs::read(dir.join(name)).ok()?;
        (Some(Digest::of(&bytes)) == digest).then_some(bytes)
    };
    let build = record.as_ref().map(|record| &record.build);
    let source = beside(SOURCE_FILE, build.map(|build| build.source));
    let recipe = beside("recipe.toml", build.and_then(|build| build.recipe));
    Ok(NodeBinaries {
        kms: at("siegel-kms"),
        root: at("siegel-root"),
        worker: at("siegel-worker"),
        origin,
        record,
        source,
        recipe,
    })
}

#[cfg(test)]
mod tests;
