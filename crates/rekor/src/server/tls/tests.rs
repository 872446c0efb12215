//! A server over TLS and those who do it wrong, by mistake or on purpose.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use axum::Router;
use axum::routing::get;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::server::{Listening, run};
use crate::testing::TestAuthority;
use crate::{LogClient, RekorError};

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(60);
/// What must come, comes within this; it is never waited for in vain.
const SOON: Duration = Duration::from_secs(20);

struct World {
    dir: TempDir,
    authority: TestAuthority,
    at: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl World {
    /// A server of one path, with these bounds.
    async fn new(bounds: Bounds) -> Self {
        let (dir, authority) = (tempfile::tempdir().unwrap(), TestAuthority::generate());
        let (certificate, key) = authority.issue(2).write(dir.path());
        let identity = TlsIdentity::read(&certificate, &key).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = tcp.local_addr().unwrap();
        let listener = TlsListener::bounded(tcp, identity.config(), bounds);
        let serving = tokio::spawn(async move {
            tokio::select! {
                _ = axum::serve(listener, router()) => {}
                never = identity.keep_current(Duration::from_millis(10)) => match never {},
            }
        });
        Self {
            dir,
            authority,
            at,
            serving,
        }
    }

    async fn ask(&self, authority: &TestAuthority) -> Result<String, RekorError> {
        let url = format!("https://{}", self.at);
        let client = LogClient::with_root(&url, authority.root()).unwrap();
        client.checkpoint().await
    }

    /// Connects, and sends this.
    async fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }
}

fn router() -> Router {
    Router::new().route("/api/v2/checkpoint", get(|| async { "here" }))
}

/// All that comes until the other side ends it.
async fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is an end, too.
    let _ = timeout(SOON, stream.read_to_end(&mut bytes)).await.unwrap();
    bytes
}

/// I14. Catches: a handshake that is waited for before the next connection is taken, and silent
/// connections that pile up, or keep others out once they are many.
#[tokio::test]
async fn i14_the_silent_hold_up_nobody() {
    let bounds = Bounds {
        time: LONG,
        most: 4,
    };
    let world = World::new(bounds).await;
    let mut silent = Vec::new();
    for i in 0..10 {
        // Some say nothing, some begin a handshake.
        silent.push(world.send(&[0x16, 0x03, 0x01][..i % 4]).await);
    }
    let answer = timeout(SOON, world.ask(&world.authority)).await.unwrap();
    assert_eq!(answer.unwrap(), "here");
    // The oldest had to go; the newest may still make up its mind.
    let mut newest = silent.pop().unwrap();
    assert_eq!(rest(silent.remove(0)).await, b"");
    let waits = timeout(SHORT, newest.read(&mut [0; 1])).await;
    assert!(waits.is_err(), "{waits:?}");
}

/// I14. Catches: a handshake without an end.
#[tokio::test]
async fn i14_a_handshake_has_its_time() {
    let bounds = Bounds {
        time: SHORT,
        most: 4,
    };
    let world = World::new(bounds).await;
    for beginning in [&b""[..], &[0x16, 0x03]] {
        assert_eq!(rest(world.send(beginning).await).await, b"");
    }
    assert_eq!(world.ask(&world.authority).await.unwrap(), "here");
}

/// Catches: plain HTTP that gets a broken connection, or bytes of TLS, for an answer; and a server that
/// ends over what is no TLS.
#[tokio::test]
async fn plain_http_is_told_where_to_go() {
    let world = World::new(Bounds::OURS).await;
    let plain = LogClient::new(&format!("http://{}", world.at)).unwrap();
    let body = vec![7; 30_000];
    for refused in [
        plain.checkpoint().await.err(),
        plain.archive_put(&body).await.err(),
    ] {
        let said = refused.unwrap().to_string();
        assert!(
            said.contains("answered 400") && said.contains("use https://"),
            "{said}"
        );
    }
    // No TLS, no HTTP.
    assert_eq!(rest(world.send(b"\0\0\0\0").await).await, b"");
    assert_eq!(world.ask(&world.authority).await.unwrap(), "here");
}

/// A first message of TLS up to this version, with the one suite that TLS 1.2 takes here, its curve and
/// its kind of signature.
fn hello(minor: u8) -> Vec<u8> {
    let extensions = [[0, 10, 0, 4, 0, 2, 0, 23], [0, 13, 0, 4, 0, 2, 4, 3]].concat();
    [
        &[0x16, 3, 1, 0, 63, 1, 0, 0, 59, 3, minor][..],
        &[9; 32],
        // No session, ECDHE-ECDSA with AES-128-GCM, no compression.
        &[0, 0, 2, 0xc0, 0x2b, 1, 0],
        &[0, 16],
        &extensions,
    ]
    .concat()
}

/// Catches: a version that is broken. TLS 1.1 gets the alert `protocol_version`, the same in TLS 1.2 an
/// answer.
#[tokio::test]
async fn tls_1_1_is_refused() {
    let world = World::new(Bounds::OURS).await;
    let alert = rest(world.send(&hello(2)).await).await;
    assert_eq!(alert, [0x15, 3, 3, 0, 2, 2, 70]);
    let mut answer = [0; 1];
    let read = world.send(&hello(3)).await.read(&mut answer).await;
    assert_eq!((read.unwrap(), answer), (1, [0x16]));
}

