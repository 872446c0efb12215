//! Asking a time stamp authority, which stands at the log's URL or at one of its own.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use ring::rand::{SecureRandom as _, SystemRandom};

use siegel_translog::GeneralBundle;

use super::LogClient;
use crate::error::RekorError;
use crate::signer::no_randomness;
use crate::tsa::{self, MAX_REPLY, QUERY_TYPE};

impl LogClient {
    /// A time stamp token over `message`: the DER of a `TimeStampResp`, as bundles carry it.
    ///
    /// It is checked to be about these bytes and this request (I2). Whether its signer is to be
    /// believed is for whoever pins the authority.
    ///
    /// # Errors
    /// [`RekorError::NotFound`] if there is no authority at this URL; [`RekorError::Timestamp`] for
    /// a token that is about something else; any error of the network.
    pub async fn timestamp(&self, message: &[u8]) -> Result<Vec<u8>, RekorError> {
        let mut nonce = [0; 8];
        let filled = SystemRandom::new().fill(&mut nonce);
        filled.map_err(|_| no_randomness())?;
        let (url, request) = self.request(Method::POST, "api/v1/timestamp")?;
        let request = request
            .header(CONTENT_TYPE, QUERY_TYPE)
            .body(tsa::query(message, nonce)?);
        let reply = self.bytes(&url, request, MAX_REPLY).await?;
        tsa::check_reply(&reply, message, nonce)?;
        Ok(reply)
    }

    /// Adds a token over the bundle's signature. Without an authority at this URL the bundle stays
    /// as it is, and the answer is false.
    ///
    /// # Errors
    /// As [`Self::timestamp`], but for [`RekorError::NotFound`].
    pub async fn stamp(&self, bundle: &mut GeneralBundle) -> Result<bool, RekorError> {
        match self.timestamp(&bundle.envelope.signature).await {
            Ok(token) => bundle.timestamps.push(token),
            Err(RekorError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}
