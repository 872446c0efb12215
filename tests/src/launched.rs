//! One node binary under a launcher that asks nothing: it passes any configuration on and signs any
//! evidence, so that the node's own refusals show.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use siegel_attest::simulated::{Attester, measurement};
use siegel_ident::{ConfigDigest, Digest, Measurement, Timestamp};
use siegel_platform::socket::{read_message, write_message};
use siegel_wire::v1::{self, from_launcher, to_launcher};

/// Longest that a node may be silent.
const SILENCE: Duration = Duration::from_secs(60);

/// What a node said last.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// It serves, there.
    Ready(String),
    /// It gives up, with this reason.
    Failed(String),
    /// It ended without a word.
    Nothing,
}

/// A node process. Dropping it ends and reaps it.
pub struct Launched {
    child: Child,
    socket: UnixStream,
    attester: Attester,
    measurement: Measurement,
    config: ConfigDigest,
    now: Timestamp,
}

/// Measured as a launcher would: no argument but the name, no environment.
pub fn measured(binary: &Path) -> Measurement {
    let digest = Digest::of(&std::fs::read(binary).expect("a binary"));
    measurement(digest, &[name(binary)], &[])
}

fn name(binary: &Path) -> &str {
    let name = binary.file_name().and_then(|name| name.to_str());
    name.expect("a file name")
}

impl Launched {
    /// Starts `binary`. `config` is the digest that stands in its evidence.
    pub fn start(
        binary: &Path,
        start: v1::Start,
        config: ConfigDigest,
        attester: Attester,
        now: Timestamp,
    ) -> Self {
        let (socket, theirs) = UnixStream::pair().expect("a socket");
        socket.set_read_timeout(Some(SILENCE)).expect("a timeout");
        let child = Command::new(binary)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let body = Some(from_launcher::Body::Start(start));
        write_message(&socket, &v1::FromLauncher { body }).expect("a start message");
        Self {
            child,
            socket,
            attester,
            measurement: measured(binary),
            config,
            now,
        }
    }

    /// Signs evidence until the node serves or gives up. After `Ready` it may be called again.
    pub fn heard(&mut self) -> Said {
        loop {
            let message = match read_message::<v1::ToLauncher>(&self.socket) {
                Ok(Some(v1::ToLauncher { body: Some(body) })) => body,
                Ok(_) => return Said::Nothing,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Said::Nothing,
                Err(error) => panic!("the node is silent: {error}"),
            };
            match message {
                to_launcher::Body::Ready(ready) => return Said::Ready(ready.address),
                to_launcher::Body::Failed(failed) => return Said::Failed(failed.message),
                to_launcher::Body::QuoteRequest(request) => {
                    let data = request.report_data.try_into().expect("64 bytes");
                    let (measured, config) = (self.measurement, self.config);
                    let evidence = self.attester.attest(measured, config, data, self.now);
                    let body = Some(from_launcher::Body::Quote(v1::Quote { evidence }));
                    // A node that has just ended hears nothing any more.
                    let _ = write_message(&self.socket, &v1::FromLauncher { body });
                }
            }
        }
    }

    /// A handle that closes the socket from another thread; the node ends by that.
    pub fn closer(&self) -> impl FnOnce() + use<> {
        let socket = self.socket.try_clone().expect("a descriptor");
        move || {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Waits for its end; its exit code.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().expect("an end").code()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
