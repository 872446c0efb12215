//! The write API in the words and forms of Rekor v2.

use reqwest::Response;
use siegel_translog::{TlogEntry, Verifier};

use super::*;
use crate::MAX_REQUEST;

/// A served log and the URL of its write API.
struct Api {
    log: Log,
    served: Served,
    entries: String,
}

impl Api {
    async fn start() -> Self {
        let log = memory();
        let served = Served::start(log.clone()).await;
        let entries = format!("{}api/v2/log/entries", served.client.url());
        Self {
            log,
            served,
            entries,
        }
    }

    async fn post(&self, body: impl Into<reqwest::Body>) -> Response {
        let request = plain_client().post(&self.entries).body(body);
        request.send().await.unwrap()
    }
}

fn request(record: &HashedRekord) -> String {
    String::from_utf8(record.request_json()).unwrap()
}

fn certified(signer: &PolicySigner, i: u32) -> HashedRekord {
    let verifier = Verifier::Certificate(certificate(&signer.key()));
    HashedRekord::of_verifier(&signed(signer, i), verifier)
}

const TYPE: &str = "{\"code\":3,\"message\":\"invalid type, must be hashedrekord\"}";
const INVALID: &str = "{\"code\":3,\"message\":\"invalid hashedrekord request\"}";

/// I14: hostile requests get an exact answer and change nothing; the reason is in a header.
#[tokio::test]
async fn i14_refused_requests_get_rekors_words() {
    let api = Api::start().await;
    let signer = PolicySigner::generate().unwrap();
    let (one, two) = (record(&signer, 1), record(&signer, 2));
    let bent = HashedRekord {
        signature: two.signature.clone(),
        ..one.clone()
    };
    let other = PolicySigner::generate().unwrap();
    let foreign = HashedRekord {
        verifier: Verifier::Certificate(certificate(&other.key())),
        ..one.clone()
    };
    let good = request(&one);
    let with = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}");
        changed
    };
    let inner = good.split_once(':').unwrap().1;
    let inner = inner.strip_suffix('}').unwrap();
    for (what, body, answer, reason) in [
        ("nothing", String::new(), TYPE, ""),
        ("empty", "{}".into(), TYPE, ""),
        (
            "null",
            "{\"hashedRekordRequestV002\":null}".into(),
            TYPE,
            "",
        ),
        ("dsse", "{\"dsseRequestV002\":{}}".into(), TYPE, ""),
        ("dsse", "{\"dsse_request_v002\":{\"a\":1}}".into(), TYPE, ""),
        (
            "both kinds",
            with("{\"hashed", "{\"dsseRequestV002\":{},\"hashed"),
            INVALID,
            "two entries",
        ),
        ("no JSON", "hello".into(), INVALID, "expected value"),
        ("a list", format!("[{good}]"), INVALID, ""),
        ("more behind it", format!("{good}{{}}"), INVALID, "trailing"),
        (
            "unknown kind",
            "{\"intotoV001\":{}}".into(),
            INVALID,
            "unknown field",
        ),
        (
            "unknown field",
            with("{\"digest", "{\"a\":1,\"digest"),
            INVALID,
            "unknown field",
        ),
        (
            "one field twice",
            with("\"keyDetails\"", "\"keyDetails\":5,\"keyDetails\""),
            INVALID,
            "duplicate field",
        ),
        (
            "one field in both spellings",
            with("\"keyDetails\"", "\"key_details\":5,\"keyDetails\""),
            INVALID,
            "duplicate field",
        ),
        (
            "the entry in both spellings",
            format!(
                "{{\"hashed_rekord_request_v002\":{inner},\"hashedRekordRequestV002\":{inner}}}"
            ),
            INVALID,
            "duplicate field",
        ),
        (
            "key and certificate",
            with("\"publicKey\"", "\"x509Certificate\":{},\"publicKey\""),
            INVALID,
            "public key or a certificate",
        ),
        (
            "neither",
            with(
                "\"publicKey\":{",
                "\"publicKey\":null,\"x509Certificate\":null,\"q\":{",
            )
            .replacen("\"q\":{", "\"keyDetails\":{", 1),
            INVALID,
            "",
        ),
        (
            "digest too long",
            with("\"digest\":\"", "\"digest\":\"AAAA"),
            INVALID,
            "32 bytes",
        ),
        (
            "digest not base64",
            with("\"digest\":\"", "\"digest\":\"*"),
            INVALID,
            "base64",
        ),
        (
            "no digest",
            with("\"digest\":\"", "\"digest\":null,\"signature\":\""),
            INVALID,
            "",
        ),
        (
            "no signature",
            "{\"hashedRekordRequestV002\":{}}".into(),
            INVALID,
            "no signature",
        ),
        (
            "long signature",
            with(
                "\"content\":\"",
                &format!("\"content\":\"{}", "AAAA".repeat(40)),
            ),
            INVALID,
            "too long",
        ),
        (
            "key of another curve",
            with("PKIX_ECDSA_P256", "PKIX_ECDSA_P384"),
            INVALID,
            "keyDetails",
        ),
        (
            "key details as another number",
            with("\"PKIX_ECDSA_P256_SHA_256\"", "7"),
            INVALID,
            "keyDetails",
        ),
        (
            "a key as certificate",
            with("publicKey", "x509Certificate"),
            INVALID,
            "certificate",
        ),
        (
            "not a key",
            with("\"rawBytes\":\"M", "\"rawBytes\":\"N"),
            INVALID,
            "prime256v1",
        ),
        (
            "signature of another digest",
            request(&bent),
            INVALID,
            "does not verify",
        ),
        (
            "certificate of another key",
            request(&foreign),
            INVALID,
            "does not verify",
        ),
    ] {
        let response = api.post(body).await;
        assert_eq!(response.status().as_u16(), 400, "{what}");
        assert_eq!(response.headers()["content-type"], "application/json");
        let said = response.headers()["x-siegel-reason"].to_str().unwrap();
        assert!(said.contains(reason), "{what}: {said}");
        assert_eq!(response.text().await.unwrap(), answer, "{what}");
    }
    assert_eq!(api.log.size(), 0);
    api.served.stop().await;
}

