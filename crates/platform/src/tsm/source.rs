//! Quotes of a real machine as sessions carry them: stapled with what the vendor says about the machine.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use siegel_attest::EVIDENCE_MAX;
use siegel_attest::hardware::{self, Endorsements, Evidence, Kind};

use super::{CertificateTable, ConfigfsTsm, PlatformQuote, Provider};
use crate::quote::{BoxFuture, QuoteSource};
use crate::{PlatformError, TsmError};

/// [`ConfigfsTsm`] with a folder of the vendor's statements, which whoever runs the guest keeps up to date:
///
/// | file | what |
/// |---|---|
/// | `leaf.der`, `signer.der`, `root.der` | SNP: VCEK or VLEK, ASK or ASVK, ARK; only needed where the host gives none |
/// | `crl.der` | SNP: the ARK's revocation list |
/// | `collateral.json` | TDX: Intel's collateral for this platform |
/// | `event-log.bin` | TDX: the CCEL table |
///
/// A file may be absent: then nothing is stapled in its place. All of them are read anew for each quote. They come from
/// outside the guest and nothing in them is believed here; the verifier checks every byte (I1).
pub struct TsmQuotes {
    tsm: ConfigfsTsm,
    folder: PathBuf,
}

impl TsmQuotes {
    /// Quotes of `tsm`, stapled with the files in `folder`.
    pub fn new(tsm: ConfigfsTsm, folder: impl Into<PathBuf>) -> Self {
        Self {
            tsm,
            folder: folder.into(),
        }
    }

    async fn evidence(&self, report_data: [u8; 64]) -> Result<Vec<u8>, TsmError> {
        let quote = self.tsm.quote(report_data).await?;
        let folder = self.folder.clone();
        tokio::task::spawn_blocking(move || staple(quote, &folder))
            .await
            .map_err(|_| TsmError::Stopped)?
    }
}

impl QuoteSource for TsmQuotes {
    fn quote(&self, report_data: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        Box::pin(async move {
            let evidence = self.evidence(report_data).await;
            evidence.map_err(|why| PlatformError::NoQuote(why.to_string()))
        })
    }
}

fn staple(quote: PlatformQuote, folder: &Path) -> Result<Vec<u8>, TsmError> {
    let (evidence, endorsements) = match quote.provider {
        Provider::SevSnp => {
            let table = CertificateTable::parse(&quote.auxiliary)?;
            let body = quote.report;
            let kind = Kind::SevSnp;
            (Evidence { kind, body }, sev_snp(table, folder)?)
        }
        Provider::Tdx => {
            // The driver may pad the quote with zeros; a verifier takes no byte too many.
            let opened = hardware::open(&quote.report);
            let body = opened.map_or(&quote.report[..], |opened| opened.body);
            let kind = Kind::Tdx;
            let body = body.to_vec();
            (Evidence { kind, body }, tdx(folder)?)
        }
    };
    evidence
        .staple(&endorsements)
        .map_err(|why| TsmError::Stapling(why.to_string()))
}

fn sev_snp(table: CertificateTable, folder: &Path) -> Result<Endorsements, TsmError> {
    let given = |name| read(folder, name);
    let or_file = |from_host: Option<Vec<u8>>, name| match from_host {
        Some(der) => Ok(Some(der)),
        None => given(name),
    };
    let leaf = or_file(table.vcek.or(table.vlek), "leaf.der")?;
    let chain = [
        leaf,
        or_file(table.ask, "signer.der")?,
        or_file(table.ark, "root.der")?,
    ];
    // A list of the guest's own is likelier to be current than the host's.
    let crl = match given("crl.der")? {
        Some(list) => Some(list),
        None => table.crl,
    };
    Ok(Endorsements {
        certificates: chain.into_iter().flatten().collect(),
        crls: crl.into_iter().collect(),
        ..Endorsements::default()
    })
}

fn tdx(folder: &Path) -> Result<Endorsements, TsmError> {
    Ok(Endorsements {
        collateral: read(folder, "collateral.json")?,
        event_log: read(folder, "event-log.bin")?,
        ..Endorsements::default()
    })
}

