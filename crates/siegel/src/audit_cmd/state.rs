//! What is remembered between audits: in a folder, or only while this process lives.

use siegel_audit::{AuditAnchors, Audited, Place, State, StateError, StateFolder};
use siegel_ident::Timestamp;

use super::AuditArgs;
use super::places::{default_state, is_url};
use crate::failure::{Exit, Failure};
use crate::say::note;

/// The memory of an auditor.
pub(super) enum Memory {
    /// Of one process: a one-off audit, or a watch without a folder.
    Passing(Box<State>),
    /// In a folder.
    Kept {
        folder: Box<StateFolder>,
        at: String,
        /// Which log it is of.
        origin: String,
    },
}

impl Memory {
    pub(super) fn open(
        args: &AuditArgs,
        log: &str,
        anchors: &AuditAnchors,
    ) -> Result<Self, Failure> {
        let Some(place) = place(args, log, anchors)? else {
            return Ok(Self::Passing(Box::new(State::new(&anchors.log))));
        };
        let at = place.dir.display().to_string();
        let folder = StateFolder::open(place, &anchors.log).map_err(|why| match why {
            StateError::Missing(_) => no_state_yet(args, &at, &why),
            why => failure(&at, &why),
        })?;
        let origin = anchors.log.origin.clone();
        if folder.is_new() && !folder.gives_up() {
            note(&format!(
                "first audit of {origin}: it is followed from here on, in {at}"
            ));
        }
        let folder = Box::new(folder);
        Ok(Self::Kept { folder, at, origin })
    }

    pub(super) fn state(&self) -> &State {
        match self {
            Self::Passing(state) => state,
            Self::Kept { folder, .. } => folder.state(),
        }
    }

    /// What was known before is given up by the next audit; to be said in its report.
    pub(super) fn begins_anew(&self) -> bool {
        matches!(self, Self::Kept { folder, .. } if folder.gives_up())
    }

    /// What is remembered outlives this process.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }

    /// Remembers what was seen. A log that was caught is not trustworthy, even where that cannot be
    /// written down.
    pub(super) fn keep(&mut self, audited: &Audited, now: Timestamp) -> Result<(), Failure> {
        let (folder, at, origin) = match self {
            Self::Passing(state) => {
                state.take(audited, now);
                return Ok(());
            }
            Self::Kept { folder, at, origin } => (folder, at, origin),
        };
        match folder.keep(audited, now) {
            Ok(true) => {
                note(&format!(
                    "REBASELINED: what was known of {origin} was given up; if it was rewritten \
                     before, nobody can tell any more"
                ));
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(why) if audited.report.ok => {
                let help = "the old state is still there; free space or choose another folder";
                Err(Failure::failed("state-not-saved", at, why, help))
            }
            Err(why) => {
                note(&format!("WARNING: the state was not saved: {why}"));
                Ok(())
            }
        }
    }
}

/// Which folder, if any: the given one; for a log at a URL one of its own.
fn place(args: &AuditArgs, log: &str, anchors: &AuditAnchors) -> Result<Option<Place>, Failure> {
    let rebaseline = args.rebaseline;
    let (dir, may_begin) = match &args.state {
        Some(dir) => (dir.clone(), false),
        None if is_url(log) => {
            let dir = default_state(&anchors.log.origin).ok_or_else(|| {
                let message = "neither XDG_STATE_HOME nor HOME says where the state of an audit is";
                Failure::usage("no-state", log, message, "name a folder: --state FOLDER")
            })?;
            (dir, true)
        }
        None if rebaseline => {
            let message = "there is no state to begin anew: a log's folder has none by itself";
            let help = "name it: --state FOLDER";
            return Err(Failure::usage("no-state", "--rebaseline", message, help));
        }
        None => return Ok(None),
    };
    Ok(Some(Place {
        dir,
        may_begin,
        rebaseline,
    }))
}

/// The folder that was named for the state holds none: whoever knows that this is the first time says so.
fn no_state_yet(args: &AuditArgs, at: &str, why: &StateError) -> Failure {
    let anchors = args.anchors.as_ref();
    let anchors = anchors.map_or(String::new(), |file| {
        format!(" --anchors {}", file.display())
    });
    let help = format!(
        "the first time, run: siegel audit {}{anchors} --state {at} --rebaseline (and from then on \
         without --rebaseline); if there was a state, restore it, or look for a typing error in --state",
        args.log
    );
    Failure::usage("state-missing", at, why, &help).under("I1")
}

fn failure(at: &str, why: &StateError) -> Failure {
    let (exit, code) = match why {
        StateError::Lost(_) => (Exit::Failed, "state-lost"),
        StateError::Damaged { .. } => (Exit::Failed, "state-damaged"),
        StateError::OtherLog { .. } => (Exit::Usage, "state-other-log"),
        StateError::InUse(_) => (Exit::Failed, "state-in-use"),
        StateError::NotAState(_) => (Exit::Usage, "not-a-state"),
        _ => (Exit::Failed, "state"),
    };
    let help = match code {
        "state-in-use" | "state" => "",
        "not-a-state" => {
            "name a folder of its own for the state, one that is empty or does not exist yet"
        }
        _ => "--rebaseline begins anew: only if you know why",
    };
    let failure = Failure::new(exit, code, at, why, help);
    match code {
        "state-lost" | "state-damaged" => failure.under("I1"),
        _ => failure,
    }
}
