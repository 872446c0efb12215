//! Many uploads, one after the other.

use siegel_ident::{BlobDigest, Digest};
use siegel_wire::v1::{GetUploadsRequest, UploadPart, UploadParts};
use tonic::Streaming;

use super::{DepotClient, Patience, is_away, timed};
use crate::LinkError;

/// Uploads that one request names.
const PAGE: usize = 1024;

/// Uploads on their way, in the order in which they were asked for. The depot sends ahead no more
/// than the windows of HTTP/2 take: 1 MiB. Whoever does not ask for the next one holds the depot
/// up, and nothing fills.
pub struct Uploads<'a> {
    client: &'a DepotClient,
    left: &'a [BlobDigest],
    max: usize,
    page: Option<Page>,
}

/// The rest of one request's answer.
struct Page {
    stream: Streaming<UploadParts>,
    parts: std::vec::IntoIter<UploadPart>,
    /// Uploads still to come.
    left: usize,
}

impl DepotClient {
    /// Fetches uploads of at most `max` bytes each, in this order.
    pub fn uploads<'a>(&'a self, digests: &'a [BlobDigest], max: usize) -> Uploads<'a> {
        Uploads {
            client: self,
            left: digests,
            max,
            page: None,
        }
    }
}

impl Uploads<'_> {
    /// Which upload comes next; `None` after the last one.
    pub fn expected(&self) -> Option<BlobDigest> {
        self.left.first().copied()
    }

    /// The next upload; its digest is the one that was asked for (I2). While the depot is away it is
    /// asked again, from this upload on, as long as patience lasts (I8).
    ///
    /// # Errors
    /// As [`DepotClient::get`]. Nothing is skipped: the next call asks for the same upload again.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        let Some((&asked, left)) = self.left.split_first() else {
            return Ok(None);
        };
        let mut patience = Patience::new(self.client.patience);
        loop {
            match self.read().await {
                Ok(bytes) => {
                    let (asked, found) = (asked.digest(), Digest::of(&bytes));
                    if found != asked {
                        self.page = None;
                        return Err(LinkError::OtherBytes { asked, found });
                    }
                    self.left = left;
                    return Ok(Some(bytes));
                }
                Err(error) => {
                    // What came of this upload is of no use.
                    self.page = None;
                    if !is_away(&error) || !patience.wait(&error).await {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn read(&mut self) -> Result<Vec<u8>, LinkError> {
        let page = match self.page.take().filter(|page| page.left > 0) {
            Some(page) => page,
            None => self.ask().await?,
        };
        let page = self.page.insert(page);
        let mut bytes = Vec::new();
        loop {
            let UploadPart { mut data, last } = page.part().await?;
            let max = self.max;
            if data.len() > max - bytes.len() {
                return Err(LinkError::TooMuch { max, unit: "bytes" });
            }
            match bytes.is_empty() {
                true => bytes = data,
                false => bytes.append(&mut data),
            }
            if last {
                page.left -= 1;
                return Ok(bytes);
            }
        }
    }

    async fn ask(&self) -> Result<Page, LinkError> {
        let asked = self.left.chunks(PAGE).next().unwrap_or_default();
        let request = GetUploadsRequest {
            digests: asked.iter().map(|digest| digest.to_vec()).collect(),
        };
        let mut rpc = self.client.rpc.clone();
        let reply = timed("a depot get", rpc.get_uploads(request)).await?;
        Ok(Page {
            stream: reply.into_inner(),
            parts: Vec::new().into_iter(),
            left: asked.len(),
        })
    }
}

impl Page {
    async fn part(&mut self) -> Result<UploadPart, LinkError> {
        loop {
            if let Some(part) = self.parts.next() {
                return Ok(part);
            }
            let message = timed("a depot chunk", self.stream.message()).await?;
            // A stream that ends too early says nothing about what is stored.
            self.parts = message.ok_or(LinkError::Cut)?.parts.into_iter();
        }
    }
}
