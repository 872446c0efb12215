//! Writes sample pages into a folder, to be looked at in a browser: a good log, a lying one, an empty
//! one, and one with hostile words in it.
//!
//! cargo run -p siegel-page --example pages -- FOLDER

use siegel_audit::testing::{NOW, Scene, chained, lived, quorum};
use siegel_audit::{AuditReport, WitnessReport};
use siegel_policy::{Finding, Severity};
use siegel_translog::predicate;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let good = good().await;
    let pages = [
        ("good", good.clone()),
        ("lying", lying().await),
        ("empty", Scene::new().audit().await),
        ("witnessed", witnessed(good.clone())),
        ("hostile", hostile(good)),
    ];
    for (name, report) in pages {
        let page = siegel_page::render(&report, "siegel-runs/1f0c9a2b7d3e4f50");
        let page = page.map_err(std::io::Error::other)?;
        std::fs::write(format!("{folder}/{name}.html"), page)?;
    }
    Ok(())
}

async fn good() -> AuditReport {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    scene.audit().await
}

/// A receipt is left out, and another one is signed twice with different words.
async fn lying() -> AuditReport {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    let mut bodies = chained(scene.id(), &receipts);
    bodies.remove(10);
    for body in &bodies {
        let (signer, kind) = (&scene.cluster, predicate::RECEIPT);
        scene.publish(signer, kind, body).await;
    }
    scene.audit().await
}

fn witnessed(mut report: AuditReport) -> AuditReport {
    let told = quorum(2)
        .witnesses
        .into_iter()
        .map(|witness| WitnessReport {
            name: witness.name,
            operator: witness.operator,
            cosigned_at: Some(NOW),
        });
    report.log.witnesses = told.collect();
    report.log.witnesses_required = 2;
    let message = "SIMULATED WITNESSES: one person runs the log and its witnesses";
    let told = Finding::new(Severity::Warning, "witnesses-simulated", "I1", message);
    report.findings.insert(0, told);
    report
}

fn hostile(mut report: AuditReport) -> AuditReport {
    let evil = "\"><script>alert(1)</script>";
    for policy in &mut report.policies {
        policy.name = format!("{evil} {}", "verylongname".repeat(40));
        policy.pipeline = "p".repeat(4000);
    }
    let message = "unbreakable".repeat(100);
    let found = Finding::new(Severity::Error, evil, "I14", message);
    report.findings.insert(0, found);
    report.verdict = siegel_audit::Verdict::NotTrustworthy;
    report
}
