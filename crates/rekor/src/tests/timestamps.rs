//! The time stamp authority: its tokens in other verifiers, its refusals, its key file.

use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use siegel_ident::Digest;
use siegel_sigstore::{Artifact, Signer, second_opinion};
use siegel_translog::{Bundle, GeneralBundle, Verifier};

use super::*;
use crate::tsa::{MAX_QUERY, check_reply, query};
use crate::{TimestampAuthority, trusted_root};

fn authority() -> TimestampAuthority {
    TimestampAuthority::generate(ORIGIN).unwrap()
}

async fn served(timestamps: TimestampAuthority) -> Served {
    let services = Services {
        log: memory(),
        timestamps: Some(timestamps),
        root_file: None,
    };
    Served::start(services).await
}

/// The verdict of the independent verifier on a bundle with a managed key.
fn judge(bundle: &[u8], artifact: &[u8], key: &SpkiKey, root: &[u8]) -> Result<(), String> {
    let (artifact, signer) = (Artifact::Bytes(artifact), Signer::Key(key));
    second_opinion(bundle, &artifact, &signer, str::from_utf8(root).unwrap())
}

/// A logged statement with these tokens.
async fn bundle(served: &Served, signer: &PolicySigner, tokens: &[Vec<u8>]) -> Vec<u8> {
    let envelope = signed(signer, 1);
    general(served, signer, envelope, tokens).await
}

async fn general(
    served: &Served,
    signer: &PolicySigner,
    envelope: Envelope,
    tokens: &[Vec<u8>],
) -> Vec<u8> {
    let (key, bytes) = (signer.key(), artifact(1));
    let strict = served.client.publish(&envelope, &key, &bytes).await;
    let strict = Bundle::parse(&strict.unwrap()).unwrap();
    let general = GeneralBundle {
        envelope,
        verifier: Verifier::Key(key),
        entry: strict.entry,
        timestamps: tokens.to_vec(),
    };
    general.to_json().unwrap()
}

/// The whole: log, token, bundle and trusted root, as an independent verifier sees them. Catches: a
/// token that only we can read; a verifier that reads none.
#[tokio::test]
async fn an_independent_verifier_takes_bundle_token_and_root() {
    let timestamps = authority();
    let root = trusted_root(&key().anchors(), Some(&timestamps)).unwrap();
    let other_root = trusted_root(&key().anchors(), Some(&authority())).unwrap();
    let served = served(timestamps).await;
    let signer = PolicySigner::generate().unwrap();
    let envelope = signed(&signer, 1);
    let token = served.client.timestamp(&envelope.signature).await.unwrap();
    let good = general(
        &served,
        &signer,
        envelope.clone(),
        std::slice::from_ref(&token),
    )
    .await;
    judge(&good, &artifact(1), &signer.key(), &root).unwrap();
    judge(&good, &artifact(2), &signer.key(), &root).unwrap_err();
    judge(&good, &artifact(1), &signer.key(), &other_root).unwrap_err();

    let foreign = served.client.timestamp(b"other bytes").await.unwrap();
    let swapped = bundle(&served, &signer, &[foreign]).await;
    judge(&swapped, &artifact(1), &signer.key(), &root).unwrap_err();
    let digest = Digest::of(&envelope.signature);
    let imprint = token.windows(32).position(|w| w == digest.as_bytes());
    let imprint = imprint.unwrap();
    // The imprint, the time behind it, the signature at the end.
    for at in [imprint, imprint + 31, imprint + 60, token.len() - 1] {
        let mut bent = token.clone();
        bent[at] ^= 1;
        let bent = general(&served, &signer, envelope.clone(), &[bent]).await;
        let judged = judge(&bent, &artifact(1), &signer.key(), &root);
        assert!(judged.is_err(), "byte {at}");
    }
    served.stop().await;
}

