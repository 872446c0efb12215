//! Writing and reading over HTTP.

use siegel_ident::Digest;
use siegel_translog::merkle::{self, leaf_hash};
use siegel_translog::{Checkpoint, TlogEntry, dsse};

use super::*;
use crate::{FolderLog, LogReader};

/// I1, I17: what is published verifies offline, and an auditor finds all bytes by digest.
#[tokio::test]
async fn a_published_policy_verifies_and_its_bytes_are_archived() {
    let served = Served::start(memory()).await;
    let signer = PolicySigner::generate().unwrap();
    let envelope = signed(&signer, 1);
    let bundle = served
        .client
        .publish(&envelope, &signer.key(), &artifact(1))
        .await
        .unwrap();
    let logged = verify(&bundle, 1);
    assert_eq!((logged.log_index, logged.tree_size), (0, 1));

    let bodies = served.client.entries(0, 1).await.unwrap();
    let entry = HashedRekord::parse(&bodies[0]).unwrap();
    let pae = served.client.archive_get(&entry.digest).await.unwrap();
    let statement = Statement::parse(dsse::payload_of_pae(&pae).unwrap()).unwrap();
    assert_eq!(
        served.client.archive_get(&statement.digest).await.unwrap(),
        artifact(1)
    );
    served.stop().await;
}

/// Catches: 409 on a retry, which breaks those who try again after a lost answer.
#[tokio::test]
async fn the_same_entry_again_is_the_same_entry() {
    let served = Served::start(memory()).await;
    let signer = PolicySigner::generate().unwrap();
    let envelope = signed(&signer, 1);
    let (client, key, bytes) = (&served.client, signer.key(), artifact(1));
    let publish = || client.publish(&envelope, &key, &bytes);
    let first = publish().await.unwrap();
    let other = signed(&signer, 2);
    served
        .client
        .publish(&other, &signer.key(), &artifact(2))
        .await
        .unwrap();
    let again = verify(&publish().await.unwrap(), 1);
    assert_eq!(
        (again.log_index, again.tree_size),
        (verify(&first, 1).log_index, 2)
    );
    served.stop().await;
}

/// Catches: a proof for a newer tree than the checkpoint beside it; two entries at one index; one
/// entry at two indices when its retry comes in the same batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_at_once_get_proofs_for_exactly_their_checkpoint() {
    let served = Served::start(memory()).await;
    let signer = PolicySigner::generate().unwrap();
    let key = signer.key();
    let envelopes: Vec<_> = (0..60).map(|i| signed(&signer, i)).collect();
    let tasks: Vec<_> = (0..120u32)
        .map(|task| {
            let (client, i) = (served.client.clone(), task / 2);
            let envelope = envelopes[i as usize].clone();
            tokio::spawn(async move {
                let bundle = client.publish(&envelope, &key, &artifact(i)).await.unwrap();
                verify(&bundle, i).log_index
            })
        })
        .collect();
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(task.await.unwrap());
    }
    for pair in seen.chunks(2) {
        assert_eq!(pair[0], pair[1], "an entry and its retry");
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, (0..60).collect::<Vec<u64>>());
    served.stop().await;
}

#[tokio::test]
async fn an_empty_log_has_a_checkpoint_and_no_entries() {
    let served = Served::start(memory()).await;
    let note = served.client.checkpoint().await.unwrap();
    let checkpoint = key()
        .anchors()
        .verify_checkpoint(&note, siegel_ident::Timestamp(0))
        .unwrap();
    assert_eq!(
        (checkpoint.size, checkpoint.root),
        (0, merkle::empty_root())
    );
    assert!(served.client.entries(0, 0).await.unwrap().is_empty());
    assert!(matches!(
        served.client.entries(0, 1).await,
        Err(RekorError::NotFound(_))
    ));
    served.stop().await;
}

/// An auditor's reading: all three ways give the same entries, whose root is the checkpoint's.
#[tokio::test]
async fn entries_lead_to_the_checkpoint_over_http_folder_and_handle() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(&Storage::folder(dir.path()), key()).unwrap();
    let signer = PolicySigner::generate().unwrap();
    for i in 0..300 {
        log.submit(&record(&signer, i)).await.unwrap();
    }
    let served = Served::start(log.clone()).await;
    let note = served.client.checkpoint().await.unwrap();
    let checkpoint = key()
        .anchors()
        .verify_checkpoint(&note, siegel_ident::Timestamp(0))
        .unwrap();
    let folder = FolderLog::open(dir.path()).unwrap();
    for reader in [
        LogReader::Http(served.client.clone()),
        LogReader::Folder(folder),
        LogReader::Open(log.clone()),
    ] {
        assert_eq!(reader.checkpoint().await.unwrap(), note);
        let all = reader.entries(0, 300).await.unwrap();
        let leaves: Vec<Digest> = all.iter().map(|body| leaf_hash(body)).collect();
        assert_eq!(
            (merkle::root(&leaves), 300),
            (checkpoint.root, checkpoint.size)
        );
        for (from, to) in [(0, 1), (255, 257), (256, 256), (10, 20), (20, 300)] {
            let some = reader.entries(from, to).await.unwrap();
            assert_eq!(some, all[from as usize..to as usize], "{from}..{to}");
        }
        assert!(reader.entries(299, 301).await.is_err());
    }
    // Hash tiles: level 0 full and partial, level 1 has one full child tile.
    let tile = log.tile(1, 0, 1).unwrap();
    let all = log.bodies(0, 256).await.unwrap();
    let leaves: Vec<Digest> = all.iter().map(|body| leaf_hash(body)).collect();
    assert_eq!(tile, merkle::root(&leaves).as_bytes());
    assert_eq!(log.tile(0, 0, 256).unwrap()[..32], leaves[0].as_bytes()[..]);
    assert!(log.tile(0, 1, 44).is_some() && log.tile(0, 1, 45).is_none());
    assert!(log.tile(8, 0, 1).is_none() && log.tile(0, u64::MAX, 1).is_none());
    served.stop().await;
}

/// The answer has the members that strict protobuf-JSON readers of Rekor v2 expect.
#[tokio::test]
async fn the_answer_has_the_shape_of_rekor_v2() {
    let log = memory();
    let signer = PolicySigner::generate().unwrap();
    let entry = log.submit(&record(&signer, 1)).await.unwrap();
    let answer = entry.to_answer().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(json["integratedTime"], "0");
    assert!(json["inclusionPromise"].is_null() && json.get("inclusionPromise").is_some());
    assert_eq!(json["logIndex"], "0");
    assert_eq!(json["kindVersion"]["version"], "0.0.2");
    assert_eq!(TlogEntry::parse_answer(&answer).unwrap(), entry);
    assert!(Checkpoint::verify_note(entry.proof.checkpoint(), ORIGIN, &key().public_key()).is_ok());
}

/// Catches: tiles or entries from beyond the checkpoint, while the writer is between the two.
#[tokio::test]
async fn nothing_is_shown_before_its_checkpoint() {
    let log = memory();
    let signer = PolicySigner::generate().unwrap();
    log.submit(&record(&signer, 1)).await.unwrap();
    log.put_unpublished(&record(&signer, 2));
    assert!(log.tile(0, 0, 1).is_some() && log.tile(0, 0, 2).is_none());
    assert!(log.entries(0, 1).await.unwrap().is_some());
    assert!(log.entries(0, 2).await.unwrap().is_none());
    assert!(log.bodies(0, 2).await.is_err());
}
