use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, stream};
use siegel_ident::{BlobDigest, Digest, EpochId, PolicyDigest};
use siegel_wire::v1::depot_server::{Depot, DepotServer};
use siegel_wire::v1::{GetChunk, GetRequest, ListPage, ListRequest, PutChunk, PutReply};
use siegel_wire::v1::{GetUploadsRequest, UploadPart, UploadParts};
use tonic::{Request, Response, Status, Streaming};

use crate::depot::{DepotClient, ObjectKind, PutOutcome};
use crate::{LinkError, Net, refusal, refusal_to_status, server};

const MIB: usize = 1 << 20;

/// A depot that may lie about what it serves and lists.
#[derive(Clone, Default)]
struct Fake {
    objects: Arc<Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>,
    listed: Vec<Vec<u8>>,
    /// Refusals of the first puts, the last one first.
    refusals: Arc<Mutex<Vec<&'static str>>>,
    /// How many uploads each request named.
    asked: Arc<Mutex<Vec<usize>>>,
    /// Where the first streams of uploads stop, the last one first.
    tears: Arc<Mutex<Vec<Torn>>>,
}

/// In the middle of which upload, counted from the stream's first, and how.
#[derive(Clone, Copy)]
enum Torn {
    Ends(usize),
    Breaks(usize),
}

type Answer<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Depot for Fake {
    async fn put(
        &self,
        request: Request<Streaming<PutChunk>>,
    ) -> Result<Response<PutReply>, Status> {
        let mut chunks = request.into_inner();
        if let Some(code) = self.refusals.lock().unwrap().pop() {
            let refused = refusal(code, "", "depot", "as told");
            return Err(refusal_to_status(&refused));
        }
        let (mut digest, mut bytes) = (Vec::new(), Vec::new());
        let mut first = true;
        while let Some(chunk) = chunks.message().await? {
            assert_eq!(chunk.kind == i32::from(ObjectKind::Upload), first);
            assert_eq!(chunk.digest.is_empty(), !first);
            if first {
                digest = chunk.digest;
            }
            bytes.extend(chunk.data);
            first = false;
        }
        assert_eq!(Digest::of(&bytes).to_vec(), digest);
        let duplicate = self.objects.lock().unwrap().insert(digest, bytes).is_some();
        Ok(Response::new(PutReply { duplicate }))
    }

    type GetStream = Answer<GetChunk>;

    async fn get(
        &self,
        request: Request<GetRequest>,
    ) -> Result<Response<Answer<GetChunk>>, Status> {
        let objects = self.objects.lock().unwrap();
        let bytes = objects
            .get(&request.into_inner().digest)
            .cloned()
            .ok_or_else(|| Status::not_found("no such object"))?;
        let chunks: Vec<_> = bytes
            .chunks(100_000)
            .map(|c| Ok(GetChunk { data: c.to_vec() }))
            .collect();
        Ok(Response::new(Box::pin(stream::iter(chunks))))
    }

    type GetUploadsStream = Answer<UploadParts>;

    async fn get_uploads(
        &self,
        request: Request<GetUploadsRequest>,
    ) -> Result<Response<Answer<UploadParts>>, Status> {
        let asked = request.into_inner().digests;
        self.asked.lock().unwrap().push(asked.len());
        let objects = self.objects.lock().unwrap();
        let mut sent = Vec::new();
        let torn = self.tears.lock().unwrap().pop();
        for (n, digest) in asked.iter().enumerate() {
            let Some(bytes) = objects.get(digest) else {
                let missing = refusal("not-found", "", "depot", "no such upload");
                sent.push(Err(refusal_to_status(&missing)));
                break;
            };
            let (head, tail) = bytes.split_at(bytes.len() / 2);
            let part = |data: &[u8], last| UploadPart {
                data: data.to_vec(),
                last,
            };
            sent.push(Ok(UploadParts {
                parts: vec![part(head, false)],
            }));
            match &torn {
                Some(Torn::Ends(at)) if *at == n => break,
                Some(Torn::Breaks(at)) if *at == n => {
                    sent.push(Err(Status::unavailable("as told")));
                    break;
                }
                _ => sent.push(Ok(UploadParts {
                    parts: vec![part(tail, true)],
                })),
            }
        }
        Ok(Response::new(Box::pin(stream::iter(sent))))
    }

    type ListStream = Answer<ListPage>;

    async fn list(&self, _: Request<ListRequest>) -> Result<Response<Answer<ListPage>>, Status> {
        let pages: Vec<_> = self
            .listed
            .chunks(2)
            .map(|c| {
                Ok(ListPage {
                    digests: c.to_vec(),
                })
            })
            .collect();
        Ok(Response::new(Box::pin(stream::iter(pages))))
    }
}

