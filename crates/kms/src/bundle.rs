//! Key bundles: the public key that clients encrypt to, signed by the cluster key after a quorum
//! round, with evidence that binds the cluster key, the KEM key and a log checkpoint (I1).

use siegel_attest::KeyBundle;
use siegel_ident::{Digest, EpochId, PolicyDigest, RequestId, Timestamp};
use siegel_ledger::{Done, Event, Ledger, Outcome};
use siegel_platform::Platform;
use siegel_seal::Suite;
use siegel_translog::LogAnchors;
use siegel_wire::v1::KeyBundleReply;

use crate::grants::EpochSecret;
use crate::member::Member;
use crate::refusal::Refused;

/// What a bundle needs, copied out of the ledger.
struct Live {
    epoch: EpochSecret,
    opened: Timestamp,
    expires: Timestamp,
    suites: Vec<u16>,
}

impl Member {
    /// Opens an epoch, or takes the live one, and signs its key.
    pub(crate) async fn key_bundle(
        &self,
        platform: &Platform,
        request_id: RequestId,
        policy: PolicyDigest,
        note: &[u8],
    ) -> Result<KeyBundleReply, Refused> {
        let checkpoint = self.check_note(note, platform.now())?;
        let secret = self
            .cluster
            .new_epoch_secret(&mut platform.rng(), policy)
            .map_err(|error| Refused::internal("epoch secret", error))?;
        let event = Event::OpenEpoch { policy, secret };
        let live = self
            .replica
            .propose(request_id, platform.now(), event, live)
            .await?;
        let suite = strongest(&live.suites)?;
        let (_, public) = self.cluster.epoch_kem(&live.epoch, suite)?;
        let bundle = KeyBundle {
            schema: KeyBundle::SCHEMA.to_owned(),
            cluster_id: self.cluster.id(),
            policy,
            epoch: live.epoch.epoch,
            suite: suite.number(),
            kem_key: public.key().to_vec(),
            not_before: live.opened,
            expires: live.expires,
            checkpoint,
        };
        self.signed_bundle(platform, &bundle).await
    }

    async fn signed_bundle(
        &self,
        platform: &Platform,
        bundle: &KeyBundle,
    ) -> Result<KeyBundleReply, Refused> {
        let failed = |cause: &dyn std::fmt::Display| Refused::internal("key bundle", cause);
        let binding = bundle
            .binding(self.cluster.genesis())
            .map_err(|error| failed(&error))?;
        let report_data = binding.report_data()?;
        let evidence = platform
            .quote(report_data)
            .await
            .map_err(|error| failed(&error))?;
        let bytes = bundle.to_bytes().map_err(|error| failed(&error))?;
        let signature = self
            .cluster
            .sign(&KeyBundle::signing_bytes(&bytes))
            .map_err(|error| failed(&error))?;
        Ok(KeyBundleReply {
            bundle: bytes,
            signature,
            evidence,
        })
    }

    /// The courier's checkpoint is one of the genesis' log, under its key and witnesses: evidence
    /// that carries it was made after it (I1).
    fn check_note(&self, note: &[u8], now: Timestamp) -> Result<Digest, Refused> {
        let refused = |cause: &dyn std::fmt::Display| {
            Refused::new("bad-checkpoint", "I1", "checkpoint", cause)
        };
        let text = std::str::from_utf8(note).map_err(|error| refused(&error))?;
        let config = &self.cluster.genesis().config;
        let anchors = LogAnchors {
            origin: config.log_origin.clone(),
            key: config.log_key,
            witnesses: config.witnesses.clone(),
        };
        anchors
            .verify_checkpoint(text, now)
            .map_err(|error| refused(&error))?;
        Ok(Digest::of(note))
    }
}

fn live(ledger: &Ledger, outcome: Outcome) -> Result<Live, Refused> {
    let epoch: EpochId = match outcome {
        Outcome::Done(Done::EpochOpened { epoch, .. }) => epoch,
        Outcome::Refused(refusal) => return Err(refusal.into()),
        Outcome::Done(_) => return Err(Refused::internal("epoch", "another outcome")),
    };
    let gone = || Refused::new("epoch-expired", "I9", "epoch", "the epoch has just expired");
    let view = ledger.epoch(epoch).ok_or_else(gone)?;
    let policy = ledger.policy(view.policy).ok_or_else(gone)?;
    Ok(Live {
        epoch: EpochSecret::of(&view),
        opened: view.opened,
        expires: view.expires,
        suites: policy.policy.suites.clone(),
    })
}

/// The suites of a policy that this build knows; an unknown one is left out, none is a refusal.
pub(crate) fn known_suites(numbers: &[u16]) -> Vec<Suite> {
    numbers
        .iter()
        .filter_map(|number| Suite::from_number(*number))
        .collect()
}

fn strongest(numbers: &[u16]) -> Result<Suite, Refused> {
    known_suites(numbers).into_iter().max().ok_or_else(|| {
        Refused::new(
            "unknown-suite",
            "I3",
            "policy.suites",
            "no suite of the policy is known here",
        )
    })
}
