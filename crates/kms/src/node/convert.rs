//! The wire border of Raft messages. rust-protobuf never sees network bytes: prost decodes our own
//! messages, and here they become raft-rs' types, bounded and filtered.
//!
//! raft-rs panics on several messages that no honest peer sends, and processes some from anyone.
//! Hence an allow-list: only what replication and elections need passes.

use raft::eraftpb::{ConfState, Entry, EntryType, Message, MessageType, Snapshot};
use siegel_ident::NodeId;
use siegel_ident::lp::{Reader, Writer};
use siegel_wire::v1::{RaftEntry, RaftMessage};

use super::Ticket;
use super::membership::{Change, read_conf, write_conf};

/// Most bytes of one entry: a policy with its proof fits.
pub const MAX_ENTRY_BYTES: usize = 4 * 1024 * 1024;
/// Most entries of one message.
pub const MAX_ENTRIES: usize = 4096;
/// Most bytes of all entries of one message. Raft fills messages up to 256 KiB, but one entry goes
/// whole, and batching may add to a message that waits.
pub const MAX_MESSAGE_BYTES: usize = 12 * 1024 * 1024;
const MAX_CONTEXT: usize = 64;

/// A Raft message that no honest peer sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// A type that peers do not send each other.
    #[error("raft message type {0} is not allowed between peers")]
    Type(u32),
    /// Says that it comes from somebody else than the session proved.
    #[error("raft message claims to be from node {claimed}, the session belongs to node {proved}")]
    Sender {
        /// What it says.
        claimed: u64,
        /// Whose session it is.
        proved: NodeId,
    },
    /// Meant for another node.
    #[error("raft message is for node {0}")]
    Recipient(u64),
    /// From a process that was a member once (I10).
    #[error("node {0} is no member any more")]
    NotMember(NodeId),
    /// Outside its bounds, or it contradicts itself.
    #[error("raft message field {0:?} is out of bounds")]
    Bounds(&'static str),
}

/// The node that a message comes to.
#[derive(Clone, Copy)]
pub(super) struct Receiver {
    pub(super) id: NodeId,
    /// The end of its log.
    pub(super) last_index: u64,
    /// The term that it leads, if it leads.
    pub(super) leads: Option<u64>,
}

/// Reads a peer's message. `from` is what the session proved.
pub(super) fn from_wire(
    wire: RaftMessage,
    from: NodeId,
    me: Receiver,
) -> Result<Message, MessageError> {
    let kind = allowed(wire.msg_type).ok_or(MessageError::Type(wire.msg_type))?;
    if wire.from != from.0 || from == me.id {
        return Err(MessageError::Sender {
            claimed: wire.from,
            proved: from,
        });
    }
    if wire.to != me.id.0 {
        return Err(MessageError::Recipient(wire.to));
    }
    // Term 0 marks raft-rs' local messages; nobody takes part in it.
    check(wire.term != 0, "term")?;
    check(wire.request_snapshot == 0, "request_snapshot")?;
    check(wire.priority == 0, "priority")?;
    check(wire.context.len() <= MAX_CONTEXT, "context")?;
    let with_entries = matches!(kind, MessageType::MsgAppend | MessageType::MsgSnapshot);
    check(with_entries || wire.entries.is_empty(), "entries")?;
    check_log_position(&wire, kind, me)?;
    let mut message = Message::default();
    message.set_msg_type(kind);
    if kind == MessageType::MsgSnapshot {
        message.set_snapshot(snapshot(wire.entries, wire.term)?);
    } else {
        message.entries = entries(wire.entries, wire.index, wire.term)?.into();
    }
    message.to = wire.to;
    message.from = wire.from;
    message.term = wire.term;
    message.log_term = wire.log_term;
    message.index = wire.index;
    message.commit = wire.commit;
    message.commit_term = wire.commit_term;
    message.reject = wire.reject;
    message.reject_hint = wire.reject_hint;
    message.context = wire.context.into();
    Ok(message)
}