/// The form that Sigstore's JavaScript client sends; without and with the certificate.
#[tokio::test]
async fn json_requests_are_answered_too() {
    let timestamps = authority();
    let leaf = timestamps.chain()[0].to_vec();
    let root = trusted_root(&key().anchors(), Some(&timestamps)).unwrap();
    let pem = timestamps.chain_pem();
    let served = served(timestamps).await;
    let url = format!("{}api/v1/timestamp", served.client.url());
    let chain = plain_client().get(format!("{url}/certchain")).send().await;
    let chain = chain.unwrap();
    let media_type = &chain.headers()["content-type"];
    assert_eq!(media_type, "application/pem-certificate-chain");
    assert_eq!(chain.text().await.unwrap(), pem);
    let signer = PolicySigner::generate().unwrap();
    let envelope = signed(&signer, 1);
    let hash = STANDARD.encode(Digest::of(&envelope.signature).as_bytes());
    for (more, with_leaf) in [
        ("", false),
        (",\"certificates\":false,\"nonce\":7", false),
        (",\"certificates\":true,\"tsaPolicyOID\":\"\"", true),
    ] {
        let body = format!("{{\"artifactHash\":\"{hash}\",\"hashAlgorithm\":\"sha256\"{more}}}");
        let request = plain_client().post(&url).body(body);
        let response = request.header("content-type", "application/json").send();
        let response = response.await.unwrap();
        assert_eq!(response.status().as_u16(), 201);
        let media_type = &response.headers()["content-type"];
        assert_eq!(media_type, "application/timestamp-reply");
        let token = response.bytes().await.unwrap().to_vec();
        let carried = token.windows(leaf.len()).any(|window| window == leaf);
        assert_eq!(carried, with_leaf, "{more}");
        let good = general(&served, &signer, envelope.clone(), &[token]).await;
        judge(&good, &artifact(1), &signer.key(), &root).unwrap();
    }
    served.stop().await;
}

/// I2. Catches: a client that takes any reply for the answer to its own question.
#[test]
fn a_reply_is_about_the_sent_bytes_and_nonce() {
    let authority = authority().with_clock(|| Timestamp(4_000_000_000));
    let now = || authority.valid_from();
    let early = authority.answer(&query(b"x", [1; 8]).unwrap());
    assert!(
        matches!(early, Err(RekorError::Authority(_))),
        "after its life"
    );
    let at = Timestamp(now().0 + 7_200);
    let authority = authority.with_clock(move || at);
    let reply = authority.answer(&query(b"x", [0x80; 8]).unwrap()).unwrap();
    assert_eq!(check_reply(&reply, b"x", [0x80; 8]).unwrap(), at);
    for (message, nonce) in [(&b"y"[..], [0x80; 8]), (b"x", [1; 8])] {
        let checked = check_reply(&reply, message, nonce);
        assert!(
            matches!(checked, Err(RekorError::Timestamp(_))),
            "{checked:?}"
        );
    }
    for at in 0..reply.len() {
        assert!(
            check_reply(&reply[..at], b"x", [0x80; 8]).is_err(),
            "cut at {at}"
        );
    }
    let before = authority.valid_from().0 - 1;
    let authority = authority.with_clock(move || Timestamp(before));
    let early = authority.answer(&query(b"x", [1; 8]).unwrap());
    assert!(
        matches!(early, Err(RekorError::Authority(_))),
        "before its life"
    );
}

/// I14. Catches: a request that breaks the authority, or that it grants without understanding.
#[tokio::test]
async fn i14_hostile_requests_are_refused() {
    let authority = authority();
    let good = query(b"x", [1; 8]).unwrap();
    authority.answer(&good).unwrap();
    // version, hash and its parameters, digest length: bytes of the DER form, counted by hand.
    let with = |at: usize, byte: u8| {
        let mut bent = good.clone();
        bent[at] = byte;
        bent
    };
    // Behind version and imprint.
    let (head, tail) = good.split_at(54);
    let mut policy = [head, &[6, 3, 0x2a, 3, 4], tail].concat();
    policy[1] += 5;
    let extension = [0x30, 9, 6, 3, 0x2a, 3, 4, 4, 2, 5, 0];
    let mut extended = [&good[..], &[0xa0, 11], &extension].concat();
    extended[1] += 13;
    let json = |text: &str| text.as_bytes().to_vec();
    for (why, bent) in [
        ("version", with(4, 2)),
        ("unknown hash", with(19, 9)),
        ("64 bytes", with(19, 3)),
        ("the policy must be", policy),
        ("extensions", extended),
        ("DER", [&good[..], &[0]].concat()),
        ("DER", Vec::new()),
        ("unknown field", json("{\"artifactHash\":\"\",\"a\":1}")),
        (
            "32 bytes",
            json("{\"artifactHash\":\"AAAA\",\"hashAlgorithm\":\"sha256\"}"),
        ),
        (
            "unknown hash",
            json("{\"artifactHash\":\"AAAA\",\"hashAlgorithm\":\"md5\"}"),
        ),
        (
            "invalid value",
            json("{\"artifactHash\":\"AAAA\",\"hashAlgorithm\":\"sha256\",\"nonce\":-1}"),
        ),
        (
            "the policy must be",
            json(
                "{\"artifactHash\":\"AAAA\",\"hashAlgorithm\":\"sha256\",\
                 \"tsaPolicyOID\":\"1.2.3\"}",
            ),
        ),
    ] {
        match authority.answer(&bent) {
            Err(RekorError::Timestamp(said)) => assert!(said.contains(why), "{why}: {said}"),
            other => panic!("{why}: {other:?}"),
        }
    }
    for at in 0..good.len() {
        let cut = authority.answer(&good[..at]);
        assert!(matches!(cut, Err(RekorError::Timestamp(_))), "cut at {at}");
        for bit in 0..8 {
            // Another digest or nonce is as good as this one.
            let _ = authority.answer(&with(at, good[at] ^ (1 << bit)));
        }
    }

    let served = served(authority).await;
    let url = format!("{}api/v1/timestamp", served.client.url());
    let post = |body: Vec<u8>| plain_client().post(&url).body(body).send();
    let response = post(b"hello".to_vec()).await.unwrap();
    assert_eq!(response.status().as_u16(), 400);
    let text = response.text().await.unwrap();
    assert!(
        text.starts_with("{\"code\":3,\"message\":\"time stamp: "),
        "{text}"
    );
    let response = post(vec![0x30; MAX_QUERY + 1]).await.unwrap();
    assert_eq!(response.status().as_u16(), 413);
    served.stop().await;
}

