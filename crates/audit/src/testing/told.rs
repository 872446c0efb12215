//! What a scene is told to do otherwise than an honest one.

use siegel_attest::KeyBundle;
use siegel_endorse::Endorsement;
use siegel_ident::{Measurement, Timestamp};

/// Changes on the way into the log. The default changes nothing.
#[derive(Clone, Copy)]
pub struct Told {
    /// Before the endorsements are signed.
    pub vouch: fn(&mut Vouch),
    /// Before each key bundle is signed and quoted.
    pub quote: fn(&mut Quote),
}

impl Default for Told {
    fn default() -> Self {
        Self {
            vouch: |_| (),
            quote: |_| (),
        }
    }
}

/// The endorsements to be logged.
pub struct Vouch {
    /// Binaries first, then one per program.
    pub documents: Vec<Endorsement>,
    /// Signed by the publisher, whom the policy does not name.
    pub by_stranger: bool,
    /// The source manifest, if it is archived.
    pub manifest: Option<Vec<u8>>,
    /// The recipe, if it is archived.
    pub recipe: Option<Vec<u8>>,
}

/// The key offer to be logged.
pub struct Quote {
    /// What the cluster signs.
    pub bundle: KeyBundle,
    /// What the evidence measures.
    pub measurement: Measurement,
    /// When the evidence is made.
    pub issued_at: Timestamp,
    /// The note beside it.
    pub checkpoint: String,
    /// Signed by the publisher instead of the cluster.
    pub by_stranger: bool,
    /// It is logged at all.
    pub logged: bool,
}
