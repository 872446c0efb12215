//! `reproducible-build/recipe.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use siegel_attest::Profile;
use siegel_ident::Digest;

use crate::RecipeError;

/// Where the recipe lies in a checkout.
pub const RECIPE_FILE: &str = "reproducible-build/recipe.toml";

/// Everything beside the source that decides the bytes of the measured binaries.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    schema: String,
    /// The Rust toolchain, as `1.95.0`.
    pub toolchain: String,
    /// The target triple.
    pub target: String,
    /// The value of `-Ctarget-cpu`.
    pub cpu: String,
    /// Further flags for rustc; the script adds the remapping of paths.
    pub rustflags: Vec<String>,
    /// Seconds since 1970, for build scripts that ask.
    pub source_date_epoch: u64,
    /// The measured binaries; package and binary have one name.
    pub binaries: Vec<String>,
    /// Settings of cargo's release profile.
    pub profile: Settings,
    /// Features by flavour.
    pub flavour: Flavours,
}

/// Settings of cargo's release profile, in cargo's own words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `opt-level`.
    pub opt_level: String,
    /// `debug`.
    pub debug: String,
    /// `codegen-units`.
    pub codegen_units: String,
    /// `lto`; `off`, since with it some compilers' output was seen to vary.
    pub lto: String,
    /// `panic`.
    pub panic: String,
    /// `strip`.
    pub strip: String,
    /// `overflow-checks`.
    pub overflow_checks: String,
    /// `debug-assertions`.
    pub debug_assertions: String,
}

/// The two flavours (I11).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flavours {
    /// With the simulator.
    pub simulation: Features,
    /// Without it.
    pub production: Features,
}

/// Features of one flavour.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// `{bin}` stands for the binary's name.
    pub features: Vec<String>,
}

impl Recipe {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/recipe/v1";

    /// Reads the recipe of a checkout.
    ///
    /// # Errors
    /// As [`Self::parse`], or if the file cannot be read.
    pub fn read(checkout: &Path) -> Result<Self, RecipeError> {
        let path = checkout.join(RECIPE_FILE);
        Self::parse(&std::fs::read_to_string(&path).map_err(RecipeError::io(&path))?)
    }

    /// Reads a recipe. Besides TOML's rules it holds to the lines that the build script reads: one
    /// `key = value` a line, spelled in one way. So both read the same recipe (I2).
    ///
    /// # Errors
    /// [`RecipeError::Recipe`] names the key or the line.
    pub fn parse(text: &str) -> Result<Self, RecipeError> {
        let recipe: Self = toml::from_str(text).map_err(|e| RecipeError::Recipe(e.to_string()))?;
        if recipe.schema != Self::SCHEMA {
            let (found, expected) = (&recipe.schema, Self::SCHEMA);
            let why = format!("schema is {found:?}, expected {expected:?}");
            return Err(RecipeError::Recipe(why));
        }
        if recipe.binaries.is_empty() {
            return Err(RecipeError::Recipe("binaries is empty".into()));
        }
        let expected = recipe.lines();
        let known = |line: &str| expected.iter().any(|known| known == line);
        for (at, line) in text.lines().enumerate() {
            if !line.is_empty() && !line.starts_with('#') && !known(line) {
                let why = format!(
                    "line {}: must be one `key = value`, spelled as the script reads it",
                    at + 1
                );
                return Err(RecipeError::Recipe(why));
            }
        }
        Ok(recipe)
    }

    /// SHA-256 of a recipe's exact bytes, as records name it (I2).
    pub fn digest(bytes: &[u8]) -> Digest {
        Digest::of(bytes)
    }

    /// Features that a binary is built with.
    pub fn features(&self, flavour: Profile, binary: &str) -> Vec<String> {
        let features = match flavour {
            Profile::Simulation => &self.flavour.simulation.features,
            Profile::Production => &self.flavour.production.features,
        };
        let filled = features.iter().map(|f| f.replace("{bin}", binary));
        filled.collect()
    }

    /// The keys in which another recipe differs: name, own value, other value.
    pub fn differences(&self, other: &Self) -> Vec<(String, String, String)> {
        let (own, other) = (self.entries(), other.entries());
        let pairs = own.into_iter().zip(other);
        pairs
            .filter(|((_, a), (_, b))| a != b)
            .map(|((key, a), (_, b))| (key, a, b))
            .collect()
    }

    /// Every key with its value as written; the same keys in the same order for every recipe.
    pub fn entries(&self) -> Vec<(String, String)> {
        let entry = |(section, key, value): (&str, &str, String)| match section {
            "" => (key.to_owned(), value),
            section => (format!("{section}.{key}"), value),
        };
        self.table().into_iter().map(entry).collect()
    }

