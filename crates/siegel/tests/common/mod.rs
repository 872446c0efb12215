//! Running the command, and what it needs.

// Each test file uses its own part of this.
#![allow(dead_code)]

use std::process::{Command, Output};

use serde_json::Value;

/// Runs the command.
pub(crate) fn siegel(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siegel"));
    command.args(args).output().unwrap()
}

/// Exit code and JSON on stdout.
pub(crate) fn verdict(args: &[&str]) -> (i32, Value) {
    let out = siegel(&[&["--json"], args].concat());
    let said = serde_json::from_slice(&out.stdout);
    (out.status.code().unwrap(), said.unwrap_or_default())
}

/// A public key as PEM.
pub(crate) fn pem(der: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in der.chunks(3) {
        let n = three.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            text.push(match i <= three.len() {
                true => alphabet[(n >> (18 - 6 * i) & 63) as usize] as char,
                false => '=',
            });
        }
    }
    format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
}
