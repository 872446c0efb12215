//! Writes the corpora: a few good inputs for each target, from a log in memory and mock platforms.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --example corpus` from the root of the checkout. Signatures are
//! randomised, so the files differ from run to run; any of them will do.

use std::path::Path;

use siegel_fuzz::{ARTIFACT, ORIGIN};
use siegel_ident::{Digest, Timestamp};
use siegel_rekor::{PackDirectory, PackEntry, TimestampAuthority};
use siegel_translog::testing::{TestLog, TestSigner};
use siegel_translog::{Bundle, HashedRekord, Statement, predicate, tiles};

mod evidence;
mod session;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Longest file of a corpus, in bytes: collateral.
const MAX: usize = 10_240;

fn main() -> Outcome {
    log()?;
    evidence::write()?;
    session::write()
}

fn log() -> Outcome {
    let signer = TestSigner::generate()?;
    let mut log = siegel_fuzz::log();
    write("checkpoint", "empty-log", log.checkpoint().as_bytes())?;
    let bundle = log.publish(&signer, "p", ARTIFACT, predicate::POLICY)?;
    let parsed = Bundle::parse(&bundle)?;
    write("bundle", "policy", &bundle)?;
    write("general", "policy", &bundle)?;
    write("checkpoint", "one-entry", log.checkpoint().as_bytes())?;
    let plain = TestLog::new(ORIGIN, [7; 32]).checkpoint();
    write("checkpoint", "unwitnessed", plain.as_bytes())?;
    let text = plain.split_once("\n\n").map_or("", |(text, _)| text);
    write("checkpoint", "text", format!("{text}\n").as_bytes())?;

    let mut stale_log = siegel_fuzz::log();
    stale_log.set_time(Timestamp(0));
    let stale = stale_log.publish(&signer, "p", ARTIFACT, predicate::POLICY)?;
    write("bundle", "stale", &stale)?;

    let envelope = &parsed.envelope;
    write("statement", "envelope", &envelope.to_json()?)?;
    write("statement", "pae", &envelope.pae())?;
    let statement = Statement::about("p", ARTIFACT, predicate::POLICY);
    write("statement", "statement", &statement.to_bytes()?)?;
    let record = HashedRekord::of(envelope, &signer.key());
    write("statement", "entry", &record.canonical_body())?;
    write("statement", "answer", &parsed.entry.to_answer()?)?;

    write("merkle", "seven-leaves", &[6, 3, 4, 0])?;
    write(
        "merkle",
        "numbers",
        &[
            &[255, 9, 200, 1][..],
            &[0; 7],
            &[3],
            &[0; 7],
            &[9],
            &[5; 64],
        ]
        .concat(),
    )?;

    write("tile", "path", b"entries/x001/x234/067.p/8")?;
    write("tile", "path-full", b"2/000")?;
    let mut entries = Vec::new();
    for body in [&b"one"[..], b"", b"three"] {
        tiles::push_entry(&mut entries, body);
    }
    write("tile", "entries", &entries)?;
    write("tile", "hashes", &[&[2, 3][..], &[7; 94]].concat())?;

    let objects = [&b"one"[..], b"", b"three"];
    let listed = |body: &&[u8]| PackEntry {
        digest: Digest::of(body),
        len: body.len() as u32,
    };
    let directory = PackDirectory::new(objects.iter().map(listed).collect()).ok_or("a pack")?;
    write("archive", "directory", &directory.to_bytes())?;
    write(
        "archive",
        "pack",
        &[&directory.to_bytes()[..], b"onethree"].concat(),
    )?;

    // RFC 3161: a request to stamp 32 bytes of SHA-256, with a nonce.
    let sha256 = [
        0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0,
    ];
    let imprint = [&[0x30, 0x31][..], &sha256, &[4, 0x20], &[7; 32]].concat();
    let request = [&[0x30, 0x3c, 2, 1, 1][..], &imprint, &[2, 1, 9, 1, 1, 0xff]].concat();
    write("timestamp", "request", &request)?;
    let authority = TimestampAuthority::generate("fuzz")?;
    write("token", "token", &authority.answer(&request)?)?;
    let [leaf, _] = authority.chain();
    write("token", "certificate", leaf)?;
    Ok(())
}

fn write(target: &str, name: &str, bytes: &[u8]) -> Outcome {
    Ok(siegel_fuzz::write_seed(
        Path::new("fuzz/corpus"),
        target,
        name,
        bytes,
        MAX,
    )?)
}
