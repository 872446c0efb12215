//! What others see of the log: a view that is shown to them and not to us is caught here (I1).

use siegel_rekor::{LogReader, RekorError};
use siegel_translog::{LogAnchors, Tree};

use super::observing::{Observed, is_beginning};
use super::{Ahead, Evidence, Seen};
use crate::findings::Findings;
use crate::read;

/// Entries read at a time.
const CHUNK: u64 = 1024;

/// What becomes of a note that is ahead.
#[derive(Clone, Copy)]
pub(crate) struct Remembering<'a> {
    /// Those of earlier audits.
    pub(crate) before: &'a [Ahead],
    /// There is a state that outlives this audit.
    pub(crate) kept: bool,
}

/// What the comparison gives.
#[derive(Default)]
pub(crate) struct Compared {
    pub(crate) evidence: Vec<Evidence>,
    /// Notes that are still ahead.
    pub(crate) ahead: Vec<Ahead>,
}

/// Holds what others see, and what they saw at earlier audits, against the recomputed tree, absent if
/// it is not what the checkpoint covers. Where they see more than it has, the log is asked for the
/// rest, then the observer for a proof; what is open after that is kept.
///
/// # Errors
/// The log cannot be reached.
pub(crate) async fn compare(
    observed: &[Observed],
    remembering: Remembering<'_>,
    shown: &Seen,
    tree: Option<&Tree>,
    log: (&LogReader, &LogAnchors),
    findings: &mut Findings,
) -> Result<Compared, RekorError> {
    let before = remembering.before.iter().map(|ahead| &ahead.seen);
    let all = observed.iter().map(|other| &other.seen).chain(before);
    let farthest = all.map(|seen| seen.checkpoint().size).max();
    let mut grown = None;
    if let Some(tree) = tree.filter(|tree| farthest > Some(tree.size())) {
        grown = grow(tree, log, findings).await?;
    }
    let (latest, tree) = match &grown {
        Some((latest, grown)) => (latest, Some(grown)),
        None => (shown, tree),
    };
    let mut comparing = Comparing {
        latest,
        tree,
        kept: remembering.kept,
        compared: Compared::default(),
        findings,
    };
    for old in remembering.before {
        let again = |now: &Observed| now.seen.checkpoint() == old.seen.checkpoint();
        if !observed.iter().any(again) {
            comparing.earlier(old);
        }
    }
    for now in observed {
        comparing.now(now).await;
    }
    Ok(comparing.compared)
}

struct Comparing<'a> {
    latest: &'a Seen,
    tree: Option<&'a Tree>,
    kept: bool,
    compared: Compared,
    findings: &'a mut Findings,
}

