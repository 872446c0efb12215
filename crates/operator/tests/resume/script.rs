//! A key service that only has receipts, and roots that do what is written down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use siegel_ident::{
    Budget, ClusterId, Delta, Digest, EpochId, Fencing, InputRoot, NanoRho, NodeId, ObjectDigest,
    PolicyDigest, ProgramDigest, RunId, Step, Timestamp,
};
use siegel_keys::KmsNode;
use siegel_ledger::receipt::RECEIPT_SCHEMA;
use siegel_ledger::{Fact, Receipt};
use siegel_link::{Endpoint, Net, refusal, refusal_to_status};
use siegel_operator::{FinishedRun, Operator, OperatorError, RunEvent, RunOrder};
use siegel_rekor::{LogClient, PolicySigner};
use siegel_wire::v1::{self, kms_server, root_server, run_event::Body};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Router;
use tonic::{Request, Response, Status};

/// What a root does, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The key service registers the run.
    Register,
    SayRegistered(u64),
    /// The key service commits a step.
    Commit(u64),
    SayStep(u64),
    /// The key service ends the run.
    Finish,
    SayFinished,
    /// The run is given up by somebody.
    Abandon,
    /// The process ends, and all its connections.
    Die,
    /// The stream ends; the process and its run go on.
    CutOff,
    /// Refuses, because it has a run.
    Busy,
    /// Refuses for good.
    Refuse,
}

/// The `n`th run of a world.
pub(crate) fn run_id(n: u8) -> RunId {
    RunId::from_bytes([n; 16])
}

pub(crate) struct World {
    net: Net,
    state: Arc<Mutex<State>>,
    operator: Operator,
    _kms: Own,
}

#[derive(Default)]
struct State {
    facts: Vec<Fact>,
    asked: Vec<Option<RunId>>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::patient(Duration::from_secs(30)).await
    }

    pub(crate) async fn patient(patience: Duration) -> Self {
        let (net, state) = (Net::new(), Arc::<Mutex<State>>::default());
        let kms: Endpoint = "pipe:kms-1".parse().unwrap();
        let service = kms_server::KmsServer::new(Kms(state.clone()));
        let router = siegel_link::server().add_service(service);
        let runtime = Own::serving(&net, &kms, router).await;
        let node = KmsNode {
            id: NodeId(1),
            endpoint: kms,
        };
        let operator = Operator::new(
            &net,
            LogClient::new("http://127.0.0.1:9").unwrap(),
            &[node],
            &"pipe:depot".parse().unwrap(),
            &"pipe:root".parse().unwrap(),
            PolicySigner::generate().unwrap(),
        );
        Self {
            net,
            state,
            operator: operator.unwrap().with_root_patience(patience),
            _kms: runtime,
        }
    }

    /// Runs one order against these roots, one after the other, and tells what the caller heard.
    pub(crate) async fn run(
        &self,
        scripts: Vec<Vec<Act>>,
    ) -> (Vec<RunEvent>, Result<FinishedRun, OperatorError>) {
        let roots = tokio::spawn(roots(self.net.clone(), self.state.clone(), scripts));
        let mut events = Vec::new();
        let order = order();
        let run = self
            .operator
            .run(&order, |event| events.push(event.clone()));
        let run = tokio::time::timeout(Duration::from_secs(60), run).await;
        roots.abort();
        let _ = roots.await;
        (events, run.expect("an end within a minute"))
    }

    /// Which run each root was asked to resume.
    pub(crate) fn asked(&self) -> Vec<Option<RunId>> {
        self.state.lock().unwrap().asked.clone()
    }

    pub(crate) fn registrations(&self) -> usize {
        let state = self.state.lock().unwrap();
        let registered = |fact: &&Fact| matches!(fact, Fact::RunRegistered { .. });
        state.facts.iter().filter(registered).count()
    }
}

fn order() -> RunOrder {
    RunOrder {
        policy: b"policy".to_vec(),
        program: ProgramDigest::of(b"program"),
        epochs: vec![EpochId(3)],
        deadline: Timestamp(1_000),
        params: b"{}".to_vec(),
    }
}

