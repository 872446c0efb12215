use super::*;

const BOUNDS: Bounds = Bounds {
    workers: 2,
    kms: 3,
    witnesses: 2,
    rounds: 20,
};

fn parse(options: &[&str]) -> Result<KillPlan, KillError> {
    KillPlan::parse(options, BOUNDS)
}

fn fault(option: &str) -> String {
    parse(&[option]).unwrap_err().to_string()
}

// Catches a form of DESIGN section 10 that is not read, or read as another one.
#[test]
fn every_role_and_both_moments_are_read() {
    let plan = parse(&[
        "root:step=1; worker#2:t=300ms",
        "kms#3:step=20;kms-leader:t=2s",
        "kms-follower:step=1;kms-follower:step=1;depot:t=0s;log:t=60m;witness#2:t=60m",
    ])
    .unwrap();
    let shown: Vec<String> = plan.kills().iter().map(ToString::to_string).collect();
    let expected = [
        "root:step=1",
        "worker#2:t=300ms",
        "kms#3:step=20",
        "kms-leader:t=2s",
        "kms-follower:step=1",
        "kms-follower:step=1",
        "depot:t=0ms",
        "log:t=60m",
        "witness#2:t=60m",
    ];
    assert_eq!(shown, expected);
    let together = plan.after_step(Step(1));
    assert_eq!(together.len(), 3);
    assert!(!together[0].who.is_kms() && together[1].who.is_kms());
    assert!(plan.after_step(Step(2)).is_empty());
    let times: Vec<u128> = plan.timed().iter().map(|(t, _)| t.as_millis()).collect();
    assert_eq!(times, [0, 300, 2_000, 3_600_000]);
    assert!(parse(&[]).unwrap().is_empty());
    // Whoever wants to lose the quorum may.
    assert!(parse(&["kms#1:step=1;kms#2:step=1"]).is_ok());
}

// I14: catches a kill that is dropped in silence, or refused without saying what would be right.
#[test]
fn what_makes_no_sense_is_named_with_its_place() {
    let error = parse(&["root:step=1;log:t=1s", "wroker#1:step=1"]).unwrap_err();
    assert_eq!((error.at, error.item.as_str()), (3, "wroker#1:step=1"));
    let shown = error.to_string();
    assert!(
        shown.contains("\"wroker\"") && shown.contains("kms-follower"),
        "{shown}"
    );
    for (option, says) in [
        ("", "expected ROLE:step=N"),
        ("root", "expected ROLE:step=N"),
        ("root:step=1;", "expected ROLE:step=N"),
        ("worker:step=1", "worker#1 to worker#2"),
        ("kms:t=1s", "kms#1 to kms#3"),
        ("witness:t=1s", "witness#1 to witness#2"),
        ("witness#3:t=1s", "this run has witness#1 to witness#2"),
        ("worker#0:step=1", "no worker#0"),
        ("worker#3:step=1", "this run has worker#1 to worker#2"),
        ("kms#4:step=1", "this run has kms#1 to kms#3"),
        ("kms#+1:step=1", "no kms#+1"),
        ("root#1:step=1", "root takes no number"),
        ("kms-leader#1:step=1", "kms-leader takes no number"),
        ("root:step=0", "steps 1 to 20"),
        ("root:step=21", "steps 1 to 20"),
        ("root:step=one", "steps 1 to 20"),
        ("root:3", "step=N"),
        ("root:after=3", "step=N"),
        ("root:t=3", "300ms"),
        ("root:t=3h", "300ms"),
        ("root:t=61m", "300ms"),
        ("root:t=-1s", "300ms"),
        ("root:t=99999999999999999999s", "300ms"),
        ("root:step=1;root:step=1", "twice"),
        (
            "kms-follower:t=1s;kms-follower:t=1s;kms-follower:t=1s",
            "only 2 followers",
        ),
    ] {
        let shown = fault(option);
        assert!(shown.contains(says), "{option}: {shown}");
    }
}
