//! The operator's door. Whoever knocks is not trusted: the key service decides what may run.

use std::sync::Arc;

use siegel_link::{refusal, refusal_to_status};
use siegel_wire::v1::{self, root_server};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::events::{Events, QUEUE};
use crate::run;
use crate::serve::Node;

pub(crate) struct RootService(pub(crate) Arc<Node>);

#[tonic::async_trait]
impl root_server::Root for RootService {
    type RunStream = ReceiverStream<Result<v1::RunEvent, Status>>;

    /// Starts a run and streams its events. The run does not end when the stream is dropped: it is
    /// paid for.
    async fn run(
        &self,
        request: Request<v1::RunRequest>,
    ) -> Result<Response<Self::RunStream>, Status> {
        let Ok(permit) = self.0.running.clone().try_acquire_owned() else {
            let busy = refusal("busy", "", "root", "a run is under way: one at a time");
            return Err(refusal_to_status(&busy));
        };
        let (sender, receiver) = mpsc::channel(QUEUE);
        let (node, events, request) = (self.0.clone(), Events(sender), request.into_inner());
        tokio::spawn(async move {
            match run::run(&node, &events, request).await {
                Ok(()) => events.finished().await,
                Err(stop) => {
                    tracing::error!(error = %stop, "the run stops");
                    events.failed(stop.to_refusal()).await;
                }
            }
            drop(permit);
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}
