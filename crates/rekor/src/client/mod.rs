//! Reading and writing logs from outside.

mod folder;
mod http;
mod reader;
mod timestamp;
mod tls;

pub use folder::FolderLog;
pub use http::LogClient;
pub use reader::LogReader;

#[cfg(test)]
pub(crate) use tls::trusting_nobody;
