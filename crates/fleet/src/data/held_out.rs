//! Who never uploads.

use siegel_ident::Transcript;

use super::Dataset;

/// One client in so many is held out.
const OF: u64 = 10;

impl Dataset {
    /// Moves a tenth of the clients to `held_out`. A client's name alone decides, so it is the same
    /// tenth whatever the seed, the order, and who else is there. Where that would leave nobody to
    /// upload, nobody is held out.
    #[must_use]
    pub fn hold_out(self) -> Self {
        let (held_out, clients) = self.clients.partition(is_held_out);
        if clients.is_empty() {
            return Self::new(held_out);
        }
        Self { clients, held_out }
    }
}

fn is_held_out(name: &str) -> bool {
    let digest = Transcript::new("siegel/held-out/v1")
        .field(name.as_bytes())
        .digest();
    let first = digest.as_bytes().iter().take(8);
    let number = first.fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    number.is_multiple_of(OF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ClientData, Clients};

    fn clients(names: impl Iterator<Item = usize>) -> Dataset {
        let client = |n| ClientData {
            name: format!("c{n}"),
            texts: vec!["x".into()],
        };
        Dataset::of(names.map(client).collect())
    }

    fn names(clients: &Clients) -> Vec<String> {
        clients.iter().map(|client| client.name.clone()).collect()
    }

    // Catches a share that is not a tenth, a client on both sides or on none, and a split that
    // depends on who else is there.
    #[test]
    fn a_tenth_by_name_alone() {
        let split = clients(0..5_000).hold_out();
        assert_eq!(split.clients.len() + split.held_out.len(), 5_000);
        assert!(
            (430..570).contains(&split.held_out.len()),
            "{}",
            split.held_out.len()
        );
        let fewer = clients((0..5_000).rev().filter(|n| n % 3 == 0)).hold_out();
        let held = names(&split.held_out);
        assert!(
            names(&fewer.held_out)
                .iter()
                .all(|name| held.contains(name))
        );
        assert!(
            names(&fewer.clients)
                .iter()
                .all(|name| !held.contains(name))
        );
        // Published: another rule would try models on users that trained them elsewhere.
        assert_eq!(
            names(&clients(0..40).hold_out().held_out),
            ["c7", "c18", "c19", "c32"]
        );
    }

    #[test]
    fn somebody_uploads() {
        let held = (0..5_000).filter(|n| is_held_out(&format!("c{n}")));
        let split = clients(held.take(2)).hold_out();
        assert_eq!((split.clients.len(), split.held_out.len()), (2, 0));
    }
}
