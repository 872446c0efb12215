//! The commands `siegel verify bundle` and `siegel verify-bundle`: exit codes, and what they say.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};

use common::{pem, siegel, verdict};
use serde_json::json;
use siegel_ident::Digest;
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};

const POLICY: &[u8] = b"{\"schema\":\"siegel/policy/v1\"}";

/// A folder with a published policy: `policy.json`, `bundle.json`, `anchors.json`, `signer.pub`.
fn published() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut log = TestLog::new("log.example.test", [7; 32]);
    let signer = TestSigner::generate().unwrap();
    log.append(vec![1; 40]);
    let bundle = log
        .publish(&signer, "policy/demo", POLICY, predicate::POLICY)
        .unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
    write("policy.json", POLICY);
    write("bundle.json", &bundle);
    write(
        "anchors.json",
        json!({ "log": log.anchors() }).to_string().as_bytes(),
    );
    write(
        "root.json",
        siegel_sigstore::trusted_root(&log.anchors()).as_bytes(),
    );
    write("signer.pub", pem(&signer.key().spki_der()).as_bytes());
    write(
        "other.pub",
        pem(&TestSigner::generate().unwrap().key().spki_der()).as_bytes(),
    );
    dir
}

/// I1. Two verifiers, one verdict; and what only ours asks is no disagreement.
#[test]
fn i1_a_policy_proof() {
    let dir = published();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (bundle, anchors, policy) = (at("bundle.json"), at("anchors.json"), at("policy.json"));
    let args = [
        "verify",
        "bundle",
        "--bundle",
        &bundle,
        "--anchors",
        &anchors,
    ];

    let (code, said) = verdict(&[&args[..], &[&policy]].concat());
    assert_eq!(code, 0, "{said}");
    assert_eq!(said["verified"], true);
    assert_eq!(said["sha256"], Digest::of(POLICY).to_string());
    assert_eq!(
        (&said["log_index"], &said["tree_size"]),
        (&json!(1), &json!(2))
    );

    let refused = |more: &[&str], code: &str| {
        let (exit, said) = verdict(&[&args[..], more].concat());
        assert_eq!((exit, &said["error"]["code"]), (3, &json!(code)), "{said}");
        assert_eq!(said["error"]["invariant"], "I1");
    };
    refused(&[&anchors], "policy-proof");
    refused(&["--key", &at("other.pub"), &policy], "policy-proof");
    refused(&["--what", "receipt", &policy], "policy-proof");
    let text = std::fs::read_to_string(at("bundle.json")).unwrap();
    std::fs::write(at("bundle.json"), text.replacen('{', "{ ", 1)).unwrap();
    refused(&[&policy], "policy-proof");
}

/// The same bundle as anybody's, with a key and a trusted root, by its path and by its digest.
#[test]
fn a_general_bundle_with_a_managed_key() {
    let dir = published();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (bundle, root, key) = (at("bundle.json"), at("root.json"), at("signer.pub"));
    let digest = format!("sha256:{}", Digest::of(POLICY));
    for artifact in [at("policy.json"), digest] {
        let args = [
            "verify-bundle",
            "--bundle",
            &bundle,
            "--key",
            &key,
            "--trusted-root",
            &root,
        ];
        let out = siegel(&[&args[..], &[&artifact]].concat());
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(
            text.contains("log log.example.test: entry 1, of 2"),
            "{text}"
        );
    }
    let policy = at("policy.json");
    let unknown = ["verify-bundle", "--bundle", &bundle, "--key", &key, &policy];
    let (code, said) = verdict(&unknown);
    assert_eq!((code, &said["error"]["code"]), (3, &json!("unknown-log")));
    let early = [
        "--now",
        "0",
        "verify-bundle",
        "--bundle",
        &bundle,
        "--key",
        &key,
        "--trusted-root",
    ];
    assert_eq!(
        siegel(&[&early[..], &[&root, &policy]].concat())
            .status
            .code(),
        Some(0)
    );
}

