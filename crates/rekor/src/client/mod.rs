//! Reading and writing logs from outside.

mod folder;
mod http;
mod prove;
mod reader;
mod timestamp;
mod tls;

pub use folder::FolderLog;
pub use http::LogClient;
pub use reader::LogReader;

pub(crate) use tls::builder;
