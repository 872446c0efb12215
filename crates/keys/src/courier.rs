//! The door of untrusted callers: the public RPCs.

mod status;

use std::future::Future;
use std::sync::Mutex;

use siegel_ident::{NodeId, PolicyDigest, RequestId, RunId, Secret, Step};
use siegel_link::{LinkError, Net};
use siegel_wire::v1::{self, kms_client::KmsClient};
use tonic::transport::Channel;
use tonic::{Response, Status};
use zeroize::Zeroize as _;

use crate::grant::bad;
use crate::nodes::Picker;
use crate::{KeysError, KmsNode, Patience, retry};

pub use status::{NodeRole, NodeStatus};

/// Most bytes of one reply: a page of receipts is the longest.
const REPLY_MAX: usize = 16 * 1024 * 1024;

/// Carries public things to and from the key service. It trusts nothing that it carries: who
/// reads a bundle, a genesis or a receipt verifies it.
pub struct Courier {
    nodes: Vec<(NodeId, KmsClient<Channel>)>,
    picker: Mutex<Picker>,
    patience: Patience,
}

/// A key bundle with what proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StapledBundle {
    /// Exact canonical JSON of `siegel_attest::KeyBundle`.
    pub bundle: Vec<u8>,
    /// By the cluster key over the bundle.
    pub signature: Vec<u8>,
    /// Of a node that holds the cluster key.
    pub evidence: Vec<u8>,
}

/// A receipt as a node signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedReceipt {
    /// The exact canonical JSON that the statement is about.
    pub body: Vec<u8>,
    /// The DSSE envelope.
    pub envelope: Vec<u8>,
}

/// An endorsement with the proof that exactly these bytes are in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndorsementProof {
    /// Exact canonical JSON of `siegel_endorse::Endorsement`.
    pub document: Vec<u8>,
    /// Sigstore v0.3 bundle JSON.
    pub bundle: Vec<u8>,
}

impl Courier {
    /// A courier over these nodes. Connects to nobody yet.
    ///
    /// # Errors
    /// [`KeysError::Nodes`] for an empty list or one that names a node twice.
    pub fn new(net: &Net, nodes: &[KmsNode]) -> Result<Self, KeysError> {
        let picker = Mutex::new(Picker::new(nodes.iter().map(|node| node.id).collect())?);
        let client = |node: &KmsNode| {
            let client = KmsClient::new(net.channel(&node.endpoint));
            (node.id, client.max_decoding_message_size(REPLY_MAX))
        };
        let nodes = nodes.iter().map(client).collect();
        Ok(Self {
            nodes,
            picker,
            patience: Patience::default(),
        })
    }

    /// With other time limits.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The genesis document, exact canonical JSON, once the cluster is founded.
    pub async fn genesis(&self) -> Result<Vec<u8>, KeysError> {
        let reply = self
            .ask(|mut kms| async move { kms.genesis(v1::GenesisRequest {}).await })
            .await?;
        Ok(reply.genesis)
    }

    /// Registers a policy with the proof that its exact bytes are in the log, and with the
    /// endorsements that it demands: at most 16, none where it names no endorser.
    pub async fn register_policy(
        &self,
        request: RequestId,
        policy: &[u8],
        bundle: &[u8],
        endorsements: &[EndorsementProof],
    ) -> Result<(), KeysError> {
        let endorsements = endorsements.iter().cloned();
        let endorsement =
            |EndorsementProof { document, bundle }| v1::EndorsementProof { document, bundle };
        let message = v1::RegisterPolicyRequest {
            request_id: request.to_vec(),
            policy: policy.to_vec(),
            bundle: bundle.to_vec(),
            endorsements: endorsements.map(endorsement).collect(),
        };
        self.ask(|mut kms| {
            let message = message.clone();
            async move { kms.register_policy(message).await }
        })
        .await
        .map(drop)
    }

    /// The key bundle of a policy's present epoch, with evidence dated by `checkpoint`, the log's
    /// present signed note.
    pub async fn key_bundle(
        &self,
        request: RequestId,
        policy: PolicyDigest,
        checkpoint: &[u8],
    ) -> Result<StapledBundle, KeysError> {
        let message = v1::KeyBundleRequest {
            request_id: request.to_vec(),
            policy_digest: policy.to_vec(),
            checkpoint: checkpoint.to_vec(),
        };
        let reply = self
            .ask(|mut kms| {
                let message = message.clone();
                async move { kms.key_bundle(message).await }
            })
            .await?;
        let v1::KeyBundleReply {
            bundle,
            signature,
            evidence,
        } = reply;
        Ok(StapledBundle {
            bundle,
            signature,
            evidence,
        })
    }

    /// Signed receipts from a sequence number on, a page at a time; empty when there are no more.
    pub async fn receipts(&self, from: u64) -> Result<Vec<SignedReceipt>, KeysError> {
        let reply = self
            .ask(|mut kms| async move { kms.receipts(v1::ReceiptsRequest { from }).await })
            .await?;
        Ok(reply
            .receipts
            .into_iter()
            .map(|v1::SignedReceipt { body, envelope }| SignedReceipt { body, envelope })
            .collect())
    }

    /// The data key of a committed release whose receipt is in the log (I17).
    pub async fn open_release(
        &self,
        request: RequestId,
        run: RunId,
        step: Step,
        bundle: &[u8],
    ) -> Result<Secret<32>, KeysError> {
        let message = v1::OpenReleaseRequest {
            request_id: request.to_vec(),
            run_id: run.to_vec(),
            step: step.0,
            bundle: bundle.to_vec(),
        };
        let mut reply = self
            .ask(|mut kms| {
                let message = message.clone();
                async move { kms.open_release(message).await }
            })
            .await?;
        let dek = Secret::try_from_slice(&reply.dek);
        reply.dek.zeroize();
        dek.ok_or(bad("data key"))
    }

    /// Cancels a run that has got no key: the only refund (I6).
    pub async fn cancel_run(&self, request: RequestId, run: RunId) -> Result<(), KeysError> {
        let message = v1::CancelRunRequest {
            request_id: request.to_vec(),
            run_id: run.to_vec(),
        };
        self.ask(|mut kms| {
            let message = message.clone();
            async move { kms.cancel_run(message).await }
        })
        .await
        .map(drop)
    }

    async fn ask<T, F>(&self, call: impl Fn(KmsClient<Channel>) -> F) -> Result<T, KeysError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        retry::ask(&self.picker, self.patience, |node| {
            let client = self.nodes.iter().find(|(id, _)| *id == node);
            let reply = client.map(|(_, client)| call(client.clone()));
            async move {
                let reply = reply.ok_or(KeysError::Nodes)?.await;
                Ok(reply.map_err(LinkError::from)?.into_inner())
            }
        })
        .await
    }
}
