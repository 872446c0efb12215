//! The command as a program sees it: one JSON object, typed failures, exit codes. Nothing here
//! judges a time.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use serde_json::Value;

fn bench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_siegel-bench"))
        .args(args)
        .output()
        .unwrap()
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Every key of `keys`, a positive finite number, and no other key.
fn figures(row: &Value, keys: &[&str]) {
    let row = row.as_object().unwrap();
    let mut expected = keys.to_vec();
    expected.sort_unstable();
    let mut got: Vec<_> = row.keys().map(String::as_str).collect();
    got.sort_unstable();
    assert_eq!(got, expected);
    for (key, value) in row {
        let value = value.as_f64().unwrap();
        assert!(value > 0.0 && value.is_finite(), "{key} = {value}");
    }
}

#[test]
fn seal_gives_the_figures_of_every_suite_and_size() {
    let output = bench(&[
        "seal",
        "--json",
        "--seconds",
        "0.05",
        "--size",
        "600",
        "--size",
        "70000",
    ]);
    assert!(output.status.success(), "{output:?}");
    let object = object(&output);
    let rows = object["seal"].as_array().unwrap();
    for row in rows {
        let keys = [
            "suite",
            "size",
            "seal_per_s",
            "open_per_s",
            "ratio_seal",
            "ratio_open",
        ];
        figures(row, &keys);
    }
    let which = |row: &Value| {
        (
            row["suite"].as_u64().unwrap(),
            row["size"].as_u64().unwrap(),
        )
    };
    let which: Vec<_> = rows.iter().map(which).collect();
    assert_eq!(which, [(1, 600), (1, 70_000), (2, 600), (2, 70_000)]);
    assert!(object["machine"]["cores"].as_u64().unwrap() >= 1);
    assert!(
        object["notes"][0]
            .as_str()
            .unwrap()
            .contains("hpke and ring")
    );
}

#[test]
fn log_gives_appends_and_proofs_beside_raw_syncs() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let output = bench(&[
        "log",
        "--json",
        "--seconds",
        "1",
        "--clients",
        "4",
        "--entries",
        "300",
        "--folder",
        folder,
    ]);
    assert!(output.status.success(), "{output:?}");
    let keys = [
        "appends_per_s",
        "raw_fsyncs_per_s",
        "clients",
        "appends",
        "entries",
        "entry_bytes",
        "proof_ms",
        "proof_http_ms",
    ];
    figures(&object(&output)["log"], &keys);
    // It leaves nothing behind.
    let left = std::fs::read_dir(folder).unwrap();
    let left = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("siegel-bench-log")
    });
    assert_eq!(left.count(), 0);

    let output = bench(&["log", "--open", "--json", "--entries", "5000"]);
    assert!(output.status.success(), "{output:?}");
    let keys = [
        "entries",
        "fill_s",
        "open_s",
        "bytes_per_entry",
        "peak_bytes",
    ];
    figures(&object(&output)["log"], &keys);
}

// The test profile is a debug build, and must say so on both channels.
#[test]
fn a_debug_build_warns_loudly() {
    let output = bench(&["seal", "--json", "--seconds", "0.01", "--size", "1"]);
    let warned = |text: &str| text.contains("DEBUG BUILD");
    assert_eq!(
        warned(&String::from_utf8_lossy(&output.stderr)),
        cfg!(debug_assertions)
    );
    let object = object(&output);
    assert_eq!(
        object["machine"]["profile"] == "debug",
        cfg!(debug_assertions)
    );
    let warnings = object["warnings"].as_array().unwrap();
    let in_json = warnings.iter().any(|text| warned(text.as_str().unwrap()));
    assert_eq!(in_json, cfg!(debug_assertions));
}

#[test]
fn a_person_gets_a_table() {
    let output = bench(&["seal", "--seconds", "0.01", "--size", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("to raw") && text.contains("build"), "{text}");
    assert!(serde_json::from_str::<Value>(&text).is_err());
}

#[test]
fn wrong_use_is_exit_2_with_a_typed_error() {
    for size in ["0", "16777216"] {
        let output = bench(&["seal", "--json", "--size", size]);
        assert_eq!(output.status.code(), Some(2));
        let error = &object(&output)["error"];
        assert_eq!(error["code"], "bad-size");
        for key in ["invariant", "where", "message", "help"] {
            assert!(error.get(key).is_some(), "{key}");
        }
    }
    assert_eq!(bench(&["seal", "--seconds", "0"]).status.code(), Some(2));
    assert_eq!(bench(&["nothing"]).status.code(), Some(2));
}

#[test]
fn help_has_examples() {
    for args in [&["--help"][..], &["seal", "--help"], &["train", "--help"]] {
        let text = String::from_utf8(bench(args).stdout).unwrap();
        assert!(text.contains("Examples:"), "{text}");
    }
}

#[test]
fn train_gives_the_figures_of_every_model_and_learns() {
    let output = bench(&[
        "train",
        "--json",
        "--clients",
        "40",
        "--cohort",
        "40",
        "--rounds",
        "4",
        "--hidden",
        "0",
        "--hidden",
        "2",
    ]);
    assert!(output.status.success(), "{output:?}");
    let object = object(&output);
    let train = &object["train"];
    let keys = [
        "us_per_client_round",
        "open_us",
        "open_us_per_client_round",
        "step_us",
        "gather_us",
        "sum_us",
        "decode_us",
        "leaf_us",
        "lattice_us",
        "add_us",
        "noise_us_per_round",
        "root_us_per_round",
        "accuracy_before",
        "accuracy",
        "dimension",
    ];
    let models = train["models"].as_array().unwrap();
    assert_eq!(models.len(), 2);
    for model in models {
        let mut model = model.as_object().unwrap().clone();
        assert!(model.remove("hidden").is_some());
        figures(&Value::Object(model), &keys);
    }
    // The first model also stands at the top, where DESIGN has the figures.
    for key in keys {
        assert_eq!(train[key], models[0][key], "{key}");
    }
    let of = |model: usize, key: &str| models[model][key].as_f64().unwrap();
    assert_eq!((of(0, "dimension"), of(1, "dimension")), (7850.0, 1600.0));
    assert_eq!(of(0, "open_us_per_client_round") * 4.0, of(0, "open_us"));
    assert!(of(0, "accuracy") > 0.3, "{}", of(0, "accuracy"));
}

#[test]
fn wrong_training_is_exit_2() {
    for args in [&["--suite", "3"][..], &["--clients", "5", "--cohort", "6"]] {
        let args = [&["train", "--json"], args].concat();
        let output = bench(&args);
        assert_eq!(output.status.code(), Some(2));
        assert!(object(&output)["error"]["code"].is_string());
    }
    assert_eq!(bench(&["train", "--rounds", "0"]).status.code(), Some(2));
}
