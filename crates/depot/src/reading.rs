//! Many uploads as one stream.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use siegel_ident::BlobDigest;
use siegel_wire::v1::{UploadPart, UploadParts};

use crate::{Depot, DepotError, Kind};

/// Most uploads that one request may name: its digests have 32 KiB.
pub const MAX_ASKED: usize = 1024;
/// Bytes of uploads in one message.
const MESSAGE: usize = 256 * 1024;
/// Reads under way at once.
const READ_AT_ONCE: usize = 8;

/// Reads uploads as fast as the reader takes them. At most a message's worth of uploads, or one
/// larger upload, is in memory.
pub(crate) struct Reading {
    depot: Depot,
    left: VecDeque<BlobDigest>,
    ready: VecDeque<UploadParts>,
    failed: Option<DepotError>,
}

impl Reading {
    /// Refuses more than [`MAX_ASKED`] (I14).
    pub(crate) fn new(depot: Depot, asked: Vec<BlobDigest>) -> Result<Self, DepotError> {
        if asked.len() > MAX_ASKED {
            return Err(DepotError::TooMany {
                asked: asked.len(),
                max: MAX_ASKED,
            });
        }
        Ok(Self {
            depot,
            left: asked.into(),
            ready: VecDeque::new(),
            failed: None,
        })
    }

    /// All uploads up to the first that cannot be read, then why.
    pub(crate) fn stream(self) -> impl Stream<Item = Result<UploadParts, DepotError>> + Send {
        stream::try_unfold(self, |mut reading| async move {
            let next = reading.next().await?;
            Ok(next.map(|message| (message, reading)))
        })
    }

    async fn next(&mut self) -> Result<Option<UploadParts>, DepotError> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let asked = self.window();
            if asked.is_empty() {
                return Ok(None);
            }
            let depot = &self.depot;
            let read = stream::iter(asked)
                .map(|upload| depot.get(Kind::Upload, upload.digest()))
                .buffered(READ_AT_ONCE);
            let read = read.collect().await;
            self.pack(read);
        }
    }

    /// The next uploads that fill a message; a larger one comes alone.
    fn window(&mut self) -> Vec<BlobDigest> {
        let (mut asked, mut bytes) = (Vec::new(), 0);
        while let Some(upload) = self.left.front() {
            // What is not there has no length.
            bytes += self.depot.len_of(upload).unwrap_or(0);
            if bytes > MESSAGE as u64 && !asked.is_empty() {
                break;
            }
            asked.extend(self.left.pop_front());
        }
        asked
    }

    fn pack(&mut self, read: Vec<Result<Bytes, DepotError>>) {
        let (mut message, mut room) = (UploadParts::default(), MESSAGE);
        for upload in read {
            let mut rest = match upload {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            };
            loop {
                let data = rest.split_to(room.min(rest.len()));
                room -= data.len();
                let last = rest.is_empty();
                let data = data.to_vec();
                message.parts.push(UploadPart { data, last });
                if room == 0 {
                    self.ready.push_back(std::mem::take(&mut message));
                    room = MESSAGE;
                }
                if last {
                    break;
                }
            }
        }
        if !message.parts.is_empty() {
            self.ready.push_back(message);
        }
    }
}
