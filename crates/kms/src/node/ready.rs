//! What raft-rs has made ready: messages, entries, snapshots, in the order that it asks for.

use raft::eraftpb::{Entry, EntryType, Message, MessageType, Snapshot};
use raft::{SnapshotStatus, Storage as _};
use siegel_ident::{Digest, NodeId};

use super::convert::{self, SnapshotData};
use super::{Node, Output, StateMachine};

impl<S: StateMachine> Node<S> {
    /// One Ready, in the order that raft-rs asks for.
    pub(super) fn ready(&mut self, out: &mut Vec<Output<S::Outcome>>) {
        let mut ready = self.raw.ready();
        self.send(ready.take_messages(), out);
        if !ready.snapshot().is_empty()
            && let Err(why) = self.restore(ready.snapshot().clone())
        {
            self.broken = true;
            return out.push(Output::Broken(why));
        }
        for state in ready.take_read_states() {
            self.pending.read_at(&state.request_ctx, state.index);
        }
        self.apply(ready.take_committed_entries(), out);
        if self.broken {
            return;
        }
        self.raw.mut_store().append(ready.take_entries());
        if let Some(hard_state) = ready.hs() {
            self.raw.mut_store().set_hard_state(hard_state.clone());
        }
        // Votes and acknowledgements go out only after what they promise is stored.
        self.send(ready.take_persisted_messages(), out);
        let mut light = self.raw.advance(ready);
        if let Some(commit) = light.commit_index() {
            self.raw.mut_store().set_commit(commit);
        }
        self.send(light.take_messages(), out);
        self.apply(light.take_committed_entries(), out);
        // A node that is no member any more stops here: raft-rs panics in a leader without a seat.
        if self.broken {
            return;
        }
        self.raw.advance_apply();
        if std::mem::take(&mut self.must_cut) {
            self.cut();
        }
    }

    fn send(&mut self, messages: Vec<Message>, out: &mut Vec<Output<S::Outcome>>) {
        for message in messages {
            let to = NodeId(message.to);
            if message.get_msg_type() == MessageType::MsgSnapshot {
                self.snapshots_sent.push(to);
            }
            out.push(Output::Send {
                to,
                message: convert::to_wire(message),
            });
        }
    }

    /// raft-rs sends a follower nothing more until its snapshot is reported. It is reported at once
    /// as finished: if it was lost, the follower refuses the next append, and the leader sends
    /// another.
    pub(super) fn report_snapshots(&mut self) {
        for to in std::mem::take(&mut self.snapshots_sent) {
            self.raw.report_snapshot(to.0, SnapshotStatus::Finish);
        }
    }

    /// Drops the log up to what is applied.
    pub(super) fn cut(&mut self) {
        let index = self.applied;
        if self
            .raw
            .store()
            .first_index()
            .is_ok_and(|first| index >= first)
        {
            let state = self.machine.snapshot();
            let data = SnapshotData {
                head: *self.head.as_bytes(),
                conf: self.raw.store().conf().clone(),
                state: &state,
            }
            .to_bytes();
            self.raw.mut_store().cut_at(index, data);
        }
    }

    /// Takes over the leader's state: what this replica lacks is no longer in any log.
    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let data = SnapshotData::parse(&snapshot.data).map_err(|error| error.to_string())?;
        self.machine.restore(data.state)?;
        self.head = Digest::from_bytes(data.head);
        self.applied = snapshot.get_metadata().index;
        self.raw.mut_store().replace_by(snapshot);
        Ok(())
    }

    fn apply(&mut self, entries: Vec<Entry>, out: &mut Vec<Output<S::Outcome>>) {
        for entry in entries {
            if self.broken {
                return;
            }
            self.applied = entry.index;
            self.head = chain(self.head, &entry);
            if entry.get_entry_type() == EntryType::EntryConfChangeV2 {
                if let Err(why) = self.reconfigure(&entry) {
                    self.broken = true;
                    return out.push(Output::Broken(why));
                }
                self.stop_if_removed(out);
                continue;
            }
            // A new leader's first entry is empty.
            if entry.data.is_empty() {
                continue;
            }
            let outcome = self.machine.apply(&entry.data);
            let Some((proposer, ticket)) = convert::read_proposal_context(&entry.context) else {
                continue;
            };
            if proposer == self.id && self.pending.applied(ticket) {
                out.push(Output::Done {
                    ticket,
                    result: Ok(outcome),
                });
            }
            self.stop_if_removed(out);
        }
    }

    /// I10: whoever reads in the log that its id is gone stops at that entry.
    fn stop_if_removed(&mut self, out: &mut Vec<Output<S::Outcome>>) {
        if self.machine.members().is_gone(self.id) {
            self.broken = true;
            out.push(Output::Removed);
        }
    }
}

fn chain(head: Digest, entry: &Entry) -> Digest {
    let mut bytes = Vec::with_capacity(48 + entry.data.len());
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(&entry.term.to_be_bytes());
    bytes.extend_from_slice(&entry.index.to_be_bytes());
    bytes.extend_from_slice(&entry.data);
    Digest::of(&bytes)
}
