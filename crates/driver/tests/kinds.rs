//! I5: a driver that tries to do anything with client values but hand them to a DP intrinsic is
//! refused by the dry run. One test per attempt.

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{ASK, dry, with_step};
use siegel_driver::DriverError;
use siegel_program::{Kind, Shape};

/// The attempt is refused and names the kind and the line.
fn refused(attempt: &str) {
    let body = format!("x = 1\n{attempt}\nreturn {ASK}");
    match dry(&with_step(&body)) {
        Err(DriverError::Kind {
            kind: Kind::Client,
            line: Some(6),
            ..
        }) => {}
        Err(other) => panic!("{attempt}: refused for another reason: {other}"),
        Ok(_) => panic!("{attempt}: not refused"),
    }
}

macro_rules! attempts {
    ($($name:ident: $attempt:expr;)*) => {$(
        #[test]
        fn $name() { refused($attempt); }
    )*};
}

attempts! {
    print: "print(clients)";
    print_in_a_list: "print([1, clients])";
    str: "x = str(clients)";
    repr: "x = repr(clients)";
    percent: "x = '%s' % clients";
    format: "x = '{}'.format(clients)";
    join: "x = ''.join([clients])";
    fail: "fail(clients)";
    equal_to_itself: "x = clients == clients";
    equal_from_the_left: "x = 1 == clients";
    not_equal: "x = clients != None";
    less: "x = clients < 3";
    membership: "x = clients in [1]";
    membership_of: "x = 1 in clients";
    int: "x = int(clients)";
    float: "x = float(clients)";
    bool: "x = bool(clients)";
    list: "x = list(clients)";
    tuple: "x = tuple(clients)";
    dict: "x = dict(clients)";
    len: "x = len(clients)";
    hash: "x = hash(clients)";
    type_of: "x = type(clients)";
    dir: "x = dir(clients)";
    getattr: "x = getattr(clients, 'rows', 0)";
    attribute: "x = clients.rows";
    index: "x = clients[0]";
    slice: "x = clients[0:1]";
    iterate: "x = [c for c in clients]";
    for_loop: "for c in clients: pass";
    sorted: "x = sorted(clients)";
    minimum: "x = min(clients)";
    zip: "x = zip(clients, [1])";
    enumerate: "x = enumerate(clients)";
    key: "x = {clients: 1}";
    value: "x = {'a': clients}";
    add: "x = clients + 1";
    multiply: "x = 2 * clients";
    negate: "x = -clients";
    branch: "if clients: pass";
    ternary: "x = 1 if clients else 2";
    negation: "x = not clients";
    conjunction: "x = clients and 1";
    broadcast_by_alias: "x = clients";
    broadcast_by_helper: "x = (lambda v: v)(clients)";
    capture: "x = lambda: clients";
    release: "x = table('t', clients)";
    return_it: "return clients";
    keep_in_state: "return [clients]";
    as_parameter: "x = dp_histogram(clients, column = str(clients), vocabulary = 'w.txt', max_per_user = 1, share = 1)";
    as_params: "x = dp_clipped_sum(clients, at = clients)";
    initial_params: "x = initial(clients, seed = 1)";
    tensors: "x = tensors('t', clients, clients)";
    as_second_argument: "x = dp_histogram(1, clients)";
    named: "x = dp_histogram(clients = clients)";
    call: "x = clients()";
}

/// The text is not of the form that the check understands, or would escape it.
#[test]
fn rebinding_or_hiding_the_name_is_refused() {
    for body in [
        "clients = 1",
        "x, clients = 1, 2",
        "for clients in [1]: pass",
        "x = [clients for clients in [1]]",
        "x = lambda clients: 1",
        "def f(clients): return 1",
        "def f(*clients): return 1",
        "def clients(): return 1",
        "def dp_histogram(x, **kw): return str(x)",
        "dp_histogram = str",
        "x = lambda dp_histogram: 1",
        "x = [1 for dp_histogram in [1]]",
        "table = 1",
        "print = 1",
        "dp_clipped_sum = 1",
        "tensors = 1",
    ] {
        let text = with_step(&format!("{body}\nreturn {ASK}"));
        assert!(
            matches!(dry(&text), Err(DriverError::Form { line: Some(_), .. })),
            "{body}"
        );
    }
    // At the top, where the body of step would see it.
    for head in [
        "def dp_histogram(x, **kw):\n    return x\n",
        "dp_histogram = str\n",
    ] {
        let text = format!("{head}{}", with_step(&format!("return {ASK}")));
        assert!(
            matches!(dry(&text), Err(DriverError::Form { line: Some(1), .. })),
            "{head}"
        );
    }
    for head in [
        "step(state, n)",
        "step(*args)",
        "step(state, n, clients = 1)",
        "step(a, b, c, d)",
    ] {
        let text = with_step("return None").replace("step(state, n, clients)", head);
        assert!(
            matches!(dry(&text), Err(DriverError::Form { .. })),
            "{head}"
        );
    }
    let twice = format!("{0}{0}", "def step(state, n, clients):\n    return None\n");
    assert!(matches!(dry(&twice), Err(DriverError::Form { .. })));
}

#[test]
fn the_honest_use_is_accepted() {
    let plan = dry(&with_step(&format!("return {ASK}"))).unwrap().plan;
    assert_eq!(plan.steps[0].intrinsics.len(), 1);
    let release = plan.steps[0].release.as_ref().unwrap();
    assert_eq!(release.shape, Shape::Table { rows: 4 });
}

/// I5 for private values: they may be released, indexed and compared, and nothing else for now.
#[test]
fn private_values_are_not_shown_converted_or_hashed() {
    for attempt in [
        "print(c)",
        "print([c])",
        "x = str(c)",
        "x = repr(c)",
        "x = '%s' % c",
        "x = '{}'.format(c)",
        "x = ','.join([str(v) for v in c])",
        "x = bool(c)",
        "x = 1 if c else 2",
        "x = {c: 1}",
        "x = c == c[0]",
        "x = 1 in [c]",
        "x = c < c",
        "x = c[0] == n",
        "x = {c[0]: 1}",
        "print(c[0])",
        "x = not c[0]",
        "x = c[0] and n",
        "x = c[0] < 'a'",
        "fail(c)",
        "fail('x', c[0])",
    ] {
        let text = with_step(&format!("c = {ASK}\n{attempt}\nreturn c"));
        match dry(&text) {
            Err(DriverError::Kind {
                kind: Kind::Private,
                ..
            }) => {}
            Err(other) => panic!("{attempt}: {other}"),
            Ok(_) => panic!("{attempt}: not refused"),
        }
    }
    for attempt in [
        "x = int(c[0])",
        "x = float(c[0])",
        "x = hash(c)",
        "x = c + 1",
        "x = c[0] + 1",
        "x = -c[0]",
        "x = c[9]",
    ] {
        let text = with_step(&format!("c = {ASK}\n{attempt}\nreturn c"));
        assert!(dry(&text).is_err(), "{attempt}");
    }
    for allowed in [
        "x = c[0] < 5",
        "x = c[0] > c[1]",
        "x = len(c)",
        "x = [v > 0 for v in c]",
        "x = max(c)",
    ] {
        let text = with_step(&format!("c = {ASK}\n{allowed}\nreturn c"));
        assert!(dry(&text).is_ok(), "{allowed}");
    }
}