/// One root after the other; between two there is nobody at the door. One that does not die plays
/// the scripts that follow, too, as further calls.
async fn roots(net: Net, state: Arc<Mutex<State>>, scripts: Vec<Vec<Act>>) {
    let mut left = scripts.into_iter();
    while let Some(first) = left.next() {
        let dies = first.contains(&Act::Die);
        let mut calls = vec![first];
        if !dies {
            calls.extend(left.by_ref());
        }
        calls.reverse();
        let (dead, mut died) = mpsc::channel(1);
        let root = Root {
            state: state.clone(),
            calls: Mutex::new(calls),
            dead,
        };
        let router = siegel_link::server().add_service(root_server::RootServer::new(root));
        let process = Own::serving(&net, &"pipe:root".parse().unwrap(), router).await;
        died.recv().await;
        drop(process);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A runtime of its own: ending it ends every task and connection, as a kill would.
struct Own(Option<Runtime>);

impl Own {
    async fn serving(net: &Net, at: &Endpoint, router: Router) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (ready, is_ready) = oneshot::channel();
        let (net, at) = (net.clone(), at.clone());
        runtime.spawn(async move {
            // The one before may still be falling.
            let (_, incoming) = loop {
                match net.listen(&at).await {
                    Ok(listening) => break listening,
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            };
            let _ = ready.send(());
            router.serve_with_incoming(incoming).await
        });
        is_ready.await.unwrap();
        Self(Some(runtime))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.take().unwrap().shutdown_background();
    }
}

struct Root {
    state: Arc<Mutex<State>>,
    /// The next one last.
    calls: Mutex<Vec<Vec<Act>>>,
    dead: mpsc::Sender<()>,
}

#[tonic::async_trait]
impl root_server::Root for Root {
    type RunStream = ReceiverStream<Result<v1::RunEvent, Status>>;

    async fn run(
        &self,
        request: Request<v1::RunRequest>,
    ) -> Result<Response<Self::RunStream>, Status> {
        let resume = request.into_inner().resume_run_id;
        let resume = (!resume.is_empty()).then(|| RunId::try_from_slice(&resume).unwrap());
        self.state.lock().unwrap().asked.push(resume);
        let acts = self.calls.lock().unwrap().pop().expect("one call too many");
        let (events, stream) = mpsc::channel(16);
        for act in acts {
            let body = match act {
                Act::Die => {
                    // What was said is heard, then nothing more.
                    tokio::spawn(die(events.clone(), self.dead.clone()));
                    return Ok(Response::new(ReceiverStream::new(stream)));
                }
                Act::CutOff => break,
                Act::Busy => return Err(refuse("busy")),
                Act::Refuse => return Err(refuse("too-few-blobs")),
                Act::SayFinished => Body::Finished(v1::RunFinished {}),
                Act::SayRegistered(resumed_after) => Body::Registered(v1::RunRegistered {
                    run_id: self.run_id().to_vec(),
                    blob_count: 7,
                    input_root: InputRoot::of(b"inputs").to_vec(),
                    resumed_after,
                }),
                Act::SayStep(n) => Body::Step(v1::StepCommitted {
                    step: n,
                    checkpoint: ObjectDigest::of(b"checkpoint").to_vec(),
                    release: release(n).to_vec(),
                    release_name: "table".into(),
                }),
                Act::Register | Act::Commit(_) | Act::Finish | Act::Abandon => {
                    self.happens(act);
                    continue;
                }
            };
            events
                .send(Ok(v1::RunEvent { body: Some(body) }))
                .await
                .unwrap();
        }
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

async fn die(events: mpsc::Sender<Result<v1::RunEvent, Status>>, dead: mpsc::Sender<()>) {
    while events.capacity() < events.max_capacity() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // From the queue onto the wire.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let _ = dead.send(()).await;
    std::future::pending::<()>().await;
}

fn refuse(code: &str) -> Status {
    let status = refusal_to_status(&refusal(code, "", "root", "as it is written"));
    assert!(siegel_link::status_to_refusal(&status).is_some());
    status
}

fn release(n: u64) -> ObjectDigest {
    ObjectDigest::of(&[n as u8])
}

impl Root {
    /// The latest run.
    fn run_id(&self) -> RunId {
        let facts = &self.state.lock().unwrap().facts;
        let runs = facts
            .iter()
            .filter(|fact| matches!(fact, Fact::RunRegistered { .. }));
        run_id(runs.count() as u8)
    }

    fn happens(&self, act: Act) {
        let free = Budget {
            rho_nano: NanoRho(0),
            delta0: Delta(0),
        };
        let order = order();
        let policy = PolicyDigest::of(&order.policy);
        let run = self.run_id();
        let fact = match act {
            Act::Register => Fact::RunRegistered {
                run: run_id(run.to_vec()[0] + 1),
                policy,
                program: order.program,
                pipeline: "pipeline".into(),
                parameters: Digest::of(b"parameters"),
                epochs: order.epochs,
                deadline: order.deadline,
                input_root: InputRoot::of(b"inputs"),
                blob_count: 7,
                steps: 2,
                cost: free,
                spent: free,
            },
            Act::Commit(n) => Fact::StepCommitted {
                run,
                policy,
                step: Step(n),
                fencing: Fencing(1),
                previous_state: Digest::of(b"before"),
                checkpoint: ObjectDigest::of(b"checkpoint"),
                release: Some(release(n)),
                cost: free,
                used: free,
            },
            Act::Abandon => Fact::RunAbandoned { run, step: Step(0) },
            _ => Fact::RunFinished { run, step: Step(2) },
        };
        self.state.lock().unwrap().facts.push(fact);
    }
}

struct Kms(Arc<Mutex<State>>);

fn no<T>() -> Result<T, Status> {
    Err(Status::unimplemented("not in this test"))
}

#[tonic::async_trait]
impl kms_server::Kms for Kms {
    async fn status(
        &self,
        _: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusReply>, Status> {
        Ok(Response::new(v1::StatusReply {
            node_id: 1,
            leader_id: 1,
            receipts: self.0.lock().unwrap().facts.len() as u64,
            founded: true,
            role: "voter".into(),
            member_id: 1,
            ..v1::StatusReply::default()
        }))
    }

    async fn receipts(
        &self,
        request: Request<v1::ReceiptsRequest>,
    ) -> Result<Response<v1::ReceiptsReply>, Status> {
        let from = request.into_inner().from as usize;
        let facts = self.0.lock().unwrap().facts.clone();
        let receipt = |(at, fact): (usize, Fact)| Receipt {
            schema: RECEIPT_SCHEMA.into(),
            cluster: ClusterId::of(b"cluster"),
            seq: at as u64 + 1,
            previous: Digest::of(b"before"),
            at: Timestamp(0),
            fact,
        };
        let receipts = facts.into_iter().enumerate().skip(from - 1).map(receipt);
        let signed = receipts.map(|receipt| v1::SignedReceipt {
            body: receipt.to_bytes().unwrap(),
            envelope: Vec::new(),
        });
        Ok(Response::new(v1::ReceiptsReply {
            receipts: signed.collect(),
        }))
    }

    async fn genesis(
        &self,
        _: Request<v1::GenesisRequest>,
    ) -> Result<Response<v1::GenesisReply>, Status> {
        no()
    }

    async fn register_policy(
        &self,
        _: Request<v1::RegisterPolicyRequest>,
    ) -> Result<Response<v1::RegisterPolicyReply>, Status> {
        no()
    }

    async fn key_bundle(
        &self,
        _: Request<v1::KeyBundleRequest>,
    ) -> Result<Response<v1::KeyBundleReply>, Status> {
        no()
    }

    async fn open_release(
        &self,
        _: Request<v1::OpenReleaseRequest>,
    ) -> Result<Response<v1::OpenReleaseReply>, Status> {
        no()
    }

    async fn cancel_run(
        &self,
        _: Request<v1::CancelRunRequest>,
    ) -> Result<Response<v1::CancelRunReply>, Status> {
        no()
    }
}
