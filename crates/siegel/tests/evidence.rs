//! The command `siegel verify evidence` on evidence of real machines: verdicts, exit codes, wrong use.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};

use common::{siegel, verdict};

const JULY_2025: &str = "1751328000";

/// The folder of real evidence, or `None` with a printed line.
fn vectors() -> Option<PathBuf> {
    let root = std::env::var_os("SIEGEL_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let dir = root.join("attestation");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no {} (set SIEGEL_VECTORS)", dir.display());
    None
}

fn reference(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/reference");
    path.join(name).display().to_string()
}

struct Vectors(PathBuf);

impl Vectors {
    fn at(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn tdx(&self, name: &str, more: &[&str]) -> (i32, serde_json::Value) {
        let quote = self.at(&format!("tdx/{name}.quote"));
        let collateral = self.at(&format!("tdx/{name}.collateral.json"));
        let args = ["verify", "evidence", &quote, "--collateral", &collateral];
        verdict(&[&args[..], more].concat())
    }
}

/// I3. Catches a command that enforces no policy, and one whose verdict is not its exit code.
#[test]
fn i3_a_policy_accepts_or_refuses() {
    let Some(vectors) = vectors().map(Vectors) else {
        return;
    };
    let tdx = reference("tdx.toml");
    let (code, said) = vectors.tdx("v4_uptodate", &["--policy", &tdx, "--now", JULY_2025]);
    assert_eq!((code, &said["verdict"]), (0, &"accepted".into()), "{said}");
    assert_eq!(said["around"], 70);
    assert!(said["checks"].as_array().unwrap().len() > 30);
    // The same, after its window, and a debug TD by the same policy.
    let (code, said) = vectors.tdx("v4_uptodate", &["--policy", &tdx, "--now", "1755000000"]);
    assert_eq!((code, &said["verdict"]), (3, &"refused".into()));
    let (code, said) = vectors.tdx("v4_debug", &["--policy", &tdx, "--now", "1773705600"]);
    let failed = |said: &serde_json::Value, check: &str| {
        let all = said["checks"].as_array().unwrap().clone();
        all.iter()
            .any(|one| one["check"] == check && one["status"] == "failed")
    };
    assert_eq!(code, 3);
    assert!(
        failed(&said, "tdx-attributes") && failed(&said, "quote-status"),
        "{said}"
    );
    // Report data that must be bound, and is not.
    let data = "00".repeat(64);
    let more = ["--policy", &tdx, "--now", JULY_2025, "--report-data", &data];
    let (code, said) = vectors.tdx("v4_uptodate", &more);
    assert_eq!((code, &said["failed"]), (3, &"report-data".into()));

    let nitro = vectors.at("nitro/attestation.cbor");
    let policy = reference("nitro.toml");
    let args = [
        "verify",
        "evidence",
        &nitro,
        "--policy",
        &policy,
        "--now",
        "1766672109",
    ];
    assert_eq!(verdict(&args).0, 0);
}

/// Without a policy a debug guest is authentic: the words must not say more. Evidence in hexadecimal is the same.
#[test]
fn authentic_is_not_accepted() {
    let Some(vectors) = vectors().map(Vectors) else {
        return;
    };
    let chain = vectors.at("snp/milan_ask_ark_asvk.pem");
    let one = |report: &str, leaf: &str, more: &[&str]| {
        let (report, leaf) = (vectors.at(report), vectors.at(leaf));
        let args = [
            "verify",
            "evidence",
            &report,
            "--certificates",
            &leaf,
            "--certificates",
            &chain,
        ];
        verdict(&[&args[..], &["--now", "1764547200"], more].concat())
    };
    let (code, said) = one("snp/debug_v2.report.bin", "snp/debug_v2.vcek.der", &[]);
    assert_eq!((code, &said["verdict"]), (0, &"authentic".into()));
    assert_eq!(said["claims"]["debug"], "true");
    let (code, said) = one("snp/milan_v2.report.hex", "snp/milan_v2.vcek.der", &[]);
    assert_eq!((code, &said["kind"]), (0, &"sev-snp".into()), "{said}");
    // Another chip's certificate, and Genoa's policy.
    assert_eq!(
        one("snp/milan_v2.report.hex", "snp/debug_v2.vcek.der", &[]).0,
        3
    );
    let policy = reference("genoa.toml");
    let (code, said) = one(
        "snp/milan_v3.report.bin",
        "snp/milan_v3.vcek.der",
        &["--policy", &policy],
    );
    assert_eq!((code, &said["verdict"]), (3, &"refused".into()));

    let report = vectors.at("snp/milan_v3.report.bin");
    let leaf = vectors.at("snp/milan_v3.vcek.der");
    let args = [
        "verify",
        "evidence",
        &report,
        "--certificates",
        &leaf,
        "--certificates",
        &chain,
    ];
    let out = siegel(&[&args[..], &["--now", "1764547200", "--explain"]].concat());
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.contains("No policy was asked") && text.contains("measurement"),
        "{text}"
    );
}

/// What cannot be evidence or reference values is wrong use, not a verdict.
#[test]
fn wrong_use_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let text = at("text", b"no evidence");
    let huge = at("huge", &vec![4; 100_000]);
    let report = at("report", &[[5, 0, 0, 0].as_slice(), &[0; 1180]].concat());
    let policy = at("policy.toml", b"[[sev-snp]]\nname = \"x\"\n");
    for (args, code) in [
        (vec!["absent"], "cannot-read"),
        (vec![&text], "unknown-evidence"),
        (vec![&huge], "too-long"),
        (vec![&report, "--policy", &policy], "reference-malformed"),
        (vec![&report, "--policy", &text], "reference-malformed"),
        (vec![&report, "--certificates", "absent"], "cannot-read"),
        (vec![&report, "--collateral", &text], "useless-option"),
    ] {
        let (exit, said) = verdict(&[&["verify", "evidence"], args.as_slice()].concat());
        assert_eq!(
            (exit, said["error"]["code"].as_str()),
            (2, Some(code)),
            "{args:?}"
        );
    }
    // Without certificates nothing can vouch for a report; that is a verdict.
    let (exit, said) = verdict(&["verify", "evidence", &report]);
    assert_eq!((exit, &said["failed"]), (3, &"snp-chain".into()));
}
