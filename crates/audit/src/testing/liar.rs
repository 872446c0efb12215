//! A log over HTTP that lies: it passes on what an honest server answers, bent on the way.

use std::sync::{Arc, Mutex};

use siegel_rekor::Log;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What becomes of an answer, by its path; `None`: not found.
pub type Bend = Arc<dyn Fn(&str, Vec<u8>) -> Option<Vec<u8>> + Send + Sync>;

/// A lying server, until it is dropped.
pub struct Liar {
    /// Where it is.
    pub url: String,
    state: Arc<Mutex<(Log, Bend)>>,
    server: JoinHandle<()>,
}

impl Liar {
    /// Serves `log` honestly, until told otherwise.
    pub async fn serve(log: Log) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let honest: Bend = Arc::new(|_, body| Some(body));
        let state = Arc::new(Mutex::new((log, honest)));
        let shared = Arc::clone(&state);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, bend) = shared.lock().unwrap().clone();
                tokio::spawn(answer(stream, log, bend));
            }
        });
        Self { url, state, server }
    }

    /// From now on answers are bent so.
    pub fn lie(&self, bend: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>> + Send + Sync + 'static) {
        self.state.lock().unwrap().1 = Arc::new(bend);
    }

    /// From now on another log is shown.
    pub fn show(&self, log: Log) {
        self.state.lock().unwrap().0 = log;
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// One request; its connection closes with the answer.
async fn answer(mut stream: TcpStream, log: Log, bend: Bend) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let path = head.split(' ').nth(1)?;
    let body = honest(&log, path).await;
    let reply = match body.and_then(|body| bend(path, body)) {
        Some(body) => [&line("200 OK", body.len())[..], &body].concat(),
        None => line("404 Not Found", 0),
    };
    stream.write_all(&reply).await.ok()?;
    stream.shutdown().await.ok()
}

fn line(status: &str, length: usize) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n").into()
}

/// What an honest server says; `None` where it has no such thing.
async fn honest(log: &Log, path: &str) -> Option<Vec<u8>> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = tokio::spawn(siegel_rekor::serve(
        listener,
        log.clone(),
        std::future::pending(),
    ));
    let mut stream = TcpStream::connect(at).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    server.abort();
    let end = reply.windows(4).position(|w| w == b"\r\n\r\n")?;
    let (head, body) = reply.split_at(end + 4);
    head.starts_with(b"HTTP/1.1 200").then(|| body.to_vec())
}

/// The entries of a bundle (`u16 length ‖ body`, …).
pub fn unbundle(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (body, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)));
        bodies.push(body.to_vec());
        bytes = rest;
    }
    bodies
}

/// The same, the other way.
pub fn bundle(bodies: &[Vec<u8>]) -> Vec<u8> {
    let one = |body: &Vec<u8>| [&(body.len() as u16).to_be_bytes()[..], body].concat();
    bodies.iter().flat_map(one).collect()
}
