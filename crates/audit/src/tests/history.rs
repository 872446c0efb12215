//! What a real ledger writes is good, in whatever order it is logged.

use crate::testing::{NOW, START};
use siegel_ident::Step;
use siegel_translog::predicate;

use super::{errors, ids};
use crate::testing::{Scene, budget, chained, lived};
use crate::{AuditAnchors, ExpectedCluster, RunState, Verdict, audit};

/// Catches: an auditor that cries wolf; what the ledger really writes is good.
#[tokio::test]
async fn the_history_of_a_real_ledger_is_good() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    assert_eq!(receipts.len(), 18);
    scene.log_receipts(&receipts).await;
    let report = scene.audit().await;
    assert_eq!(
        errors(&report),
        Vec::<&str>::new(),
        "{:#?}",
        report.findings
    );
    assert_eq!((report.ok, report.verdict), (true, Verdict::Good));
    for said in [
        "simulated-evidence",
        "log-unwitnessed",
        "insecure-simulation",
        "unwitnessed",
    ] {
        assert!(ids(&report).contains(&said), "{said} must be said");
    }
    assert_eq!(
        (
            report.entries.receipts,
            report.entries.policies,
            report.entries.total
        ),
        (18, 2, 26)
    );
    let states: Vec<RunState> = report.runs.iter().map(|run| run.state).collect();
    use RunState::{Abandoned, Cancelled, Expired, Finished};
    assert_eq!(states, [Finished, Cancelled, Abandoned, Expired]);
    assert_eq!(
        (report.runs[0].committed, report.runs[0].releases.len()),
        (2, 2)
    );
    let [pipeline] = &report.budgets[..] else {
        panic!("one pipeline")
    };
    // Three runs of (30, 6) each; the cancelled one was returned.
    assert_eq!(
        (pipeline.total, pipeline.spent),
        (budget(95, 50), budget(90, 18))
    );
    assert!(report.policies.iter().all(|policy| policy.registered));

    // The report is plain JSON that reads back.
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains("\"verdict\":\"good\""));
    assert_eq!(
        serde_json::from_str::<crate::AuditReport>(&json).unwrap(),
        report
    );
}

/// How the budget stood after every receipt that changed it, and when runs began and ended. Catches a
/// refund that the history leaves out, and a total that it does not lower.
#[tokio::test]
async fn the_budget_over_time_is_in_the_report() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let report = scene.audit().await;
    let history = &report.budgets[0].history;
    let stood: Vec<_> = history
        .iter()
        .map(|point| (point.at.0 - START, point.spent, point.total))
        .collect();
    let (first, second) = (budget(100, 50), budget(95, 50));
    let spent = |runs: u64| budget(30 * runs, 6 * runs);
    assert_eq!(
        stood,
        [
            (0, spent(0), first),
            (0, spent(1), first),
            (0, spent(2), first),
            (0, spent(1), first),
            (100, spent(1), second),
            (100, spent(2), second),
            (100, spent(3), second),
        ]
    );
    let [a, b, ..] = &report.runs[..] else {
        panic!("four runs")
    };
    let ids: Vec<_> = history.iter().map(|point| point.run).collect();
    assert_eq!(ids[..4], [None, Some(a.run), Some(b.run), Some(b.run)]);
    assert_eq!(history.last().unwrap().spent, report.budgets[0].spent);
    let times: Vec<_> = report
        .runs
        .iter()
        .map(|run| (run.registered_at.0 - START, run.ended_at.unwrap().0 - START))
        .collect();
    assert_eq!(times, [(0, 0), (0, 0), (100, 100), (100, 10_100)]);
}

/// A courier that retries, or brings receipts out of order, harms nothing.
#[tokio::test]
async fn receipts_may_come_twice_and_in_any_order() {
    let scene = Scene::new();
    let bodies = chained(scene.id(), &lived(&scene).await);
    for body in bodies.iter().rev().chain(&bodies[3..5]) {
        scene
            .publish(&scene.cluster, predicate::RECEIPT, body)
            .await;
    }
    let report = scene.audit().await;
    assert!(report.ok, "{:#?}", report.findings);
    assert_eq!(report.entries.receipts, 20);
}

/// I17. Catches: receipts held back at the end of the chain, when the nodes' count is known.
#[tokio::test]
async fn i17_the_expected_number_of_receipts_is_held_against_the_log() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts[..15]).await;
    let expect = |receipts| AuditAnchors {
        clusters: vec![ExpectedCluster {
            id: scene.id(),
            receipts,
        }],
        ..scene.anchors()
    };
    let log = siegel_rekor::LogReader::Open(scene.log.clone());
    assert!(audit(&log, &expect(None), NOW).await.unwrap().ok);
    assert!(audit(&log, &expect(Some(15)), NOW).await.unwrap().ok);
    let short = audit(&log, &expect(Some(18)), NOW).await.unwrap();
    assert_eq!(errors(&short), ["receipt-missing"]);
    assert_eq!(short.verdict, Verdict::NotTrustworthy);
    // A run is still open there, which is said and no error.
    assert!(ids(&short).contains(&"runs-open"));
    assert_eq!(short.runs[3].state, RunState::Registered);
    assert_eq!(Step(short.runs[3].committed), Step(0));
}
