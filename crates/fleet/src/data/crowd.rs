//! Many clients, listed or made when they are asked for.

use std::ops::Deref;

use super::ClientData;
use super::synthetic::Synthetic;

/// Clients in a fixed order. Those of synthetic data are made one by one, each time they are asked
/// for: a million of them take 4 MB.
pub struct Clients(Kind);

enum Kind {
    Listed(Vec<ClientData>),
    /// By their numbers.
    Made(Synthetic, Vec<u32>),
}

/// One of them.
pub enum Client<'a> {
    /// As it was read.
    Listed(&'a ClientData),
    /// Made for whoever asked.
    Made(ClientData),
}

impl Clients {
    /// These.
    pub fn listed(clients: Vec<ClientData>) -> Self {
        Self(Kind::Listed(clients))
    }

    /// Synthetic ones, by number from 0.
    pub(super) fn made(by: Synthetic, numbers: Vec<u32>) -> Self {
        Self(Kind::Made(by, numbers))
    }

    /// How many.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Listed(clients) => clients.len(),
            Kind::Made(_, numbers) => numbers.len(),
        }
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One by its place, from 0.
    pub fn get(&self, at: usize) -> Option<Client<'_>> {
        Some(match &self.0 {
            Kind::Listed(clients) => Client::Listed(clients.get(at)?),
            Kind::Made(by, numbers) => Client::Made(by.client(*numbers.get(at)?)),
        })
    }

    /// All of them, one at a time.
    pub fn iter(&self) -> impl Iterator<Item = Client<'_>> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Those whose name the rule takes, and the others, each in the order of before.
    pub(super) fn partition(self, takes: impl Fn(&str) -> bool) -> (Self, Self) {
        match self.0 {
            Kind::Listed(clients) => {
                let (taken, others) = clients.into_iter().partition(|c| takes(&c.name));
                (Self::listed(taken), Self::listed(others))
            }
            Kind::Made(by, numbers) => {
                let takes = |number: &u32| takes(&Synthetic::name(*number));
                let (taken, others) = numbers.into_iter().partition(takes);
                (Self::made(by.clone(), taken), Self::made(by, others))
            }
        }
    }
}

impl Deref for Client<'_> {
    type Target = ClientData;

    fn deref(&self) -> &ClientData {
        match self {
            Self::Listed(client) => client,
            Self::Made(client) => client,
        }
    }
}
