//! I11: the mock platform, whose keys anyone can read, is in no node binary of either flavour.

use std::path::{Path, PathBuf};

use siegel_attest::Profile;
use siegel_attest::hardware::snp::mock::{self, Platform};
use siegel_attest::hardware::snp::{Product, SigningKey};
use siegel_attest::hardware::{Authentic, verify};
use siegel_tests::binaries;

/// Something in a file that says that the mock platform was linked.
struct Trace {
    what: String,
    bytes: Vec<u8>,
}

fn trace(what: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Trace {
    let (what, bytes) = (what.into(), bytes.into());
    assert!(bytes.len() > 10, "{what}");
    Trace { what, bytes }
}

/// Keys, symbols, source files, and the name in its certificates. All are computed: a literal here would stand in the
/// file of this test, which is the control.
fn traces() -> Vec<Trace> {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/attest/src");
    // "siegel_attest::hardware::snp::mock"
    let (module, _) = std::any::type_name::<Platform>().rsplit_once("::").unwrap();
    let parts: Vec<&str> = module.split("::").collect();
    let folder = parts[1..].join("/");
    let mut traces = vec![
        trace(
            "its symbols",
            parts
                .iter()
                .map(|part| format!("{}{part}", part.len()))
                .collect::<String>(),
        ),
        trace("its source files", folder.clone()),
        trace("its cloud provider", provider()),
    ];
    for entry in std::fs::read_dir(sources.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "der") {
            let key = std::fs::read(&path).unwrap();
            // From the middle of the modulus on: no other key has these.
            let part = &key[key.len() / 8..][..64];
            traces.push(trace(path.display().to_string(), part));
        }
    }
    assert_eq!(traces.len(), 3 + 3);
    traces
}

/// The name as the verifier found it in a certificate.
fn provider() -> String {
    let platform = Platform::new(Product::Milan, SigningKey::Vlek).unwrap();
    let (evidence, endorsements) = (
        platform.evidence().unwrap(),
        platform.endorsements().unwrap(),
    );
    match verify(&evidence, &endorsements, &mock::roots().unwrap(), mock::NOW).unwrap() {
        Authentic::SevSnp(found) => found.provider().unwrap().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// What of `traces` is in the file.
fn found<'a>(file: &Path, traces: &'a [Trace]) -> Vec<&'a str> {
    let bytes = std::fs::read(file).unwrap();
    let is_in = |trace: &&Trace| {
        bytes
            .windows(trace.bytes.len())
            .any(|part| part == trace.bytes)
    };
    traces
        .iter()
        .filter(is_in)
        .map(|trace| &*trace.what)
        .collect()
}

// Catches a feature that brings the mock platform into a file that ships, and traces that no build leaves any more:
// this test itself links it.
#[tokio::test]
async fn no_node_holds_the_mock_platform() {
    let traces = traces();
    let every: Vec<_> = traces.iter().map(|trace| &*trace.what).collect();
    assert_eq!(found(&std::env::current_exe().unwrap(), &traces), every);
    for flavour in [Profile::Production, Profile::Simulation] {
        let binaries = binaries(flavour).await;
        for file in [&binaries.kms, &binaries.root, &binaries.worker] {
            let none: [&str; 0] = [];
            assert_eq!(found(file, &traces), none, "{}", file.display());
        }
    }
}
