use siegel_ident::{Budget, Delta};

use super::*;

fn point(at: u64, spent: u64, total: u64) -> AccountReport {
    let budget = |rho| Budget {
        rho_nano: NanoRho(rho),
        delta0: Delta(0),
    };
    AccountReport {
        at: Timestamp(at),
        run: None,
        spent: budget(spent),
        total: budget(total),
    }
}

/// Catches a line that rises before its time, and one that does not go on to the end.
#[test]
fn spending_is_a_step_at_its_time() {
    let chart = Chart::of(&[point(0, 0, 100), point(50, 50, 100), point(100, 50, 100)]).unwrap();
    assert_eq!(chart.spent, "M104.0 176.0 H319.0 V101.0 H534.0");
    assert_eq!(chart.total, "M104.0 26.0 H534.0");
    assert_eq!(chart.area, format!("{} V176.0 H104.0 Z", chart.spent));
    let labels: Vec<_> = chart
        .ticks
        .iter()
        .map(|tick| (tick.y, tick.label.as_str()))
        .collect();
    let expected = [(176.0, "0"), (101.0, "0.00000005"), (26.0, "0.0000001")];
    assert_eq!(labels, expected);
}

#[test]
fn what_happens_within_a_second_is_spread_out() {
    let chart = Chart::of(&[point(7, 0, 100), point(7, 50, 100), point(7, 100, 100)]).unwrap();
    assert_eq!(
        chart.spent,
        "M104.0 176.0 H319.0 V101.0 H534.0 V26.0 H534.0"
    );
    assert!(Chart::of(&[]).is_none());
    let one = Chart::of(&[point(7, 0, 0)]).unwrap();
    assert_eq!(
        (one.spent.as_str(), one.total.as_str()),
        ("M104.0 176.0 H534.0", "M104.0 176.0 H534.0")
    );
}

/// Spending beyond the total is seen to be beyond it.
#[test]
fn more_than_the_total_still_fits() {
    let chart = Chart::of(&[point(0, 0, 50), point(1, 100, 50)]).unwrap();
    assert!(chart.spent.ends_with("V26.0 H534.0"), "{}", chart.spent);
    assert_eq!(chart.total, "M104.0 101.0 H534.0");
}

/// Catches a picture that grows with the log, and one that loses the last change.
#[test]
fn a_long_history_is_a_small_picture() {
    let most = u64::MAX;
    let mut history: Vec<_> = (0..100_000).map(|n| point(n, n, 200_000)).collect();
    let chart = Chart::of(&history).unwrap();
    assert!(chart.spent.len() < 100_000, "{}", chart.spent.len());
    assert!(
        chart.spent.ends_with("V101.0 H534.0"),
        "{}",
        &chart.spent[chart.spent.len() - 40..]
    );
    history.push(point(most, most, most));
    assert!(Chart::of(&history).unwrap().spent.ends_with("V26.0 H534.0"));
}
