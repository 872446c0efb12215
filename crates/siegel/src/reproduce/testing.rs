//! A small checkout in a repository of its own, whose script "builds" in no time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use siegel_attest::Profile;
use siegel_endorse::{Build, Part};
use siegel_ident::Digest;
use siegel_recipe::{RECIPE_FILE, of_commit};

use super::expected::{Expected, ExpectedFile};
use super::rebuild::Options;
use super::{BINARIES, worktree};

pub(super) const MAIN: &str = "crates/kms/src/main.rs";
const SCRIPT: &str = "reproducible-build/build";
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Takes the place of everything after arguments and manifest. Comments do not change the bytes; a
/// file `crates/leak` puts the path of the checkout into them.
const BUILD: &str = r#"
mkdir -p "$out"
hash() { sha256sum | cut -d' ' -f1; }
digests=''
for binary in siegel-kms siegel-root siegel-worker; do
  echo "building $binary, $flavour" >&2
  { echo "$binary $flavour"; grep -v '^//' crates/kms/src/main.rs
    if [ -e crates/leak ]; then echo "$checkout"; fi; } >"$out/$binary"
  digests+="${digests:+,}\"$binary\":\"$(hash <"$out/$binary")\""
done
source=$(printf %s "$(manifest)" | hash)
printf '{"binaries":{%s},"build":{"cc":"cc 1","commit":null,"dirty":false,"recipe":"%s","rustc":"rustc 1","source":"%s"},"flavour":"%s","schema":"siegel/build/v1"}' \
  "$digests" "$(hash <reproducible-build/recipe.toml)" "$source" "$flavour" >"$out/siegel-build.json"
"#;

pub(super) struct Repository {
    dir: tempfile::TempDir,
}

impl Repository {
    /// With one commit.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repository = Self { dir };
        let real = |file: &str| std::fs::read_to_string(Path::new(CHECKOUT).join(file)).unwrap();
        let script = real(SCRIPT);
        let (head, _) = script.split_once("# --- the recipe ---").unwrap();
        repository.write(SCRIPT, &format!("{head}{BUILD}"));
        repository.write(RECIPE_FILE, &real(RECIPE_FILE));
        for file in [
            "Cargo.toml",
            "Cargo.lock",
            "rust-toolchain.toml",
            "proto/a.proto",
            "crates/kms/Cargo.toml",
        ] {
            repository.write(file, file);
        }
        repository.write(MAIN, "fn main() {}\n");
        repository.write(".gitignore", "/target\n");
        repository.git(&["init", "--quiet"]);
        repository.commit("First");
        repository
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
        worktree::head(&self.path()).unwrap()
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.path());
        command.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"]);
        command.args([
            "-c",
            "commit.gpgsign=false",
            "-c",
            "init.defaultBranch=main",
        ]);
        command.args(args).stdin(Stdio::null());
        assert!(command.status().unwrap().success());
    }

    /// What an honest endorser says of a commit whose main file is `main`.
    pub(super) fn stated(&self, commit: &str, main: &str) -> Expected {
        let manifest = of_commit(&self.path(), commit).unwrap();
        let recipe = worktree::show(&self.path(), commit, RECIPE_FILE).unwrap();
        let file = |(name, role): (&&str, Part)| ExpectedFile {
            role,
            name: (*name).to_owned(),
            sha256: Digest::of(format!("{name} production\n{main}").as_bytes()),
        };
        let roles = [Part::Kms, Part::Root, Part::Worker];
        Expected {
            flavour: Profile::Production,
            files: BINARIES.iter().zip(roles).map(file).collect(),
            build: Build {
                source: manifest.digest().unwrap(),
                commit: Some(commit.to_owned()),
                dirty: false,
                recipe: Some(Digest::of(recipe.as_bytes())),
                rustc: "rustc 1".into(),
                cc: "cc 1".into(),
            },
            manifest: Some(manifest),
            recipe: Some(recipe),
        }
    }

    pub(super) fn options(&self, here: bool) -> Options {
        Options {
            checkout: self.path(),
            here,
            offline: true,
            keep: false,
            no_build: false,
        }
    }
}