/// Whatever a client of protobuf JSON writes is the same entry (I2).
#[tokio::test]
async fn every_spelling_is_the_same_entry() {
    let api = Api::start().await;
    let signer = PolicySigner::generate().unwrap();
    let records = [record(&signer, 1), certified(&signer, 1)];
    for (i, record) in records.into_iter().enumerate() {
        let good = request(&record);
        let snake = good
            .replace("hashedRekordRequestV002", "hashed_rekord_request_v002")
            .replace("x509Certificate", "x509_certificate")
            .replace("publicKey", "public_key")
            .replace("rawBytes", "raw_bytes")
            .replace("keyDetails", "key_details");
        let url_safe = good.replace('+', "-").replace("=\"", "\"");
        // The slash of base64 stands in no name.
        let url_safe = url_safe.replace('/', "_");
        let by_number = good.replace("\"PKIX_ECDSA_P256_SHA_256\"", "5");
        let spaced = good.replace(':', " :\n");
        let null = match i {
            0 => good.replacen("\"publicKey", "\"x509Certificate\":null,\"publicKey", 1),
            _ => good.replacen("\"x509", "\"publicKey\":null,\"x509", 1),
        };
        for body in [&good, &snake, &url_safe, &by_number, &spaced, &null, &good] {
            let response = api.post(body.clone()).await;
            assert_eq!(response.status().as_u16(), 201, "{body}");
            assert_eq!(response.headers()["content-type"], "application/json");
            let answer = response.bytes().await.unwrap();
            let entry = TlogEntry::parse_answer(&answer).unwrap();
            assert_eq!(entry.log_index, i as u64);
            assert_eq!(entry.canonicalized_body, record.canonical_body());
            assert_eq!(
                HashedRekord::parse(&entry.canonicalized_body).unwrap(),
                record
            );
        }
        assert_eq!(api.log.size(), i as u64 + 1);
    }
    api.served.stop().await;
}

