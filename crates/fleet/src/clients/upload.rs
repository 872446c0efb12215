//! All clients, some at a time.

use std::sync::Arc;

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng as _};
use siegel_client::{ClientRefusal, Content, DeviceRefusal, Upload, Words};
use siegel_link::LinkError;
use siegel_link::depot::{DepotClient, ObjectKind};
use siegel_platform::{Clock, rng};
use siegel_policy::ColumnKind;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use super::{ClientsOptions, OfferBytes, UploadReport, derived, device};
use crate::data::{ClientData, Dataset};

/// Distinct words of one upload. A client with more sends several uploads; they are one unit all the
/// same (I4). 15,000 words of 64 bytes and their lengths fit the 1 MiB of a record.
const WORDS_PER_UPLOAD: usize = 15_000;

/// Why the uploading stopped. What single clients refuse is no reason to stop: it is counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientsError {
    /// The depot is away, full, or refuses.
    #[error("uploading: {0}")]
    Depot(#[source] LinkError),
    /// A client's task broke.
    #[error("a simulated client panicked")]
    Broken,
}

/// Lets every client verify, seal and upload. Returns when all have an answer; `progress` gets how
/// many clients are done.
///
/// # Errors
/// The first trouble with the depot. Uploads that were answered stay where they are.
pub async fn upload_all(
    data: &Arc<Dataset>,
    offer: &Arc<OfferBytes>,
    options: &ClientsOptions,
    depot: &DepotClient,
    clock: &Arc<dyn Clock>,
    progress: &mut (dyn FnMut(usize) + Send),
) -> Result<UploadReport, ClientsError> {
    let options = Arc::new(options.clone());
    let mut report = UploadReport::default();
    let mut tasks = JoinSet::new();
    let mut next = 0;
    let mut done = 0;
    while done < data.clients.len() {
        while next < data.clients.len() && tasks.len() < options.concurrency.max(1) {
            let (data, offer, options) = (data.clone(), offer.clone(), options.clone());
            let (depot, clock, at) = (depot.clone(), clock.clone(), next);
            tasks.spawn(async move {
                // Signatures and encryption: off the threads that serve the network.
                let seal = move || seal_one(&data, at, &offer, &options, &*clock);
                let sealed = tokio::task::spawn_blocking(seal);
                let sealed = sealed.await.map_err(|_| ClientsError::Broken)?;
                send(sealed, &depot).await
            });
            next += 1;
        }
        let one = tasks.join_next().await.ok_or(ClientsError::Broken)?;
        report.add(one.map_err(|_| ClientsError::Broken)??);
        done += 1;
        progress(done);
    }
    Ok(report)
}

/// Why one client sends nothing.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Offer(#[from] ClientRefusal),
    #[error(transparent)]
    Device(#[from] DeviceRefusal),
    #[error("the policy asks for numbers, and simulated clients have only text")]
    NoNumbers,
}

fn seal_one(
    data: &Dataset,
    at: usize,
    offer: &OfferBytes,
    options: &ClientsOptions,
    clock: &dyn Clock,
) -> Result<Vec<Upload>, Refused> {
    let Some(client) = data.clients.get(at) else {
        return Ok(Vec::new());
    };
    let (client, words) = (&*client, client.words());
    if let Some(heard) = &options.heard {
        heard(&words);
    }
    match &options.seed {
        Some(seed) => {
            let stream = derived(seed, "client randomness", &client.name);
            let mut rng = ChaCha20Rng::from_seed(*stream.expose());
            seal_with(&mut rng, client, words, offer, options, clock)
        }
        None => seal_with(&mut rng::os_rng(), client, words, offer, options, clock),
    }
}

