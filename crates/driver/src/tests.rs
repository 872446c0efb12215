//! I5, the second and third layer: without the check of the text, the handle itself refuses.

use std::collections::BTreeMap;

use siegel_ident::{Budget, Delta, NanoRho};
use siegel_program::{Bundle, Kind};

use crate::{Driver, DriverError, Public};

const ASK: &str =
    r#"dp_histogram(clients, column = "words", vocabulary = "w.txt", max_per_user = 2, share = 1)"#;

fn unchecked(attempt: &str) -> Result<(), DriverError> {
    let text = format!(
        "def init(public):\n    return None\n\n\
         def step(state, n, clients):\n    {attempt}\n    return {ASK}\n\n\
         def finish(state):\n    return table('t', state)\n"
    );
    let assets = [("w.txt".to_owned(), "ant\nbee\n".to_owned())].into();
    let budget = Budget {
        rho_nano: NanoRho(90_000_000),
        delta0: Delta(0),
    };
    let public = Public {
        params: BTreeMap::new(),
        blob_count: 9,
        budget,
    };
    let bundle = Bundle::new("t", text, assets).unwrap();
    Driver::parse(&bundle)?.dry_run(&public).map(|_| ())
}

// Catches a hook of the handle that answers instead of refusing.
#[test]
fn the_handle_answers_no_question() {
    for attempt in [
        "print(clients)",
        "x = str(clients)",
        "x = repr(clients)",
        "x = '%s' % clients",
        "x = '{}'.format(clients)",
        "print([{'a': clients}])",
        "x = clients == n",
        "x = clients != n",
        "x = clients < n",
        "x = clients > clients",
        "x = bool(clients)",
        "x = not clients",
        "x = 1 if clients else 2",
        "x = clients and n",
        "x = {clients: 1}",
        "x = len(clients)",
        "x = [c for c in clients]",
        "x = list(clients)",
        "x = clients[n]",
        "x = sorted([clients, clients])",
        "x = max(clients, n)",
        "x = table('t', clients)",
        "fail(clients)",
        "return clients",
        "return [n, {'a': clients}]",
        "x = 2 in [clients]",
    ] {
        match unchecked(attempt) {
            Err(DriverError::Kind {
                kind: Kind::Client, ..
            }) => {}
            Err(other) => panic!("{attempt}: {other}"),
            Ok(()) => panic!("{attempt}: not refused"),
        }
    }
    for attempt in [
        "x = clients + 1",
        "x = -clients",
        "x = clients.rows",
        "x = clients()",
        "x = int(clients)",
        "x = hash(clients)",
        "x = clients[0:1]",
        "x = n in clients",
        "x = ''.join([clients])",
    ] {
        assert!(unchecked(attempt).is_err(), "{attempt}");
    }
    assert!(unchecked("pass").is_ok());
}
