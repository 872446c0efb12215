//! Writes real evidence of other people's machines as seeds, one folder per target. It is no part of the project: it
//! lies where `SIEGEL_VECTORS` says, and `.ci/fuzz` puts the seeds into a folder that it removes.
//!
//! `vectors VECTORS/attestation FOLDER`

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use siegel_attest::hardware::{Endorsements, Evidence, open};
use siegel_fuzz::presented::{CLOCKS, Presented};
use siegel_fuzz::snp::certificate_table;
use siegel_ident::Timestamp;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// As long as the longest input of `.ci/fuzz`.
const MAX: usize = 65_536;
/// Reports, their leaves, and the chains above them.
const SNP: [(&str, &str, &[&str]); 6] = [
    ("milan_v2.report.hex", "milan_v2.vcek.der", MILAN),
    ("debug_v2.report.bin", "debug_v2.vcek.der", MILAN),
    ("milan_v2b.report.bin", "milan_v2b.vcek.der", MILAN),
    ("milan_v3.report.bin", "milan_v3.vcek.der", MILAN),
    (
        "milan_vlek_v3.report.bin",
        "milan_vlek_v3.vlek.der",
        &["milan_ask_ark_asvk.pem"],
    ),
    (
        "genoa_v5.report.bin",
        "genoa_v5.vcek.der",
        &["ask_genoa.pem", "ark_genoa.pem"],
    ),
];
const MILAN: &[&str] = &["ask_milan.pem", "ark_milan.pem"];

struct Vectors {
    from: PathBuf,
    to: PathBuf,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: vectors VECTORS/attestation FOLDER".into());
    };
    let vectors = Vectors { from, to };
    vectors.snp()?;
    let july = CLOCKS[1];
    vectors.quote("tdx/v4_uptodate", july)?;
    vectors.quote("tdx/v4_debug", CLOCKS[3])?;
    vectors.quote("sgx/v3", july)?;
    let file = vectors.read("nitro/attestation.cbor")?;
    let body = open(&file).ok_or("no document")?.body;
    vectors.seed("nitro", "document", body)?;
    vectors.present("nitro", &file, Endorsements::default(), CLOCKS[2])?;
    vectors.event_log()
}

impl Vectors {
    fn read(&self, name: &str) -> Outcome<Vec<u8>> {
        let path = self.from.join(name);
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        match name.ends_with(".hex") {
            true => hex(std::str::from_utf8(&bytes)?),
            false => Ok(bytes),
        }
    }

    fn seed(&self, target: &str, name: &str, bytes: &[u8]) -> Outcome<()> {
        Ok(siegel_fuzz::write_seed(&self.to, target, name, bytes, MAX)?)
    }

    fn present(
        &self,
        name: &str,
        file: &[u8],
        endorsements: Endorsements,
        now: Timestamp,
    ) -> Outcome<()> {
        let opened = open(file).ok_or_else(|| format!("{name}: no evidence"))?;
        let evidence = Evidence {
            kind: opened.kind,
            body: opened.body.to_vec(),
        };
        let input = Presented {
            evidence,
            endorsements,
            mock_roots: false,
            now,
        };
        let framed = input.evidence.staple(&input.endorsements)?;
        self.seed("frame", name, &framed)?;
        let bytes = input.write();
        // A seed that is refused leads nowhere.
        Presented::read(&bytes).verify()?;
        self.seed("evidence", name, &bytes)
    }

    fn snp(&self) -> Outcome<()> {
        for (report, leaf, above) in SNP {
            let body = self.read(&format!("snp/{report}"))?;
            self.seed("snp_report", report, &body)?;
            let mut certificates = vec![self.read(&format!("snp/{leaf}"))?];
            self.seed("certificate", leaf, &certificates[0])?;
            for name in above {
                let text = String::from_utf8(self.read(&format!("snp/{name}"))?)?;
                certificates.extend(pem(&text)?);
            }
            let mut chain = certificates.clone();
            chain.reverse();
            self.seed("certificate", &format!("chain-{leaf}"), &chain.concat())?;
            if let [leaf, signer, root] = &certificates[..] {
                let table = [Some(leaf.as_slice()), None, Some(signer), Some(root), None];
                self.seed("certificate_table", report, &certificate_table(&table))?;
            }
            let endorsements = Endorsements {
                certificates,
                ..Endorsements::default()
            };
            self.present(report, &body, endorsements, CLOCKS[0])?;
        }
        Ok(())
    }

    fn quote(&self, name: &str, now: Timestamp) -> Outcome<()> {
        let file = self.read(&format!("{name}.quote"))?;
        let collateral = self.read(&format!("{name}.collateral.json"))?;
        let short = name.replace('/', "-");
        let opened = open(&file).ok_or_else(|| format!("{name}: no quote"))?;
        self.seed("quote", &short, opened.body)?;
        self.seed("collateral", &short, &collateral)?;
        let json: serde_json::Value = serde_json::from_slice(&collateral)?;
        for list in ["root_ca_crl", "pck_crl"] {
            let text = json[list].as_str().ok_or("no revocation list")?;
            self.seed("crl", &format!("{short}-{list}"), &hex(text)?)?;
        }
        for chain in ["pck_crl_issuer_chain", "tcb_info_issuer_chain"] {
            let mut chain_der = pem(json[chain].as_str().ok_or("no chain")?)?;
            chain_der.reverse();
            self.seed(
                "certificate",
                &format!("{short}-{chain}"),
                &chain_der.concat(),
            )?;
        }
        let endorsements = Endorsements {
            collateral: Some(collateral),
            ..Endorsements::default()
        };
        self.present(&short, &file, endorsements, now)
    }

    /// The log without its padding.
    fn event_log(&self) -> Outcome<()> {
        let log = self.read("tdx/ccel_cos113.eventlog")?;
        let len = log.iter().rposition(|byte| *byte != 0xff);
        let len = len.map_or(0, |last| last + 1);
        self.seed("event_log", "ccel", &log[..len])
    }
}

fn hex(text: &str) -> Outcome<Vec<u8>> {
    let digits = text.trim().as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair)?;
        Ok(u8::from_str_radix(pair, 16)?)
    });
    pairs.collect()
}

fn pem(text: &str) -> Outcome<Vec<Vec<u8>>> {
    let blocks = text.split("-----BEGIN CERTIFICATE-----").skip(1);
    let certificates = blocks.map(|block| {
        let body = block.split("-----END").next().unwrap_or_default();
        let body: String = body.split_whitespace().collect();
        Ok(STANDARD.decode(body)?)
    });
    certificates.collect()
}
