//! What only a simulator can know: how the released table relates to the data behind it.

use std::sync::atomic::{AtomicU64, Ordering};

use siegel_client::Words;
use siegel_program::vocabulary::Vocabulary;
use siegel_program::{Bundle, HistogramSpec, ProgramError, Table};

use super::report::HistogramTruth;

/// Counts of what clients said, added up while they upload; no text is kept.
pub struct Truth {
    /// The list of the program, ascending.
    list: Vec<String>,
    /// The bins that one user may count in.
    bound: u64,
    before: AtomicU64,
    after: AtomicU64,
    silent: AtomicU64,
}

impl Truth {
    /// Nobody has spoken yet.
    pub fn new(spec: &HistogramSpec, bundle: &Bundle) -> Result<Self, ProgramError> {
        let list = Vocabulary::parse(bundle.asset(&spec.vocabulary)?)?;
        let bins = list.labels().map(str::to_owned).collect();
        Ok(Self::of(bins, spec.max_per_user))
    }

    /// The last label is the bin of all other words.
    fn of(mut labels: Vec<String>, bound: u32) -> Self {
        labels.pop();
        Self {
            list: labels,
            bound: bound.into(),
            before: AtomicU64::default(),
            after: AtomicU64::default(),
            silent: AtomicU64::default(),
        }
    }

    /// Hears one client's words.
    pub fn hear(&self, words: &Words) {
        let other = self.list.len();
        let bin = |word: &str| self.list.binary_search_by(|w| w.as_str().cmp(word));
        let mut bins: Vec<_> = words.iter().map(|w| bin(w).unwrap_or(other)).collect();
        bins.sort_unstable();
        bins.dedup();
        let distinct = bins.len() as u64;
        let add = |to: &AtomicU64, n| to.fetch_add(n, Ordering::Relaxed);
        add(&self.before, distinct);
        add(&self.after, distinct.min(self.bound));
        add(&self.silent, u64::from(words.is_empty()));
    }

    /// Sets a table beside what was heard.
    pub fn compare(&self, table: &Table) -> HistogramTruth {
        let heard = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (before, after) = (heard(&self.before), heard(&self.after));
        let variance: f64 = table
            .rows
            .iter()
            .map(|row| row.standard_error.powi(2))
            .sum();
        HistogramTruth {
            pairs_before_bound: before,
            pairs_after_bound: after,
            share_lost_to_bounding: (before - after) as f64 / before.max(1) as f64,
            clients_without_words: heard(&self.silent),
            noisy_total: table.rows.iter().map(|row| row.count).sum(),
            noisy_total_std_error: variance.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use siegel_program::{Row, vocabulary::OTHER};

    #[test]
    fn counts_distinct_bins_and_what_the_bound_cuts() {
        let row = |label: &str, count| Row {
            label: label.into(),
            count,
            standard_error: 3.0,
        };
        let table = Table {
            name: "t".into(),
            rows: vec![row("a", 5), row("b", -1), row(OTHER, 2)],
        };
        let labels = table.rows.iter().map(|row| row.label.clone());
        let truth = Truth::of(labels.collect(), 2);
        for text in ["a a b x y", "a", ""] {
            truth.hear(&Words::of(text));
        }
        let found = truth.compare(&table);
        assert_eq!((found.pairs_before_bound, found.pairs_after_bound), (4, 3));
        assert_eq!(
            (found.share_lost_to_bounding, found.clients_without_words),
            (0.25, 1)
        );
        assert_eq!(found.noisy_total, 6);
        assert!((found.noisy_total_std_error - 27f64.sqrt()).abs() < 1e-12);
    }
}
