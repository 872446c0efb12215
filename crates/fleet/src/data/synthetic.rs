//! Zipf words from clients that are not alike.

use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;
use siegel_ident::Transcript;

use super::zipf::{Zipf, below, shuffled};
use super::{ClientData, Clients, DataError, Dataset};

/// Groups of clients with a favourite vocabulary of their own.
const TOPICS: u64 = 8;
/// Of 100 words, this many come from the client's topic,
const FROM_TOPIC: u64 = 30;
/// and this many from outside the list: they land in the bin "other".
const OUTSIDE: u64 = 5;
/// Distinct words outside the list.
const OUTSIDE_WORDS: u64 = 500;

/// `clients` clients over a word list. Everything follows from the seed, and a client's words do
/// not depend on how many clients there are.
///
/// All draw from one Zipf law over the list in a random order; each client mixes in a topic with a
/// law of its own, some words that no list has, and talks a lot or little: about 1 in 64 says
/// nothing, half say fewer than 60 words, the most talkative 480.
pub fn synthetic(list: &[&str], clients: usize, seed: &[u8; 32]) -> Result<Dataset, DataError> {
    if list.is_empty() {
        return Err(DataError::NoWords);
    }
    if clients == 0 {
        return Err(DataError::Empty {
            file: "synthetic data".into(),
        });
    }
    let numbers = (0..clients as u32).collect();
    let by = Synthetic::new(list, seed);
    Ok(Dataset::new(Clients::made(by, numbers)))
}

/// The laws that all clients draw from. Cheap to clone.
#[derive(Clone)]
pub(super) struct Synthetic(Arc<Laws>);

struct Laws {
    seed: [u8; 32],
    list: Vec<String>,
    zipf: Zipf,
    outside: Zipf,
    /// The list in the order of frequency: for all, then for each topic.
    orders: Vec<Vec<usize>>,
}

impl Synthetic {
    fn new(list: &[&str], seed: &[u8; 32]) -> Self {
        let order = |topic| shuffled(&mut stream(seed, "order", topic), list.len());
        Self(Arc::new(Laws {
            seed: *seed,
            list: list.iter().map(|word| (*word).to_owned()).collect(),
            zipf: Zipf::new(list.len()),
            outside: Zipf::new(OUTSIDE_WORDS as usize),
            orders: (0..=TOPICS).map(order).collect(),
        }))
    }

    /// The name of a client by its number, from 0.
    pub(super) fn name(number: u32) -> String {
        format!("client-{:07}", u64::from(number) + 1)
    }

