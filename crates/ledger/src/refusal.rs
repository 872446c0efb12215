//! Why a request was refused. All of it is public: nothing here comes from plaintext (I12).

mod bounds;
mod codes;

use serde::{Deserialize, Serialize};
use siegel_attest::Profile;
use siegel_ident::{
    Budget, EpochId, Fencing, NodeId, PolicyDigest, ProgramDigest, RunId, Step, Timestamp,
};

use crate::query::RunPhase;

pub(crate) use bounds::{bounded, detail};

/// A refusal. It is part of the replicated state (a retry gets the same one), so its texts are
/// computed the same on every replica.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Refusal {
    /// A field over its bound, or a number that canonical JSON cannot hold.
    #[error("{field} is {value}, at most {max} is allowed")]
    OutOfBounds {
        /// Which field.
        field: String,
        /// Its value or length.
        value: u64,
        /// The bound.
        max: u64,
    },
    /// The table for this kind of thing is full.
    #[error("the cluster keeps at most {max} {what}; start a new cluster or wait for expiry")]
    Full {
        /// Of what.
        what: String,
        /// How many.
        max: u64,
    },
    /// Evidence that rests on an older statement of the vendor than one that was shown before.
    #[error(
        "the evidence rests on {what} {found}, and {least} was shown before (I3): give the host newer collateral \
         or revocation lists, and attest again"
    )]
    RolledBack {
        /// The statement.
        what: String,
        /// What it rests on.
        found: u64,
        /// The least that is accepted now.
        least: u64,
    },
    /// One request id for two different requests.
    #[error("request id was used for another request; choose a fresh random one")]
    RequestIdReused {},
    /// The ledger could not write the receipt; nothing was done.
    #[error("receipt could not be written: {detail}; report this as a bug")]
    NoReceipt {
        /// What the encoder said.
        detail: String,
    },

    /// The policy does not parse.
    #[error("policy refused: {detail}")]
    BadPolicy {
        /// What the parser said.
        detail: String,
    },
    /// The log proof does not hold under the genesis' anchors.
    #[error("log proof refused: {detail}")]
    BadProof {
        /// What the verifier said.
        detail: String,
    },
    /// The policy is for another profile (I11).
    #[error("policy has profile {found}, this cluster has {expected}")]
    ProfileMismatch {
        /// Of the policy.
        found: Profile,
        /// Of the genesis.
        expected: Profile,
    },
    /// The policy is written for another cluster, configuration, peer set or log.
    #[error("policy is not for this cluster: {detail}")]
    PolicyMismatch {
        /// What does not fit.
        detail: String,
    },
    /// Before `not_before`, or from `not_after` on.
    #[error("policy is valid from {not_before} until {not_after}, the cluster's clock is {clock}")]
    OutsideWindow {
        /// First second.
        not_before: Timestamp,
        /// First second after.
        not_after: Timestamp,
        /// The replicated clock.
        clock: Timestamp,
    },
    /// The policy does not follow the pipeline's current one.
    #[error(
        "policy names predecessor {found:?}, the current policy of its pipeline is {expected:?}"
    )]
    WrongPredecessor {
        /// In the policy.
        found: Option<PolicyDigest>,
        /// In the ledger.
        expected: Option<PolicyDigest>,
    },
    /// A new version wants more than the version before (I6).
    #[error(
        "policy raises the pipeline's total from rho = {}, delta0 = {} to rho = {}, delta0 = {}; it may only lower it",
        .current.rho_nano, .current.delta0.0, .asked.rho_nano, .asked.delta0.0
    )]
    BudgetRaised {
        /// The pipeline's total.
        current: Budget,
        /// The policy's total.
        asked: Budget,
    },
    /// An endorsement is none, or is not proved under the genesis' anchors.
    #[error("endorsement {at} (counted from 0) refused: {detail}")]
    BadEndorsement {
        /// Which of those that came with the policy.
        at: u64,
        /// What the verifier said.
        detail: String,
    },
    /// The policy names no endorser, so that nothing would hold it to them.
    #[error(
        "the policy demands no endorsements; leave them out, or name endorsers in a new version"
    )]
    EndorsementsNotDemanded {},
    /// A binary that the policy lets in is not endorsed in its role by one of its endorsers (I3).
    #[error("{detail}; register the policy with an endorsement of it")]
    BinaryNotEndorsed {
        /// Which, and who has endorsed it instead.
        detail: String,
    },
    /// The same of a program (I3).
    #[error("{detail}; register the policy with an endorsement of it")]
    ProgramNotEndorsed {
        /// Which, and who has endorsed it instead.
        detail: String,
    },
    /// It is endorsed as a build of the other flavour (I11).
    #[error("{detail}; build and endorse it for the policy's profile")]
    EndorsedOtherFlavour {
        /// Which.
        detail: String,
    },
    /// No endorsement of something that the policy lets in holds at this time (I9).
    #[error("{detail}; register the policy, or a successor of it, with endorsements that hold")]
    EndorsementExpired {
        /// Which, or since when.
        detail: String,
    },

    /// Nobody registered it.
    #[error("policy {policy} is not registered; register it with its log proof first")]
    UnknownPolicy {
        /// The policy.
        policy: PolicyDigest,
    },
    /// A newer version of the pipeline's policy is registered.
    #[error("policy {policy} was replaced by {current}")]
    PolicySuperseded {
        /// The policy.
        policy: PolicyDigest,
        /// The current one.
        current: PolicyDigest,
    },

    /// Not a live epoch of this cluster.
    #[error("epoch {epoch} was never opened here")]
    UnknownEpoch {
        /// The epoch.
        epoch: EpochId,
    },
    /// Its TTL is over and its keys are erased (I9).
    #[error("epoch {epoch} has expired and its keys are erased")]
    EpochExpired {
        /// The epoch.
        epoch: EpochId,
    },
    /// The epoch belongs to another policy (I3).
    #[error("epoch {epoch} belongs to policy {owner}")]
    ForeignEpoch {
        /// The epoch.
        epoch: EpochId,
        /// Its policy.
        owner: PolicyDigest,
    },
    /// None, too many, twice the same, or not ascending.
    #[error("a run names 1 to {max} epochs in strictly ascending order")]
    BadEpochs {
        /// How many are allowed.
        max: u64,
    },

    /// The workload is not what the policy allows in this role (I3).
    #[error("{role} is not one that policy {policy} allows: its {field} is {found}")]
    WorkloadNotAllowed {
        /// The role asked for.
        role: String,
        /// The policy.
        policy: PolicyDigest,
        /// What does not fit: role, measurement, config, signing key.
        field: String,
        /// What it is.
        found: String,
    },
    /// The policy does not name the program (I3).
    #[error("program {program} is not one that policy {policy} names")]
    ProgramNotAllowed {
        /// The program.
        program: ProgramDigest,
        /// The policy.
        policy: PolicyDigest,
    },
    /// The parameters do not parse, or their total is not the sum of their steps.
    #[error("run parameters refused: {detail}")]
    BadParameters {
        /// What the parser said.
        detail: String,
    },
    /// In the past, or after the first of the run's epochs expires.
    #[error("deadline {deadline} must be after {clock} and at most {latest}")]
    BadDeadline {
        /// As asked.
        deadline: Timestamp,
        /// The replicated clock.
        clock: Timestamp,
        /// The first expiry of the epochs.
        latest: Timestamp,
    },
    /// Fewer blobs than the policy's minimum.
    #[error("run reads {count} blobs, the policy asks for at least {min}")]
    TooFewBlobs {
        /// In the run.
        count: u64,
        /// In the policy.
        min: u64,
    },
    /// Not enough is left in the pipeline (I6).
    #[error(
        "pipeline {pipeline:?} has rho = {}, delta0 = {} left; the run costs rho = {}, delta0 = {}",
        .left.rho_nano, .left.delta0.0, .asked.rho_nano, .asked.delta0.0
    )]
    BudgetExhausted {
        /// The pipeline.
        pipeline: String,
        /// What the run costs.
        asked: Budget,
        /// What is left.
        left: Budget,
    },
    /// Random values where a seed decides, or none where no seed does.
    #[error("run id and secret must be proposed exactly when the genesis has no seed")]
    FreshValues {},
    /// The run id is taken.
    #[error("run {run} exists already; propose a fresh random id")]
    RunExists {
        /// The run.
        run: RunId,
    },

    /// Nobody registered it, or it was over so long ago that it is forgotten.
    #[error("run {run} is not known here")]
    UnknownRun {
        /// The run.
        run: RunId,
    },
    /// No keys any more.
    #[error("run {run} is over ({phase}); it gives no keys and takes no steps")]
    RunOver {
        /// The run.
        run: RunId,
        /// How it ended.
        phase: RunPhase,
    },
    /// Its epochs' TTL is over; nothing of it opens any more (I9).
    #[error("run {run} expired with its epochs at {expires}; its keys are erased")]
    RunErased {
        /// The run.
        run: RunId,
        /// When.
        expires: Timestamp,
    },
    /// No root has its keys yet.
    #[error("run {run} has no root yet; a root must take it first")]
    RunNotTaken {
        /// The run.
        run: RunId,
    },
    /// A root has had its keys: there is no refund any more (I6).
    #[error("run {run} has given its keys to a root; abandon it, nothing is returned")]
    RunHasKeys {
        /// The run.
        run: RunId,
    },
    /// Another root incarnation has taken the run since.
    #[error("fencing number {found} is not the run's present one, {current}; take the run again")]
    StaleFencing {
        /// As sent.
        found: Fencing,
        /// In the ledger.
        current: Fencing,
    },
    /// The key is not that of the run's root, or not of one of its workers.
    #[error("the asking {role} is not the one that run {run} gave its keys to")]
    NotTheHolder {
        /// The run.
        run: RunId,
        /// Root or worker.
        role: String,
    },
    /// Not the next step, or a second, different result of a committed one (I6).
    #[error("step {found} cannot be committed, the next one is {next} of {planned}")]
    WrongStep {
        /// As sent.
        found: Step,
        /// The next one.
        next: Step,
        /// How many are planned.
        planned: u64,
    },
    /// The step starts from another state than the one committed.
    #[error("step {step} does not start from the committed state; restore the checkpoint")]
    WrongPrevious {
        /// The step.
        step: Step,
    },
    /// The cost is not the one planned for the step.
    #[error(
        "step {step} was allotted rho = {}, delta0 = {}, not rho = {}, delta0 = {}",
        .planned.rho_nano, .planned.delta0.0, .found.rho_nano, .found.delta0.0
    )]
    WrongCost {
        /// The step.
        step: Step,
        /// As sent.
        found: Budget,
        /// In the allotment.
        planned: Budget,
    },
    /// Planned steps are missing.
    #[error("run {run} has committed {done} of {planned} steps; abandon it to end it early")]
    RunUnfinished {
        /// The run.
        run: RunId,
        /// Committed.
        done: Step,
        /// Planned.
        planned: u64,
    },

    /// The step is not committed, or released nothing.
    #[error("run {run} has no release of step {step}")]
    NoRelease {
        /// The run.
        run: RunId,
        /// The step.
        step: Step,
    },
    /// The policy gives its releases to others.
    #[error("the policy of run {run} does not give its releases to the public")]
    NotPublic {
        /// The run.
        run: RunId,
    },
    /// The proof does not show that the release's receipt is in the log.
    #[error("release stays closed until its receipt is in the log: {detail}")]
    ReceiptNotLogged {
        /// What the verifier said.
        detail: String,
    },
    /// The receipt's body is no longer kept.
    #[error("receipt {seq} is no longer kept; publish receipts sooner")]
    ReceiptForgotten {
        /// Its number.
        seq: u64,
    },

    /// The process is not what genesis lets in (I10).
    #[error("this process may not be a member: its {field} is {found}")]
    PeerNotAllowed {
        /// What does not fit: measurement, config, cluster, signing key.
        field: String,
        /// What it is.
        found: String,
    },
    /// The cluster was founded without such a place (I10).
    #[error("the cluster has no place {place}; the number of its voters is fixed at birth")]
    UnknownPlace {
        /// As asked.
        place: NodeId,
    },
    /// One at a time.
    #[error("member {member} is being admitted to place {place}; try again when that is over")]
    AdmissionPending {
        /// Its place.
        place: NodeId,
        /// Its id.
        member: NodeId,
    },
    /// Somebody else holds the place than the one found dead.
    #[error("place {place} is held by member {member}, not {found}; look again")]
    MemberChanged {
        /// The place.
        place: NodeId,
        /// Who holds it.
        member: NodeId,
        /// In the request.
        found: NodeId,
    },
    /// It is over, or past the point of no return.
    #[error("no admission of member {member} is open")]
    NoAdmission {
        /// The id.
        member: NodeId,
    },
}