/// Catches: a renewed certificate that is shown after a restart only, and a half written one that
/// replaces the good one.
#[tokio::test]
async fn a_renewed_certificate_is_taken_up() {
    let world = World::new(Bounds::OURS).await;
    let next = TestAuthority::generate();
    assert!(world.ask(&next).await.is_err());
    // The certificate first, its key not yet.
    let (of_certificate, of_key) = (tempfile::tempdir().unwrap(), world.dir.path());
    let (certificate, key) = next.issue(3).write(of_certificate.path());
    fs::copy(certificate, of_key.join("tls.pem")).unwrap();
    tokio::time::sleep(SHORT).await;
    assert_eq!(world.ask(&world.authority).await.unwrap(), "here");
    fs::copy(key, of_key.join("tls-key.pem")).unwrap();
    let taken = async {
        while world.ask(&next).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, taken).await.unwrap();
    assert!(world.ask(&world.authority).await.is_err());
}

/// Catches: a stop that waits for those who are silent.
#[tokio::test]
async fn a_stop_does_not_wait_for_a_handshake() {
    let (dir, authority) = (tempfile::tempdir().unwrap(), TestAuthority::generate());
    let (certificate, key) = authority.issue(2).write(dir.path());
    let identity = TlsIdentity::read(&certificate, &key).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = tcp.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async move {
        let _ = stopped.await;
    };
    let listening = Listening::over_tls(tcp, identity);
    let serving = tokio::spawn(run(listening, router(), "serving", shutdown));
    let silent = TcpStream::connect(at).await.unwrap();
    let client = LogClient::with_root(&format!("https://{at}"), authority.root()).unwrap();
    assert_eq!(client.checkpoint().await.unwrap(), "here");
    stop.send(()).unwrap();
    let ended = timeout(crate::server::GRACE / 2, serving).await;
    ended.expect("before the grace is over").unwrap().unwrap();
    assert_eq!(rest(silent).await, b"");
    assert!(TcpStream::connect(at).await.is_err());
}

/// The error, which must name this file.
fn refused(certificate: &Path, key: &Path, named: &Path) -> TlsFileError {
    let error = TlsIdentity::read(certificate, key).err().unwrap();
    let said = error.to_string();
    assert!(said.contains(&named.display().to_string()), "{said}");
    error
}

/// Catches: a server that starts with files that no client can use, or with a key that everybody can
/// read; and an error that blames the other file.
#[test]
fn bad_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let own = TestAuthority::generate().issue(2);
    let (certificate, key) = own.write(dir.path());
    assert!(TlsIdentity::read(&certificate, &key).is_ok());
    let put = |bytes: &[u8]| {
        let path = dir.path().join("bad.pem");
        let _ = fs::remove_file(&path);
        crate::pem::create_text(&path, &siegel_ident::SecretBytes::new(bytes.to_vec())).unwrap();
        path
    };
    let of_certificate = |bad: &Path| {
        let error = refused(bad, &key, bad);
        assert!(matches!(error, TlsFileError::Certificate { .. }), "{error}");
    };
    let of_key = |bad: &Path| {
        let error = refused(&certificate, bad, bad);
        assert!(matches!(error, TlsFileError::Key { .. }), "{error}");
    };
    let nonsense = crate::pem::block("CERTIFICATE", b"nonsense");
    let torn = fs::read(&certificate).unwrap();
    for bytes in [
        b"",
        &b"hello"[..],
        nonsense.expose(),
        &torn[..torn.len() - 20],
    ] {
        of_certificate(&put(bytes));
    }
    let encrypted = crate::pem::block("ENCRYPTED PRIVATE KEY", &own.pkcs8);
    let torn = fs::read(&key).unwrap();
    for bytes in [
        b"",
        &b"hello"[..],
        encrypted.expose(),
        &torn[..torn.len() - 20],
    ] {
        of_key(&put(bytes));
    }
    for bad in [Path::new("/dev/zero"), dir.path(), &dir.path().join("none")] {
        of_certificate(bad);
        of_key(bad);
    }
    // The names changed over.
    of_certificate(&key.clone());
    // A good key that everybody can read.
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let error = refused(&certificate, &key, &key);
    assert!(error.to_string().contains("chmod o="), "{error}");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(TlsIdentity::read(&certificate, &key).is_ok());
    // A good key of another certificate.
    let elsewhere = tempfile::tempdir().unwrap();
    let (_, other) = TestAuthority::generate().issue(2).write(elsewhere.path());
    let error = refused(&certificate, &other, &other);
    assert!(matches!(error, TlsFileError::Pair { .. }), "{error}");
}

/// Catches: a key in the older form (SEC1), with its parameters before it as OpenSSL writes them, that is
/// not read; and text around the blocks that puts the reader off.
#[test]
fn both_forms_of_an_ec_key_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let own = TestAuthority::generate().issue(2);
    let (certificate, _) = own.write(dir.path());
    // PKCS#8 of P-256 is the key of SEC1 behind 29 bytes.
    let parameters = crate::pem::block("EC PARAMETERS", &[6, 8, 42, 134, 72, 206, 61, 3, 1, 7]);
    let sec1 = crate::pem::block("EC PRIVATE KEY", &own.pkcs8[29..]);
    let text = [b"Key of the log\n", parameters.expose(), sec1.expose()].concat();
    let path = dir.path().join("sec1.pem");
    crate::pem::create_text(&path, &siegel_ident::SecretBytes::new(text)).unwrap();
    TlsIdentity::read(&certificate, &path).unwrap();
}
