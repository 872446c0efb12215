//! Whole runs: I6 (whole cost, compare-and-set), I7 (same bytes), I17 (sealed until opened).

use siegel_ident::{Budget, Digest};
use siegel_link::depot::ObjectKind;
use siegel_policy::RunParameters;
use siegel_program::{Plan, Table, input_root};
use siegel_wire::v1::run_event::Body;

use super::kms::RUN;
use super::setting::{DRIVER, Setting};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_registers_computes_seals_commits_and_finishes() {
    let setting = Setting::new(DRIVER, 300, 2, 9).await;
    let events = setting.run(setting.request()).await;
    let [
        Body::Registered(registered),
        Body::Step(one),
        Body::Step(two),
        Body::Finished(_),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (registered.blob_count, &registered.run_id[..]),
        (300, &RUN.to_vec()[..])
    );
    assert_eq!(
        registered.input_root,
        input_root(&setting.blobs).unwrap().to_vec()
    );
    assert_eq!((one.step, two.step), (1, 2));
    assert!(one.release.is_empty());
    assert_eq!(two.release_name, "words");

    let (register, commits) = {
        let seen = setting.kms.seen.lock().unwrap();
        assert!(seen.finished);
        (seen.registered[0].clone(), seen.commits.clone())
    };
    // I6: the whole cost is registered, each step pays its part, each commit names what was before.
    let parameters = RunParameters::parse(&register.parameters).unwrap();
    let total = setting.total().rho_nano.0;
    assert!(
        (total - 1..=total).contains(&parameters.total.rho_nano.0),
        "two halves, rounded down"
    );
    assert_eq!(commits.len(), 2);
    assert_eq!(commits[0].previous, setting.registration().to_vec());
    assert_eq!(commits[1].previous, commits[0].next);
    for (commit, step) in commits.iter().zip(&parameters.steps) {
        let cost: Budget = siegel_ident::json::from_canonical(&commit.cost, 1000).unwrap();
        assert_eq!(cost, *step);
        // What is committed can be fetched.
        let next = Digest::try_from_slice(&commit.next).unwrap();
        assert!(
            setting
                .depot
                .get(ObjectKind::Sealed, next, 1 << 20)
                .await
                .is_ok()
        );
    }
    assert_eq!(
        (&commits[1].next, &commits[1].release_digest),
        (&two.checkpoint, &two.release)
    );

    let csv = setting.release(&commits[1]).await;
    let table = Table::from_csv("words", std::str::from_utf8(&csv).unwrap()).unwrap();
    let truth = [("ant", 200), ("bee", 200), ("cow", 0), ("other", 200)];
    for (row, (label, truth)) in table.rows.iter().zip(truth) {
        assert_eq!(row.label, label);
        let off = (row.count - truth) as f64;
        assert!(off.abs() < 6.0 * row.standard_error, "{row:?}");
    }
    // I8: whatever is registered can be fetched by its digest: the plan, and the list of inputs.
    let inputs = Digest::try_from_slice(&register.inputs).unwrap();
    let listed = setting.depot.get(ObjectKind::Inputs, inputs, 1 << 20);
    let digests = setting.blobs.iter().flat_map(|blob| blob.to_vec());
    assert_eq!(listed.await.unwrap(), digests.collect::<Vec<_>>());
    let plan = setting
        .depot
        .get(ObjectKind::Plan, parameters.plan, 1 << 20);
    let plan = Plan::parse(&plan.await.unwrap()).unwrap();
    assert_eq!((plan.rounds, plan.total), (2, parameters.total));
    // A root can run again once it is free, but the pipeline's whole budget is spent (I6).
    let again = setting.fails(setting.request()).await;
    assert_eq!(again, "budget-exhausted");
}

// I7. Catches noise, order or bounding that depends on the workers; other noise keys differ.
#[tokio::test(flavor = "multi_thread")]
async fn the_table_is_the_same_bytes_for_any_number_of_workers() {
    let mut tables = Vec::new();
    for (workers, noise) in [(1, 9), (2, 9), (4, 9), (2, 8)] {
        let setting = Setting::new(DRIVER, 100, workers, noise).await;
        setting.run(setting.request()).await;
        let last = setting.kms.seen.lock().unwrap().commits.pop().unwrap();
        tables.push(setting.release(&last).await);
    }
    assert!(tables[0] == tables[1] && tables[1] == tables[2]);
    assert!(tables[0] != tables[3]);
}
