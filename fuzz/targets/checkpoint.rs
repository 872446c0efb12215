//! Signed notes and checkpoints. What is read is written again to the same bytes; what verifies says
//! what its first lines say.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use siegel_fuzz::{NOW, anchors};
use siegel_translog::note::Note;
use siegel_translog::{Checkpoint, LogAnchors};

static ANCHORS: LazyLock<LogAnchors> = LazyLock::new(anchors);

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(checkpoint) = Checkpoint::parse_text(text) {
        assert_eq!(checkpoint.note_text(), text);
    }
    let note = Note::parse(text);
    if let Ok(checkpoint) = ANCHORS.verify_checkpoint(text, NOW) {
        let note = note.expect("what verifies is a note");
        assert_eq!(note.text, checkpoint.note_text());
        // The log, and both witnesses.
        assert!(note.signatures.len() >= 3);
    } else if let Ok(note) = note {
        assert!(text.starts_with(note.text));
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with('\u{2014}'))
                .count()
                .max(1),
            {
                let in_text = note
                    .text
                    .lines()
                    .filter(|line| line.starts_with('\u{2014}'))
                    .count();
                in_text + note.signatures.len()
            }
        );
    }
});