/// I14. Catches: a byte of a request that breaks the server, or an entry that nobody signed.
#[tokio::test]
async fn i14_bent_requests_are_refused_or_the_same() {
    let api = Api::start().await;
    let signer = PolicySigner::generate().unwrap();
    let record = certified(&signer, 1);
    let good = record.request_json();
    let (mut refused, client) = (0, plain_client());
    for at in (0..good.len()).step_by(7).chain(good.len() - 9..good.len()) {
        for bent in [good[..at].to_vec(), {
            let mut flipped = good.clone();
            flipped[at] ^= 1 << (at % 7);
            flipped
        }] {
            let request = client.post(&api.entries).body(bent.clone());
            let response = request.send().await.unwrap();
            match response.status().as_u16() {
                400 => refused += 1,
                // Inside the certificate other bytes than the key may change: another entry.
                201 => {
                    let answer = response.bytes().await.unwrap();
                    let entry = TlogEntry::parse_answer(&answer).unwrap();
                    let logged = HashedRekord::parse(&entry.canonicalized_body).unwrap();
                    assert_eq!(logged.digest, record.digest, "byte {at}");
                    assert!(matches!(logged.verifier, Verifier::Certificate(_)));
                }
                other => panic!("byte {at}: {other}"),
            }
        }
    }
    assert!(refused > 100, "{refused}");
    api.served.stop().await;
}

#[tokio::test]
async fn a_body_has_four_mebibytes_at_most() {
    let api = Api::start().await;
    let signer = PolicySigner::generate().unwrap();
    let good = request(&record(&signer, 1));
    let padded = |len: usize| good.clone() + &" ".repeat(len - good.len());
    assert_eq!(MAX_REQUEST, 4 << 20);
    assert_eq!(api.post(padded(MAX_REQUEST)).await.status().as_u16(), 201);
    let response = api.post(padded(MAX_REQUEST + 1)).await;
    assert_eq!(response.status().as_u16(), 413);
    let text = response.text().await.unwrap();
    assert!(text.starts_with("{\"code\":8,"), "{text}");
    assert_eq!(api.log.size(), 1);
    api.served.stop().await;
}

#[tokio::test]
async fn other_paths_and_methods_get_json_too() {
    let api = Api::start().await;
    let base = api.served.client.url().to_owned();
    let client = plain_client();
    let (nowhere, no_method) = (
        "{\"code\":5,\"message\":\"Not Found\"}",
        "{\"code\":12,\"message\":\"Method Not Allowed\"}",
    );
    for (request, status, body) in [
        (client.get(format!("{base}nothing")), 404, nowhere),
        (
            client.get(format!("{base}api/v2/tile/../../etc")),
            404,
            nowhere,
        ),
        (
            client.get(format!("{base}api/v1/log/entries")),
            404,
            nowhere,
        ),
        (client.post(format!("{base}api/v1/timestamp")), 404, nowhere),
        (
            client.get(format!("{base}api/v1/timestamp/certchain")),
            404,
            nowhere,
        ),
        (client.get(&api.entries), 405, no_method),
        (
            client.delete(format!("{base}api/v2/checkpoint")),
            405,
            no_method,
        ),
        (
            client.get(format!("{base}healthz")),
            200,
            "{\"status\":\"SERVING\"}",
        ),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.text().await.unwrap(), body);
    }
    let missing = client.get(format!("{base}api/v2/tile/0/001"));
    assert_eq!(missing.send().await.unwrap().status().as_u16(), 404);
    let note = client.get(format!("{base}api/v2/checkpoint")).send().await;
    let note = note.unwrap();
    assert_eq!(note.headers()["content-type"], "text/plain; charset=utf-8");
    api.log
        .submit(&record(&PolicySigner::generate().unwrap(), 1))
        .await
        .unwrap();
    let tile = client
        .get(format!("{base}api/v2/tile/0/000.p/1"))
        .send()
        .await;
    let tile = tile.unwrap();
    assert_eq!(tile.headers()["content-type"], "application/octet-stream");
    api.served.stop().await;
}
