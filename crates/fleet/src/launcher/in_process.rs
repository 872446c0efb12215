//! Quotes for nodes that run inside the command. A warning finding of the audit: such a node is not
//! apart from anything.

use siegel_platform::{BoxFuture, PlatformError, QuoteSource};

use super::{Launcher, Measured};

/// Signs at once, without a socket.
pub struct InProcessQuotes {
    launcher: Launcher,
    measured: Measured,
}

impl InProcessQuotes {
    pub(super) fn new(launcher: Launcher, measured: Measured) -> Self {
        Self { launcher, measured }
    }
}

impl QuoteSource for InProcessQuotes {
    fn quote(&self, report_data: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        Box::pin(async move { Ok(self.launcher.attest(self.measured, report_data)) })
    }
}
