//! Reading and writing logs from outside.

mod folder;
mod http;
mod pace;
mod prove;
mod reader;
mod timestamp;
mod tls;

pub use folder::FolderLog;
pub use http::LogClient;
pub(crate) use http::client_of;
pub use reader::LogReader;

#[cfg(test)]
pub(crate) use pace::Pace;
#[cfg(test)]
pub(crate) use tls::trusting_nobody;