fn seal_with(
    rng: &mut impl CryptoRng,
    client: &ClientData,
    words: Words,
    offer: &OfferBytes,
    options: &ClientsOptions,
    clock: &dyn Clock,
) -> Result<Vec<Upload>, Refused> {
    let mut device = device(
        options.seed.as_ref(),
        &client.name,
        options.config.device_cap,
    );
    let verified = device.verify(&options.config, &offer.as_offer(), clock.now())?;
    let policy = verified.policy();
    let text = Zeroizing::new(client.text());
    let text = first(&text, policy.bounds.max_items_per_user as usize);
    let mut uploads = Vec::new();
    for (part, words) in parts(words).iter().enumerate() {
        let content = |kind: ColumnKind| match kind {
            ColumnKind::Words => Ok(Content::Words(words)),
            ColumnKind::Text => Ok(Content::Text(if part == 0 { text } else { "" })),
            ColumnKind::Floats => Err(Refused::NoNumbers),
        };
        let columns = policy.input.columns.iter();
        let columns = columns
            .map(|column| Ok((column.name.as_str(), content(column.kind)?)))
            .collect::<Result<Vec<_>, Refused>>()?;
        uploads.push(device.seal_record(rng, &verified, &columns, clock.now())?);
        // Only words are cut: without such a column the first part says everything.
        if policy
            .input
            .columns
            .iter()
            .all(|c| c.kind != ColumnKind::Words)
        {
            break;
        }
    }
    Ok(uploads)
}

/// The first characters of a text: no more of a user counts, so no more is sent.
fn first(text: &str, most: usize) -> &str {
    let end = text
        .char_indices()
        .nth(most)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// At least one part: silence is uploaded too, so that it is not a public fact (I12).
fn parts(words: Words) -> Vec<Words> {
    if words.len() <= WORDS_PER_UPLOAD {
        return vec![words];
    }
    let all: Vec<&str> = words.iter().collect();
    all.chunks(WORDS_PER_UPLOAD)
        .map(|part| Words::of_all(part.iter().copied()))
        .collect()
}

async fn send(
    sealed: Result<Vec<Upload>, Refused>,
    depot: &DepotClient,
) -> Result<UploadReport, ClientsError> {
    let mut report = UploadReport::default();
    match sealed {
        Ok(uploads) => {
            for upload in uploads {
                let bytes = Bytes::copy_from_slice(upload.bytes());
                let len = bytes.len() as u64;
                let put = depot.put(ObjectKind::Upload, bytes).await;
                let put = put.map_err(ClientsError::Depot)?;
                // A retry sends the same sealed bytes: what it finds there is its own, and counts
                // once.
                match put.duplicate && put.attempts == 1 {
                    true => report.duplicates += 1,
                    false => report.accepted += 1,
                }
                report.bytes += len;
            }
        }
        Err(refused) => {
            report.refused = 1;
            report.refusals.insert(refused.to_string(), 1);
        }
    }
    Ok(report)
}

impl UploadReport {
    fn add(&mut self, one: Self) {
        self.accepted += one.accepted;
        self.duplicates += one.duplicates;
        self.refused += one.refused;
        self.bytes += one.bytes;
        for (why, count) in one.refusals {
            *self.refusals.entry(why).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Catches words that are lost where a talkative client is cut into several uploads.
    #[test]
    fn a_talkative_client_is_cut_without_loss() {
        let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
        let word = |n: usize| String::from_iter([1, 26, 676, 17_576].map(|d| letter(n / d)));
        let text: Vec<String> = (0..40_000).map(word).collect();
        let cut = parts(Words::of(&text.join(" ")));
        assert_eq!(
            cut.iter().map(Words::len).collect::<Vec<_>>(),
            [15_000, 15_000, 10_000]
        );
        assert_eq!(parts(Words::of("")).len(), 1);
    }

    // Catches a cut inside a character, and more or less than what counts.
    #[test]
    fn only_the_characters_that_count_are_sent() {
        let cases = [
            ("", 3, ""),
            ("héé", 2, "hé"),
            ("héé", 3, "héé"),
            ("hé", 9, "hé"),
            ("h", 0, ""),
        ];
        for (text, most, expected) in cases {
            assert_eq!(first(text, most), expected, "{text} {most}");
        }
    }
}
