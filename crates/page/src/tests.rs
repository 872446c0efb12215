//! The page over what a real ledger wrote, and over reports that no log would give.

use std::collections::BTreeSet;

use siegel_audit::testing::{NOW, Scene, Witness, lived};
use siegel_audit::{AuditReport, Evidence, SignedNote, WitnessReport};
use siegel_policy::{Finding, Severity};

use super::*;

/// The audit of a log with two policies and four runs.
async fn good() -> AuditReport {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    scene.audit().await
}

fn page(report: &AuditReport) -> String {
    let page = render(report, "siegel-runs/1").unwrap();
    check_markup(&page);
    page
}

/// Tags in order, as `name` and the rest up to `>`.
fn tags(page: &str) -> Vec<(String, String)> {
    page.split('<')
        .skip(1)
        .map(|tag| {
            let (inside, _) = tag.split_once('>').expect("every < begins a tag");
            let (name, rest) = inside.split_once(' ').unwrap_or((inside, ""));
            (name.trim_end_matches('/').to_owned(), rest.to_owned())
        })
        .collect()
}

fn attributes(tags: &[(String, String)], name: &str) -> Vec<String> {
    let of = |rest: &String| {
        let (_, value) = rest.split_once(&format!("{name}=\""))?;
        Some(value.split_once('"')?.0.to_owned())
    };
    tags.iter().filter_map(|(_, rest)| of(rest)).collect()
}

/// Every page: tags close in order, ids are unique, links lead to a place on the page, nothing comes
/// from elsewhere, tables have captions.
fn check_markup(page: &str) {
    let tags = tags(page);
    let mut open = Vec::new();
    for (name, rest) in &tags {
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "in order"),
            None if ["br", "meta", "!doctype"].contains(&name.as_str()) || rest.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let ids = attributes(&tags, " id")
        .into_iter()
        .chain(attributes(&tags, "id"));
    let all: Vec<_> = tags
        .iter()
        .filter(|(_, rest)| rest.starts_with("id=\"") || rest.contains(" id=\""))
        .collect();
    let ids: BTreeSet<String> = ids.collect();
    assert_eq!(ids.len(), all.len(), "ids are unique");
    for link in attributes(&tags, "href") {
        let place = link.strip_prefix('#').expect("links stay on the page");
        assert!(ids.contains(place), "{place}");
    }
    for elsewhere in ["<script", "<link", "<img", "<iframe", "@import", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    for (name, rest) in &tags {
        // Without the quoted values only names of attributes are left.
        let names: String = rest.split('"').step_by(2).collect();
        for attribute in ["src=", "style=", "on"] {
            let mut own = names.split(' ');
            assert!(!own.any(|n| n.starts_with(attribute)), "{name} {rest}");
        }
    }
    let count = |tag: &str| tags.iter().filter(|(name, _)| name == tag).count();
    assert_eq!(count("table"), count("caption"));
    assert_eq!(count("h1"), 1, "one title");
}

#[tokio::test]
async fn i11_the_verdict_comes_first_with_its_labels() {
    let report = good().await;
    let page = page(&report);
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"));
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}"));
    let order = [
        "Verdict: Good",
        "<strong>INSECURE SIMULATION</strong>",
        "<strong>UNWITNESSED</strong>",
        "id=\"findings\"",
        "id=\"policies\"",
        "id=\"budgets\"",
        "id=\"runs\"",
        "id=\"proofs\"",
        "id=\"check\"",
    ]
    .map(at);
    assert!(order.is_sorted(), "{order:?}");
    assert!(!page.contains("SIMULATED WITNESSES"));
}

/// Everything that the report knows of policies, budgets, runs and proofs.
#[tokio::test]
async fn what_the_audit_knows_is_on_the_page() {
    let report = good().await;
    let page = page(&report);
    let policy = &report.policies[0];
    let run = &report.runs[0];
    for part in [
        &policy.sha256.to_string(),
        &policy.endorsed[0].endorser.to_string(),
        &policy.endorsed[0].digest.to_string(),
        "commit <code class=\"digest\">0123456789abcdef",
        "nobody learns whether its contributions are counted or taken as zero",
        "beyond (epsilon, delta) = (4, 0.000001)",
        "2023-11-14 22:13:20 UTC",
        "ρ = 0.000000090 of 0.000000095 is spent (94.7 %); δ₀: 18 of 50 units of 2⁻⁶⁴.",
        "was cancelled: its cost came back",
        "a policy set the total",
        "finished",
        "abandoned, nothing returned",
        "2 of 2",
        &run.run.to_string(),
        &run.releases[1].to_string(),
        &report.log.root.unwrap().to_string(),
        "— log.example.test ",
        "siegel audit siegel-runs/1 --anchors anchors.json",
        "<dt>I11</dt>",
        "A simulation says so",
    ] {
        let escaped = part.replace('"', "&#34;");
        assert!(page.contains(part) || page.contains(&escaped), "{part}");
    }
    assert!(is_page(page.as_bytes()));
    assert!(!is_page(&page.as_bytes()[1..]) && !is_page(b"<!doctype html>\n<html lang=\"en\">"));
}

