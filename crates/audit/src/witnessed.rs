//! Who has cosigned the audited checkpoint, for readers of the report. Whether it is enough is a
//! finding; here it is only told.

use serde::{Deserialize, Serialize};
use siegel_ident::{Timestamp, WitnessQuorum};
use siegel_translog::cosignature;
use siegel_translog::note::Note;

/// A witness that the auditor's anchors pin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessReport {
    /// Its name in signature lines.
    pub name: String,
    /// Who runs it.
    pub operator: String,
    /// When it cosigned the checkpoint, by its own clock; absent if there is no good cosignature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosigned_at: Option<Timestamp>,
}

/// All of them, in the order of the anchors. `note` is absent if there is no checkpoint.
pub(crate) fn witnesses(quorum: &WitnessQuorum, note: Option<&str>) -> Vec<WitnessReport> {
    let note = note.and_then(|note| Note::parse(note).ok());
    quorum
        .witnesses
        .iter()
        .map(|witness| {
            let cosigned = note
                .as_ref()
                .and_then(|note| cosignature::verify(note, witness).ok().flatten());
            WitnessReport {
                name: witness.name.clone(),
                operator: witness.operator.clone(),
                cosigned_at: cosigned,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use siegel_rekor::{Log, Storage};

    use super::*;
    use crate::testing::{NOW, Witness, log_key, quorum};

    /// Catches a pinned witness that is told as one that signed, because the log lists its name.
    #[test]
    fn only_a_good_cosignature_is_told() {
        let log = Log::open(&Storage::Memory, log_key()).unwrap();
        let note = Witness::new(2).cosign(&log.checkpoint(), NOW);
        let times = |note: Option<&str>| {
            let told = witnesses(&quorum(2), note);
            told.into_iter().map(|w| w.cosigned_at).collect::<Vec<_>>()
        };
        assert_eq!(times(Some(&note)), [None, Some(NOW)]);
        assert_eq!(times(None), [None, None]);
        let other_state = note.replacen("\n0\n", "\n1\n", 1);
        assert_ne!(other_state, note);
        assert_eq!(times(Some(&other_state)), [None, None]);
    }
}
