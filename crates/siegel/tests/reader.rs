//! What a reader of a log gets: the page of an audit, and proofs about one receipt and one upload.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use siegel_audit::testing::{Scene, chained, lived, log_key};
use siegel_audit::{AuditAnchors, ExpectedCluster};
use siegel_ident::{BlobDigest, ClusterId, Digest};
use siegel_ledger::Fact;
use siegel_program::input_root;
use siegel_rekor::{Log, Storage};
use siegel_translog::predicate;

/// Uploads of the first run.
const MEMBERS: [u8; 4] = [2, 4, 6, 8];
/// When all is read.
const NOW: &str = "1700000000";

fn blob(n: u8) -> BlobDigest {
    BlobDigest::from_bytes([n; 32])
}

/// A run's folder as a simulation leaves it: log, anchors and `registration`. `drop` receipts are left
/// out of the log.
async fn run_folder(dir: &Path, drop: usize) -> AuditAnchors {
    let log = Storage::folder(dir.join("log"));
    let scene = Scene::over(Log::open(&log, log_key()).unwrap());
    let mut receipts = lived(&scene).await;
    let sorted = MEMBERS.map(blob);
    if let Fact::RunRegistered {
        input_root: root,
        blob_count,
        ..
    } = &mut receipts[2].fact
    {
        (*root, *blob_count) = (input_root(&sorted).unwrap(), 4);
    }
    // The run's first step starts from its registration, which is another one now.
    let registered = Digest::of(&receipts[2].to_bytes().unwrap());
    if let Fact::StepCommitted { previous_state, .. } = &mut receipts[4].fact {
        *previous_state = registered;
    }
    let mut bodies = chained(scene.id(), &receipts);
    bodies.truncate(bodies.len() - drop);
    let registration = dir.join("registration");
    std::fs::create_dir(&registration).unwrap();
    for (n, body) in bodies.iter().enumerate() {
        let (_, bundle) = scene
            .publish(&scene.cluster, predicate::RECEIPT, body)
            .await;
        if n == 2 {
            let genesis = scene.genesis.to_bytes().unwrap();
            let list: Vec<u8> = sorted.iter().flat_map(|blob| *blob.as_bytes()).collect();
            for (name, bytes) in [
                ("genesis.json", genesis.as_slice()),
                ("receipt.json", body),
                ("receipt.proof.json", &bundle),
                ("inputs.bin", &list),
            ] {
                std::fs::write(registration.join(name), bytes).unwrap();
            }
        }
    }
    let mut anchors = scene.anchors();
    anchors.clusters.push(ExpectedCluster {
        id: scene.id(),
        receipts: Some(receipts.len() as u64),
    });
    anchors.simulation_root = Some(Digest::from_bytes(scene.attester.public_key()));
    anchors.endorsers.push(scene.endorser.key().digest());
    keep(dir, &anchors);
    anchors
}

fn keep(dir: &Path, anchors: &AuditAnchors) {
    let bytes = serde_json::to_vec(anchors).unwrap();
    std::fs::write(dir.join("anchors.json"), bytes).unwrap();
}

/// Exit code and standard output.
fn siegel(dir: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_siegel"))
        .args(arguments)
        .args(["--now", NOW])
        .current_dir(dir)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

fn json(dir: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, text) = siegel(dir, &[arguments, &["--json"]].concat());
    (code, serde_json::from_str(&text).unwrap())
}