    fn lines(&self) -> Vec<String> {
        let table = self.table();
        let sections: BTreeMap<&str, ()> = table.iter().map(|row| (row.0, ())).collect();
        let headers = sections.keys().map(|section| format!("[{section}]"));
        let keys = table
            .iter()
            .map(|(_, key, value)| format!("{key} = {value}"));
        headers.chain(keys).collect()
    }

    fn table(&self) -> Vec<(&'static str, &'static str, String)> {
        let text = |text: &str| format!("\"{text}\"");
        let list = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| text(item)).collect();
            format!("[{}]", items.join(", "))
        };
        let profile = &self.profile;
        vec![
            ("", "schema", text(&self.schema)),
            ("", "toolchain", text(&self.toolchain)),
            ("", "target", text(&self.target)),
            ("", "cpu", text(&self.cpu)),
            ("", "rustflags", list(&self.rustflags)),
            ("", "source_date_epoch", self.source_date_epoch.to_string()),
            ("", "binaries", list(&self.binaries)),
            ("profile", "opt_level", text(&profile.opt_level)),
            ("profile", "debug", text(&profile.debug)),
            ("profile", "codegen_units", text(&profile.codegen_units)),
            ("profile", "lto", text(&profile.lto)),
            ("profile", "panic", text(&profile.panic)),
            ("profile", "strip", text(&profile.strip)),
            ("profile", "overflow_checks", text(&profile.overflow_checks)),
            (
                "profile",
                "debug_assertions",
                text(&profile.debug_assertions),
            ),
            (
                "flavour.simulation",
                "features",
                list(&self.flavour.simulation.features),
            ),
            (
                "flavour.production",
                "features",
                list(&self.flavour.production.features),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../../reproducible-build/recipe.toml");

    #[test]
    fn the_shipped_recipe_is_one() {
        let recipe = Recipe::parse(SHIPPED).unwrap();
        assert_eq!(recipe.binaries, crate::NODES);
        assert_eq!(
            recipe.features(Profile::Simulation, "siegel-kms"),
            ["siegel-kms/simulation"]
        );
        // I11: nothing that could bring the simulator along.
        assert!(
            recipe
                .features(Profile::Production, "siegel-kms")
                .is_empty()
        );
        // The toolchain of every other command.
        let pinned = include_str!("../../../rust-toolchain.toml");
        assert!(pinned.contains(&format!("\"{}\"", recipe.toolchain)));
    }

    // Catches a key that nobody reads, and a spelling that script and Siegel read differently (I2).
    #[test]
    fn i2_unknown_keys_and_other_spellings_are_refused() {
        let refused = |from: &str, to: &str| {
            let text = SHIPPED.replacen(from, to, 1);
            assert_ne!(text, SHIPPED, "{from}");
            Recipe::parse(&text).unwrap_err().to_string()
        };
        let unknown = refused("\n[profile]", "\nlinker = \"mold\"\n[profile]");
        assert!(unknown.contains("linker"), "{unknown}");
        assert!(refused("recipe/v1", "recipe/v2").contains("recipe/v2"));
        assert!(refused("cpu = ", "# cpu = ").contains("cpu"));
        let line = SHIPPED.lines().position(|l| l.starts_with("cpu")).unwrap() + 1;
        for spelling in ["cpu=", "  cpu = ", "\"cpu\" = "] {
            let why = refused("cpu = ", spelling);
            assert!(why.contains(&format!("line {line}:")), "{why}");
        }
        refused("features = []", "features = [\n]");
        refused("\"x86-64-v3\"", "'x86-64-v3'");
        refused("\"x86-64-v3\"", "\"x86-64-v3\" # comment");
    }

    // Catches a flag that differs and is not named.
    #[test]
    fn each_difference_is_named() {
        let recipe = Recipe::parse(SHIPPED).unwrap();
        let other = SHIPPED.replace("lto = \"off\"", "lto = \"thin\"");
        let other = Recipe::parse(&other.replace("1.95.0", "1.96.0")).unwrap();
        let named = |key: &str, a: &str, b: &str| (key.into(), a.into(), b.into());
        assert_eq!(
            recipe.differences(&other),
            [
                named("toolchain", "\"1.95.0\"", "\"1.96.0\""),
                named("profile.lto", "\"off\"", "\"thin\"")
            ]
        );
        assert!(recipe.differences(&recipe).is_empty());
    }
}
