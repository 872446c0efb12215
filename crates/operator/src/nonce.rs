//! The time, as the witnesses of the log tell it.

use siegel_translog::nonce::NonceDocument;
use siegel_translog::predicate;

use crate::{Operator, OperatorError, Published};

impl Operator {
    /// Logs a nonce and returns the proof: whoever drew it learns from the proof's cosignatures that
    /// so much time has passed at least.
    ///
    /// # Errors
    /// Any [`OperatorError`] of the log.
    pub async fn witnessed_nonce(&self, nonce: [u8; 32]) -> Result<Published, OperatorError> {
        let document = NonceDocument { nonce };
        let bytes = document
            .to_bytes()
            .map_err(|why| OperatorError::document("nonce", why))?;
        self.publish("nonce", predicate::NONCE, bytes).await
    }
}
