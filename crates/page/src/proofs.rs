//! What the verdict rests on, and how to check it.

use siegel_audit::{AuditReport, Evidence, SignedNote};
use siegel_policy::Utc;

use crate::text::{clean, clean_lines, shell};

/// More contradictions than this are left out; each alone is enough.
const MAX: usize = 20;

/// Checkpoint and witnesses.
pub(crate) struct Proofs {
    pub(crate) size: String,
    pub(crate) root: String,
    pub(crate) note: String,
    pub(crate) required: String,
    pub(crate) witnesses: Vec<WitnessView>,
    pub(crate) contradictions: Vec<Contradiction>,
    /// What it does, and the command line.
    pub(crate) commands: Vec<(&'static str, String)>,
}

pub(crate) struct WitnessView {
    pub(crate) name: String,
    pub(crate) operator: String,
    pub(crate) cosigned: String,
}

/// Two notes of the log's key that cannot both be true.
pub(crate) struct Contradiction {
    pub(crate) message: String,
    /// Where each comes from, and the note.
    pub(crate) notes: [(String, String); 2],
}

impl Proofs {
    pub(crate) fn of(report: &AuditReport, source: &str) -> Self {
        let log = &report.log;
        let absent = || "none that verifies".to_owned();
        Self {
            size: log.size.map_or_else(absent, |size| size.to_string()),
            root: log.root.map_or_else(absent, |root| root.to_string()),
            note: log.checkpoint.as_deref().map_or(String::new(), clean_lines),
            required: match log.witnesses_required {
                0 => "none: UNWITNESSED".to_owned(),
                n => format!("{n} of distinct operators"),
            },
            witnesses: log
                .witnesses
                .iter()
                .map(|witness| WitnessView {
                    name: clean(&witness.name),
                    operator: clean(&witness.operator),
                    cosigned: witness.cosigned_at.map_or_else(
                        || "no good cosignature".to_owned(),
                        |at| Utc(at).to_string(),
                    ),
                })
                .collect(),
            contradictions: report
                .evidence
                .iter()
                .take(MAX)
                .map(contradiction)
                .collect(),
            commands: commands(source),
        }
    }
}

fn contradiction(evidence: &Evidence) -> Contradiction {
    let note = |signed: &SignedNote| (clean(&signed.from), clean_lines(&signed.note));
    Contradiction {
        message: clean(&evidence.message),
        notes: [note(&evidence.shown), note(&evidence.other)],
    }
}

fn commands(source: &str) -> Vec<(&'static str, String)> {
    let log = shell(&clean(source));
    vec![
        (
            "Audit the log again. The anchors are yours: get the log's name and key, and those of its \
             witnesses, from somewhere else than from this page.",
            format!("siegel audit {log} --anchors anchors.json"),
        ),
        (
            "Follow it: from then on a log that rewrites its past is caught.",
            format!("siegel audit {log} --anchors anchors.json --watch"),
        ),
        (
            "Read a policy, and see who vouches for what it lets in. The file is in the log's archive, \
             under its SHA-256.",
            format!("siegel policy show policy.json --log {log} --anchors anchors.json"),
        ),
        (
            "Build the endorsed binaries from their commit and compare.",
            "siegel reproduce --policy policy.json".to_owned(),
        ),
        (
            "Prove whether an upload was an input of a run.",
            "siegel verify participation --run RUN-FOLDER --blob SHA256-OF-THE-UPLOAD".to_owned(),
        ),
    ]
}
