//! The client of a log's HTTP API. It verifies nothing but digests: proofs are checked by whoever
//! has the anchors.

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use siegel_ident::Digest;
use siegel_translog::checkpoint::MAX_NOTE;
use siegel_translog::tiles::{Level, MAX_ENTRIES, MAX_HASHES, WIDTH, parse_entries};
use siegel_translog::tlog_entry::MAX_ENTRY;
use siegel_translog::{Bundle, Envelope, HashedRekord, SpkiKey, TilePath, TlogEntry};
use tokio::time::Instant;

use super::pace::Pace;
use super::tls;
use crate::MAX_ARCHIVED;
use crate::error::RekorError;
use crate::log::same_bytes;

const CONNECT: Duration = Duration::from_secs(5);
/// First and longest pause while the log is away.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Longest that any request takes.
const ANSWER: Duration = Duration::from_secs(60);

/// How this client names itself.
const USER_AGENT: &str = concat!("siegel/", env!("CARGO_PKG_VERSION"));

/// A log at an `http://` or `https://` URL.
#[derive(Clone, Debug)]
pub struct LogClient {
    base: Url,
    archive: Url,
    client: Client,
    patience: Duration,
    pace: Pace,
    pub(super) log_id: Option<Digest>,
}

impl LogClient {
    /// A client of the log at `url`. Nothing is sent yet. For `https://` the system's certificate
    /// authorities are trusted, or those in the file that `SSL_CERT_FILE` names.
    ///
    /// # Errors
    /// [`RekorError::Url`]; [`RekorError::Tls`] if there are no authorities to trust.
    pub fn new(url: &str) -> Result<Self, RekorError> {
        Self::trusting(url, None)
    }

