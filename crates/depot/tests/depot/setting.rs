//! A depot on loopback, its client, and uploads.

use std::path::Path;

use rand_core::SeedableRng as _;
use siegel_depot::{Depot, Limits, Store, serve};
use siegel_ident::{BlobId, ClusterId, Digest, EpochId, PolicyDigest, SecretBytes};
use siegel_seal::{Suite, UploadContext, generate_kem, seal_upload};
use siegel_wire::v1::depot_client::DepotClient;
use siegel_wire::v1::{GetRequest, ListRequest, ObjectKind, PutChunk, Refusal};
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::Channel;

pub(crate) type Client = DepotClient<Channel>;

pub(crate) async fn start(store: Store, limits: Limits) -> (Client, JoinHandle<()>) {
    let depot = Depot::open(store, limits).await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
    let task = tokio::spawn(async move {
        serve(incoming, depot, std::future::pending())
            .await
            .unwrap();
    });
    (
        Client::connect(format!("http://{address}")).await.unwrap(),
        task,
    )
}

pub(crate) fn folder(path: &Path) -> Store {
    Store::open(&format!("file://{}", path.display())).unwrap()
}

pub(crate) fn policy() -> PolicyDigest {
    PolicyDigest::of(b"policy")
}

pub(crate) fn upload(n: u8, epoch: u64) -> Vec<u8> {
    upload_of(n, epoch, 5000)
}

/// An upload with a text of this length.
pub(crate) fn upload_of(n: u8, epoch: u64, len: usize) -> Vec<u8> {
    let mut rng = rand_chacha::ChaCha20Rng::from_seed([n; 32]);
    let (_, key) = generate_kem(Suite::X25519, &mut rng);
    let cluster = ClusterId::of(b"cluster");
    let ctx = UploadContext {
        cluster,
        epoch: EpochId(epoch),
        policy: policy(),
    };
    let text = SecretBytes::new(vec![n; len]);
    seal_upload(&mut rng, &key, &ctx, BlobId::from_bytes([n; 16]), &text).unwrap()
}

pub(crate) fn chunks(kind: ObjectKind, digest: Vec<u8>, bytes: &[u8]) -> Vec<PutChunk> {
    let mut all: Vec<_> = bytes
        .chunks(1000)
        .map(|data| PutChunk {
            data: data.to_vec(),
            ..PutChunk::default()
        })
        .collect();
    if all.is_empty() {
        all.push(PutChunk::default());
    }
    all[0].kind = kind.into();
    all[0].digest = digest;
    all
}

pub(crate) async fn put(
    client: &mut Client,
    kind: ObjectKind,
    bytes: &[u8],
) -> Result<bool, Status> {
    let sent = chunks(kind, Digest::of(bytes).to_vec(), bytes);
    Ok(client
        .put(tokio_stream::iter(sent))
        .await?
        .into_inner()
        .duplicate)
}

pub(crate) async fn get(
    client: &mut Client,
    kind: ObjectKind,
    digest: Digest,
) -> Result<Vec<u8>, Status> {
    let request = GetRequest {
        kind: kind.into(),
        digest: digest.to_vec(),
    };
    let mut stream = client.get(request).await?.into_inner();
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.message().await? {
        bytes.extend(chunk.data);
    }
    Ok(bytes)
}

pub(crate) async fn list(client: &mut Client, epoch: u64) -> Vec<Vec<u8>> {
    let request = ListRequest {
        policy_digest: policy().to_vec(),
        epoch,
    };
    let mut stream = client.list(request).await.unwrap().into_inner();
    let mut digests = Vec::new();
    while let Some(page) = stream.message().await.unwrap() {
        digests.extend(page.digests);
    }
    digests
}

pub(crate) fn refusal(status: &Status) -> Refusal {
    prost::Message::decode(status.details()).unwrap()
}

pub(crate) fn files(path: &Path) -> usize {
    std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap())
        .fold(0, |n, entry| {
            n + if entry.file_type().unwrap().is_dir() {
                files(&entry.path())
            } else {
                1
            }
        })
}