/// Wrong use is exit 2: nothing is said about the bundle.
#[test]
fn wrong_use() {
    let dir = published();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (bundle, key, policy) = (at("bundle.json"), at("signer.pub"), at("policy.json"));
    let nowhere = at("nowhere");
    for (args, code) in [
        (vec!["--bundle", &bundle, &policy], "no-signer"),
        (
            vec!["--bundle", &nowhere, "--key", &key, &policy],
            "cannot-read",
        ),
        (
            vec!["--bundle", &bundle, "--key", &key, &nowhere],
            "cannot-read",
        ),
        (
            vec!["--bundle", &bundle, "--key", &key, "sha256:00"],
            "cannot-read",
        ),
        (
            vec!["--bundle", &bundle, "--key", &policy, &policy],
            "bad-key",
        ),
        (
            vec![
                "--bundle",
                &bundle,
                "--key",
                &key,
                "--trusted-root",
                &bundle,
                &policy,
            ],
            "trusted-root",
        ),
    ] {
        let (exit, said) = verdict(&[&["verify-bundle"], &args[..]].concat());
        assert_eq!((exit, &said["error"]["code"]), (2, &json!(code)), "{said}");
    }
    let half = [
        "verify-bundle",
        "--bundle",
        &bundle,
        "--certificate-identity",
        "a",
        &policy,
    ];
    assert_eq!(siegel(&half).status.code(), Some(2));
}

/// Bundles of real logs, where the vectors are.
#[test]
fn bundles_of_the_public_good_instance() {
    let root = std::env::var("SIEGEL_VECTORS").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let dir = root.join("sigstore");
    if !dir.is_dir() {
        println!("skipped: no {} (set SIEGEL_VECTORS)", dir.display());
        return;
    }
    let identity = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/\
                    workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
    let artifact = dir.join("a.txt").display().to_string();
    for (folder, identity, code) in [
        ("happy-path-v0.3", identity, 0),
        ("happy-path-v0.3", "somebody else", 3),
        ("set-invalid-signature_fail", identity, 3),
    ] {
        let bundle = dir.join(folder).join("bundle.sigstore.json");
        let bundle = bundle.display().to_string();
        let issuer = "https://token.actions.githubusercontent.com";
        let out = siegel(&[
            "verify-bundle",
            "--bundle",
            &bundle,
            "--certificate-identity",
            identity,
            "--certificate-oidc-issuer",
            issuer,
            &artifact,
        ]);
        assert_eq!(out.status.code(), Some(code), "{folder}: {out:?}");
    }
}

/// I14, I13. What is not the right file is said to be that one, with exit 2: nothing was verified. Catches
/// a private key that passes for a public one, and a message about another file.
#[test]
fn i14_a_wrong_file_is_named() {
    let dir = published();
    let at = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(dir.path().join("empty"), b"").unwrap();
    std::fs::write(dir.path().join("binary"), [0xff; 3]).unwrap();
    std::fs::write(dir.path().join("object"), b"{}").unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    siegel_rekor::PolicySigner::load_or_create(&dir.path().join("private.pem")).unwrap();
    let good = [
        ("--bundle", at("bundle.json")),
        ("--key", at("signer.pub")),
        ("--trusted-root", at("root.json")),
        ("", at("policy.json")),
    ];
    let with = |option: &str, file: &str| {
        let mut args = vec!["verify-bundle".to_owned()];
        for (name, value) in &good {
            let value = if *name == option {
                at(file)
            } else {
                value.clone()
            };
            args.extend((!name.is_empty()).then(|| (*name).to_owned()));
            args.push(value);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        verdict(&args)
    };
    assert_eq!(with("", "policy.json").0, 0);
    for (option, file, code, says) in [
        ("--bundle", "absent", "cannot-read", "no such file"),
        ("--bundle", "folder", "cannot-read", "is a folder"),
        ("--bundle", "empty", "empty", "bundle is empty"),
        ("--key", "private.pem", "bad-key", "private key"),
        ("--key", "empty", "bad-key", "empty"),
        ("--key", "folder", "bad-key", "directory"),
        ("--trusted-root", "empty", "empty", "trusted root is empty"),
        (
            "--trusted-root",
            "binary",
            "not-text",
            "trusted root is not UTF-8",
        ),
        ("--trusted-root", "object", "trusted-root", "trusted root"),
        (
            "",
            "absent",
            "cannot-read",
            "artifact: there is no such file",
        ),
        ("", "folder", "cannot-read", "artifact: this is a folder"),
    ] {
        let (exit, said) = with(option, file);
        let error = &said["error"];
        assert_eq!(
            (exit, &error["code"]),
            (2, &json!(code)),
            "{option} {file}: {said}"
        );
        assert_eq!(error["where"], at(file), "{option}: {said}");
        assert!(error["message"].as_str().unwrap().contains(says), "{said}");
    }
}
