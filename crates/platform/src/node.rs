//! The platform of one node, and the `main` of its binary.

use std::fmt::Display;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;

use siegel_ident::Timestamp;

use crate::{Clock, OsRng, PlatformError, QuoteSource, StartInfo, launched};

/// Everything that a node has from outside. Cheap to clone.
#[derive(Clone)]
pub struct Platform {
    /// The host's clock.
    pub clock: Arc<dyn Clock>,
    /// The TEE, or the launcher in its place.
    pub quoter: Arc<dyn QuoteSource>,
    /// Configuration and placement.
    pub start: Arc<StartInfo>,
    ready: Arc<dyn Fn(String) + Send + Sync>,
}

impl Platform {
    /// A platform by hand, for in-process mode and tests. `ready` gets the endpoint that the node
    /// really listens on.
    pub fn new(
        clock: Arc<dyn Clock>,
        quoter: Arc<dyn QuoteSource>,
        start: StartInfo,
        ready: impl Fn(String) + Send + Sync + 'static,
    ) -> Self {
        Self {
            clock,
            quoter,
            start: Arc::new(start),
            ready: Arc::new(ready),
        }
    }

    /// The time, seconds since 1970.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Evidence over these 64 bytes.
    pub async fn quote(&self, report_data: [u8; 64]) -> Result<Vec<u8>, PlatformError> {
        self.quoter.quote(report_data).await
    }

    /// A generator over the operating system's randomness.
    pub fn rng(&self) -> OsRng {
        crate::rng::os_rng()
    }

    /// Call once, when the node accepts connections: tells whoever started it where it listens.
    pub fn ready(&self, endpoint: impl Display) {
        (self.ready)(endpoint.to_string());
    }
}

/// The `main` of a measured binary: checks the processor, switches core dumps off, takes the start
/// message from standard input, opens the log, and serves until the launcher closes the socket.
///
/// `name` stands in every log line. Exit codes: 0 the launcher ended us, 1 `serve` failed (told to
/// the launcher too), 2 not started by a launcher, 4 this machine cannot.
pub fn run_node<F, S, E>(name: &'static str, serve: F) -> ExitCode
where
    F: FnOnce(Platform) -> S,
    S: Future<Output = Result<(), E>>,
    E: Display,
{
    let launched = match begin(name) {
        Ok(launched) => launched,
        Err(error) => {
            eprintln!("{name}: {error}");
            return ExitCode::from(match error {
                PlatformError::NoLauncher => 2,
                PlatformError::Cpu { .. } => 4,
                _ => 1,
            });
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&launched, name, &format!("cannot start threads: {error}")),
    };
    match runtime.block_on(serve(launched.platform.clone())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&launched, name, &format!("{error:#}")),
    }
}

fn begin(name: &'static str) -> Result<launched::Launched, PlatformError> {
    crate::cpu::check()?;
    crate::harden::no_core_dumps()?;
    crate::rng::check()?;
    let launched = launched::launched()?;
    let start = &launched.platform.start;
    if let Err(error) = crate::logging::init(start.log_file.as_deref(), name, start) {
        launched.failed(&error.to_string());
        return Err(error);
    }
    crate::harden::quiet_panics();
    Ok(launched)
}

fn fail(launched: &launched::Launched, name: &str, message: &str) -> ExitCode {
    tracing::error!(message, "the node stops");
    launched.failed(message);
    eprintln!("{name}: {message}");
    ExitCode::FAILURE
}
