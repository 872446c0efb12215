//! Real reports, and what the mock platform makes.

mod chain;
mod checks;
mod differential;
mod guest;
mod real;
mod reference;
mod rows;
mod sweep;

use siegel_ident::Timestamp;

use super::mock::{self, Platform};
use super::*;
use crate::hardware::tests::vectors::{pem, read};
use crate::hardware::{
    Appraisal, Evidence, Expected, Hex, Kind, ReferenceValues, Rule, appraise, verify as verify_any,
};

const NOW: Timestamp = mock::NOW;

/// A real report and what vouches for it.
struct Vector {
    report: &'static str,
    leaf: &'static str,
    chain: &'static [&'static str],
    product: Product,
    version: u32,
}

const MILAN: &[&str] = &["ask_milan.pem", "ark_milan.pem"];
const GENOA: &[&str] = &["ask_genoa.pem", "ark_genoa.pem"];
const PROVIDER: &[&str] = &["milan_ask_ark_asvk.pem"];

const fn vector(
    report: &'static str,
    leaf: &'static str,
    chain: &'static [&'static str],
    product: Product,
    version: u32,
) -> Vector {
    Vector {
        report,
        leaf,
        chain,
        product,
        version,
    }
}

const REAL: [Vector; 6] = [
    vector(
        "milan_v2.report.hex",
        "milan_v2.vcek.der",
        MILAN,
        Product::Milan,
        2,
    ),
    vector(
        "debug_v2.report.bin",
        "debug_v2.vcek.der",
        MILAN,
        Product::Milan,
        2,
    ),
    vector(
        "milan_v2b.report.bin",
        "milan_v2b.vcek.der",
        MILAN,
        Product::Milan,
        2,
    ),
    vector(
        "milan_vlek_v3.report.bin",
        "milan_vlek_v3.vlek.der",
        PROVIDER,
        Product::Milan,
        3,
    ),
    vector(
        "milan_v3.report.bin",
        "milan_v3.vcek.der",
        MILAN,
        Product::Milan,
        3,
    ),
    vector(
        "genoa_v5.report.bin",
        "genoa_v5.vcek.der",
        GENOA,
        Product::Genoa,
        5,
    ),
];
const MILAN_V2: &Vector = &REAL[0];
const DEBUG: &Vector = &REAL[1];
const MILAN_V2B: &Vector = &REAL[2];
const VLEK: &Vector = &REAL[3];
const MILAN_V3: &Vector = &REAL[4];
const GENOA_V5: &Vector = &REAL[5];

impl Vector {
    fn evidence(&self) -> Evidence {
        snp(read(&format!("snp/{}", self.report)))
    }
    fn endorsements(&self) -> Endorsements {
        endorsements(self.leaf, self.chain)
    }
}

fn snp(body: Vec<u8>) -> Evidence {
    Evidence {
        kind: Kind::SevSnp,
        body,
    }
}

fn endorsements(leaf: &str, chain: &[&str]) -> Endorsements {
    let mut certificates = vec![read(&format!("snp/{leaf}"))];
    certificates.extend(chain.iter().flat_map(|name| pem(&format!("snp/{name}"))));
    Endorsements {
        certificates,
        ..Endorsements::default()
    }
}

const EXAMPLE: &str = include_str!("../../../../../policies/reference/genoa.toml");

/// The documented reference value.
fn example() -> Reference {
    let all: ReferenceValues = toml::from_str(EXAMPLE).unwrap();
    all.sev_snp.into_iter().next().unwrap()
}

fn only(reference: Reference) -> ReferenceValues {
    ReferenceValues {
        sev_snp: vec![reference],
        ..ReferenceValues::default()
    }
}

/// One appraisal of the mock platform. Each part can be changed, before and after signing.
struct Case {
    platform: Platform,
    reference: Reference,
    expected: Expected,
    now: Timestamp,
    roots: TrustRoots,
    after: fn(&mut Evidence, &mut Endorsements),
}

impl Case {
    fn new(product: Product, key: SigningKey) -> Self {
        let platform = Platform::new(product, key).unwrap();
        let mut reference = guest::strict(&platform.report, product);
        if key == SigningKey::Vlek {
            reference.signing_key = Rule::Exact(key);
            reference.provider = Rule::Exact("CN=mock.example".to_owned());
            reference.chip_id = Rule::Ignore("hidden".to_owned());
            reference.denied_chips.clear();
        }
        Self {
            platform,
            reference,
            expected: Expected {
                report_data: Rule::Exact(Hex([0x5d; 64])),
                config: Rule::Exact(Hex([0x0d; 32])),
            },
            now: NOW,
            roots: mock::roots().unwrap(),
            after: |_, _| {},
        }
    }

    fn good() -> Self {
        Self::new(Product::Genoa, SigningKey::Vcek)
    }

    fn made(&self) -> (Evidence, Endorsements) {
        let mut evidence = self.platform.evidence().unwrap();
        let mut endorsements = self.platform.endorsements().unwrap();
        (self.after)(&mut evidence, &mut endorsements);
        (evidence, endorsements)
    }

    fn appraise(&self) -> Result<Appraisal, Rejection> {
        let (evidence, endorsements) = self.made();
        let references = only(self.reference.clone());
        appraise(
            &evidence,
            &endorsements,
            &self.roots,
            &references,
            &self.expected,
            self.now,
        )
    }

    /// Authenticity alone.
    fn verify(&self) -> Result<(), Rejection> {
        let (evidence, endorsements) = self.made();
        verify_any(&evidence, &endorsements, &self.roots, self.now).map(drop)
    }
}

/// A case with one change.
fn with(change: impl FnOnce(&mut Case)) -> Case {
    let mut case = Case::good();
    change(&mut case);
    case
}
