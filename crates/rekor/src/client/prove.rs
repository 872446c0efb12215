//! An entry and its proof from what every log serves: checkpoint and tiles.

use siegel_ident::Digest;
use siegel_translog::merkle::{leaf_hash, verify_inclusion};
use siegel_translog::tiles::{Level, TileSet, WIDTH};
use siegel_translog::{Checkpoint, InclusionProof, TlogEntry};

use super::LogClient;
use super::http::{LONGEST_PAUSE, PAUSE};
use crate::error::RekorError;

/// How often the checkpoint is asked for that covers an entry which the log says it has.
const TRIES: u32 = 8;

impl LogClient {
    /// The entry at `index` with a proof for the log's current checkpoint, computed from its tiles.
    /// Checkpoint and proof fit each other; that it is the right log's, the verifier will say.
    ///
    /// # Errors
    /// [`RekorError::LogId`] without [`Self::with_log_id`]; [`RekorError::NotFound`] if the checkpoint
    /// does not come to cover the entry; [`RekorError::Answer`] if tiles, entry and checkpoint do not
    /// fit; any error of the network or log.
    pub async fn prove(&self, index: u64) -> Result<TlogEntry, RekorError> {
        let log_id = self
            .log_id
            .ok_or_else(|| RekorError::LogId(self.url().into()))?;
        let (note, checkpoint) = self.covering(index).await?;
        let nonsense = |why: &str| RekorError::Answer {
            url: self.url().to_owned(),
            why: why.to_owned(),
        };
        if !names_key(&note, &checkpoint.origin, &log_id) {
            return Err(nonsense("the checkpoint is not signed by the log's key"));
        }
        let size = checkpoint.size;
        let mut tiles = TileSet::default();
        for tile in TileSet::for_inclusion(index, size) {
            let (_, bytes) = self.hash_tile(tile).await?;
            if !tiles.insert(tile, &bytes) {
                return Err(nonsense(&format!("tile {tile} is torn")));
            }
        }
        let missing = || nonsense("its tiles give no proof");
        let hashes = tiles.inclusion_proof(index, size).ok_or_else(missing)?;
        let bundle = Level::Entries.tile(index / WIDTH, size);
        let bundle = bundle.ok_or_else(missing)?;
        let bodies = self.entry_bundle(bundle.index, bundle.width).await?;
        let body = bodies.into_iter().nth((index % WIDTH) as usize);
        let body = body.ok_or_else(missing)?;
        verify_inclusion(&leaf_hash(&body), index, size, &hashes, &checkpoint.root)
            .map_err(|why| nonsense(&format!("entry {index} is not in its checkpoint: {why}")))?;
        Ok(TlogEntry {
            log_index: index,
            log_id,
            proof: InclusionProof::new(index, size, checkpoint.root, hashes, note),
            canonicalized_body: body,
        })
    }

    /// A checkpoint that covers this entry. A log may know an entry shortly before it publishes it.
    async fn covering(&self, index: u64) -> Result<(String, Checkpoint), RekorError> {
        let mut pause = PAUSE;
        for _ in 0..TRIES {
            let note = self.checkpoint().await?;
            let text = note.split_once("\n\n").map_or("", |(text, _)| text);
            let checkpoint = Checkpoint::parse_text(&format!("{text}\n"))?;
            if index < checkpoint.size {
                return Ok((note, checkpoint));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Err(RekorError::NotFound(format!("entry {index}")))
    }
}

/// Whether a signature line of the log itself names its key: by the first four bytes of its id.
fn names_key(note: &str, origin: &str, log_id: &Digest) -> bool {
    use base64::Engine as _;
    let base64 = &base64::engine::general_purpose::STANDARD;
    note.lines().any(|line| {
        let parts = line
            .strip_prefix("\u{2014} ")
            .and_then(|l| l.split_once(' '));
        parts.is_some_and(|(name, value)| {
            let value = base64.decode(value).unwrap_or_default();
            name == origin && value.get(..4) == log_id.as_bytes().get(..4)
        })
    })
}
