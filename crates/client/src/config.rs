//! A device's own configuration. All trust starts here; nothing that is fetched can change it (I1).

use serde::{Deserialize, Serialize};
use siegel_attest::TrustAnchors;
use siegel_ident::{Budget, KeyDigest};
use siegel_policy::ClientLimits;
use siegel_translog::{LogAnchors, MirrorQuorum};

/// Anchors and limits of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// The log: origin, key, witnesses.
    pub log: LogAnchors,
    /// Who must keep a policy's bytes besides the log's own archive, and for how long already.
    #[serde(default = "MirrorQuorum::none")]
    pub mirrors: MirrorQuorum,
    /// Roots of the TEE vendors.
    pub trust: TrustAnchors,
    /// Whose endorsements of binaries and programs it believes. If there are any, it takes no policy
    /// that the voice of another key would satisfy. Empty: it leaves that to the policy.
    pub endorsers: Vec<KeyDigest>,
    /// What it puts up with from one policy.
    pub limits: ClientLimits,
    /// What it spends in all, over every policy, pipeline, epoch and cluster.
    pub device_cap: Budget,
}
