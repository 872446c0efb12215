//! What only a simulator can know: how the released table relates to the data behind it.

use std::collections::BTreeSet;

use siegel_client::Words;
use siegel_program::{Table, vocabulary::OTHER};

use super::report::HistogramTruth;

/// Sets a table beside its data. `users` are the words of each client, `bound` the bins that one
/// user may count in.
pub fn compare(table: &Table, bound: u32, users: impl Iterator<Item = Words>) -> HistogramTruth {
    let labels: BTreeSet<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
    let (mut before, mut after, mut silent) = (0, 0, 0);
    for words in users {
        let bins: BTreeSet<&str> = words
            .iter()
            .map(|word| *labels.get(word).unwrap_or(&OTHER))
            .collect();
        let distinct = bins.len() as u64;
        before += distinct;
        after += distinct.min(bound.into());
        silent += u64::from(words.is_empty());
    }
    let lost = if before == 0 {
        0.0
    } else {
        (before - after) as f64 / before as f64
    };
    let variance: f64 = table
        .rows
        .iter()
        .map(|row| row.standard_error.powi(2))
        .sum();
    HistogramTruth {
        pairs_before_bound: before,
        pairs_after_bound: after,
        share_lost_to_bounding: lost,
        clients_without_words: silent,
        noisy_total: table.rows.iter().map(|row| row.count).sum(),
        noisy_total_std_error: variance.sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use siegel_program::Row;

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
        let users = ["a a b x y", "a", ""].into_iter().map(Words::of);
        let found = compare(&table, 2, users);
        assert_eq!((found.pairs_before_bound, found.pairs_after_bound), (4, 3));
        assert_eq!(
            (found.share_lost_to_bounding, found.clients_without_words),
            (0.25, 1)
        );
        assert_eq!(found.noisy_total, 6);
        assert!((found.noisy_total_std_error - 27f64.sqrt()).abs() < 1e-12);
    }
}