fn contradiction(words: &str) -> Evidence {
    let note = |from: &str| SignedNote {
        from: format!("{from} {words}"),
        note: format!("log.example.test\n{words}\n"),
    };
    Evidence {
        finding: "log-rewritten".into(),
        message: words.into(),
        shown: note("the log"),
        other: note("an observer"),
    }
}

/// Catches a contradiction that is found and not shown with both of its notes.
#[tokio::test]
async fn i1_contradictions_are_shown_with_both_notes() {
    let mut report = good().await;
    assert!(!page(&report).contains("id=\"contradictions\""));
    report.log.known = Some(7);
    report.evidence = vec![contradiction("the log forked")];
    let page = page(&report);
    for part in [
        "<h3>the log forked</h3>",
        "<p>From the log the log forked</p>",
        "<p>From an observer the log forked</p>",
        "26 entries (7 at the last audit)",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(
        page.matches("<pre>log.example.test\nthe log forked\n</pre>")
            .count(),
        2
    );
}

/// I14. Catches one place where a stranger's text is written as it is.
#[tokio::test]
async fn i14_hostile_words_stay_words() {
    let mut report = good().await;
    report.log.witnesses = vec![WitnessReport {
        name: Witness::new(1).named.name,
        operator: "one".into(),
        cosigned_at: Some(NOW),
    }];
    report
        .findings
        .push(Finding::new(Severity::Error, "some-error", "I1", "wrong"));
    report.evidence = vec![contradiction("a fork")];
    let tame = tags(&page(&report));
    let evil = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;{{7*7}}\u{202e}";
    let evils = [
        evil.to_owned(),
        "</style></title></svg>".to_owned(),
        format!("{evil}\u{0}\u{1b}[2J\n\r"),
    ];
    for evil in evils {
        let mut report = report.clone();
        for policy in &mut report.policies {
            policy.name = evil.clone();
            policy.pipeline = evil.clone();
            policy.epsilon = evil.clone();
            policy.delta = evil.clone();
            policy.rules.name = evil.clone();
            policy.rules.log.origin = evil.clone();
            policy.rules.input.columns[0].name = evil.clone();
            policy.rules.public_counters = vec![evil.clone()];
            for endorsed in &mut policy.endorsed {
                if let Some(commit) = &mut endorsed.commit {
                    *commit = evil.clone();
                }
            }
        }
        for finding in &mut report.findings {
            (finding.id, finding.message) = (evil.clone(), evil.clone());
        }
        for budget in &mut report.budgets {
            budget.pipeline = evil.clone();
        }
        for run in &mut report.runs {
            run.pipeline = evil.clone();
        }
        report.evidence = vec![contradiction(&evil)];
        let log = &mut report.log;
        (log.origin, log.checkpoint) = (evil.clone(), Some(evil.clone()));
        (log.witnesses[0].name, log.witnesses[0].operator) = (evil.clone(), evil.clone());
        let page = render(&report, &evil).unwrap();
        let names = |tags: &[(String, String)]| -> Vec<String> {
            tags.iter().map(|(name, _)| name.clone()).collect()
        };
        check_markup(&page);
        // A row was added for the counters of each policy, and nothing else.
        let mut expected: Vec<_> = names(&tame);
        let got = names(&tags(&page));
        expected.extend(
            ["dt", "/dt", "dd", "/dd"]
                .repeat(report.policies.len())
                .iter()
                .map(|t| (*t).to_owned()),
        );
        let sorted = |mut list: Vec<String>| {
            list.sort();
            list
        };
        assert_eq!(sorted(got), sorted(expected));
        assert!(!page.contains(['\u{0}', '\u{1b}', '\u{202e}']));
    }
}

#[tokio::test]
async fn many_findings_are_all_there_worst_first() {
    let mut report = good().await;
    report.findings = (0..1000)
        .map(|n| {
            let severity = [Severity::Info, Severity::Error, Severity::Warning][n % 3];
            Finding::new(
                severity,
                "kind",
                ["I9", "I10", "nonsense"][n % 3],
                format!("finding number {n}."),
            )
        })
        .collect();
    report.verdict = siegel_audit::Verdict::NotTrustworthy;
    let page = page(&report);
    for n in 0..1000 {
        assert!(page.contains(&format!("finding number {n}.")), "{n}");
    }
    assert!(page.contains("Verdict: Not trustworthy") && page.contains("333 errors speak against"));
    let order =
        ["Errors (333)", "Warnings (333)", "Notes (334)"].map(|part| page.find(part).unwrap());
    assert!(order.is_sorted());
    let (nine, ten) = (page.find("<dt>I9</dt>"), page.find("<dt>I10</dt>"));
    assert!(nine.is_some() && nine < ten);
}

#[tokio::test]
async fn no_policy_and_many_policies() {
    let mut report = Scene::new().audit().await;
    let empty = page(&report);
    for said in [
        "The log is empty: there was nothing to audit.",
        "There is no policy in this log.",
        "there is no budget",
        "No run was registered",
    ] {
        assert!(empty.contains(said), "{said}");
    }
    let policy = good().await.policies.remove(0);
    for (count, listed) in [(200, 200), (600, 500)] {
        report.policies = (0..count)
            .map(|n: u32| {
                let mut policy = policy.clone();
                policy.sha256 = siegel_ident::PolicyDigest::of(&n.to_be_bytes());
                policy.name = format!("number-{n}");
                policy
            })
            .collect();
        let page = page(&report);
        assert_eq!(page.matches("<article").count(), listed);
        assert_eq!(page.contains("the first 500 of 600"), count == 600);
    }
}

/// I14. Catches a page that grows with a stranger's text.
#[tokio::test]
async fn i14_huge_words_are_cut() {
    let mut report = good().await;
    let huge = "x".repeat(1 << 20);
    report.policies[0].name = huge.clone();
    report.findings[0].message = huge.clone();
    report.log.checkpoint = Some(huge.clone());
    report.budgets[0].pipeline = huge;
    let page = page(&report);
    assert!(page.len() < 200_000, "{}", page.len());
    assert!(page.contains("more characters)"));
}

/// Catches an unverified log that looks like a good empty one.
#[tokio::test]
async fn a_log_without_a_checkpoint_says_so() {
    let mut report = good().await;
    (report.log.size, report.log.root, report.log.checkpoint) = (None, None, None);
    report.findings = vec![Finding::new(
        Severity::Error,
        "checkpoint-invalid",
        "I1",
        "no",
    )];
    report.verdict = siegel_audit::Verdict::NotTrustworthy;
    let page = page(&report);
    assert!(page.contains("no checkpoint that verifies") && page.contains("none that verifies"));
    assert!(page.contains("1 error speaks against trust"));
    assert!(!page.contains("<pre></pre>"));
}

/// Catches: numbers that are another's, and lists that do not say what they leave out.
#[tokio::test]
async fn numbers_are_those_of_the_report() {
    let mut report = good().await;
    let run = &mut report.runs[0];
    (run.committed, run.steps) = (3, 7);
    let release = run.releases[0];
    run.releases = vec![release; 8];
    let budget = &mut report.budgets[0];
    let mut paid = *budget
        .history
        .iter()
        .find(|point| point.run.is_some())
        .unwrap();
    budget.history = (0..30)
        .map(|n| {
            (paid.at.0, paid.spent.rho_nano.0) = (paid.at.0 + 1, n + 5);
            paid
        })
        .collect();
    report.findings = vec![Finding::new(Severity::Error, "many", "I1", "wrong")];
    report.grouped = vec![siegel_audit::FindingGroup {
        id: "many".into(),
        severity: Severity::Error,
        invariant: Some("I1".into()),
        count: 500,
        entries: vec![1, 2],
    }];
    report.verdict = siegel_audit::Verdict::NotTrustworthy;
    let page = page(&report);
    assert!(page.contains("3 of 7"));
    assert_eq!(page.matches(&release.to_string()).count(), 3);
    assert!(page.contains("5 more"), "of 8 releases");
    assert!(page.contains("10 earlier ones are not listed"));
    assert_eq!(page.matches(" was paid for").count(), 20);
    assert!(page.contains("went from ρ = 0.000000005 to 0.000000034"));
    assert!(page.contains("500 errors speak against"));
}

/// I3. Catches: an endorser shown beside what another one, or nobody, vouches for.
#[tokio::test]
async fn i3_who_vouches_is_shown_beside_what() {
    let mut report = good().await;
    report.policies.truncate(1);
    let policy = &mut report.policies[0];
    policy.rules.roles.worker = policy.rules.roles.root.clone();
    policy.endorsed.retain(|thing| thing.role == "root");
    policy.endorsed[0].role = "worker".into();
    let nobody = |report: &AuditReport| page(report).matches(">nobody<").count();
    assert_eq!(nobody(&report), 3, "key service, root, program");
    report.policies[0].endorsed[0].digest = siegel_ident::Digest::of(b"another");
    assert_eq!(nobody(&report), 4);
}

/// I1. Catches: a log that nobody else sees, without the label, whoever it is that asks for no witness.
#[tokio::test]
async fn i1_unwitnessed_is_a_label() {
    let mut report = good().await;
    let label = "<strong>UNWITNESSED</strong>";
    report.log.witnesses_required = 2;
    assert!(page(&report).contains(label), "the policies ask for none");
    for policy in &mut report.policies {
        policy.rules.log.witnesses = 2;
    }
    assert!(!page(&report).contains(label));
    report.log.witnesses_required = 0;
    assert!(page(&report).contains(label), "the auditor asked for none");
}
