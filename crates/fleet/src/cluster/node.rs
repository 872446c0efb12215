//! The same `serve` functions that the binaries run, as futures of this process.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use siegel_depot::Store;
use siegel_link::Net;
use siegel_platform::{BoxFuture, Platform};

use crate::{Part, parts};

/// Makes the future of a node, again for each restart.
pub(super) type Serve = Arc<dyn Fn(Platform) -> BoxFuture<'static, String> + Send + Sync>;

/// The node of this part. The future ends with the reason why it stopped.
pub(super) fn serve(part: Part, net: Net, store: Option<Store>) -> Serve {
    Arc::new(move |platform| {
        let net = net.clone();
        match (part, store.clone()) {
            (Part::Log, _) => reason(parts::serve_log(platform)),
            (Part::Witness, _) => reason(parts::serve_witness(platform)),
            (Part::Depot, None) => reason(parts::serve_depot(platform, net)),
            (Part::Depot, Some(store)) => reason(parts::serve_depot_on(platform, net, store)),
            (Part::Kms, _) => reason(siegel_kms::serve(platform, net)),
            (Part::Worker, _) => reason(siegel_worker::serve(platform, net)),
            (Part::Root, _) => reason(siegel_root::serve(platform, net)),
        }
    })
}

fn reason<E: Display>(
    serve: impl Future<Output = Result<(), E>> + Send + 'static,
) -> BoxFuture<'static, String> {
    Box::pin(async move {
        match serve.await {
            Ok(()) => "it returned".into(),
            Err(error) => format!("{error:#}"),
        }
    })
}