/// Changes one file of the folder.
fn change(dir: &Path, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = dir.join("registration").join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// Catches an answer that is the same for both, or that has another exit code for a no.
#[tokio::test]
async fn both_answers_are_proved_and_can_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run_folder(dir, 0).await;
    for n in 1..=9 {
        let (blob, is_in) = (blob(n).to_string(), MEMBERS.contains(&n));
        let ask = ["verify", "participation", "--run", ".", "--blob", &blob];
        let (code, answer) = json(dir, &ask);
        assert_eq!((code, &answer["participated"]), (0, &is_in.into()), "{n}");
        assert_eq!(
            (&answer["blob"], &answer["blob_count"]),
            (&blob.as_str().into(), &4.into())
        );
        let (code, text) = siegel(dir, &ask);
        let said = if is_in {
            "\nPARTICIPATED\n"
        } else {
            "\nDID NOT PARTICIPATE\n"
        };
        assert!(code == 0 && text.contains(said), "{text}");
        assert!(
            text.starts_with("INSECURE SIMULATION") && text.contains("\nUNWITNESSED"),
            "{text}"
        );
    }
    for n in [4, 5] {
        let (blob, file) = (blob(n).to_string(), format!("kept-{n}.json"));
        let ask = [
            "verify",
            "participation",
            "--run",
            ".",
            "--blob",
            &blob,
            "--write",
            &file,
        ];
        assert_eq!(siegel(dir, &ask).0, 0);
        let (code, refused) = json(dir, &ask);
        assert_eq!(
            (code, &refused["error"]["code"]),
            (2, &"cannot-write".into()),
            "no overwriting"
        );
        let again = [
            "verify",
            "participation",
            "--proof",
            &file,
            "--anchors",
            "anchors.json",
        ];
        let (code, answer) = json(dir, &again);
        assert_eq!((code, &answer["participated"]), (0, &(n == 4).into()));
        let other = self::blob(9).to_string();
        let (code, refused) = json(dir, &[&again[..], &["--blob", &other]].concat());
        assert_eq!(
            (code, refused["error"]["invariant"].clone()),
            (3, "I2".into())
        );
    }
    let (code, refused) = json(dir, &["verify", "participation", "--proof", "kept-4.json"]);
    assert_eq!((code, &refused["error"]["code"]), (2, &"no-anchors".into()));
}

/// One change each: exit 3, and what it breaks.
#[tokio::test]
async fn evidence_that_does_not_hold_is_no_answer() {
    type Change = fn(&Path, &mut AuditAnchors);
    let changes: [(&str, &str, &str, Change); 10] = [
        ("participation-not-proved", "I2", "inputs.bin", |dir, _| {
            change(dir, "inputs.bin", |list| drop(list.drain(..32)));
        }),
        ("participation-not-proved", "I2", "inputs.bin", |dir, _| {
            change(dir, "inputs.bin", |list| list.rotate_left(32));
        }),
        ("participation-not-proved", "I2", "inputs.bin", |dir, _| {
            change(dir, "inputs.bin", |list| list.truncate(31));
        }),
        ("malformed", "I2", "genesis.json", |dir, _| {
            change(dir, "genesis.json", |body| body.push(b'\n'));
        }),
        ("malformed", "I2", "receipt.proof.json", |dir, _| {
            change(dir, "receipt.proof.json", |body| body.push(0xff));
        }),
        (
            "receipt-not-proved",
            "I1",
            "receipt.proof.json",
            |dir, _| {
                change(dir, "receipt.proof.json", |body| body.push(b'\n'));
            },
        ),
        ("receipt-not-proved", "I1", "receipt.json", |dir, _| {
            change(dir, "receipt.json", |body| {
                let text = String::from_utf8(body.clone()).unwrap();
                *body = text.replace("\"blob_count\":4", "\"blob_count\":5").into();
            });
        }),
        ("malformed", "I2", "receipt.json", |dir, _| {
            change(dir, "receipt.json", |body| body.push(b'\n'));
        }),
        ("unknown-cluster", "I1", "genesis.json", |_, anchors| {
            anchors.clusters[0].id = ClusterId::of(b"another");
        }),
        ("other-log", "I1", "genesis.json", |_, anchors| {
            anchors.log.key[0] ^= 1
        }),
    ];
    for (code, invariant, file, spoil) in changes {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut anchors = run_folder(dir, 0).await;
        spoil(dir, &mut anchors);
        keep(dir, &anchors);
        let blob = blob(5).to_string();
        let ask = ["verify", "participation", "--run", ".", "--blob", &blob];
        let (exit, refused) = json(dir, &ask);
        let error = &refused["error"];
        assert_eq!((exit, &error["code"]), (3, &code.into()), "{refused}");
        assert_eq!(error["invariant"], invariant, "{refused}");
        let names = |error: &Value| {
            error["where"]
                .as_str()
                .is_some_and(|at| at.ends_with(&format!("/{file}")))
        };
        assert!(names(error), "{file}: {refused}");
        // The list is no part of the receipt, all else is.
        let (exit, refused) = json(dir, &["verify", "receipt", "."]);
        match code {
            "participation-not-proved" => assert_eq!(exit, 0),
            _ => {
                assert_eq!((exit, &refused["error"]["code"]), (3, &code.into()));
                assert!(names(&refused["error"]), "{file}: {refused}");
            }
        }
    }
}

