//! Evidence and all that comes with it, as one input.

use siegel_attest::hardware::{
    Authentic, Endorsements, Evidence, Kind, Rejection, TrustRoots, snp, verify,
};
use siegel_ident::Timestamp;

use crate::script::Script;

/// The kinds, by the lowest two bits of the first byte.
pub const KINDS: [Kind; 4] = [Kind::SevSnp, Kind::Tdx, Kind::Sgx, Kind::AwsNitro];
/// The clocks, by the next two: the mock platform's, and those of real evidence (July 2025, December 2025, March 2026).
pub const CLOCKS: [Timestamp; 4] = [
    snp::mock::NOW,
    Timestamp(1_751_328_000),
    Timestamp(1_766_670_300),
    Timestamp(1_773_705_600),
];
const VENDORS: u8 = 0x10;
const LIST: u8 = 0x20;

/// One presentation.
pub struct Presented {
    /// The evidence.
    pub evidence: Evidence,
    /// What comes with it.
    pub endorsements: Endorsements,
    /// Under the roots of the mock platform, or the vendors'.
    pub mock_roots: bool,
    /// The verifier's clock.
    pub now: Timestamp,
}

impl Presented {
    /// Reads an input: choices, then evidence and its endorsements, each with its length.
    pub fn read(data: &[u8]) -> Self {
        let mut script = Script(data);
        let choices = script.byte();
        let kind = KINDS[usize::from(choices & 3)];
        let body = script.long().to_vec();
        let mut others = Vec::new();
        while !script.is_over() {
            others.push(script.long().to_vec());
        }
        let mut endorsements = Endorsements::default();
        match kind {
            Kind::SevSnp => {
                if choices & LIST != 0 {
                    endorsements.crls.extend(others.pop());
                }
                endorsements.certificates = others;
            }
            _ => {
                let mut others = others.into_iter();
                (endorsements.collateral, endorsements.event_log) = (others.next(), others.next());
            }
        }
        Self {
            evidence: Evidence { kind, body },
            endorsements,
            mock_roots: choices & VENDORS == 0,
            now: CLOCKS[usize::from(choices >> 2 & 3)],
        }
    }

    /// Whether the evidence is authentic, under the roots and at the clock of the input.
    ///
    /// # Errors
    /// What the verifier says.
    pub fn verify(&self) -> Result<Authentic, Rejection> {
        let roots = match self.mock_roots {
            true => &*crate::snp::ROOTS,
            false => &TrustRoots::vendors(),
        };
        verify(&self.evidence, &self.endorsements, roots, self.now)
    }

    /// Writes an input; a clock that is not in the list becomes the first.
    pub fn write(&self) -> Vec<u8> {
        let index = |found: Option<usize>| found.unwrap_or(0) as u8;
        let kind = index(KINDS.iter().position(|kind| *kind == self.evidence.kind));
        let clock = index(CLOCKS.iter().position(|clock| *clock == self.now));
        let Endorsements {
            certificates,
            crls,
            collateral,
            event_log,
        } = &self.endorsements;
        let roots = if self.mock_roots { 0 } else { VENDORS };
        let list = if crls.is_empty() { 0 } else { LIST };
        let mut out = vec![kind | clock << 2 | roots | list];
        let parts = [&self.evidence.body].into_iter();
        let parts = parts.chain(certificates).chain(crls);
        for part in parts.chain(collateral).chain(event_log) {
            out.extend_from_slice(&(part.len() as u16).to_be_bytes());
            out.extend_from_slice(part);
        }
        out
    }
}