    /// The same, but for `https://` only this authority is trusted (DER).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_root(url: &str, certificate: &[u8]) -> Result<Self, RekorError> {
        Self::trusting(url, Some(certificate))
    }

    fn trusting(url: &str, root: Option<&[u8]>) -> Result<Self, RekorError> {
        let (base, client) = client_of(url, root)?;
        Ok(Self {
            archive: base.clone(),
            base,
            client,
            patience: Duration::ZERO,
            pace: Pace::LEAST,
            log_id: None,
        })
    }

    /// Retries for this long while the log is away (I8). Every call can be repeated: the same entry
    /// again is the entry that is there, and objects are named by their digest. A refusal is never
    /// repeated.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Puts up with this pace.
    #[cfg(test)]
    pub(crate) fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Says which log this is (`LogAnchors::log_id`). Only needed for logs that answer 409 to an entry
    /// which they have, as Rekor v2 does: its proof is then computed from the tiles, which do not
    /// name the log.
    #[must_use]
    pub fn with_log_id(mut self, log_id: Digest) -> Self {
        self.log_id = Some(log_id);
        self
    }

    /// Archives at another URL: for a Rekor v2 that has no archive beside it. `GET` and `PUT` of
    /// `archive/SHA256` below it are an archive.
    ///
    /// # Errors
    /// [`RekorError::Url`].
    pub fn with_archive(mut self, url: &str) -> Result<Self, RekorError> {
        self.archive = Self::new(url)?.base;
        Ok(self)
    }

    /// The URL that has the archive below it: the log's, if not said otherwise.
    pub fn archive_url(&self) -> &str {
        self.archive.as_str()
    }

    /// The log's URL.
    pub fn url(&self) -> &str {
        self.base.as_str()
    }

    /// Archives what an auditor will need, logs the envelope, and returns the bundle's bytes.
    ///
    /// `payload` are the exact bytes that the statement is about. They and the signed bytes (the
    /// PAE) are in the archive before the entry is in the log, so that no entry is ever without
    /// its bytes (I17). Doing it again gives the same entry.
    ///
    /// # Errors
    /// [`RekorError::Proof`] if `key` did not sign the envelope; any error of the network or log.
    pub async fn publish(
        &self,
        envelope: &Envelope,
        key: &SpkiKey,
        payload: &[u8],
    ) -> Result<Vec<u8>, RekorError> {
        self.archive(envelope, key, payload).await?;
        let entry = self.submit(envelope, key).await?;
        Ok(Bundle::new(envelope.clone(), key, entry).to_json()?)
    }

    /// Archives the payload and the signed bytes, without logging anything: the first half of
    /// [`Self::publish`].
    ///
    /// # Errors
    /// The same.
    pub async fn archive(
        &self,
        envelope: &Envelope,
        key: &SpkiKey,
        payload: &[u8],
    ) -> Result<(), RekorError> {
        envelope.verify(key)?;
        self.archive_put(payload).await?;
        self.archive_put(&envelope.pae()).await?;
        Ok(())
    }

    /// Logs an envelope. The same envelope again returns the entry that is there, also where the log
    /// answers 409 and its index.
    ///
    /// # Errors
    /// [`RekorError::Refused`] with the log's words; [`RekorError::Answer`] if the log answers
    /// with another entry; after a 409 those of [`Self::prove`].
    pub async fn submit(
        &self,
        envelope: &Envelope,
        key: &SpkiKey,
    ) -> Result<TlogEntry, RekorError> {
        self.submit_record(&HashedRekord::of(envelope, key)).await
    }

    /// Logs an entry, which may name a certificate. The same entry again returns the one that is
    /// there.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub async fn submit_record(&self, record: &HashedRekord) -> Result<TlogEntry, RekorError> {
        let (url, request) = self.request(Method::POST, "api/v2/log/entries")?;
        let request = request
            .header("content-type", "application/json")
            .body(record.request_json());
        let entry = match self.bytes(&url, request, MAX_ENTRY).await {
            Ok(bytes) => TlogEntry::parse_answer(&bytes)?,
            Err(RekorError::Duplicate { index, .. }) => self.prove(index).await?,
            Err(error) => return Err(error),
        };
        if entry.canonicalized_body != record.canonical_body() {
            return Err(RekorError::Answer {
                url,
                why: "another entry than the sent one".into(),
            });
        }
        Ok(entry)
    }

    /// The signed note, unverified.
    ///
    /// # Errors
    /// Any error of the network or log.
    pub async fn checkpoint(&self) -> Result<String, RekorError> {
        let (url, request) = self.request(Method::GET, "api/v2/checkpoint")?;
        self.text(url, request).await
    }

    /// The signed note that this very URL serves, unverified: a witness or a mirror may show the
    /// log's checkpoint at any path.
    ///
    /// # Errors
    /// Any error of the network or server.
    pub async fn note(&self) -> Result<String, RekorError> {
        let url = self.base.as_str().trim_end_matches('/').to_owned();
        let request = self.client.get(&url);
        self.text(url, request).await
    }

    async fn text(&self, url: String, request: RequestBuilder) -> Result<String, RekorError> {
        let bytes = self.bytes(&url, request, MAX_NOTE).await?;
        String::from_utf8(bytes).map_err(|_| RekorError::Answer {
            url,
            why: "the checkpoint is not text".into(),
        })
    }

    /// The bodies of entries `from..to`, unverified. `to` must be at most the size of a
    /// checkpoint of this log.
    ///
    /// # Errors
    /// [`RekorError::NotFound`] if there are not so many; any error of the network or log.
    pub async fn entries(&self, from: u64, to: u64) -> Result<Vec<Vec<u8>>, RekorError> {
        let mut bodies = Vec::new();
        let mut next = from;
        while next < to {
            let (index, skip) = (next / WIDTH, next % WIDTH);
            let width = (to - index * WIDTH).min(WIDTH);
            let bundle = self.entry_bundle(index, width).await?;
            let wanted = bundle.into_iter().take(width as usize).skip(skip as usize);
            bodies.extend(wanted);
            next = index * WIDTH + width;
        }
        Ok(bodies)
    }

    /// Stores bytes under their digest; returns it. They are durable when this returns.
    ///
    /// # Errors
    /// [`RekorError::TooLong`] before anything is sent; [`RekorError::StorageFull`]; any error of
    /// the network or log.
    pub async fn archive_put(&self, bytes: &[u8]) -> Result<Digest, RekorError> {
        if bytes.len() > MAX_ARCHIVED {
            return Err(RekorError::TooLong {
                what: "an archived object",
                max: MAX_ARCHIVED,
            });
        }
        let digest = Digest::of(bytes);
        let (url, request) =
            self.request_at(&self.archive, Method::PUT, &format!("archive/{digest}"))?;
        self.bytes(&url, request.body(bytes.to_vec()), MAX_ENTRY)
            .await?;
        Ok(digest)
    }

    /// The bytes with this digest, checked.
    ///
    /// # Errors
    /// [`RekorError::NotFound`], [`RekorError::OtherBytes`]; any error of the network or log.
    pub async fn archive_get(&self, digest: &Digest) -> Result<Vec<u8>, RekorError> {
        let (url, request) =
            self.request_at(&self.archive, Method::GET, &format!("archive/{digest}"))?;
        let bytes = self.bytes(&url, request, MAX_ARCHIVED).await?;
        same_bytes(digest, &bytes)?;
        Ok(bytes)
    }

    pub(super) async fn entry_bundle(
        &self,
        index: u64,
        width: u64,
    ) -> Result<Vec<Vec<u8>>, RekorError> {
        let tile = TilePath {
            level: Level::Entries,
            index,
            width,
        };
        let (_, url, bytes) = self.tile(tile, MAX_ENTRIES).await?;
        parse_entries(&bytes)
            .filter(|list| list.len() as u64 >= width)
            .ok_or_else(|| RekorError::Answer {
                url,
                why: "torn or missing entries".into(),
            })
    }

    /// The bytes of a hash tile, unverified, and the tile that was found: this one, or the full one
    /// at its place.
    ///
    /// # Errors
    /// [`RekorError::NotFound`]; [`RekorError::TooLong`]; any error of the network or log.
    pub async fn hash_tile(&self, tile: TilePath) -> Result<(TilePath, Vec<u8>), RekorError> {
        let (found, _, bytes) = self.tile(tile, MAX_HASHES).await?;
        Ok((found, bytes))
    }

    /// A tile, at least as wide as asked for, which one it is, and where.
    pub(super) async fn tile(
        &self,
        tile: TilePath,
        max: usize,
    ) -> Result<(TilePath, String, Vec<u8>), RekorError> {
        match self.get_tile(tile, max).await {
            // Logs may drop a partial tile once the full one is there.
            Err(RekorError::NotFound(_)) if tile.width < WIDTH => {
                self.get_tile(tile.full(), max).await
            }
            other => other,
        }
    }

    async fn get_tile(
        &self,
        tile: TilePath,
        max: usize,
    ) -> Result<(TilePath, String, Vec<u8>), RekorError> {
        let (url, request) = self.request(Method::GET, &format!("api/v2/tile/{tile}"))?;
        let bytes = self.bytes(&url, request, max).await?;
        Ok((tile, url, bytes))
    }

    pub(super) fn request(
        &self,
        method: Method,
        path: &str,
    ) -> Result<(String, RequestBuilder), RekorError> {
        self.request_at(&self.base, method, path)
    }

    fn request_at(
        &self,
        base: &Url,
        method: Method,
        path: &str,
    ) -> Result<(String, RequestBuilder), RekorError> {
        let url = base
            .join(path)
            .map_err(|e| RekorError::Url(e.to_string()))?;
        Ok((url.to_string(), self.client.request(method, url)))
    }

    /// The answer to a request, repeated while the log is away and patience lasts.
    pub(super) async fn bytes(
        &self,
        url: &str,
        request: RequestBuilder,
        max: usize,
    ) -> Result<Vec<u8>, RekorError> {
        let give_up = Instant::now() + self.patience;
        let mut pause = PAUSE;
        // `None` only for bodies that are streams, and there are none.
        while let Some(attempt) = request.try_clone() {
            match self.once(url, attempt, max).await {
                Err(error) if error.is_transient() && Instant::now() < give_up => {
                    tracing::debug!(%error, "the log is away, trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                result => return result,
            }
        }
        self.once(url, request, max).await
    }

    /// Sends and reads at most `max` bytes of a successful answer.
    async fn once(
        &self,
        url: &str,
        request: RequestBuilder,
        max: usize,
    ) -> Result<Vec<u8>, RekorError> {
        let network = |source| RekorError::Network {
            url: url.to_owned(),
            source,
        };
        let (client, request) = request.build_split();
        let request = request.map_err(network)?;
        // What is written takes its time before there is an answer; what is read is there already.
        let reads = *request.method() == Method::GET;
        let begun = Instant::now();
        let sent = client.execute(request);
        let mut response = match reads {
            true => self.pace.keep(url, begun, 0, sent).await?,
            false => sent.await,
        }
        .map_err(network)?;
        let begun = if reads { begun } else { Instant::now() };
        let status = response.status();
        let index = response.headers().get("x-log-index");
        let index = index.and_then(|index| index.to_str().ok()?.parse().ok());
        let mut bytes = Vec::new();
        loop {
            let chunk = response.chunk();
            let chunk = self.pace.keep(url, begun, bytes.len(), chunk).await?;
            let Some(chunk) = chunk.map_err(network)? else {
                break;
            };
            bytes.extend_from_slice(&chunk);
            if bytes.len() > max {
                return Err(RekorError::TooLong {
                    what: "the log's answer",
                    max,
                });
            }
        }
        match status {
            s if s.is_success() => Ok(bytes),
            StatusCode::NOT_FOUND => Err(RekorError::NotFound(url.to_owned())),
            StatusCode::INSUFFICIENT_STORAGE => Err(RekorError::StorageFull {
                what: "the log's storage",
            }),
            StatusCode::CONFLICT if index.is_some() => Err(RekorError::Duplicate {
                url: url.to_owned(),
                index: index.unwrap_or_default(),
            }),
            s => Err(RekorError::Refused {
                url: url.to_owned(),
                status: s.as_u16(),
                message: message_of(&bytes),
            }),
        }
    }
}

/// The folder that a URL names, and a client for it: of the system's certificate authorities, or of
/// one root only.
pub(crate) fn client_of(url: &str, root: Option<&[u8]>) -> Result<(Url, Client), RekorError> {
    let bad = |why: &str| RekorError::Url(format!("{url:?}: {why}"));
    let mut base = Url::parse(url).map_err(|e| bad(&e.to_string()))?;
    // Plain HTTP needs no roots, and no time to read them.
    let tls = match base.scheme() {
        "http" => tls::trusting_nobody()?,
        "https" => tls::config(root)?,
        _ => return Err(bad("expected http:// or https://")),
    };
    if base.query().is_some() || base.fragment().is_some() {
        return Err(bad("expected no query and no fragment"));
    }
    if !base.path().ends_with('/') {
        base.set_path(&format!("{}/", base.path()));
    }
    let client = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT)
        .timeout(ANSWER)
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|source| RekorError::Network {
            url: url.to_owned(),
            source,
        })?;
    Ok((base, client))
}

/// The `message` of an error answer, or its beginning.
fn message_of(bytes: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Message {
        message: String,
    }
    let text = serde_json::from_slice::<Message>(bytes).map_or_else(
        |_| String::from_utf8_lossy(bytes).into_owned(),
        |m| m.message,
    );
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}
