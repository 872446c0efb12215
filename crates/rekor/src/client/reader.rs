//! A log to read from, wherever it is.

use std::path::Path;

use siegel_ident::Digest;
use siegel_translog::TilePath;
use siegel_translog::tiles::Level;

use super::{FolderLog, LogClient};
use crate::error::RekorError;
use crate::log::Log;

/// What an auditor reads. Everything it returns but archived bytes is unverified.
#[derive(Clone)]
pub enum LogReader {
    /// A server.
    Http(LogClient),
    /// The folder of a log.
    Folder(FolderLog),
    /// A log in this process.
    Open(Log),
}

impl LogReader {
    /// A URL (`http://…`) or else a folder.
    ///
    /// # Errors
    /// As [`LogClient::new`] and [`FolderLog::open`].
    pub fn new(url_or_folder: &str) -> Result<Self, RekorError> {
        if url_or_folder.contains("://") {
            return Ok(Self::Http(LogClient::new(url_or_folder)?));
        }
        Ok(Self::Folder(FolderLog::open(Path::new(url_or_folder))?))
    }

    /// Reads payloads at another URL: for the log of a server that has no archive beside it.
    ///
    /// # Errors
    /// [`RekorError::Url`], also if the log is not at a URL.
    pub fn with_archive(self, url: &str) -> Result<Self, RekorError> {
        match self {
            Self::Http(client) => Ok(Self::Http(client.with_archive(url)?)),
            Self::Folder(_) | Self::Open(_) => Err(RekorError::Url(format!(
                "{url}: only a log at a URL has its archive elsewhere"
            ))),
        }
    }

    /// The signed note.
    ///
    /// # Errors
    /// [`RekorError`] of the source.
    pub async fn checkpoint(&self) -> Result<String, RekorError> {
        match self {
            Self::Http(client) => client.checkpoint().await,
            Self::Folder(folder) => folder.checkpoint().await,
            Self::Open(log) => Ok(log.checkpoint()),
        }
    }

    /// The bodies of entries `from..to`.
    ///
    /// # Errors
    /// [`RekorError`] of the source.
    pub async fn entries(&self, from: u64, to: u64) -> Result<Vec<Vec<u8>>, RekorError> {
        match self {
            Self::Http(client) => client.entries(from, to).await,
            Self::Folder(folder) => folder.entries(from, to).await,
            Self::Open(log) => log.bodies(from, to).await,
        }
    }

    /// The bytes of a hash tile, and the tile that was found: this one, or the full one at its place.
    ///
    /// # Errors
    /// [`RekorError::NotFound`] if it is withheld; other errors of the source.
    pub async fn hash_tile(&self, tile: TilePath) -> Result<(TilePath, Vec<u8>), RekorError> {
        match self {
            Self::Http(client) => client.hash_tile(tile).await,
            Self::Folder(folder) => folder.hash_tile(tile).await,
            Self::Open(log) => {
                let bytes = match tile.level {
                    Level::Hashes(level) => log.tile(level, tile.index, tile.width),
                    Level::Entries => None,
                };
                let missing = || RekorError::NotFound(format!("tile {tile}"));
                Ok((tile, bytes.ok_or_else(missing)?))
            }
        }
    }

    /// The archived bytes with this digest, checked against it.
    ///
    /// # Errors
    /// [`RekorError::NotFound`] if they are withheld; other errors of the source.
    pub async fn archive_get(&self, digest: &Digest) -> Result<Vec<u8>, RekorError> {
        match self {
            Self::Http(client) => client.archive_get(digest).await,
            Self::Folder(folder) => folder.archive_get(digest).await,
            Self::Open(log) => log.archive_get(*digest).await,
        }
    }
}
