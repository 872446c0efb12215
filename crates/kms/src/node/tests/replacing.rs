//! Processes that die, are stopped, wake up, and are replaced: the shell around the nodes, in small.

use siegel_ident::NodeId;

use super::super::{Input, Node, NodeConfig, NodeError, Seat};
use super::clients::Asked;
use super::machine::{self, Machine, Outcome};
use super::sim::{DEADLINE, Sim};

/// Ticks without a word after which a process that joined and never became a voter gives up.
const PATIENCE: u64 = 300;

/// A fresh process that asks for a dead member's place.
pub(super) struct Joiner {
    place: NodeId,
    key: u64,
}

impl Sim {
    /// A process starts at a place, whose member may be dead or not.
    pub(super) fn start_at(&mut self, place: NodeId) {
        self.next_key += 1;
        let key = self.next_key;
        self.joiners.push(Joiner { place, key });
    }

    /// One tick of everything around the nodes.
    pub(super) fn replace(&mut self) {
        if self.supervised {
            self.supervise();
        }
        for at in 0..self.joiners.len() {
            if self.chance(20) {
                self.ask_for_a_place(at);
            }
        }
        for id in self.alive() {
            if self.now.is_multiple_of(10)
                && let Some(stale) = self.nodes[&id].stale_admission()
            {
                let ticket = self.ticket(id);
                self.asked.insert((id, ticket), Asked::Withdrawal);
                let data = machine::withdraw(stale);
                self.step(id, Input::Propose { ticket, data });
            }
            let left_behind =
                |node: &Node<Machine>| node.seat() != Seat::Voter && node.silence() > PATIENCE;
            if self.nodes.get(&id).is_some_and(left_behind) {
                self.kill(id);
            }
        }
    }

    fn ask_for_a_place(&mut self, at: usize) {
        let node = self.any_node();
        let Joiner { place, key } = self.joiners[at];
        let Ok(vacancy) = self.nodes[&node].vacancy(place, &machine::key(key)) else {
            return;
        };
        let ticket = self.ticket(node);
        self.asked.insert((node, ticket), Asked::Admission(key));
        let data = machine::admit(place, key, vacancy.leaves, vacancy.over);
        self.step(node, Input::Propose { ticket, data });
    }

    /// The leader's answer to a joiner; it may be lost, and the joiner may be dead.
    pub(super) fn welcomed(&mut self, process: u64, result: Result<Outcome, NodeError>) {
        let Ok(Outcome::Admitted(Some(id))) = result else {
            return;
        };
        let Some(at) = self.joiners.iter().position(|joiner| joiner.key == process) else {
            return;
        };
        if self.chance(self.faults.drop_percent) {
            return;
        }
        self.joiners.remove(at);
        assert!(self.used_ids.insert(id), "id {id} was given twice");
        let config = NodeConfig {
            id,
            voters: Vec::new(),
            election_seed: process,
            deadline_ticks: DEADLINE,
        };
        let mut node = Node::join(&config, Machine::new(Default::default())).unwrap();
        // It stands for nothing before it has heard from a leader.
        assert!(node.handle(Input::Campaign).is_empty());
        assert!(!node.status().is_leader);
        self.nodes.insert(id, node);
    }

    /// Whoever holds a place by the most advanced replica, and lives there.
    fn supervise(&mut self) {
        for place in (1..=self.size).map(NodeId) {
            let living = |node: &Node<Machine>| match node.machine().members.at(place) {
                Some(holder) => self.nodes.contains_key(&holder.id),
                None => false,
            };
            let newest = self.nodes.values().max_by_key(|node| node.applied);
            let Some(newest) = newest else { return };
            let joining = newest.machine().members.joining();
            let coming = joining.is_some_and(|joining| {
                joining.member.place == place && self.nodes.contains_key(&joining.member.id)
            });
            let asks = self.joiners.iter().any(|joiner| joiner.place == place);
            if !living(newest) && !coming && !asks {
                self.start_at(place);
            }
        }
    }

    /// All places are held by living voters, and nobody is on the way.
    pub(super) fn is_whole(&self) -> bool {
        let newest = self.nodes.values().max_by_key(|node| node.applied);
        let Some(newest) = newest else { return false };
        let members = &newest.machine().members;
        let voter = |id: NodeId| {
            let node = self.nodes.get(&id);
            node.is_some_and(|node| {
                node.seat() == Seat::Voter && node.applied + 5 >= newest.applied
            })
        };
        let holders = (1..=self.size).filter_map(|place| members.at(NodeId(place)));
        members.joining().is_none()
            && self.joiners.is_empty()
            && self.nodes.len() == self.size as usize
            && holders.map(|holder| holder.id).all(voter)
            && self.leader().is_some()
    }

    pub(super) fn run_until_whole(&mut self, ticks: u64) {
        for _ in 0..ticks {
            if self.is_whole() {
                return;
            }
            self.run(1);
        }
        let states = self.nodes.values().map(|node| {
            (
                node.id,
                node.seat(),
                node.status().is_leader,
                node.conf(),
                &node.machine().members,
            )
        });
        let states: Vec<_> = states.collect();
        panic!(
            "not whole after {ticks} ticks: {states:#?}, {} ask",
            self.joiners.len()
        );
    }

    /// Kills somebody, but never so many that the quorum is lost.
    pub(super) fn kill_one_of_a_whole_group(&mut self) {
        if self.is_whole() {
            let id = self.any_node();
            self.kill(id);
        }
    }

    /// A swap has begun somewhere.
    pub(super) fn someone_swaps(&self) -> bool {
        let mut nodes = self.nodes.values();
        nodes.any(|node| !node.conf().voters_outgoing.is_empty())
    }

    pub(super) fn place_of(&self, id: NodeId) -> NodeId {
        let members = &self.nodes[&id].machine().members;
        members.iter().find(|member| member.id == id).unwrap().place
    }

    pub(super) fn a_follower(&self) -> NodeId {
        let mut followers = self.nodes.values().filter(|node| !node.status().is_leader);
        followers.next().unwrap().id
    }

    /// As SIGSTOP: it neither hears nor speaks, and knows nothing of it.
    pub(super) fn pause(&mut self, id: NodeId) {
        let node = self.nodes.remove(&id).unwrap();
        self.paused.insert(id, node);
    }

    pub(super) fn wake(&mut self, id: NodeId) {
        let node = self.paused.remove(&id).unwrap();
        self.nodes.insert(id, node);
    }

    /// A process hears that it is no member, and ends.
    pub(super) fn end(&mut self, id: NodeId) {
        if self.nodes.contains_key(&id) {
            self.removed += 1;
            self.kill(id);
        }
    }
}
