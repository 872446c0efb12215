//! Many uploads as one stream.

use siegel_depot::{Limits, Store};
use siegel_ident::Digest;
use siegel_wire::v1::{GetUploadsRequest, ObjectKind};
use tonic::{Code, Status};

use super::setting::*;

/// What came, and how it ended.
async fn read(client: &mut Client, digests: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, Result<(), Status>) {
    let (mut uploads, mut rest) = (Vec::new(), Vec::new());
    let mut stream = match client.get_uploads(GetUploadsRequest { digests }).await {
        Ok(reply) => reply.into_inner(),
        Err(status) => return (uploads, Err(status)),
    };
    loop {
        match stream.message().await {
            Ok(Some(message)) => {
                let bytes: usize = message.parts.iter().map(|part| part.data.len()).sum();
                assert!(bytes <= 256 * 1024, "a message of {bytes} bytes");
                for part in message.parts {
                    rest.extend(part.data);
                    if part.last {
                        uploads.push(std::mem::take(&mut rest));
                    }
                }
            }
            Ok(None) => return (uploads, Ok(())),
            Err(status) => return (uploads, Err(status)),
        }
    }
}

// Catches an upload that comes at another place, cut, or joined to its neighbour, whatever segment
// it lies in and however large it is; and messages that grow with the uploads.
#[tokio::test]
async fn uploads_come_whole_and_in_the_order_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (mut client, _task) = start(folder(dir.path()), Limits::default()).await;
    let mut uploads: Vec<_> = (0..60).map(|n| upload(n, 1)).collect();
    for (n, len) in [(5, 300_000), (6, 700_000), (30, 262_144), (59, 1_000_000)] {
        uploads[n] = upload_of(n as u8, 1, len);
    }
    for bytes in &uploads {
        put(&mut client, ObjectKind::Upload, bytes).await.unwrap();
    }
    let named = |all: &[Vec<u8>]| all.iter().map(|b| Digest::of(b).to_vec()).collect();
    for _ in 0..2 {
        let (came, ended) = read(&mut client, named(&uploads)).await;
        assert!(came == uploads);
        ended.unwrap();
        uploads.reverse();
        uploads.swap(3, 40);
    }
    let (came, ended) = read(&mut client, Vec::new()).await;
    assert!(came.is_empty() && ended.is_ok());
}

// Catches a stream that passes over what is not there, or says so before what it could send.
#[tokio::test]
async fn the_first_missing_upload_ends_the_stream_at_its_place() {
    let (mut client, _task) = start(Store::memory(), Limits::default()).await;
    let uploads: Vec<_> = (0..4).map(|n| upload(n, 1)).collect();
    for n in [0, 1, 3] {
        put(&mut client, ObjectKind::Upload, &uploads[n])
            .await
            .unwrap();
    }
    let asked = uploads.iter().map(|b| Digest::of(b).to_vec()).collect();
    let (came, ended) = read(&mut client, asked).await;
    assert!(came == uploads[..2]);
    let status = ended.unwrap_err();
    assert_eq!(
        (status.code(), refusal(&status).code.as_str()),
        (Code::NotFound, "not-found")
    );
    assert!(
        status
            .message()
            .contains(&Digest::of(&uploads[2]).to_string())
    );
}

// I14: catches a request without bound.
#[tokio::test]
async fn i14_requests_are_bounded() {
    let (mut client, _task) = start(Store::memory(), Limits::default()).await;
    for (digests, code) in [
        (vec![vec![0; 32]; 1025], "too-many"),
        (vec![vec![0; 32], vec![0; 31]], "malformed-digest"),
        (vec![vec![0; 32]; 1024], "not-found"),
    ] {
        let (came, ended) = read(&mut client, digests).await;
        assert!(came.is_empty());
        assert_eq!(refusal(&ended.unwrap_err()).code, code);
    }
}
