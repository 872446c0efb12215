//! All that one unit uploaded for one question: joined over its blobs, then bounded, then added
//! (I4). Nothing here depends on how many blobs there were, or on their order.

use siegel_ident::secret::wipe;

use crate::clipped_sum::Buffers;
use crate::{ProgramError, Query, Record, UnitHash, unit::IndexKey};

/// Client data: no `Debug`.
pub(crate) enum Gathered {
    /// Distinct bins, ascending.
    Bins(Vec<u32>),
    /// Texts or rows, one piece for each blob; see [`ordered`].
    Pieces(Vec<Vec<u8>>),
}

/// What a thread needs to add units.
pub(crate) struct Adder<'a> {
    query: &'a Query<'a>,
    buffers: Option<Buffers>,
}

impl Gathered {
    pub(crate) fn new(query: &Query<'_>) -> Self {
        match query {
            Query::Histogram(_) => Self::Bins(Vec::new()),
            Query::ClippedSum(_) => Self::Pieces(Vec::new()),
        }
    }

    pub(crate) fn adder<'a>(query: &'a Query<'a>) -> Adder<'a> {
        let buffers = match query {
            Query::Histogram(_) => None,
            Query::ClippedSum(sum) => Some(sum.buffers()),
        };
        Adder { query, buffers }
    }

    pub(crate) fn join(&mut self, query: &Query<'_>, record: &Record<'_>) {
        match (self, query) {
            (Self::Bins(bins), Query::Histogram(histogram)) => {
                let mut new = histogram.bins_of(record);
                bins.append(&mut new);
                bins.sort_unstable();
                bins.dedup();
            }
            (Self::Pieces(pieces), Query::ClippedSum(sum)) => {
                let column = &sum.spec().column;
                let item = sum.item_bytes();
                let most = item * sum.spec().max_items_per_user as usize;
                let piece = match sum.is_text() {
                    true => head(record.text(column), most).as_bytes().to_vec(),
                    false => rows_to_bytes(record.floats(column), item, most),
                };
                if !piece.is_empty() {
                    pieces.push(piece);
                }
            }
            // A unit is made for its query; another one cannot come.
            _ => {}
        }
    }

    /// As if each record of the other one had been joined.
    pub(crate) fn join_all(&mut self, mut other: Self) {
        match (self, &mut other) {
            (Self::Bins(bins), Self::Bins(more)) => {
                bins.append(more);
                bins.sort_unstable();
                bins.dedup();
            }
            (Self::Pieces(pieces), Self::Pieces(more)) => pieces.append(more),
            // Both are made for the same query.
            _ => {}
        }
    }

    /// Bounds the unit and adds what is left of it.
    pub(crate) fn add_to(
        &self,
        adder: &mut Adder<'_>,
        key: &IndexKey,
        unit: &UnitHash,
        sums: &mut [i64],
    ) -> Result<(), ProgramError> {
        match (self, adder.query, &mut adder.buffers) {
            (Self::Bins(bins), Query::Histogram(histogram), _) => {
                let mut kept = bins.clone();
                bound(key, unit, &mut kept, histogram.spec().max_per_user as usize);
                for &bin in &kept {
                    let slot = sums.get_mut(bin as usize).ok_or(ProgramError::Overflow)?;
                    *slot = slot.checked_add(1).ok_or(ProgramError::Overflow)?;
                }
                wipe(&mut kept);
                Ok(())
            }
            (Self::Pieces(pieces), Query::ClippedSum(sum), Some(buffers)) if sum.is_text() => {
                let pieces = ordered(pieces, key, unit);
                let texts = pieces.into_iter().map(std::str::from_utf8);
                // Pieces were texts; a space keeps two of them apart.
                let texts: Vec<&str> = texts.filter_map(Result::ok).collect();
                let text = texts.join(" ");
                let added = sum.add_text(&text, buffers, sums);
                wipe(&mut text.into_bytes());
                added
            }
            (Self::Pieces(pieces), Query::ClippedSum(sum), Some(buffers)) => {
                let pieces = ordered(pieces, key, unit);
                let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
                let mut rows = Vec::with_capacity(bytes / 4);
                for piece in pieces {
                    let (fours, _) = piece.as_chunks::<4>();
                    rows.extend(fours.iter().map(|four| f32::from_le_bytes(*four)));
                }
                let added = sum.add_rows(&rows, buffers, sums);
                wipe(&mut rows);
                added
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        match self {
            Self::Bins(bins) => wipe(bins),
            Self::Pieces(pieces) => pieces.iter_mut().for_each(wipe),
        }
    }
}

/// Keeps the `most` bins of smallest keyed rank. It knows neither blobs nor their order (I4).
fn bound(key: &IndexKey, unit: &UnitHash, bins: &mut Vec<u32>, most: usize) {
    if bins.len() > most {
        bins.sort_by_cached_key(|&bin| key.rank(unit, bin));
        bins.truncate(most);
    }
}

/// The pieces in the order of their keyed rank, which looks at nothing but the content; the same
/// content counts once, so a second upload of it changes nothing (I4).
fn ordered<'p>(pieces: &'p [Vec<u8>], key: &IndexKey, unit: &UnitHash) -> Vec<&'p [u8]> {
    if let [one] = pieces {
        return vec![one];
    }
    let ranked = |piece: &'p Vec<u8>| (key.piece_rank(unit, piece), piece.as_slice());
    let mut ranked: Vec<_> = pieces.iter().map(ranked).collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().map(|(_, piece)| piece).collect()
}

/// The start of a text, at most `most` bytes, cut between characters.
fn head(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev();
    let end = end.into_iter().find(|&at| text.is_char_boundary(at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Whole rows only, at most `most` bytes of them.
fn rows_to_bytes(floats: &[f32], row: usize, most: usize) -> Vec<u8> {
    let kept = (floats.len() * 4).min(most) / row * row;
    // Exact capacity: a vector that grows would leave copies behind (I13).
    let mut out = vec![0; kept];
    let (fours, _) = out.as_chunks_mut::<4>();
    for (four, float) in fours.iter_mut().zip(floats) {
        *four = float.to_le_bytes();
    }
    out
}
