//! One piece of real evidence with all that belongs to it, at a time when it is good.

use std::hint::black_box;
use std::path::Path;

use base64::Engine as _;
use siegel_attest::hardware::{
    Endorsements, Evidence, Expected, Kind, ReferenceValues, Rejection, Rule, TrustRoots, appraise,
};
use siegel_ident::Timestamp;

use super::bare::Bare;

/// Why a measurement cannot stand.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// No vector.
    #[error("{0}: {1}")]
    Read(String, std::io::Error),
    /// The reference values do not parse.
    #[error("reference values: {0}")]
    Reference(#[from] toml::de::Error),
    /// The evidence is not accepted, so the figures would be of something else.
    #[error("{0}")]
    Rejected(#[from] Rejection),
    /// A vector is not shaped as the baseline reads it.
    #[error("the vector has no {0} where the baseline looks for it")]
    Shape(&'static str),
    /// The baseline does not verify.
    #[error("bare: signature {0} does not verify")]
    Bare(&'static str),
}

/// What both sides work on.
pub struct Subject {
    pub name: &'static str,
    evidence: Evidence,
    endorsements: Endorsements,
    roots: TrustRoots,
    references: ReferenceValues,
    expected: Expected,
    now: Timestamp,
    bare: Bare,
}

impl Subject {
    /// A report of a Genoa guest, at the first day of 2026.
    pub fn snp(vectors: &Path) -> Result<Self, Trouble> {
        let body = read(vectors, "snp/genoa_v5.report.bin")?;
        let certificates = vec![
            read(vectors, "snp/genoa_v5.vcek.der")?,
            pem(&read(vectors, "snp/ask_genoa.pem")?)?,
            pem(&read(vectors, "snp/ark_genoa.pem")?)?,
        ];
        Ok(Self {
            name: "SEV-SNP report, Genoa",
            bare: Bare::snp(&body, &certificates)?,
            evidence: Evidence {
                kind: Kind::SevSnp,
                body,
            },
            endorsements: Endorsements {
                certificates,
                ..Endorsements::default()
            },
            roots: TrustRoots::vendors(),
            references: toml::from_str(include_str!("snp.toml"))?,
            expected: anything(),
            now: Timestamp(1_767_225_600),
        })
    }

    /// A quote of version 4, at the first of July 2025.
    pub fn tdx(vectors: &Path) -> Result<Self, Trouble> {
        let body = read(vectors, "tdx/v4_uptodate.quote")?;
        let collateral = read(vectors, "tdx/v4_uptodate.collateral.json")?;
        let opened = siegel_attest::hardware::open(&body).ok_or(Trouble::Shape("quote"))?;
        Ok(Self {
            name: "TDX quote, version 4",
            bare: Bare::tdx(opened.body, &collateral)?,
            evidence: Evidence {
                kind: Kind::Tdx,
                body: opened.body.to_vec(),
            },
            endorsements: Endorsements {
                collateral: Some(collateral),
                ..Endorsements::default()
            },
            roots: TrustRoots::vendors(),
            references: toml::from_str(include_str!("../../../../policies/reference/tdx.toml"))?,
            expected: anything(),
            now: Timestamp(1_751_328_000),
        })
    }

    /// Ours: authentic, and every field held.
    pub fn appraise(&self) -> Result<(), Trouble> {
        let found = appraise(
            black_box(&self.evidence),
            black_box(&self.endorsements),
            &self.roots,
            &self.references,
            &self.expected,
            self.now,
        )?;
        black_box(found);
        Ok(())
    }

    /// The signatures alone.
    pub fn bare(&self) -> Result<(), Trouble> {
        black_box(&self.bare).verify()
    }

    /// How many they are.
    pub fn signatures(&self) -> usize {
        self.bare.len()
    }
}

fn anything() -> Expected {
    Expected {
        report_data: Rule::Ignore("a measurement of speed".to_owned()),
        config: Rule::Ignore("a measurement of speed".to_owned()),
    }
}

fn read(vectors: &Path, name: &str) -> Result<Vec<u8>, Trouble> {
    let path = vectors.join("attestation").join(name);
    std::fs::read(&path).map_err(|why| Trouble::Read(path.display().to_string(), why))
}

/// The first certificate of a PEM text.
pub fn pem(text: &[u8]) -> Result<Vec<u8>, Trouble> {
    pems(text)?
        .into_iter()
        .next()
        .ok_or(Trouble::Shape("certificate"))
}

/// The certificates of a PEM text.
pub fn pems(text: &[u8]) -> Result<Vec<Vec<u8>>, Trouble> {
    let text = String::from_utf8_lossy(text);
    let blocks = text.split("-----BEGIN CERTIFICATE-----").skip(1);
    blocks
        .map(|block| {
            let body = block.split("-----END").next().unwrap_or_default();
            let body: String = body.split_whitespace().collect();
            let decoded = base64::engine::general_purpose::STANDARD.decode(body);
            decoded.map_err(|_| Trouble::Shape("PEM certificate"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides accept the vectors, and the baseline checks a signature where ours does: bent evidence is
    /// refused by both.
    #[test]
    fn both_sides_verify_the_same() {
        let root = std::env::var_os("SIEGEL_VECTORS").unwrap_or_else(|| {
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors").into()
        });
        let root = Path::new(&root);
        if !root.is_dir() {
            println!("skipped: no {} (set SIEGEL_VECTORS)", root.display());
            return;
        }
        let subjects = [Subject::snp(root).unwrap(), Subject::tdx(root).unwrap()];
        for (mut subject, signatures) in subjects.into_iter().zip([4, 9]) {
            subject.appraise().unwrap();
            subject.bare().unwrap();
            assert_eq!(subject.signatures(), signatures);
            subject.evidence.body[0x180] ^= 1;
            assert!(subject.appraise().is_err(), "{}", subject.name);
        }
    }

    #[test]
    fn absent_vectors_are_said() {
        let why = Subject::tdx(Path::new("/nonexistent"))
            .err()
            .map(|why| why.to_string());
        assert!(why.unwrap().contains("/nonexistent/attestation/tdx"));
    }
}