#[tokio::test]
async fn a_receipt_is_verified_and_said_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut anchors = run_folder(dir, 0).await;
    let (code, text) = siegel(dir, &["verify", "receipt", "."]);
    assert!(code == 0 && text.contains("\nVERIFIED\n"), "{text}");
    assert!(
        text.contains("over 4 uploads was registered")
            && text.contains("planned steps: 2, for ρ = ")
    );
    let (code, found) = json(dir, &["verify", "receipt", "."]);
    assert_eq!((code, &found["receipt"]["seq"]), (0, &3.into()));
    assert_eq!(found["warnings"].as_array().unwrap().len(), 2, "{found}");

    // Without a cluster in the anchors it is some cluster's: said, not hidden.
    anchors.clusters.clear();
    keep(dir, &anchors);
    let file = "registration/receipt.json";
    let (code, found) = json(
        dir,
        &["verify", "receipt", file, "--anchors", "anchors.json"],
    );
    assert_eq!(
        (code, found["warnings"].as_array().unwrap().len()),
        (0, 3),
        "{found}"
    );
    let (code, refused) = json(dir, &["verify", "receipt", file]);
    assert_eq!((code, &refused["error"]["code"]), (2, &"no-anchors".into()));
}

/// Catches a page that replaces somebody's file, or that is left half written; and one that changes the
/// exit code.
#[tokio::test]
async fn an_audit_writes_a_page_over_pages_only() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run_folder(dir, 0).await;
    let page = dir.join("audit.html");
    let audit = ["audit", ".", "--html", "audit.html"];
    assert_eq!(siegel(dir, &audit).0, 0);
    let first = std::fs::read_to_string(&page).unwrap();
    assert!(
        first.contains("Verdict: Good") && first.ends_with("</html>\n"),
        "{first}"
    );
    std::fs::write(&page, first.replace("Verdict: Good", "Verdict: Old")).unwrap();
    assert_eq!(siegel(dir, &audit).0, 0);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), first);

    std::fs::write(&page, "my diary").unwrap();
    let (code, refused) = json(dir, &audit);
    assert_eq!((code, &refused["error"]["code"]), (2, &"not-a-page".into()));
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "my diary");
    for nowhere in ["none/audit.html", "log"] {
        let (code, _) = siegel(dir, &["audit", ".", "--html", nowhere]);
        assert_eq!(code, 2, "{nowhere}");
    }

    let lying = tempfile::tempdir().unwrap();
    let lying = lying.path();
    run_folder(lying, 1).await;
    assert_eq!(siegel(lying, &audit).0, 3);
    let page = std::fs::read_to_string(lying.join("audit.html")).unwrap();
    assert!(page.contains("Verdict: Not trustworthy") && page.contains("receipt-missing"));
    for dir in [dir, lying] {
        let names = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = names
            .filter(|name| name.to_string_lossy().contains(".tmp"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
