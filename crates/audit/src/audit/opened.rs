//! An entry as this audit reads it: whose it is decides what becomes of it.

use std::sync::Arc;

use siegel_attest::{Genesis, KeyOffer};
use siegel_endorse::Endorsement;
use siegel_ident::{ClusterId, Digest, KeyDigest};
use siegel_ledger::Receipt;
use siegel_policy::{AccessPolicy, Finding};
use siegel_rekor::{LogReader, RekorError, certificate_key};
use siegel_translog::{HashedRekord, SpkiKey, Verifier};

use crate::anchors::AuditAnchors;
use crate::read::{self, CERTIFIED, Item, Kind};
use crate::replay::unknown_kind;

/// In the predicate types of everything that Siegel logs.
const OUR_WORDS: &[u8] = b"siegel.dev/";

/// An entry, opened.
pub(crate) enum Opened {
    /// As it should be.
    Good(Item),
    /// The same, under a certificate of a pinned publisher's key.
    Certified(Item),
    /// Something is wrong with it.
    Bad(Finding),
    /// In a shared log: an entry under a key that the anchors do not name, which says nothing in our
    /// words. What it would be in a log of our own stands with it, for its key may turn out to be a
    /// cluster's or an endorser's.
    Strangers {
        key: Option<SpkiKey>,
        finding: Finding,
    },
}

/// What the anchors say of an entry's signer.
pub(crate) struct Known {
    publishers: Vec<KeyDigest>,
    endorsers: Vec<KeyDigest>,
    clusters: Vec<ClusterId>,
    shared: bool,
}

impl Known {
    pub(crate) fn of(anchors: &AuditAnchors, shared: bool) -> Arc<Self> {
        Arc::new(Self {
            publishers: anchors.publishers.clone(),
            endorsers: anchors.endorsers.clone(),
            clusters: anchors.clusters.iter().map(|cluster| cluster.id).collect(),
            shared,
        })
    }

    /// Opens entry `index`.
    ///
    /// # Errors
    /// The source failed.
    pub(crate) async fn open(
        self: Arc<Self>,
        log: LogReader,
        index: u64,
        body: Vec<u8>,
    ) -> Result<Opened, RekorError> {
        match read::open(log.clone(), index, body.clone()).await? {
            Err(finding) if finding.id == CERTIFIED => match self.as_publishers(&body) {
                Some(body) => self.certified(log, index, body).await,
                None => self.sorted(&log, &body, Err(finding)).await,
            },
            other => self.sorted(&log, &body, other).await,
        }
    }

    /// The entry as if it named the key in its certificate, if that is a pinned publisher's: the key is
    /// what is pinned, whatever else the certificate says (I1).
    fn as_publishers(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut record = HashedRekord::parse(body).ok()?;
        let Verifier::Certificate(der) = &record.verifier else {
            return None;
        };
        let key = certificate_key(der).ok()?;
        self.publishers.contains(&key.digest()).then(|| {
            record.verifier = Verifier::Key(key);
            record.canonical_body()
        })
    }

    async fn certified(
        &self,
        log: LogReader,
        index: u64,
        body: Vec<u8>,
    ) -> Result<Opened, RekorError> {
        Ok(match read::open(log, index, body).await? {
            Ok(item) => Opened::Certified(item),
            Err(finding) => Opened::Bad(finding),
        })
    }

    /// In a shared log: whose entry it is, and whether it is about us.
    async fn sorted(
        &self,
        log: &LogReader,
        body: &[u8],
        opened: Result<Item, Finding>,
    ) -> Result<Opened, RekorError> {
        let of_a_log_of_our_own = match &opened {
            _ if !self.shared => None,
            Ok(item) => match &item.kind {
                Kind::Other(kind) => Some(unknown_kind(item.index, kind)),
                _ => None,
            },
            Err(finding) => Some(finding.clone()),
        };
        let artifact = opened.as_ref().ok().map(|item| item.artifact);
        let ours = || Ok(opened.map_or_else(Opened::Bad, Opened::Good));
        let Some(finding) = of_a_log_of_our_own else {
            return ours();
        };
        // What is no entry that anyone here could verify has no key.
        let record = HashedRekord::parse(body).ok();
        let key = record.as_ref().and_then(|record| match &record.verifier {
            Verifier::Key(key) => Some(*key),
            Verifier::Certificate(der) => certificate_key(der).ok(),
        });
        if key.is_some_and(|key| self.names(&key.digest())) {
            return ours();
        }
        let signed = record.map(|record| record.digest);
        for digest in signed.iter().chain(&artifact) {
            if self.concerns_us(log, digest).await? {
                return ours();
            }
        }
        Ok(Opened::Strangers { key, finding })
    }

    fn names(&self, key: &KeyDigest) -> bool {
        self.publishers.contains(key) || self.endorsers.contains(key)
    }

    /// The archived bytes speak in our words, or are a document about our clusters. Where nobody can say
    /// what they are, they are signed by a key that has no effect here.
    async fn concerns_us(&self, log: &LogReader, digest: &Digest) -> Result<bool, RekorError> {
        match log.archive_get(digest).await {
            Ok(bytes) => Ok(self.is_about_us(&bytes)),
            Err(e) if e.is_transient() => Err(e),
            Err(
                RekorError::NotFound(_)
                | RekorError::OtherBytes { .. }
                | RekorError::TooLong { .. }
                | RekorError::Refused { .. }
                | RekorError::Io { .. }
                | RekorError::Damaged(_),
            ) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn is_about_us(&self, bytes: &[u8]) -> bool {
        let our_cluster = |id: ClusterId| self.clusters.is_empty() || self.clusters.contains(&id);
        bytes.windows(OUR_WORDS.len()).any(|at| at == OUR_WORDS)
            || AccessPolicy::parse(bytes).is_ok_and(|policy| our_cluster(policy.kms.cluster_id))
            || Receipt::parse(bytes).is_ok_and(|receipt| our_cluster(receipt.cluster))
            || Genesis::parse(bytes)
                .is_ok_and(|genesis| genesis.cluster_id().is_ok_and(our_cluster))
            || Endorsement::parse(bytes).is_ok()
            || KeyOffer::parse(bytes).is_ok()
    }
}
