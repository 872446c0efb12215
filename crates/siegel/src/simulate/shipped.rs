//! Programs and policies that come with the command.

use std::collections::BTreeMap;
use std::path::Path;

use siegel_program::Bundle;

use crate::failure::Failure;

/// A program with the policy that it is shipped with.
pub struct Shipped {
    pub name: &'static str,
    driver: &'static str,
    assets: &'static [(&'static str, &'static str)],
    pub policy: &'static str,
    /// Without `--rounds`.
    rounds: u64,
}

/// All of them.
pub const SHIPPED: &[Shipped] = &[
    Shipped {
        name: "word-histogram",
        driver: include_str!("../../../../policies/programs/word-histogram.star"),
        assets: &[("common-words-en.txt", WORDS)],
        policy: include_str!("../../../../policies/word-histogram.toml"),
        rounds: 1,
    },
    Shipped {
        name: "next-char",
        driver: include_str!("../../../../policies/programs/next-char.star"),
        assets: &[("characters-en.txt", CHARACTERS)],
        policy: include_str!("../../../../policies/next-char.toml"),
        rounds: 20,
    },
];

/// The published list of the word histogram.
pub const WORDS: &str = include_str!("../../../../policies/programs/common-words-en.txt");
/// The published alphabet of the next-character model.
const CHARACTERS: &str = include_str!("../../../../policies/programs/characters-en.txt");

/// A program to run, and the policy text to run it under.
pub struct Chosen {
    pub bundle: Bundle,
    pub policy: String,
    /// Rounds, if not said otherwise.
    pub rounds: u64,
}

/// Finds a shipped program by name, or reads a driver (`.star`, with those shipped lists at hand
/// that it names) or a program bundle from a file.
pub fn choose(program: &str, policy: Option<&Path>) -> Result<Chosen, Failure> {
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == program);
    let bundle = match shipped {
        Some(shipped) => bundle(shipped.name, shipped.driver, shipped.assets)?,
        None => from_file(Path::new(program))?,
    };
    let policy = match (policy, shipped) {
        (Some(path), _) => read_text(path, "policy")?,
        (None, Some(shipped)) => shipped.policy.to_owned(),
        (None, None) => {
            return Err(Failure::usage(
                "no-policy",
                "--policy",
                format!("{program} is not a shipped program, so it has no policy of its own"),
                "name one with --policy FILE; policies/ in the source has an example",
            ));
        }
    };
    Ok(Chosen {
        bundle,
        policy,
        rounds: shipped.map_or(1, |shipped| shipped.rounds),
    })
}

fn from_file(path: &Path) -> Result<Bundle, Failure> {
    if !path.is_file() {
        let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        return Err(Failure::usage(
            "no-such-program",
            "--program",
            format!("{} is neither a shipped program nor a file", path.display()),
            &format!("shipped programs: {}", names.join(", ")),
        ));
    }
    let text = read_text(path, "program")?;
    if path.extension().is_some_and(|ext| ext == "star") {
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("program");
        let lists = SHIPPED.iter().flat_map(|shipped| shipped.assets);
        let named: Vec<_> = lists
            .copied()
            .filter(|(name, _)| text.contains(name))
            .collect();
        return bundle(stem, &text, &named);
    }
    Bundle::parse(text.as_bytes()).map_err(|why| unusable(&path.display().to_string(), why))
}

fn bundle(name: &str, driver: &str, assets: &[(&str, &str)]) -> Result<Bundle, Failure> {
    let assets: BTreeMap<String, String> = assets
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    Bundle::new(name, driver, assets).map_err(|why| unusable(name, why))
}

fn unusable(name: &str, why: impl ToString) -> Failure {
    Failure::usage(
        "bad-program",
        name,
        why,
        "see policies/programs/ for an example",
    )
}

fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|why| {
        Failure::usage(
            "cannot-read",
            &path.display().to_string(),
            format!("cannot read the {what}: {why}"),
            "check the path and its permissions",
        )
    })
}
