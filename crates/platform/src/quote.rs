//! Where evidence comes from.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::PlatformError;

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Asks the TEE, or what stands in its place, for evidence over `report_data`.
///
/// In a launched process this is the launcher's socket; on a real machine [`TsmQuotes`](crate::TsmQuotes).
pub trait QuoteSource: Send + Sync {
    /// Evidence that binds these 64 bytes to the measurement of this process.
    fn quote(&self, report_data: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>>;
}

impl<T: QuoteSource + ?Sized> QuoteSource for Arc<T> {
    fn quote(&self, report_data: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        (**self).quote(report_data)
    }
}
