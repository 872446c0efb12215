use std::sync::mpsc;
use std::time::Duration;

use siegel_ident::NodeId;

use super::*;
use crate::{Peer, StartInfo};

fn started(info: &StartInfo) -> (UnixStream, Launched, mpsc::Receiver<()>) {
    let (launcher, child) = UnixStream::pair().unwrap();
    let body = Some(from_launcher::Body::Start(info.into()));
    write_message(&launcher, &v1::FromLauncher { body }).unwrap();
    let (closed, has_closed) = mpsc::channel();
    let launched = on_socket(child, move || closed.send(()).unwrap()).unwrap();
    (launcher, launched, has_closed)
}

fn info() -> StartInfo {
    StartInfo {
        config: b"{}".to_vec(),
        listen: "127.0.0.1:0".into(),
        run_label: "run".into(),
        log_file: Some("x.log".into()),
        node: NodeId(2),
        founder: true,
        join: true,
        kms: vec![Peer {
            node: NodeId(1),
            address: "127.0.0.1:1".into(),
        }],
        workers: vec![Peer {
            node: NodeId(1),
            address: "127.0.0.1:2".into(),
        }],
        depot: "127.0.0.1:3".into(),
    }
}

fn next(launcher: &UnixStream) -> to_launcher::Body {
    read_message::<v1::ToLauncher>(launcher)
        .unwrap()
        .unwrap()
        .body
        .unwrap()
}

// Catches a placement field that is lost or swapped on the way.
#[tokio::test]
async fn start_ready_and_failed_arrive() {
    let (launcher, launched, _closed) = started(&info());
    assert_eq!(*launched.platform.start, info());
    launched.platform.ready("127.0.0.1:4");
    launched.failed("because");
    let address = "127.0.0.1:4".to_owned();
    assert_eq!(
        next(&launcher),
        to_launcher::Body::Ready(v1::Ready { address })
    );
    let message = "because".to_owned();
    assert_eq!(
        next(&launcher),
        to_launcher::Body::Failed(v1::Failed { message })
    );
}

// Catches answers that reach the wrong question, and a refusal taken for evidence.
#[tokio::test]
async fn quotes_are_answered_in_order() {
    let (launcher, launched, _closed) = started(&info());
    let answering = std::thread::spawn(move || {
        for _ in 0..3 {
            let to_launcher::Body::QuoteRequest(request) = next(&launcher) else {
                panic!()
            };
            let refused = request.report_data[0] == 2;
            let evidence = if refused {
                Vec::new()
            } else {
                request.report_data
            };
            let body = Some(from_launcher::Body::Quote(v1::Quote { evidence }));
            write_message(&launcher, &v1::FromLauncher { body }).unwrap();
        }
        launcher
    });
    let platform = &launched.platform;
    let (one, two, three) = tokio::join!(
        platform.quote([1; 64]),
        platform.quote([2; 64]),
        platform.quote([3; 64])
    );
    assert_eq!((one.unwrap(), three.unwrap()), (vec![1; 64], vec![3; 64]));
    assert!(matches!(two, Err(PlatformError::NoQuote(_))));
    drop(answering.join().unwrap());
}

// Catches an orphan: a node that lives on after its launcher, or a quote that waits for ever.
#[tokio::test]
async fn a_closed_socket_ends_everything() {
    let (launcher, launched, closed) = started(&info());
    let waiting = launched.platform.quote([1; 64]);
    let kill = async {
        tokio::task::yield_now().await;
        drop(launcher);
    };
    let (quote, ()) = tokio::join!(waiting, kill);
    assert!(quote.is_err());
    closed.recv_timeout(Duration::from_secs(10)).unwrap();
}

#[test]
fn the_first_message_must_be_start() {
    let (launcher, child) = UnixStream::pair().unwrap();
    let body = Some(from_launcher::Body::Quote(v1::Quote::default()));
    write_message(&launcher, &v1::FromLauncher { body }).unwrap();
    assert!(matches!(
        on_socket(child, || ()),
        Err(PlatformError::Protocol(_))
    ));
    let (launcher, child) = UnixStream::pair().unwrap();
    drop(launcher);
    assert!(matches!(
        on_socket(child, || ()),
        Err(PlatformError::Protocol(_))
    ));
}