async fn client_of(fake: Fake) -> DepotClient {
    let net = Net::new();
    let (at, incoming) = net.listen(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
    let serving = server()
        .add_service(DepotServer::new(fake))
        .serve_with_incoming(incoming);
    tokio::spawn(serving);
    DepotClient::new(net.channel(&at))
}

#[tokio::test]
async fn objects_come_back_by_digest() {
    let client = client_of(Fake::default()).await;
    for len in [0, 1, 256 * 1024, 256 * 1024 + 1, 3 * MIB] {
        let bytes = Bytes::from(vec![7; len]);
        let digest = Digest::of(&bytes);
        let put = client.put(ObjectKind::Upload, bytes.clone()).await.unwrap();
        assert_eq!(
            put,
            PutOutcome {
                digest,
                duplicate: false,
                attempts: 1,
            }
        );
        assert!(
            client
                .put(ObjectKind::Upload, bytes.clone())
                .await
                .unwrap()
                .duplicate
        );
        assert!(client.get(ObjectKind::Upload, digest, len).await.unwrap() == bytes);
    }
}

// I2: the depot is not believed. Catches a client that does not hash what it gets.
#[tokio::test]
async fn i2_other_bytes_are_refused() {
    let fake = Fake::default();
    let asked = Digest::of(b"right");
    for wrong in [&b"wrong"[..], b"righ", b"right!", b""] {
        fake.objects
            .lock()
            .unwrap()
            .insert(asked.to_vec(), wrong.to_vec());
        let client = client_of(fake.clone()).await;
        let error = client
            .get(ObjectKind::Sealed, asked, MIB)
            .await
            .unwrap_err();
        assert!(matches!(error, LinkError::OtherBytes { .. }), "{error}");
        assert!(!error.is_transient());
    }
}

fn some(fake: &Fake, lens: impl IntoIterator<Item = usize>) -> Vec<BlobDigest> {
    let mut objects = fake.objects.lock().unwrap();
    let store = |(n, len): (usize, usize)| {
        let bytes = vec![n as u8; len];
        let digest = BlobDigest::of(&bytes);
        objects.insert(digest.to_vec(), bytes);
        digest
    };
    lens.into_iter().enumerate().map(store).collect()
}

async fn all(client: &DepotClient, digests: &[BlobDigest]) -> Result<Vec<Vec<u8>>, LinkError> {
    let (mut uploads, mut read) = (client.uploads(digests, MIB), Vec::new());
    while let Some(bytes) = uploads.next().await? {
        read.push(bytes);
    }
    Ok(read)
}

// I8: catches a stream that begins anew, skips or repeats an upload after it was torn, or asks for
// more than one request may name.
#[tokio::test]
async fn i8_uploads_come_in_order_whatever_tears_the_stream() {
    let fake = Fake::default();
    let digests = some(&fake, (0..1500).map(|n| 2 * n % 700 + n / 256));
    let expected: Vec<_> = {
        let objects = fake.objects.lock().unwrap();
        digests
            .iter()
            .map(|d| objects[&d.to_vec()].clone())
            .collect()
    };
    let client = client_of(fake.clone()).await;
    assert!(all(&client, &digests).await.unwrap() == expected);
    assert_eq!(
        std::mem::take(&mut *fake.asked.lock().unwrap()),
        [1024, 476]
    );

    let tears = [
        Torn::Breaks(7),
        Torn::Ends(0),
        Torn::Ends(400),
        Torn::Breaks(3),
    ];
    *fake.tears.lock().unwrap() = tears.into();
    let patient = client.clone().with_patience(Duration::from_secs(10));
    assert!(all(&patient, &digests).await.unwrap() == expected);
    let asked = std::mem::take(&mut *fake.asked.lock().unwrap());
    assert_eq!(asked, [1024, 1024, 1024, 1024, 1024, 66]);

    *fake.tears.lock().unwrap() = vec![Torn::Ends(5)];
    assert!(all(&client, &digests).await.unwrap_err().is_transient());
    assert!(all(&client, &[]).await.unwrap().is_empty());
}

// I2, I14: catches an upload that is not hashed, or not bounded, and one that is named wrongly when
// it is missing. What came before is whole; what comes after can be asked for.
#[tokio::test]
async fn i2_a_missing_large_or_other_upload_is_refused_at_its_place() {
    let fake = Fake::default();
    let digests = some(&fake, [10, 20, 30, MIB + 1]);
    let client = client_of(fake.clone()).await;
    let edits: [(usize, Option<&[u8]>); 4] = [
        (3, Some(b"")),
        (2, None),
        (1, Some(b"other")),
        (0, Some(b"")),
    ];
    let mut uploads = client.uploads(&digests, MIB);
    for _ in 0..3 {
        uploads.next().await.unwrap();
    }
    let error = uploads.next().await.unwrap_err();
    assert!(
        matches!(error, LinkError::TooMuch { max: MIB, .. }),
        "{error}"
    );
    assert_eq!(uploads.expected(), Some(digests[3]));
    for (at, edit) in edits {
        let name = digests[at].to_vec();
        match edit {
            Some(bytes) => fake.objects.lock().unwrap().insert(name, bytes.into()),
            None => fake.objects.lock().unwrap().remove(&name),
        };
        let mut uploads = client.uploads(&digests, MIB);
        for _ in 0..at {
            uploads.next().await.unwrap();
        }
        assert_eq!(uploads.expected(), Some(digests[at]));
        for _ in 0..2 {
            let error = uploads.next().await.unwrap_err();
            match (edit, &error) {
                (None, LinkError::Refused(refusal)) => assert_eq!(refusal.code, "not-found"),
                (Some(_), LinkError::OtherBytes { asked, .. }) => {
                    assert_eq!(*asked, digests[at].digest());
                }
                _ => panic!("{at}: {error}"),
            }
        }
    }
}

// I14: a depot that never stops sending cannot fill the memory.
#[tokio::test]
async fn i14_more_than_allowed_is_refused() {
    let fake = Fake::default();
    let bytes = vec![1; 300_000];
    let digest = Digest::of(&bytes);
    fake.objects.lock().unwrap().insert(digest.to_vec(), bytes);
    let client = client_of(fake).await;
    let error = client
        .get(ObjectKind::Sealed, digest, 299_999)
        .await
        .unwrap_err();
    assert!(
        matches!(error, LinkError::TooMuch { max: 299_999, .. }),
        "{error}"
    );
    assert!(
        client
            .get(ObjectKind::Sealed, digest, 300_000)
            .await
            .is_ok()
    );
}

// I4: a digest listed twice would count one upload twice, were the order not strict.
#[tokio::test]
async fn i4_lists_are_strictly_ascending_digests() {
    let digest = |b: u8| vec![b; 32];
    let list = async |listed: Vec<Vec<u8>>| {
        let client = client_of(Fake {
            listed,
            ..Fake::default()
        })
        .await;
        client
            .list(PolicyDigest::from_bytes([0; 32]), EpochId(1))
            .await
    };
    let good = list(vec![digest(1), digest(2), digest(3)]).await.unwrap();
    assert_eq!(
        good.iter().map(|d| d.as_bytes()[0]).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(list(Vec::new()).await.unwrap().is_empty());
    for bad in [
        vec![digest(1), digest(1)],
        vec![digest(1), digest(3), digest(2)],
        vec![digest(1), vec![2; 31]],
    ] {
        assert!(matches!(list(bad).await, Err(LinkError::List { .. })));
    }
}

// I8: the depot is killed and comes back on the same port while a client is patient.
#[tokio::test]
async fn i8_patience_bridges_a_restart() {
    let net = Net::new();
    let (at, incoming) = net.listen(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
    drop(incoming);
    let hasty = DepotClient::new(net.channel(&at));
    let error = hasty
        .put(ObjectKind::Upload, Bytes::from_static(b"x"))
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error}");

    let patient = DepotClient::new(net.channel(&at)).with_patience(Duration::from_secs(20));
    let put = tokio::spawn(async move {
        patient
            .put(ObjectKind::Upload, Bytes::from_static(b"x"))
            .await
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (_, incoming) = net.listen(&at).await.unwrap();
    let depot = DepotServer::new(Fake::default());
    tokio::spawn(server().add_service(depot).serve_with_incoming(incoming));
    assert!(!put.await.unwrap().unwrap().duplicate);
}

// I8: catches a client that gives up on a store that only failed for a moment, or repeats a refusal
// that stands.
#[tokio::test]
async fn i8_a_store_that_failed_is_asked_again_and_other_refusals_are_not() {
    for (code, attempts) in [("store-failed", Some(3)), ("store-full", None)] {
        let fake = Fake {
            refusals: Arc::new(Mutex::new(vec![code; 2])),
            ..Fake::default()
        };
        let client = client_of(fake.clone()).await;
        let client = client.with_patience(Duration::from_secs(10));
        let put = client
            .put(ObjectKind::Upload, Bytes::from_static(b"x"))
            .await;
        assert_eq!(put.ok().map(|put| put.attempts), attempts, "{code}");
        let left = fake.refusals.lock().unwrap().len();
        assert_eq!(left, if attempts.is_some() { 0 } else { 1 });
    }
}