fn check(holds: bool, field: &'static str) -> Result<(), MessageError> {
    if holds {
        Ok(())
    } else {
        Err(MessageError::Bounds(field))
    }
}

/// raft-rs panics when told to commit or to send what its log does not hold, and it takes the term
/// of an index beyond its log for 0, so that 0 would match.
fn check_log_position(
    wire: &RaftMessage,
    kind: MessageType,
    me: Receiver,
) -> Result<(), MessageError> {
    let known = wire.index <= me.last_index;
    match kind {
        MessageType::MsgHeartbeat => check(wire.commit <= me.last_index, "commit"),
        MessageType::MsgAppend => check((wire.log_term == 0) == (wire.index == 0), "log_term"),
        MessageType::MsgAppendResponse => {
            check(wire.reject || me.leads != Some(wire.term) || known, "index")
        }
        _ if is_vote(kind) => check(wire.commit == 0 || wire.commit_term != 0, "commit_term"),
        _ => Ok(()),
    }
}

/// Requests and refusals of votes say how far their sender knows the log committed.
fn is_vote(kind: MessageType) -> bool {
    use MessageType::{
        MsgRequestPreVote, MsgRequestPreVoteResponse, MsgRequestVote, MsgRequestVoteResponse,
    };
    matches!(
        kind,
        MsgRequestVote | MsgRequestVoteResponse | MsgRequestPreVote | MsgRequestPreVoteResponse
    )
}

/// TimeoutNow is left out until something sends it.
fn allowed(code: u32) -> Option<MessageType> {
    use MessageType::{
        MsgAppend, MsgAppendResponse, MsgHeartbeat, MsgHeartbeatResponse, MsgRequestPreVote,
        MsgRequestPreVoteResponse, MsgRequestVote, MsgRequestVoteResponse, MsgSnapshot,
    };
    [
        MsgSnapshot,
        MsgAppend,
        MsgAppendResponse,
        MsgHeartbeat,
        MsgHeartbeatResponse,
        MsgRequestVote,
        MsgRequestVoteResponse,
        MsgRequestPreVote,
        MsgRequestPreVoteResponse,
    ]
    .into_iter()
    .find(|kind| *kind as u32 == code)
}

/// The entries follow `previous` without a gap, in terms that never fall and are at most `term`.
fn entries(wire: Vec<RaftEntry>, previous: u64, term: u64) -> Result<Vec<Entry>, MessageError> {
    check(wire.len() <= MAX_ENTRIES, "entries")?;
    let mut bytes = 0usize;
    let (mut index, mut last_term) = (previous, 1);
    wire.into_iter()
        .map(|entry| {
            index = index.checked_add(1).ok_or(MessageError::Bounds("index"))?;
            bytes = bytes.saturating_add(entry.data.len());
            check(bytes <= MAX_MESSAGE_BYTES, "entries")?;
            check(entry.data.len() <= MAX_ENTRY_BYTES, "entry.data")?;
            check(entry.context.len() <= MAX_CONTEXT, "entry.context")?;
            let kind = entry_type(&entry)?;
            check(entry.index == index, "entry.index")?;
            check((last_term..=term).contains(&entry.term), "entry.term")?;
            last_term = entry.term;
            let mut read = Entry {
                term: entry.term,
                index: entry.index,
                data: entry.data.into(),
                context: entry.context.into(),
                ..Entry::default()
            };
            read.set_entry_type(kind);
            Ok(read)
        })
        .collect()
}

/// Normal entries, and changes of the voters as this code writes them; no other kind.
fn entry_type(entry: &RaftEntry) -> Result<EntryType, MessageError> {
    const NORMAL: u32 = EntryType::EntryNormal as u32;
    const CHANGE: u32 = EntryType::EntryConfChangeV2 as u32;
    match entry.entry_type {
        NORMAL => Ok(EntryType::EntryNormal),
        CHANGE => {
            let known = entry.context.is_empty() && Change::read(&entry.data).is_some();
            check(known, "entry.data")?;
            Ok(EntryType::EntryConfChangeV2)
        }
        _ => Err(MessageError::Bounds("entry.entry_type")),
    }
}