impl Comparing<'_> {
    /// What an observer shows now.
    async fn now(&mut self, observed: &Observed) {
        let Observed { from, seen, log } = observed;
        let is_here = match (self.latest.holds(seen, self.tree), log) {
            (Some(is_here), _) => {
                if !is_here {
                    self.split(from, seen);
                }
                return;
            }
            _ if !self.is_ahead(seen) => Err("what the log shows here is not whole".to_owned()),
            (None, None) => Err("it shows a note and no hash tiles".to_owned()),
            (None, Some(log)) => {
                is_beginning(self.latest.checkpoint(), seen.checkpoint(), log).await
            }
        };
        match is_here {
            Ok(false) => self.split(from, seen),
            Ok(true) => {
                let message = format!(
                    "observer {from} sees {} entries; the {} that the log shows here are their \
                     beginning",
                    seen.checkpoint().size,
                    self.latest.checkpoint().size
                );
                self.findings.info("observer-ahead", message);
                self.keep(from, seen, true);
            }
            Err(why) => {
                let mut message = format!(
                    "observer {from} sees {} entries, the log shows {} here: whether it is one log \
                     could not be checked ({why})",
                    seen.checkpoint().size,
                    self.latest.checkpoint().size
                );
                message.push_str(match (self.keep(from, seen, false), self.kept) {
                    (false, _) => "; the note is not kept, too many are open already",
                    (true, true) => {
                        "; the signed note is kept in the state, and compared once the log has as many \
                         entries here"
                    }
                    (true, false) => {
                        "; nothing remembers the note: with --state it is kept, and compared once the \
                         log has as many entries here"
                    }
                });
                self.findings.warning("observer-ahead", "I1", message);
            }
        }
    }

    /// What an observer showed at an earlier audit, and the log did not show here then.
    fn earlier(&mut self, old: &Ahead) {
        match self.latest.holds(&old.seen, self.tree) {
            Some(true) => {}
            Some(false) => self.split(&old.from, &old.seen),
            None => {
                let message = format!(
                    "observer {} saw {} entries at an earlier audit, the log shows {} here: its signed \
                     note is still kept, and compared once the log has as many entries here",
                    old.from,
                    old.seen.checkpoint().size,
                    self.latest.checkpoint().size
                );
                match old.proven {
                    true => self.findings.info("observer-ahead", message),
                    false => self.findings.warning("observer-ahead", "I1", message),
                }
                self.keep(&old.from, &old.seen, old.proven);
            }
        }
    }

    fn is_ahead(&self, seen: &Seen) -> bool {
        seen.checkpoint().size > self.latest.checkpoint().size
    }

    /// Keeps a note for later, once. Two of one size that differ are two views already. False if there
    /// are too many.
    fn keep(&mut self, from: &str, seen: &Seen, proven: bool) -> bool {
        let size = seen.checkpoint().size;
        let open = &mut self.compared.ahead;
        if let Some(same) = open
            .iter()
            .position(|o| o.seen.checkpoint() == seen.checkpoint())
        {
            if let Some(same) = open.get_mut(same) {
                same.proven |= proven;
            }
            return true;
        }
        let other = open.iter().find(|o| o.seen.checkpoint().size == size);
        if let Some(other) = other {
            let message = format!(
                "observers {} and {from} see {size} entries with different roots, {} and {}: there are \
                 two views",
                other.from,
                other.seen.checkpoint().root,
                seen.checkpoint().root
            );
            let (one, two) = ((other.from.as_str(), &other.seen), (from, seen));
            let evidence = Evidence::between("split-view", &message, one, two);
            self.findings.error("split-view", "I1", message);
            self.compared.evidence.push(evidence);
        }
        Ahead::new(from, seen, proven).keep_in(&mut self.compared.ahead)
    }

    fn split(&mut self, from: &str, seen: &Seen) {
        let other = seen.checkpoint();
        let message = format!(
            "observer {from} sees {} entries with root {}; the log that is shown here did not grow \
             from that, nor into it: there are two views",
            other.size, other.root
        );
        self.findings.error("split-view", "I1", message.clone());
        let evidence = Evidence::new("split-view", &message, self.latest, (from, seen));
        self.compared.evidence.push(evidence);
    }
}

/// The tree of what the log shows by now, if that grew from `tree`.
async fn grow(
    tree: &Tree,
    (log, anchors): (&LogReader, &LogAnchors),
    findings: &mut Findings,
) -> Result<Option<(Seen, Tree)>, RekorError> {
    let Ok(latest) = Seen::verify(log.checkpoint().await?, anchors) else {
        return Ok(None);
    };
    let mut grown = tree.clone();
    while grown.size() < latest.checkpoint().size {
        let to = latest.checkpoint().size.min(grown.size() + CHUNK);
        match read::leaves(log, grown.size(), to).await? {
            Ok(leaves) => leaves.into_iter().for_each(|leaf| {
                grown.push(leaf);
            }),
            Err(why) => {
                findings.error("entries-withheld", "I1", why);
                return Ok(None);
            }
        }
    }
    if latest.is_in(&grown) == Some(true) {
        return Ok(Some((latest, grown)));
    }
    let message = "while it was audited, the log signed a checkpoint that its entries do not have";
    findings.error("log-rewritten", "I1", message);
    Ok(None)
}