/// The key file is private, keeps its chain, and is never taken for another.
#[test]
fn key_and_chain_are_kept_in_one_private_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log-key.tsa.pem");
    let made = TimestampAuthority::load_or_create(ORIGIN, &path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = TimestampAuthority::load_or_create("another name", &path).unwrap();
    assert_eq!(again.chain(), made.chain());
    let reply = again.answer(&query(b"x", [1; 8]).unwrap()).unwrap();
    check_reply(&reply, b"x", [1; 8]).unwrap();

    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("BEGIN").count(), 3);
    let other = dir.path().join("other.tsa.pem");
    TimestampAuthority::load_or_create(ORIGIN, &other).unwrap();
    let other = std::fs::read_to_string(other).unwrap();
    let chain_of = |text: &str| {
        text.split_once("-----END PRIVATE KEY-----\n")
            .unwrap()
            .1
            .to_owned()
    };
    let mixed = text.replace(&chain_of(&text), &chain_of(&other));
    let halves: Vec<&str> = text
        .split_inclusive("-----END CERTIFICATE-----\n")
        .collect();
    for (what, bad) in [
        ("the chain of another key", mixed),
        ("no root", halves[0].to_owned()),
        ("root and leaf swapped", {
            let (key, leaf) = halves[0].split_once("-----BEGIN CERTIFICATE").unwrap();
            format!("{key}{}-----BEGIN CERTIFICATE{leaf}", halves[1])
        }),
        ("nothing", String::new()),
        ("text", "hello".to_owned()),
        (
            "text between",
            text.replacen("-----\n-----", "-----\nhello\n-----", 1),
        ),
    ] {
        std::fs::write(&path, &bad).unwrap();
        let read = TimestampAuthority::load_or_create(ORIGIN, &path);
        let kind = read.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(kind.starts_with("key "), "{what}: {kind:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bad, "{what}: kept");
    }
}

/// The chain is what strict verifiers of time stamps ask for (RFC 3161, section 2.3).
#[test]
fn the_chain_has_the_extensions_of_a_time_stamp_authority() {
    use der::Decode as _;
    let authority = authority();
    let [leaf, root] = authority.chain();
    let of = |der: &[u8]| {
        let parsed = x509_cert::Certificate::from_der(der).unwrap();
        let list = parsed.tbs_certificate.extensions.unwrap();
        let read = |e: &x509_cert::ext::Extension| (e.extn_id.to_string(), e.critical);
        list.iter().map(read).collect::<Vec<_>>()
    };
    assert!(
        of(leaf).contains(&("2.5.29.37".to_owned(), true)),
        "only for time stamps"
    );
    assert!(of(leaf).contains(&("2.5.29.15".to_owned(), true)));
    assert!(
        !of(leaf).iter().any(|(id, _)| id == "2.5.29.19"),
        "no authority over others"
    );
    assert!(of(root).contains(&("2.5.29.19".to_owned(), true)));
}
