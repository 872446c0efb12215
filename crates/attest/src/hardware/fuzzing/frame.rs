//! Evidence as sessions and key offers carry it.

use crate::evidence::{EVIDENCE_MAX, Evidence};

/// What is read is written again as the same bytes: nothing in a frame is without a meaning (I2).
pub fn frame(bytes: &[u8]) -> bool {
    match Evidence::parse(bytes) {
        Err(_) => false,
        Ok(Evidence::Simulated(body)) => {
            assert_eq!(body.len() + 6, bytes.len());
            true
        }
        Ok(Evidence::Hardware(stapled)) => {
            let (evidence, endorsements) = *stapled;
            assert!(bytes.len() <= EVIDENCE_MAX);
            assert_eq!(evidence.staple(&endorsements).as_deref(), Ok(bytes));
            true
        }
    }
}
