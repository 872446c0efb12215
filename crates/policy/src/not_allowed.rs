//! Why a request is beyond a policy, or a policy beyond a client's limits.

use siegel_attest::Profile;
use siegel_ident::{ClusterId, ConfigDigest, Delta, NanoRho, ProgramDigest, Seconds, Timestamp};

/// Why a request is beyond the policy, or a policy beyond a client's own limits.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAllowed {
    /// The program is not listed (I3).
    #[error("program {program} is not named by the policy (I3)")]
    Program {
        /// The program asked for.
        program: ProgramDigest,
    },
    /// Another key cluster than the policy's (I3).
    #[error("cluster {found} is not the policy's {expected} (I3)")]
    Cluster {
        /// The cluster at hand.
        found: ClusterId,
        /// The policy's.
        expected: ClusterId,
    },
    /// The cluster has another configuration than the policy's (I3).
    #[error("cluster configuration {found} is not the policy's {expected} (I3)")]
    ClusterConfig {
        /// The configuration at hand.
        found: ConfigDigest,
        /// The policy's.
        expected: ConfigDigest,
    },
    /// The cluster would admit members that the policy does not accept (I3).
    #[error("the cluster admits a peer measurement that the policy does not accept (I3)")]
    Peers,
    /// The cluster is of another profile (I11).
    #[error("cluster is of profile {found}, the policy of {expected} (I11)")]
    ClusterProfile {
        /// Profile of the cluster.
        found: Profile,
        /// Profile of the policy.
        expected: Profile,
    },
    /// Another log than the policy's (I1).
    #[error("log origin {found:?} is not the policy's {expected:?} (I1)")]
    LogOrigin {
        /// The log at hand.
        found: String,
        /// The policy's.
        expected: String,
    },
    /// Fewer witnesses than the policy demands (I1).
    #[error("{found} witnesses are checked, the policy demands {expected} (I1)")]
    Witnesses {
        /// How many are checked.
        found: u32,
        /// How many the policy demands.
        expected: u32,
    },
    /// Before its first or after its last second (I9).
    #[error("the policy is in use from {not_before} until {not_after}, now is {now} (I9)")]
    Window {
        /// First second of use.
        not_before: Timestamp,
        /// First second of no use.
        not_after: Timestamp,
        /// Time of the check.
        now: Timestamp,
    },
    /// A KEM suite that the policy does not list.
    #[error("KEM suite {suite} is not allowed by the policy")]
    Suite {
        /// The suite at hand.
        suite: u16,
    },
    /// Too few uploads.
    #[error("{found} uploads are fewer than the {min} that the policy demands")]
    TooFewBlobs {
        /// How many there are.
        found: u64,
        /// How many the policy demands.
        min: u64,
    },
    /// More ρ than the client allows (I1).
    #[error("the policy may spend rho = {found}, this client's limit is {limit} (I1)")]
    LimitRho {
        /// The policy's total.
        found: NanoRho,
        /// The client's limit.
        limit: NanoRho,
    },
    /// More δ₀ than the client allows (I1).
    #[error("the policy may spend delta0 = {} * 2^-64, this client's limit is {} (I1)", .found.0, .limit.0)]
    LimitDelta0 {
        /// The policy's total.
        found: Delta,
        /// The client's limit.
        limit: Delta,
    },
    /// Keys live longer than the client allows (I1).
    #[error("keys live {found}, this client's limit is {limit} (I1)")]
    LimitKeyTtl {
        /// The policy's TTL.
        found: Seconds,
        /// The client's limit.
        limit: Seconds,
    },
    /// A pipeline that the client does not take part in (I1).
    #[error("pipeline {pipeline:?} is not one that this client takes part in (I1)")]
    LimitPipeline {
        /// The policy's pipeline.
        pipeline: String,
    },
    /// A profile that the client does not accept (I1, I11).
    #[error("profile {profile} is not accepted by this client (I1)")]
    LimitProfile {
        /// The policy's profile.
        profile: Profile,
    },
}

impl NotAllowed {
    /// A stable kebab-case code for the wire.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Program { .. } => "policy-program",
            Self::Cluster { .. } => "policy-cluster",
            Self::ClusterConfig { .. } => "policy-cluster-config",
            Self::Peers => "policy-peers",
            Self::ClusterProfile { .. } => "policy-cluster-profile",
            Self::LogOrigin { .. } => "policy-log-origin",
            Self::Witnesses { .. } => "policy-witnesses",
            Self::Window { .. } => "policy-window",
            Self::Suite { .. } => "policy-suite",
            Self::TooFewBlobs { .. } => "policy-too-few-blobs",
            Self::LimitRho { .. } => "limit-rho",
            Self::LimitDelta0 { .. } => "limit-delta0",
            Self::LimitKeyTtl { .. } => "limit-key-ttl",
            Self::LimitPipeline { .. } => "limit-pipeline",
            Self::LimitProfile { .. } => "limit-profile",
        }
    }

    /// The invariant that it upholds; empty if none.
    pub const fn invariant(&self) -> &'static str {
        match self {
            Self::Program { .. } | Self::Cluster { .. } | Self::ClusterConfig { .. } => "I3",
            Self::Peers => "I3",
            Self::ClusterProfile { .. } => "I11",
            Self::Window { .. } => "I9",
            Self::Suite { .. } | Self::TooFewBlobs { .. } => "",
            _ => "I1",
        }
    }
}
