//! Why rebuilt binaries differ: values in, causes out. Nothing here reads a file.

use std::path::Path;

use serde::Serialize;
use siegel_endorse::{Build, Change, Manifest};
use siegel_recipe::{RECIPE_FILE, Recipe};

/// Differing files that are named one by one.
const NAMED: usize = 20;
/// Shorter paths occur by chance.
const LEAK_MIN: usize = 6;

/// One cause, or what looks like one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Stable, kebab-case.
    pub id: &'static str,
    /// In plain words, with both values.
    pub message: String,
    /// The source file, for `source-differs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Cause {
    pub fn new(id: &'static str, message: impl Into<String>) -> Self {
        Self {
            id,
            message: message.into(),
            file: None,
        }
    }
}

/// Files in which the source here is not the stated one; the recipe has its own causes.
pub fn source(stated: &Manifest, here: &Manifest) -> Vec<Cause> {
    let mut changes = stated.changes(here);
    changes.remove(RECIPE_FILE);
    let mut causes: Vec<Cause> = changes
        .iter()
        .take(NAMED)
        .map(|(file, change)| Cause {
            file: Some((*file).to_owned()),
            ..Cause::new(
                "source-differs",
                format!("source differs: {file} ({})", word(*change)),
            )
        })
        .collect();
    if changes.len() > NAMED {
        let more = changes.len() - NAMED;
        causes.push(Cause::new(
            "source-differs",
            format!("source differs: {more} more files"),
        ));
    }
    causes
}

/// The working tree is not what its commit says.
pub fn dirty_tree(commit: &str, of_commit: &Manifest, tree: &Manifest) -> Option<Cause> {
    let changes = of_commit.changes(tree);
    if changes.is_empty() {
        return None;
    }
    let mut files: Vec<String> = changes
        .iter()
        .take(NAMED)
        .map(|(file, change)| format!("{file} ({})", word(*change)))
        .collect();
    if changes.len() > NAMED {
        files.push(format!("{} more", changes.len() - NAMED));
    }
    let files = files.join(", ");
    let message =
        format!("dirty tree: this working tree differs from its commit {commit}: {files}");
    Some(Cause::new("dirty-tree", message))
}

/// Keys in which the recipe here is not the stated one. What goes to the compiler is called a flag.
pub fn recipe(stated: &str, here: &str) -> Vec<Cause> {
    if stated == here {
        return Vec::new();
    }
    let (Ok(stated), Ok(here)) = (Recipe::parse(stated), Recipe::parse(here)) else {
        let message = "recipe differs, and one of the two is not one that this version reads";
        return vec![Cause::new("recipe-differs", message)];
    };
    let differences = stated.differences(&here);
    if differences.is_empty() {
        let message = "recipe differs only in comments or the order of lines";
        return vec![Cause::new("recipe-differs", message)];
    }
    let cause = |(key, stated, here): (String, String, String)| {
        let is_flag = key == "rustflags" || key == "cpu" || key.contains('.');
        let (id, what) = match is_flag {
            true => ("flag-differs", "flag"),
            false => ("recipe-differs", "recipe"),
        };
        Cause::new(
            id,
            format!("{what} differs: {key} is {stated} as stated, {here} here"),
        )
    };
    differences.into_iter().map(cause).collect()
}

/// Compilers that are not the stated ones.
pub fn tools(stated: &Build, here: &Build) -> Vec<Cause> {
    let pairs = [
        ("toolchain-differs", "toolchain", &stated.rustc, &here.rustc),
        ("compiler-differs", "C compiler", &stated.cc, &here.cc),
    ];
    let differing = pairs
        .into_iter()
        .filter(|(_, _, stated, here)| stated != here);
    let cause = |(id, what, stated, here): (&'static str, &str, &String, &String)| {
        Cause::new(
            id,
            format!("{what} differs: {stated:?} as stated, {here:?} here"),
        )
    };
    differing.map(cause).collect()
}

/// Paths of this machine that stand in a built binary: its bytes are then this machine's own.
pub fn path_leaks(name: &str, binary: &[u8], paths: &[(&str, &Path)]) -> Vec<Cause> {
    let leaks = paths.iter().filter(|(_, path)| {
        let path = path.as_os_str().as_encoded_bytes();
        path.len() >= LEAK_MIN && binary.windows(path.len()).any(|window| window == path)
    });
    let cause = |(what, path): &(&str, &Path)| {
        let path = path.display();
        let message =
            format!("path leak: the built {name} holds the {what} of this machine, {path}");
        Cause::new("path-leak", message)
    };
    leaks.map(cause).collect()
}

/// Nothing that could be compared differs, and still the bytes do.
pub fn unknown() -> Cause {
    let message = "unknown: source, recipe, toolchain and C compiler are as stated, and still the bytes \
                   differ. The build is then not reproducible, or the statement is false: report it";
    Cause::new("unknown", message)
}

const fn word(change: Change) -> &'static str {
    match change {
        Change::Changed => "changed",
        Change::Added => "only here",
        Change::Removed => "only as stated",
    }
}

#[cfg(test)]
mod tests;
