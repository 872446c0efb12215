//! The way to one worker: prepare, a session with vouched keys, one question at a time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use siegel_attest::Role;
use siegel_keys::KeysError;
use siegel_link::{LinkError, Refusal, SessionStream, dial};
use siegel_session::{Expect, Purpose, Setup};
use siegel_wire::v1::worker_client::WorkerClient;
use siegel_wire::v1::{self, worker_request, worker_response};
use tonic::transport::Channel;

use crate::serve::Node;

/// How long a worker may take to prepare: it asks the key service.
const PREPARE: Duration = Duration::from_secs(20);

/// One worker of one run. Its session is made at the first question and again after each trouble
/// or when it grows old, with a fresh grant and fresh keys: a worker that was started anew is another one (I10).
pub(crate) struct Worker {
    node: Arc<Node>,
    channel: Channel,
    purpose: Purpose,
    session: Option<SessionStream>,
}

/// Why a worker gave no sums.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Away, slow, or without a live grant: try again.
    Lost(String),
    /// There, and unwilling: another one may be willing.
    Refused(Box<Refusal>),
    /// The run itself is over for this root: fencing lost, run ended, no key service.
    Over(KeysError),
}

/// Whoever sums blocks: a worker, or a stand-in of the tests.
pub(crate) trait Hand: Send + 'static {
    /// The sealed sums of some blocks.
    fn ask(
        &mut self,
        question: v1::ComputeBlocks,
        limit: Duration,
    ) -> impl Future<Output = Result<v1::BlockSums, Trouble>> + Send;
}

impl Hand for Worker {
    async fn ask(
        &mut self,
        question: v1::ComputeBlocks,
        limit: Duration,
    ) -> Result<v1::BlockSums, Trouble> {
        let mut session = match self.session.take() {
            // The answer must come before the session ends.
            Some(session) if session.lasts(limit) => session,
            _ => self.connect().await?,
        };
        let body = Some(worker_request::Body::Compute(question));
        let request = v1::WorkerRequest { body }.encode_to_vec();
        // After any error the session is out of step and is dropped.
        let reply = session.call(&request, limit).await.map_err(trouble)?;
        match v1::WorkerResponse::decode(reply.as_slice()).map(|reply| reply.body) {
            Ok(Some(worker_response::Body::Sums(sums))) => {
                self.session = Some(session);
                Ok(sums)
            }
            Ok(Some(worker_response::Body::Refusal(refusal))) => Err(refused(refusal)),
            _ => Err(Trouble::Lost("an answer that does not decode".to_owned())),
        }
    }
}

impl Worker {
    pub(crate) fn new(node: Arc<Node>, channel: Channel, purpose: Purpose) -> Self {
        Self {
            node,
            channel,
            purpose,
            session: None,
        }
    }

    async fn connect(&self) -> Result<SessionStream, Trouble> {
        let mut client = WorkerClient::new(self.channel.clone());
        let request = v1::PrepareRequest {
            run_id: self.purpose.run.to_vec(),
        };
        let prepared = tokio::time::timeout(PREPARE, client.prepare(request)).await;
        let timed_out = |_| Trouble::Lost("no answer to prepare in time".to_owned());
        let reply = prepared
            .map_err(timed_out)?
            .map_err(|status| trouble(status.into()))?;
        if let Some(refusal) = reply.into_inner().refusal {
            return Err(refused(refusal));
        }
        // The worker's own word for its key counts for nothing: the key service names the keys.
        let kms = &self.node.kms;
        let keys = kms
            .run_peers(self.purpose.run)
            .await
            .map_err(Trouble::Over)?;
        let setup = Setup {
            identity: kms.keys().identity().clone(),
            deployment: None,
            purpose: Some(self.purpose),
            expect: Expect::Vouched {
                role: Role::Worker,
                keys,
            },
        };
        dial(&self.node.platform, self.channel.clone(), setup)
            .await
            .map_err(trouble)
    }
}

fn trouble(error: LinkError) -> Trouble {
    match error {
        LinkError::Refused(refusal) => refused(*refusal),
        other => Trouble::Lost(other.to_string()),
    }
}

/// What a refusal means for the run.
fn refused(refusal: Refusal) -> Trouble {
    match refusal.code.as_str() {
        // A later incarnation has the run: this one must not go on (I6).
        "stale-fencing" | "not-the-holder" | "run-over" | "run-erased" | "unknown-run" => {
            Trouble::Over(KeysError::Refused(Box::new(refusal)))
        }
        // The grant or the way to it was lost; a fresh one may do.
        "not-prepared" | "no-lease" | "not-the-root" | "unknown-fencing" | "busy" | "handshake"
        | "handshake-failed" => Trouble::Lost(format!("{}: {}", refusal.code, refusal.message)),
        _ => Trouble::Refused(Box::new(refusal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I6, I8: a root that lost its run stops at once, a grant that was lost is fetched anew, and
    // what one worker cannot do another one may.
    #[test]
    fn refusals_mean_what_they_say() {
        let meaning = |code| refused(siegel_link::refusal(code, "", "worker", ""));
        for code in [
            "stale-fencing",
            "not-the-holder",
            "run-over",
            "run-erased",
            "unknown-run",
        ] {
            assert!(matches!(meaning(code), Trouble::Over(_)), "{code}");
        }
        for code in [
            "not-prepared",
            "no-lease",
            "not-the-root",
            "unknown-fencing",
            "busy",
        ] {
            assert!(matches!(meaning(code), Trouble::Lost(_)), "{code}");
        }
        for code in [
            "blob-missing",
            "input-mismatch",
            "no-quorum",
            "anything-else",
        ] {
            assert!(matches!(meaning(code), Trouble::Refused(_)), "{code}");
        }
    }
}
