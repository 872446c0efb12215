//! Zipf words from clients that are not alike.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;
use siegel_ident::Transcript;

use super::zipf::{Zipf, below, shuffled};
use super::{ClientData, DataError, Dataset};

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
    let zipf = Zipf::new(list.len());
    let outside = Zipf::new(OUTSIDE_WORDS as usize);
    let orders: Vec<Vec<usize>> = (0..=TOPICS)
        .map(|topic| shuffled(&mut stream(seed, "order", topic), list.len()))
        .collect();
    let word = |order: u64, rng: &mut ChaCha20Rng| -> Option<String> {
        let rank = zipf.draw(rng);
        let at = orders.get(order as usize)?.get(rank)?;
        list.get(*at).map(|word| (*word).to_owned())
    };
    let one = |n: usize| {
        let mut rng = stream(seed, "client", n as u64);
        let topic = 1 + below(&mut rng, TOPICS);
        let words = (0..length(&mut rng)).filter_map(|_| match below(&mut rng, 100) {
            0..FROM_TOPIC => word(topic, &mut rng),
            x if x < FROM_TOPIC + OUTSIDE => Some(outside_word(outside.draw(&mut rng))),
            _ => word(0, &mut rng),
        });
        ClientData {
            name: format!("client-{:07}", n + 1),
            texts: vec![words.collect::<Vec<_>>().join(" ")],
        }
    };
    Ok(Dataset::of((0..clients).map(one).collect()))
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
        let all = |d: Dataset| d.clients.into_iter().map(|c| c.texts).collect::<Vec<_>>();
        assert_eq!(all(data(50, 1)), all(data(50, 1)));
        assert_ne!(all(data(50, 1)), all(data(50, 2)));
        assert_eq!(all(data(50, 1))[..20], all(data(20, 1))[..]);
    }

    #[test]
    fn clients_differ_words_are_skewed_some_are_outside_some_are_silent() {
        let data = data(1000, 3);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut total, mut outside, mut silent) = (0, 0, 0);
        for client in &data.clients {
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
        let lengths = data.clients.iter().map(|c| c.texts[0].split(' ').count());
        assert!(
            data.clients
                .iter()
                .all(|c| c.words().iter().all(|w| w.len() < 7))
        );
        assert!(lengths.clone().max() <= Some(480) && lengths.max() > Some(200));
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
