//! Scripts of attacks on sessions (`targets/session.rs`): who, then what becomes of each frame.

use super::{Outcome, write as seed};

pub fn write() -> Outcome {
    // Five frames of the handshake, then three messages.
    let honest = [0; 5];
    let three = [0, 3, 1, 0, 9, 2, 0x60, 0, 3, 0, 0];
    for (name, who) in [("nodes", 0), ("workers", 1)] {
        seed("session", name, &[&[who][..], &honest, &three].concat())?;
    }
    seed("session", "flipped", &[0, 0, 2, 1, 0])?;
    seed("session", "cut", &[0, 0, 0, 3, 0, 40])?;
    seed("session", "twice", &[1, 0, 0, 5])?;
    seed("session", "made-up", &[1, 4, 32, 9, 9, 9])?;
    let repeated = [&[0][..], &honest, &three, &[0, 5]].concat();
    seed("session", "repeated-message", &repeated)?;
    // A peer: Hello, first payload, evidence and proof as they are; then chunks.
    for (name, who) in [("node", 2), ("root", 3), ("worker", 4)] {
        let chunks = [0, 0, 0, 0, 0, 1, 1, 0, 9, 32, 1, 2, 3, 7, 7, 7];
        seed(
            "session",
            &format!("peer-{name}"),
            &[&[who][..], &chunks].concat(),
        )?;
    }
    seed("session", "peer-dialled", &[5, 0, 0, 0, 0, 1, 1, 0, 9])?;
    // 226 full chunks, twice; then a last one.
    let long = [3, 0, 0].repeat(2);
    let long = [&[2, 0, 0, 0, 0][..], &long, &[255, 1, 0]].concat();
    seed("session", "peer-long-message", &long)?;
    seed("session", "peer-other-hello", &[2, 5, 2, 0, 9])?;
    seed("session", "peer-other-evidence", &[3, 0, 0, 5, 2, 1, 0])?;
    // A bit of the signature.
    seed(
        "session",
        "peer-other-signature",
        &[2, 0, 0, 0, 5, 2, 0x0b, 0],
    )?;
    seed("session", "peer-other-proof", &[2, 0, 0, 0, 5, 2, 0, 9])
}
