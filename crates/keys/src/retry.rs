//! One request until somebody answers it: redirects, nodes that are away, and an end.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use siegel_ident::NodeId;
use siegel_link::{LinkError, Refusal};
use tokio::time::Instant;

use crate::KeysError;
use crate::nodes::Picker;

/// How long a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// One node, dialling included.
    pub attempt: Duration,
    /// All nodes together. After it, [`KeysError::NoQuorum`].
    pub overall: Duration,
}

impl Default for Patience {
    /// Long enough for an election, short enough for a person.
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(4),
            overall: Duration::from_secs(10),
        }
    }
}

/// Pause after a node that did not help, and after a redirect (two nodes may name each other).
const PAUSE: Duration = Duration::from_millis(100);
const REDIRECT_PAUSE: Duration = Duration::from_millis(10);

/// Asks one node after the other until one answers or time is up. `attempt` is called with the
/// same request each time; the service does it once (I6).
pub(crate) async fn ask<T, F>(
    picker: &Mutex<Picker>,
    patience: Patience,
    mut attempt: impl FnMut(NodeId) -> F,
) -> Result<T, KeysError>
where
    F: Future<Output = Result<T, KeysError>>,
{
    let started = Instant::now();
    let give_up = started + patience.overall;
    let mut asked = Vec::new();
    let mut distrusted = BTreeSet::new();
    let mut last = String::from("nobody was asked");
    loop {
        let now = Instant::now();
        if now >= give_up {
            return Err(KeysError::NoQuorum {
                asked,
                waited: now - started,
                last,
            });
        }
        let node = lock(picker).current();
        if !asked.contains(&node) {
            asked.push(node);
        }
        let limit = patience.attempt.min(give_up - now);
        let result = match tokio::time::timeout(limit, attempt(node)).await {
            Ok(result) => result,
            Err(_) => Err(LinkError::Timeout {
                what: "a request",
                after: limit,
            }
            .into()),
        };
        let pause = match verdict(result) {
            Verdict::Done(result) => return result,
            Verdict::Redirect(hint) => {
                last = format!("node {node} is not the leader");
                match lock(picker).redirect(node, hint) {
                    true => REDIRECT_PAUSE,
                    false => PAUSE,
                }
            }
            Verdict::Away(why) => {
                tracing::debug!(%node, why, "a key service node does not help");
                last = format!("node {node}: {why}");
                lock(picker).skip(node);
                PAUSE
            }
            Verdict::Distrusted(source) => {
                distrusted.insert(node);
                if distrusted.len() == lock(picker).len() {
                    return Err(KeysError::NotTrusted { node, source });
                }
                last = format!("node {node}: {source}");
                lock(picker).skip(node);
                PAUSE
            }
        };
        tokio::time::sleep(pause.min(give_up.saturating_duration_since(Instant::now()))).await;
    }
}

enum Verdict<T> {
    /// An answer, good or bad, that no other node would change.
    Done(Result<T, KeysError>),
    /// Not the leader; 0 = it does not know who is.
    Redirect(NodeId),
    /// Down, busy, not founded, or without a quorum.
    Away(String),
    /// Up, but not what we must talk to.
    Distrusted(LinkError),
}

fn verdict<T>(result: Result<T, KeysError>) -> Verdict<T> {
    match result {
        Err(KeysError::Link(LinkError::Refused(refusal))) => refused(refusal),
        Err(KeysError::Link(error)) if error.is_away() => Verdict::Away(error.to_string()),
        Err(KeysError::Link(error @ LinkError::Session(_))) => Verdict::Distrusted(error),
        other => Verdict::Done(other),
    }
}

fn refused<T>(refusal: Box<Refusal>) -> Verdict<T> {
    match refusal.code.as_str() {
        "not-leader" => Verdict::Redirect(NodeId(refusal.leader_id)),
        "no-quorum" | "not-founded" | "busy" | "handshake-failed" => {
            Verdict::Away(format!("{}: {}", refusal.code, refusal.message))
        }
        _ => Verdict::Done(Err(KeysError::Refused(refusal))),
    }
}

fn lock(picker: &Mutex<Picker>) -> std::sync::MutexGuard<'_, Picker> {
    picker.lock().unwrap_or_else(PoisonError::into_inner)
}
