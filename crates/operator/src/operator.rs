//! Whom the operator talks to.

use std::time::Duration;

use rand_core::CryptoRng;
use siegel_ident::RequestId;
use siegel_keys::{Courier, KmsNode};
use siegel_link::depot::DepotClient;
use siegel_link::{Endpoint, Net};
use siegel_rekor::{LogClient, PolicySigner};
use siegel_translog::SpkiKey;

use crate::OperatorError;
use crate::proof::LogView;

/// How long depot and log are waited for while they are away: a restart takes a second or two (I8).
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How long a root is waited for, counted from the last news of the run.
const ROOT_PATIENCE: Duration = Duration::from_secs(60);

/// The operator: connections, and the key that signs policies and programs.
pub struct Operator {
    pub(crate) net: Net,
    pub(crate) log: LogClient,
    pub(crate) courier: Courier,
    pub(crate) depot: DepotClient,
    pub(crate) root: Endpoint,
    pub(crate) root_patience: Duration,
    pub(crate) signer: PolicySigner,
    pub(crate) view: Option<LogView>,
}

impl Operator {
    /// An operator of one deployment. Connects to nobody yet.
    ///
    /// # Errors
    /// [`OperatorError::Kms`] for an impossible list of nodes.
    pub fn new(
        net: &Net,
        log: LogClient,
        kms: &[KmsNode],
        depot: &Endpoint,
        root: &Endpoint,
        signer: PolicySigner,
    ) -> Result<Self, OperatorError> {
        let errand = "the list of key service nodes";
        let courier =
            Courier::new(net, kms).map_err(|source| OperatorError::Kms { errand, source })?;
        let depot = DepotClient::new(net.channel(depot)).with_patience(PATIENCE);
        Ok(Self {
            net: net.clone(),
            log: log.with_patience(PATIENCE),
            courier,
            depot,
            root: root.clone(),
            root_patience: ROOT_PATIENCE,
            signer,
            view: None,
        })
    }

    /// Waits for a root that is away no longer than this since the last news of the run.
    #[must_use]
    pub fn with_root_patience(mut self, patience: Duration) -> Self {
        self.root_patience = patience;
        self
    }

    /// The key that signs what this operator publishes.
    pub fn publisher(&self) -> SpkiKey {
        self.signer.key()
    }

    /// The log.
    pub fn log(&self) -> &LogClient {
        &self.log
    }

    /// The depot.
    pub fn depot(&self) -> &DepotClient {
        &self.depot
    }

    /// The public door of the key service.
    pub fn courier(&self) -> &Courier {
        &self.courier
    }

    /// A fresh request id. A retry of the same errand keeps it.
    pub(crate) fn request(&self) -> RequestId {
        siegel_keys::request_id(&mut rng())
    }
}

/// The system's randomness. It aborts the process if there is none, which is right for a command.
fn rng() -> impl CryptoRng {
    rand_core::UnwrapErr(getrandom::SysRng)
}
