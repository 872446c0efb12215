//! Reading and writing logs from outside.

mod folder;
mod http;
mod reader;
mod timestamp;

pub use folder::FolderLog;
pub use http::LogClient;
pub use reader::LogReader;