    /// The client itself: always the same one.
    pub(super) fn client(&self, number: u32) -> ClientData {
        let laws = &*self.0;
        let mut rng = stream(&laws.seed, "client", number.into());
        let topic = 1 + below(&mut rng, TOPICS);
        let mut text = String::new();
        for _ in 0..length(&mut rng) {
            let outside;
            let word = match below(&mut rng, 100) {
                0..FROM_TOPIC => laws.word(topic, &mut rng),
                x if x < FROM_TOPIC + OUTSIDE => {
                    outside = outside_word(laws.outside.draw(&mut rng));
                    &outside
                }
                _ => laws.word(0, &mut rng),
            };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        ClientData {
            name: Self::name(number),
            texts: vec![text],
        }
    }
}

impl Laws {
    fn word(&self, order: u64, rng: &mut ChaCha20Rng) -> &str {
        let rank = self.zipf.draw(rng);
        // Orders and ranks are those of the list.
        let at = self.orders.get(order as usize).and_then(|o| o.get(rank));
        at.and_then(|at| self.list.get(*at)).map_or("", |word| word)
    }
}

/// Letters only, or the device would cut it; "zq" begins no English word.
fn outside_word(n: usize) -> String {
    let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
    String::from_iter(['z', 'q', letter(n / 26), letter(n)])
}

/// Log-uniform between 8 and 480 words, or none.
fn length(rng: &mut ChaCha20Rng) -> u64 {
    if below(rng, 64) == 0 {
        return 0;
    }
    let base = 8u64 << below(rng, 6);
    (base + below(rng, base)).min(480)
}

fn stream(seed: &[u8; 32], purpose: &str, n: u64) -> ChaCha20Rng {
    let label = Transcript::new("siegel/synthetic-data/v1");
    let key = label.field(seed).field(purpose.as_bytes()).u64(n).digest();
    ChaCha20Rng::from_seed(*key.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::Client;

    fn list() -> Vec<String> {
        (0..300)
            .map(|n| format!("w{}", super::outside_word(n)))
            .collect()
    }

    fn data(clients: usize, seed: u8) -> Dataset {
        let list = list();
        let words: Vec<_> = list.iter().map(String::as_str).collect();
        synthetic(&words, clients, &[seed; 32]).ok().unwrap()
    }

    // I7, I15: catches data that depends on anything but the seed.
    #[test]
    fn the_seed_decides() {
        let all = |d: Dataset| {
            d.clients
                .iter()
                .map(|c| c.texts.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(all(data(50, 1)), all(data(50, 1)));
        assert_ne!(all(data(50, 1)), all(data(50, 2)));
        assert_eq!(all(data(50, 1))[..20], all(data(20, 1))[..]);
    }

    #[test]
    fn clients_differ_words_are_skewed_some_are_outside_some_are_silent() {
        let data = data(1000, 3);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut total, mut outside, mut silent) = (0, 0, 0);
        let clients: Vec<_> = data.clients.iter().collect();
        for client in &clients {
            silent += usize::from(client.words().is_empty());
            for word in client.texts[0].split(' ').filter(|w| !w.is_empty()) {
                total += 1;
                outside += usize::from(word.starts_with("zq"));
                *counts.entry(word).or_default() += 1;
            }
        }
        assert!((5..40).contains(&silent), "{silent}");
        assert!((0.04..0.06).contains(&(outside as f64 / total as f64)));
        let mut sorted: Vec<_> = counts.values().copied().collect();
        sorted.sort_unstable();
        assert!(sorted[sorted.len() - 1] > total / 20, "no skew");
        let lengths = clients.iter().map(|c| c.texts[0].split(' ').count());
        assert!(
            clients
                .iter()
                .all(|c| c.words().iter().all(|w| w.len() < 7))
        );
        assert!(lengths.clone().max() <= Some(480) && lengths.max() > Some(200));
    }

    // I7: catches another sentence from the same seed: outputs of seeded runs would change.
    #[test]
    fn i7_what_a_seed_gives_is_fixed() {
        let data = data(3, 1);
        let texts = data
            .clients
            .iter()
            .flat_map(|c| [c.name.clone(), c.texts[0].clone()]);
        let digest = siegel_ident::Digest::of(texts.collect::<Vec<_>>().join("\n").as_bytes());
        assert_eq!(
            digest.to_string(),
            "03e5d7fd06971a2afb8a78c80139448d9fe2b9bfa1b00615f0c32dd55958b1a1"
        );
    }

    // Catches a held-out client that still uploads, where clients are made by number.
    #[test]
    fn clients_are_held_out_by_name_whether_listed_or_made() {
        let listed = |c: &Clients| c.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
        let source = data(400, 1);
        let copy = |client: Client<'_>| ClientData {
            name: client.name.clone(),
            texts: client.texts.clone(),
        };
        let whole = source.clients.iter().map(copy).collect();
        let (made, read) = (data(400, 1).hold_out(), Dataset::of(whole).hold_out());
        assert!(made.held_out.len() > 20);
        assert_eq!(listed(&made.held_out), listed(&read.held_out));
        assert_eq!(listed(&made.clients), listed(&read.clients));
    }

    #[test]
    fn nothing_from_nothing() {
        assert!(matches!(
            synthetic(&[], 1, &[0; 32]),
            Err(DataError::NoWords)
        ));
        assert!(matches!(
            synthetic(&["a"], 0, &[0; 32]),
            Err(DataError::Empty { .. })
        ));
    }
}
