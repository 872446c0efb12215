//! A small checkout and a small machine.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The real checkout.
pub(crate) fn real() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

const CARGO: &str = r#"#!/usr/bin/env bash
# Writes down arguments and environment; "builds" a file that names binary and features.
set -eu
[ "$1" = build ] || exit 0
while [ $# -gt 0 ]; do
  case $1 in
    --bin) bin=$2 ;;
    --features) features=$2 ;;
    --target-dir) dir=$2 ;;
    --target) target=$2 ;;
  esac
  shift
done
env >"$HOME/env"
mkdir -p "$dir/$target/release"
printf '%s %s\n' "$bin" "${features-none}" >"$dir/$target/release/$bin"
if [ -e "$HOME/leak" ]; then cat "$HOME/leak" >>"$dir/$target/release/$bin"; fi
if [ -e "$HOME/edit" ]; then echo more >>proto/a.proto; fi
"#;
const RUSTC: &str = r#"#!/usr/bin/env bash
case $1 in
  -V) echo "rustc 1.95.0 (0123abcde 2026-01-01)" ;;
  -vV) printf 'rustc 1.95.0\ncommit-hash: 0123abcdef\n' ;;
  --print) echo /sysroot ;;
esac
"#;
const CC: &str = "#!/usr/bin/env bash\necho 'cc \"quoted\" 12'\necho second line\n";

pub(crate) struct Scene {
    dir: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let recipe = "reproducible-build/recipe.toml";
        let script = "reproducible-build/build";
        for file in [recipe, script] {
            scene.write(file, &std::fs::read_to_string(real().join(file)).unwrap());
        }
        for file in [
            "Cargo.toml",
            "Cargo.lock",
            "rust-toolchain.toml",
            "crates/kms/Cargo.toml",
            "crates/kms/src/main.rs",
            "crates/kms/OVERVIEW.md",
            "proto/a.proto",
            "README.md",
        ] {
            scene.write(file, file);
        }
        for (name, text) in [("cargo", CARGO), ("rustc", RUSTC), ("cc", CC)] {
            scene.program(name, text);
        }
        let registry = scene.path("cargo-home/registry/src/mirror.example-0123");
        std::fs::create_dir_all(registry).unwrap();
        std::fs::create_dir_all(scene.path("home")).unwrap();
        scene
    }

    /// A path of this machine, outside the checkout.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn checkout(&self) -> PathBuf {
        self.path("checkout")
    }

    /// A file of the checkout.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.checkout().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }

    /// The script with these arguments, on this machine.
    pub(crate) fn script(&self, args: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("bash");
        command
            .arg(self.checkout().join("reproducible-build/build"))
            .args(args)
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .env("CARGO_HOME", self.path("cargo-home"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    /// Exit code and standard error.
    pub(crate) fn run(&self, args: &[&str]) -> (i32, String) {
        said(&self.script(args).output().unwrap())
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let checkout = self.checkout();
        let output = Command::new("git")
            .arg("-C")
            .arg(&checkout)
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(["-c", "init.defaultBranch=main"])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", said(&output).1);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

pub(crate) fn said(output: &Output) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), text)
}