/// A snapshot travels as the one entry of its message: index, term and [`SnapshotData`].
fn snapshot(mut wire: Vec<RaftEntry>, term: u64) -> Result<Snapshot, MessageError> {
    check(wire.len() == 1, "entries")?;
    let entry = wire.pop().unwrap_or_default();
    check(entry.data.len() <= MAX_MESSAGE_BYTES, "entry.data")?;
    check(entry.context.is_empty(), "entry.context")?;
    check(
        entry.entry_type == EntryType::EntryNormal as u32,
        "entry.entry_type",
    )?;
    check((1..u64::MAX).contains(&entry.index), "entry.index")?;
    check((1..=term).contains(&entry.term), "entry.term")?;
    let conf = SnapshotData::parse(&entry.data)?.conf;
    let mut snapshot = Snapshot {
        data: entry.data.into(),
        ..Snapshot::default()
    };
    let meta = snapshot.mut_metadata();
    (meta.index, meta.term) = (entry.index, entry.term);
    meta.set_conf_state(conf);
    Ok(snapshot)
}

/// What a snapshot holds: head of the hash chain 32 ‖ configuration ‖ state.
pub(super) struct SnapshotData<'a> {
    pub(super) head: [u8; 32],
    pub(super) conf: ConfState,
    pub(super) state: &'a [u8],
}

impl<'a> SnapshotData<'a> {
    pub(super) fn parse(data: &'a [u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(data);
        let head = reader
            .array::<32>("head")
            .map_err(|_| MessageError::Bounds("snapshot.head"))?;
        let conf = read_conf(&mut reader)?;
        Ok(Self {
            head,
            conf,
            state: data.get(reader.position()..).unwrap_or_default(),
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        Writer::new()
            .fixed(&self.head)
            .fixed(&write_conf(&self.conf))
            .fixed(self.state)
            .finish()
    }
}

fn snapshot_to_wire(snapshot: Snapshot) -> RaftEntry {
    let meta = snapshot.get_metadata();
    let (index, term) = (meta.index, meta.term);
    RaftEntry {
        index,
        term,
        data: snapshot.data.to_vec(),
        ..RaftEntry::default()
    }
}

/// Writes one of raft-rs' messages.
pub(super) fn to_wire(mut message: Message) -> RaftMessage {
    let mut entries: Vec<_> = message
        .take_entries()
        .into_iter()
        .map(entry_to_wire)
        .collect();
    if message.get_msg_type() == MessageType::MsgSnapshot {
        entries.push(snapshot_to_wire(message.take_snapshot()));
    }
    RaftMessage {
        msg_type: message.get_msg_type() as u32,
        to: message.to,
        from: message.from,
        term: message.term,
        log_term: message.log_term,
        index: message.index,
        commit: message.commit,
        commit_term: message.commit_term,
        entries,
        request_snapshot: message.request_snapshot,
        reject: message.reject,
        reject_hint: message.reject_hint,
        context: message.context.to_vec(),
        priority: message.priority,
    }
}

fn entry_to_wire(entry: Entry) -> RaftEntry {
    RaftEntry {
        entry_type: entry.get_entry_type() as u32,
        term: entry.term,
        index: entry.index,
        data: entry.data.to_vec(),
        context: entry.context.to_vec(),
    }
}

/// Names the proposer and its ticket inside the entry: (term, index) may go to another entry when
/// the leader changes, this cannot.
pub(super) fn proposal_context(id: NodeId, ticket: Ticket) -> Vec<u8> {
    Writer::new().u64(id.0).u64(ticket.0).finish()
}

pub(super) fn read_proposal_context(bytes: &[u8]) -> Option<(NodeId, Ticket)> {
    let mut reader = Reader::new(bytes);
    let id = reader.u64("proposer").ok()?;
    let ticket = reader.u64("ticket").ok()?;
    reader.finish().ok()?;
    Some((NodeId(id), Ticket(ticket)))
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
