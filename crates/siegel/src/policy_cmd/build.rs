//! `siegel policy build`: from names to digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use siegel_attest::{Genesis, ReferenceValue};
use siegel_fleet::Part;
use siegel_ident::{KeyDigest, PolicyDigest, ProgramDigest, Timestamp};
use siegel_policy::author::{self, AuthorError, Facts, Names};
use siegel_policy::{Finding, Policy, lint};
use siegel_program::Bundle;

use super::{Outcome, files, reference};
use crate::failure::{Exit, Failure};

/// Longest input file, in bytes.
const INPUT_MAX: usize = 1 << 20;

/// Fill in digests, window and rho, and compile TOML to canonical JSON.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy build policies/word-histogram.toml --cluster genesis.json \\
      --binaries target/release --program word-histogram.json --endorser endorser.pem
  siegel policy build mine.toml --cluster genesis.json --binaries dist \\
      --program count.star --asset words.txt --endorser endorser.pem --out policy.json
  siegel policy build production.toml --cluster genesis.json --program words.json \\
      --reference siegel-root=root.toml --reference siegel-worker=worker.toml \\
      --reference siegel-kms=kms.toml --endorser endorser.pem

The file names binaries by role and programs by name; see policies/ for an example.")]
pub struct BuildArgs {
    /// The policy as written (TOML)
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,

    /// The genesis of the cluster that will hold the keys (JSON)
    #[arg(long, value_name = "FILE")]
    pub cluster: PathBuf,

    /// The folder with the binaries that the file names; for names without --reference
    #[arg(long, value_name = "DIR", required_unless_present = "references")]
    pub binaries: Option<PathBuf>,

    /// What a name of the file measures on real TEEs: reference values (TOML, as `siegel verify evidence --policy`
    /// takes them); once for each name
    #[arg(long = "reference", value_name = "NAME=FILE")]
    pub references: Vec<String>,

    /// A program that the file names: a bundle (JSON), or a driver (.star)
    #[arg(long = "program", value_name = "FILE")]
    pub programs: Vec<PathBuf>,

    /// An asset of the .star programs
    #[arg(long = "asset", value_name = "FILE")]
    pub assets: Vec<PathBuf>,

    /// Whose endorsements the policy demands, if its file requires them: a P-256 key (PEM, public or
    /// private), or SHA-256 of its public key (64 hex digits)
    #[arg(long = "endorser", value_name = "KEY.pem|HEX")]
    pub endorsers: Vec<String>,

    /// Where the compiled policy goes (default: FILE.json beside it)
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

/// A compiled policy.
#[derive(Debug, Serialize)]
pub struct Built {
    schema: &'static str,
    /// SHA-256 of the written bytes: the policy's name from now on.
    pub sha256: PolicyDigest,
    /// Where it was written.
    pub file: PathBuf,
    pipeline: String,
    epsilon: String,
    delta: String,
    rho: String,
    not_after: Timestamp,
    findings: Vec<Finding>,
}

/// Builds the policy and writes it.
pub fn build(args: &BuildArgs, now: Timestamp) -> Result<Built, Failure> {
    let text = files::read_text(&args.file, "policy file", INPUT_MAX)?;
    let at = args.file.display().to_string();
    let wrong = |error: AuthorError| {
        let failure = Failure::usage("bad-policy", &at, &error, "see policies/ for an example");
        match &error {
            AuthorError::Policy { error, .. } => failure.under(error.invariant()),
            _ => failure,
        }
    };
    let names = author::names(&text).map_err(wrong)?;
    let genesis = read_genesis(&args.cluster)?;
    let mut facts = Facts::of_genesis(&genesis, now).map_err(|why| bad_genesis(args, why))?;
    facts.binaries = reference_values(args, &names)?;
    facts.programs = programs(args)?;
    facts.endorsers = endorsers(&args.endorsers)?;
    let policy = author::build(&text, &facts).map_err(wrong)?;
    policy
        .check_cluster(facts.cluster_id, facts.kms_config, &genesis.config)
        .map_err(|refusal| {
            let at = args.cluster.display().to_string();
            let help = "no key service would take this policy: are these its binaries?";
            Failure::usage(refusal.code(), &at, &refusal, help).under(refusal.invariant())
        })?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| args.file.with_extension("json"));
    files::write(&out, policy.bytes(), args.force)?;
    Ok(Built::of(&policy, out))
}

impl Built {
    fn of(policy: &Policy, file: PathBuf) -> Self {
        Self {
            schema: "siegel/policy-build/v1",
            sha256: policy.digest(),
            file,
            pipeline: policy.pipeline.clone(),
            epsilon: policy.privacy.epsilon.to_string(),
            delta: policy.privacy.delta.to_string(),
            rho: policy.privacy.total.rho_nano.to_string(),
            not_after: policy.not_after,
            findings: lint(policy),
        }
    }
}

