//! Evidence to Appraisal: who is allowed to be what.
//!
//! A measured process proves what it is by *evidence*; [`appraise`] checks it against *reference
//! values* and against a [`Binding`] that ties it to the process's keys. The result, an
//! [`Appraisal`], has no public constructor: holding one means that the check was made (I3).
//!
//! See `OVERVIEW.md` for the picture.

mod appraisal;
mod binding;
mod cluster;
mod document;
mod evidence;
mod genesis;
pub mod hardware;
mod hex_option;
mod key_bundle;
mod key_offer;
mod kinds;
mod reference_value;
mod refusal;
#[cfg(feature = "simulation")]
pub mod simulated;

pub use appraisal::{Appraisal, CLOCK_SKEW, Context, TrustAnchors, appraise};
pub use binding::{Binding, CHALLENGE_LEN, KEM_KEY_MAX, REPORT_DATA_LEN, Role};
pub use cluster::{ClusterConfig, RootConfig, root_config, worker_config};
pub use document::DocumentError;
pub use evidence::{EVIDENCE_MAX, claimed_time};
pub use genesis::{CLUSTER_KEY_LEN, Genesis};
pub use key_bundle::KeyBundle;
pub use key_offer::KeyOffer;
pub use kinds::{Profile, TeeKind};
pub use reference_value::{ListedRule, OpenField, ReferenceId, ReferenceValue, Simulated};
pub use refusal::Refusal;
