//! Whom the operator talks to.

use rand_core::CryptoRng;
use siegel_ident::RequestId;
use siegel_keys::{Courier, KmsNode};
use siegel_link::depot::DepotClient;
use siegel_link::{Endpoint, Net};
use siegel_rekor::{LogClient, PolicySigner};

use crate::OperatorError;

/// The operator: connections, and the key that signs policies and programs.
pub struct Operator {
    pub(crate) net: Net,
    pub(crate) log: LogClient,
    pub(crate) courier: Courier,
    pub(crate) depot: DepotClient,
    pub(crate) root: Endpoint,
    pub(crate) signer: PolicySigner,
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
        let depot = DepotClient::new(net.channel(depot));
        Ok(Self {
            net: net.clone(),
            log,
            courier,
            depot,
            root: root.clone(),
            signer,
        })
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
