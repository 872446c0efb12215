//! Who was heard when, by this node's own ticks. A leader judges by it who is dead; it is no part of
//! the replicated state, and only admissions rest on it, never safety.

use std::collections::BTreeMap;

use siegel_ident::NodeId;

/// Ticks of silence after which a leader takes a member for dead: more than any election takes.
const LOST: u64 = 20;
/// Ticks of silence after which an admission is given up.
const GIVEN_UP: u64 = 300;

#[derive(Default)]
pub(super) struct Pulse {
    now: u64,
    heard: BTreeMap<NodeId, u64>,
    last: u64,
    /// Since when this node has led without a break.
    leading: Option<u64>,
    /// Since when it has known of the admission under way.
    joining: Option<(NodeId, u64)>,
}

impl Pulse {
    pub(super) fn hear(&mut self, from: NodeId) {
        self.heard.insert(from, self.now);
        self.last = self.now;
    }

    /// A tick. `known` says of whom it is worth to remember something.
    pub(super) fn tick(
        &mut self,
        leads: bool,
        joining: Option<NodeId>,
        known: impl Fn(NodeId) -> bool,
    ) {
        self.now = self.now.saturating_add(1);
        let now = self.now;
        self.leading = leads.then(|| self.leading.unwrap_or(now));
        let since = |id| match self.joining {
            Some((same, since)) if same == id => (id, since),
            _ => (id, now),
        };
        self.joining = joining.map(since);
        self.heard.retain(|id, _| known(*id));
    }

    /// Heard within the time that makes a member live, and by a leader.
    pub(super) fn alive(&self, id: NodeId) -> bool {
        let recent = |at: &u64| self.now - at < LOST;
        self.leading.is_some() && self.heard.get(&id).is_some_and(recent)
    }

    /// Silent for so long that it is taken for dead. A new leader knows nothing yet.
    pub(super) fn lost(&self, id: NodeId, own: NodeId) -> bool {
        id != own && self.silent_since(id, 0).is_some_and(|ticks| ticks >= LOST)
    }

    /// The same for the process of the admission under way.
    pub(super) fn joiner_lost(&self, id: NodeId) -> bool {
        self.joiner_silent(id) >= LOST
    }

    /// Silent for so long that its admission should end.
    pub(super) fn joiner_gone(&self, id: NodeId) -> bool {
        self.joiner_silent(id) >= GIVEN_UP
    }

    pub(super) fn silence(&self) -> u64 {
        self.now - self.last
    }

    fn joiner_silent(&self, id: NodeId) -> u64 {
        match self.joining {
            Some((same, since)) if same == id => self.silent_since(id, since).unwrap_or(0),
            _ => 0,
        }
    }

    /// Ticks since it was heard, counted from the start of this leadership and from `since` at most.
    fn silent_since(&self, id: NodeId, since: u64) -> Option<u64> {
        let heard = self.heard.get(&id).copied().unwrap_or(0);
        Some(self.now - heard.max(since).max(self.leading?))
    }
}