/// A file of at most [`EVIDENCE_MAX`] bytes, `None` if it is not there (I14).
fn read(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, TsmError> {
    let path = folder.join(name);
    let failed = |source| TsmError::Endorsement {
        path: path.clone(),
        source,
    };
    let file = match std::fs::File::open(&path) {
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let mut bytes = Vec::new();
    let mut bounded = file.take(EVIDENCE_MAX as u64 + 1);
    bounded.read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() > EVIDENCE_MAX {
        true => Err(failed(std::io::Error::other(format!(
            "more than {EVIDENCE_MAX} bytes"
        )))),
        false => Ok(Some(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use siegel_attest::hardware::snp::mock::{self, Platform, at};
    use siegel_attest::hardware::snp::{Product, SigningKey};
    use siegel_attest::hardware::{Hex, Rule};
    use siegel_attest::{Binding, Context, Profile, ReferenceValue, Role, TrustAnchors, appraise};
    use siegel_ident::{ClusterId, ConfigDigest};
    use tempfile::TempDir;

    use super::*;

    fn binding() -> Binding {
        Binding {
            role: Role::Worker,
            deployment: Some(ClusterId::from_bytes([1; 32])),
            signing_key: vec![2; 32],
            kem_key: vec![0, 2, 3],
            config: ConfigDigest::from_bytes([4; 32]),
            challenge: vec![5; 32],
            checkpoint: None,
        }
    }

    /// What a guest on the mock platform would read from configfs.
    fn guest() -> (Platform, PlatformQuote) {
        let mut platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
        let data = binding().report_data().unwrap();
        platform.report.put(at::REPORT_DATA, &data);
        platform.report.put(at::HOST_DATA, &[4; 32]);
        let report = platform.evidence().unwrap().body;
        let quote = PlatformQuote {
            provider: Provider::SevSnp,
            report,
            auxiliary: Vec::new(),
        };
        (platform, quote)
    }

    fn folder(files: &[(&str, &[u8])]) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        dir
    }

    // I3: from the report in configfs to an appraisal, through what a verifier really reads.
    #[test]
    fn i3_a_stapled_report_is_appraised() {
        let (platform, quote) = guest();
        let endorsements = platform.endorsements().unwrap();
        let [leaf, signer, root] = &endorsements.certificates[..] else {
            panic!();
        };
        let files = folder(&[
            ("leaf.der", leaf),
            ("signer.der", signer),
            ("root.der", root),
            ("crl.der", &endorsements.crls[0]),
        ]);
        let mut reference = mock::reference(&platform.report, Product::Genoa);
        reference.host_data = Rule::Ignore("held against the configuration digest".into());
        reference.measurement = Rule::Exact(Hex([0x3e; 48]));
        let anchors = TrustAnchors {
            simulation_root: None,
            vendors: mock::roots().unwrap(),
        };
        let ctx = Context {
            now: mock::NOW,
            profile: Profile::Production,
            genesis_profile: Profile::Production,
            anchors: &anchors,
        };
        let allowed = [ReferenceValue::SevSnp(Box::new(reference))];
        let appraised = |evidence: &[u8]| appraise(evidence, &binding(), &allowed, &ctx);
        let evidence = staple(quote.clone(), files.path()).unwrap();
        assert!(appraised(&evidence).is_ok());
        // Nothing is stapled that is not there, and then nobody is convinced.
        let bare = staple(quote, folder(&[]).path()).unwrap();
        assert_eq!(appraised(&bare).unwrap_err().code(), "snp-chain");
    }

    #[test]
    fn a_tdx_quote_is_stapled_without_its_padding() {
        // Enough of a quote for its length to be known: header, body, signature section of no bytes.
        let mut report = vec![0; 48 + 584 + 4];
        report[..8].copy_from_slice(&[4, 0, 2, 0, 0x81, 0, 0, 0]);
        let quote = PlatformQuote {
            provider: Provider::Tdx,
            report,
            auxiliary: Vec::new(),
        };
        let files = folder(&[("collateral.json", b"{}"), ("event-log.bin", b"log")]);
        let evidence = staple(quote.clone(), files.path()).unwrap();
        let padded = PlatformQuote {
            report: [&quote.report[..], &[0; 700]].concat(),
            ..quote
        };
        assert_eq!(staple(padded, files.path()).unwrap(), evidence);
        for part in [&b"{}"[..], b"log"] {
            assert!(evidence.windows(part.len()).any(|window| window == part));
        }
    }

    // I14: a file that does not end, and one that cannot be read.
    #[test]
    fn i14_hostile_files_are_refused() {
        let (_, quote) = guest();
        let long = vec![0; EVIDENCE_MAX + 1];
        let files = folder(&[("crl.der", &long)]);
        let refused = |dir: &Path| staple(quote.clone(), dir).unwrap_err().to_string();
        assert!(refused(files.path()).contains("more than"));
        let files = folder(&[]);
        std::fs::create_dir(files.path().join("leaf.der")).unwrap();
        assert!(refused(files.path()).contains("leaf.der"));
        let (fits, _) = long.split_at(EVIDENCE_MAX);
        let files = folder(&[("crl.der", fits)]);
        assert!(refused(files.path()).contains("longer than"));
    }
}
