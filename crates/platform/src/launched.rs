//! The child's end of the launcher's socket. It is standard input: the number of descriptors that a
//! measured process inherits stays at three, and no argument has to name it.

use std::collections::VecDeque;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use siegel_wire::v1::{self, from_launcher, to_launcher};
use tokio::sync::oneshot;

use crate::socket::{read_message, write_message};
use crate::{BoxFuture, Platform, PlatformError, QuoteSource, SystemClock};

/// A process that was started by a launcher.
pub struct Launched {
    /// What it stands on.
    pub platform: Platform,
    socket: Arc<Socket>,
}

impl Launched {
    /// Tells the launcher why this process gives up. A launcher that is gone hears nothing.
    pub fn failed(&self, message: &str) {
        let _ = self.socket.send(to_launcher::Body::Failed(v1::Failed {
            message: message.into(),
        }));
    }
}

/// Takes the start message from standard input. From then on the process exits with code 0 as soon
/// as the launcher closes the socket or dies: no node outlives its run.
pub fn launched() -> Result<Launched, PlatformError> {
    let stdin = std::io::stdin();
    let descriptor =
        stdin
            .as_fd()
            .try_clone_to_owned()
            .map_err(|source| PlatformError::Socket {
                doing: "taking standard input",
                source,
            })?;
    let stream = UnixStream::from(descriptor);
    // Fails with ENOTSOCK on a terminal, file or pipe.
    stream.local_addr().map_err(|_| PlatformError::NoLauncher)?;
    on_socket(stream, || std::process::exit(0))
}

/// The same over any socket; `closed` runs on the reading thread when the other side is gone.
pub fn on_socket(
    stream: UnixStream,
    closed: impl FnOnce() + Send + 'static,
) -> Result<Launched, PlatformError> {
    let io = |doing| move |source| PlatformError::Socket { doing, source };
    let mut reader = stream.try_clone().map_err(io("copying the descriptor"))?;
    let first: v1::FromLauncher = read_message(&mut reader)
        .map_err(io("waiting for the start message"))?
        .ok_or_else(|| PlatformError::Protocol("closed before the start message".into()))?;
    let Some(from_launcher::Body::Start(start)) = first.body else {
        return Err(PlatformError::Protocol(
            "the first message is not Start".into(),
        ));
    };
    let socket = Arc::new(Socket {
        state: Mutex::new(State {
            stream,
            waiting: VecDeque::new(),
        }),
    });
    let for_reader = Arc::clone(&socket);
    // A thread of its own: it must notice the end even while every task is busy computing.
    std::thread::Builder::new()
        .name("launcher-socket".into())
        .spawn(move || {
            for_reader.answers(&mut reader);
            closed();
        })
        .map_err(io("starting the reading thread"))?;
    let for_ready = Arc::clone(&socket);
    let platform = Platform::new(
        Arc::new(SystemClock),
        Arc::clone(&socket) as Arc<dyn QuoteSource>,
        start.into(),
        move |address| {
            let _ = for_ready.send(to_launcher::Body::Ready(v1::Ready { address }));
        },
    );
    Ok(Launched { platform, socket })
}

struct Socket {
    state: Mutex<State>,
}

struct State {
    stream: UnixStream,
    /// Quotes asked for and not answered; the launcher answers in order.
    waiting: VecDeque<oneshot::Sender<Vec<u8>>>,
}

impl Socket {
    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, body: to_launcher::Body) -> std::io::Result<()> {
        write_message(&self.locked().stream, &v1::ToLauncher { body: Some(body) })
    }

    /// Asks and queues under one lock, so that the order of answers is the order of questions.
    /// Blocking is fine: the message is 70 bytes and the launcher has a thread that reads it.
    fn ask(&self, report_data: [u8; 64]) -> Result<oneshot::Receiver<Vec<u8>>, PlatformError> {
        let (sender, receiver) = oneshot::channel();
        let request = v1::QuoteRequest {
            report_data: report_data.to_vec(),
        };
        let message = v1::ToLauncher {
            body: Some(to_launcher::Body::QuoteRequest(request)),
        };
        let mut state = self.locked();
        write_message(&state.stream, &message).map_err(|source| PlatformError::Socket {
            doing: "asking for a quote",
            source,
        })?;
        state.waiting.push_back(sender);
        Ok(receiver)
    }

    /// Hands out answers until the launcher is gone.
    fn answers(&self, reader: &mut UnixStream) {
        while let Ok(Some(v1::FromLauncher {
            body: Some(from_launcher::Body::Quote(quote)),
        })) = read_message::<v1::FromLauncher>(&mut *reader)
        {
            let Some(waiting) = self.locked().waiting.pop_front() else {
                break;
            };
            let _ = waiting.send(quote.evidence);
        }
        self.locked().waiting.clear();
    }
}

impl QuoteSource for Socket {
    fn quote(&self, report_data: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        Box::pin(async move {
            let evidence = self
                .ask(report_data)?
                .await
                .map_err(|_| PlatformError::NoQuote("the launcher is gone".into()))?;
            if evidence.is_empty() {
                return Err(PlatformError::NoQuote(
                    "the launcher refused to attest".into(),
                ));
            }
            Ok(evidence)
        })
    }
}

#[cfg(test)]
mod tests;
