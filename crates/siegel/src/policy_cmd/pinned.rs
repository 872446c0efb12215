//! The log as the verifiers of a policy will look at it: `--anchors`, or `--log-key` for short.

use std::sync::Arc;
use std::time::Duration;

use siegel_ident::{Timestamp, hex_serde};
use siegel_operator::{LogView, OperatorError};
use siegel_policy::{Finding, Policy, Severity};
use siegel_rekor::{LogClient, RekorError};
use siegel_translog::{Bundle, LogAnchors, LoggedEntry, SpkiKey, predicate, verify_logged};

use super::publish::PublishArgs;
use crate::audit_cmd::read_anchors;
use crate::failure::{Exit, Failure};

/// The publisher's own anchors, if there are any. They must be those of the policy's log.
pub(super) fn anchors(args: &PublishArgs, policy: &Policy) -> Result<Option<LogAnchors>, Failure> {
    let key = args.log_key.as_deref().map(log_key).transpose()?;
    let Some(path) = &args.anchors else {
        return Ok(key.map(|key| LogAnchors::unwitnessed(&policy.log.origin, key)));
    };
    let at = path.display().to_string();
    let anchors = read_anchors(path)?.log;
    anchors.check().map_err(|why| {
        let help = "see `siegel audit --help`";
        Failure::usage("bad-anchors", &at, why, help).under("I1")
    })?;
    if key.is_some_and(|key| key != anchors.key) {
        let message = "--log-key is another key than that in --anchors";
        let help = "the anchors have the key: leave --log-key out, or find out which is right";
        return Err(Failure::usage("two-log-keys", &at, message, help).under("I1"));
    }
    if anchors.origin != policy.log.origin {
        let (ours, theirs) = (&anchors.origin, &policy.log.origin);
        let message = format!("the policy's log is {theirs:?}, the anchors are for {ours:?}");
        let help = "give the anchors of the policy's log";
        return Err(Failure::usage("other-log", &at, message, help).under("I1"));
    }
    Ok(Some(anchors))
}

fn log_key(text: &str) -> Result<[u8; 32], Failure> {
    hex_serde::decode_lower(text).ok_or_else(|| {
        let message = "expected 64 lower-case hex digits";
        let help = "`siegel serve log` says its key when it starts";
        Failure::usage("bad-log-key", "--log-key", message, help)
    })
}

/// What nobody has looked at: the whole proof, or the witnesses that the policy demands.
pub(super) fn unchecked(anchors: Option<&LogAnchors>, policy: &Policy) -> Option<Finding> {
    let Some(anchors) = anchors else {
        return Some(Finding::new(
            Severity::Warning,
            "proof-not-verified",
            "I1",
            "give the log's --anchors, or its key with --log-key, to have the proof verified here",
        ));
    };
    let (demanded, checked) = (policy.log.witnesses, anchors.witnesses.required);
    (checked < demanded).then(|| {
        Finding::new(
            Severity::Warning,
            "witnesses-not-checked",
            "I1",
            format!(
                "the policy demands {demanded} witnesses of its log, the proof was held against \
                 {checked}: give --anchors with the witnesses"
            ),
        )
    })
}

/// The proof as key service and devices will take it: the entry is sent again until the witnesses have
/// seen it, and then verified (I1).
pub(super) async fn witnessed(
    anchors: LogAnchors,
    log: &LogClient,
    bundle: Vec<u8>,
    (policy, signer): (&Policy, &SpkiKey),
    now: Timestamp,
    patience: Duration,
) -> Result<(Vec<u8>, LoggedEntry), Failure> {
    let view = LogView::new(anchors.clone(), Arc::new(move || now)).with_patience(patience);
    let index = Bundle::parse(&bundle).map(|bundle| bundle.entry.log_index);
    let index = index.map_err(|why| bad_proof(log.url(), why))?;
    let fresh = view.fresh(log, "waiting for the witnesses", bundle).await;
    let bundle = fresh.map_err(|why| match why {
        OperatorError::Log {
            source: RekorError::Proof(why),
            ..
        } => bad_proof(log.url(), why),
        why => {
            let code = match &why {
                OperatorError::Unwitnessed { .. } => "unwitnessed",
                _ => "log",
            };
            let mut help = again(index);
            if code == "unwitnessed" {
                help.push_str(
                    ". If that does not help, whoever runs the log sees in its messages why: witnesses that are \
                     away, or a log that is behind what they have cosigned",
                );
            }
            Failure::failed(code, log.url(), why, &help).under("I1")
        }
    })?;
    let (bytes, kind) = (policy.bytes(), predicate::POLICY);
    let entry = verify_logged(&bundle, bytes, kind, Some(signer), &anchors, now);
    let entry = entry.map_err(|why| bad_proof(log.url(), why))?;
    Ok((bundle, entry))
}

/// What stands where, and what to do.
fn again(index: u64) -> String {
    format!(
        "the policy is entry {index} of the log, and its bytes are in the archive; no file was written. Run \
         the same command again later: one more entry about the same policy does no harm"
    )
}

/// The log has answered something that is no proof.
pub(super) fn bad_proof(at: &str, why: impl ToString) -> Failure {
    let help = "the log's answer proves nothing: no file was written, and do not use this log";
    Failure::new(Exit::NotTrustworthy, "bad-proof", at, why, help).under("I1")
}