impl Outcome for Built {
    fn text(&self) -> String {
        format!(
            "policy {}\n  in {}\n  pipeline {}: epsilon = {}, delta = {}, which allows rho = {}\n",
            self.sha256,
            self.file.display(),
            self.pipeline,
            self.epsilon,
            self.delta,
            self.rho
        )
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

fn read_genesis(path: &Path) -> Result<Genesis, Failure> {
    let bytes = files::read(path, "genesis", INPUT_MAX)?;
    Genesis::parse(&bytes).map_err(|why| {
        let help = "--cluster is the genesis as the key service gave it, byte for byte";
        Failure::usage("bad-genesis", &path.display().to_string(), why, help)
    })
}

fn bad_genesis(args: &BuildArgs, why: impl ToString) -> Failure {
    Failure::usage("bad-genesis", &args.cluster.display().to_string(), why, "")
}

/// What each name measures: on real TEEs as its file says, else as the binary of that name does when a launcher starts it
/// in its role.
fn reference_values(
    args: &BuildArgs,
    names: &Names,
) -> Result<BTreeMap<String, Vec<ReferenceValue>>, Failure> {
    let mut values = real_ones(&args.references)?;
    let roles = [
        (&names.root, Part::Root),
        (&names.worker, Part::Worker),
        (&names.kms, Part::Kms),
    ];
    let named = |name: &&String| roles.iter().any(|(used, _)| used == name);
    if let Some(stranger) = values.keys().find(|name| !named(name)) {
        let message = format!("the policy file names no binary {stranger:?}");
        let known = roles.map(|(name, _)| name.as_str()).join(", ");
        let help = format!("its names are {known}");
        return Err(Failure::usage(
            "bad-reference",
            "--reference",
            message,
            &help,
        ));
    }
    let real: Vec<String> = values.keys().cloned().collect();
    for (name, part) in roles {
        if real.contains(name) {
            continue;
        }
        // A name is a file in the folder, not a path out of it.
        if Path::new(name)
            .file_name()
            .is_none_or(|file| file != name.as_str())
        {
            let message = format!("{name:?} is not the name of a file");
            return Err(Failure::usage("bad-binary", "[roles]", message, ""));
        }
        let dir = args.binaries.as_deref().ok_or_else(|| {
            let message = format!("nothing says what {name:?} measures");
            let help =
                format!("give --reference {name}=FILE.toml, or --binaries DIR for a simulation");
            Failure::usage("bad-reference", "[roles]", message, &help)
        })?;
        let value = reference_value(&dir.join(name), part)?;
        values.entry(name.clone()).or_default().push(value);
    }
    Ok(values)
}

/// The files of `--reference`, by name.
fn real_ones(given: &[String]) -> Result<BTreeMap<String, Vec<ReferenceValue>>, Failure> {
    let mut values = BTreeMap::new();
    for one in given {
        let wrong = |message: &str| {
            let at = format!("--reference {one}");
            Failure::usage(
                "bad-reference",
                &at,
                message,
                "it is NAME=FILE.toml, each name once",
            )
        };
        let (name, file) = one
            .split_once('=')
            .ok_or_else(|| wrong("there is no = in it"))?;
        let read = Vec::from(reference::read(Path::new(file))?);
        if read.is_empty() {
            return Err(wrong("the file names no reference value"));
        }
        if values.insert(name.to_owned(), read).is_some() {
            return Err(wrong("this name has a file already"));
        }
    }
    Ok(values)
}

#[cfg(feature = "simulation")]
fn reference_value(path: &Path, part: Part) -> Result<ReferenceValue, Failure> {
    use siegel_fleet::launcher::Image;

    // The launcher starts every binary of a role under this name, and measures it.
    let argv0 = part.binary().unwrap_or_default();
    let image = Image::open(path, argv0).map_err(|why| {
        let at = path.display().to_string();
        Failure::usage(
            "no-binary",
            &at,
            why,
            "--binaries DIR holds what the file names",
        )
    })?;
    Ok(ReferenceValue::simulated(image.measurement()))
}

#[cfg(not(feature = "simulation"))]
fn reference_value(path: &Path, _: Part) -> Result<ReferenceValue, Failure> {
    let at = path.display().to_string();
    let message = "this build knows no kind of TEE whose measurement it could compute";
    Err(Failure::new(
        Exit::MachineCannot,
        "no-tee",
        &at,
        message,
        "build it with simulation",
    ))
}

fn endorsers(named: &[String]) -> Result<Vec<KeyDigest>, Failure> {
    let endorser = |named: &String| {
        if let Ok(digest) = named.parse() {
            return Ok(digest);
        }
        let key = siegel_rekor::public_key_of(Path::new(named));
        key.map(|key| key.digest()).map_err(|why| {
            let help = "--endorser is a P-256 key in PEM, or the SHA-256 of one (64 hex digits)";
            Failure::usage("bad-endorser", named, why, help)
        })
    };
    named.iter().map(endorser).collect()
}

fn programs(args: &BuildArgs) -> Result<BTreeMap<String, ProgramDigest>, Failure> {
    let assets = args.assets.iter().map(|path| {
        let text = files::read_text_any(path, "asset", INPUT_MAX)?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok((name, text))
    });
    let assets = assets.collect::<Result<BTreeMap<_, _>, Failure>>()?;
    let mut programs = BTreeMap::new();
    for path in &args.programs {
        let at = path.display().to_string();
        let text = files::read_text(path, "program", INPUT_MAX)?;
        let bundle = if path.extension().is_some_and(|ext| ext == "star") {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            Bundle::new(stem, text, assets.clone())
        } else {
            Bundle::parse(text.as_bytes())
        };
        let bundle = bundle.map_err(|why| {
            Failure::usage(
                "bad-program",
                &at,
                why,
                "see policies/programs/ for an example",
            )
        })?;
        if programs
            .insert(bundle.name().to_owned(), bundle.digest())
            .is_some()
        {
            let message = format!("a second program named {:?}", bundle.name());
            return Err(Failure::new(Exit::Usage, "bad-program", &at, message, ""));
        }
    }
    Ok(programs)
}
