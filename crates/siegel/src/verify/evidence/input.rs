//! Files of the command: evidence, what is stapled to it, reference values.

use std::path::Path;

use base64::Engine as _;

use super::{Endorsements, Evidence, EvidenceArgs, Expected, Hex, Rule, hardware, hex_serde};
use crate::failure::Failure;
use crate::policy_cmd::files;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Evidence taken out of its file.
pub(super) struct Input {
    pub(super) evidence: Evidence,
    pub(super) around: usize,
}

/// Takes the evidence out of zero padding or a known wrapper. A file of hexadecimal digits alone is decoded first: no
/// evidence starts with digits.
pub(super) fn open(file: &[u8], args: &EvidenceArgs) -> Result<Input, Failure> {
    let decoded = hex::decode(file.trim_ascii());
    let file = decoded.as_deref().unwrap_or(file);
    let opened = hardware::open(file);
    let kind = args
        .kind
        .map(Into::into)
        .or(opened.map(|opened| opened.kind));
    let Some(kind) = kind else {
        let at = args.file.display().to_string();
        let message = format!(
            "{} bytes that start like no evidence known to this build",
            file.len()
        );
        return Err(Failure::usage(
            "unknown-evidence",
            &at,
            message,
            "is this the right file? If you know its kind, give --kind",
        ));
    };
    let (body, around) = match opened.filter(|opened| opened.kind == kind) {
        Some(opened) => (opened.body, opened.around),
        None => (file, 0),
    };
    Ok(Input {
        evidence: Evidence {
            kind,
            body: body.to_vec(),
        },
        around,
    })
}

/// Refuses what this kind of evidence has no use for: it would look as if it had been checked.
pub(super) fn fits(kind: super::Kind, args: &EvidenceArgs) -> Result<(), Failure> {
    use super::Kind::{SevSnp, Sgx, Tdx};
    let given: [(&str, bool, &[super::Kind]); 5] = [
        ("--certificates", !args.certificates.is_empty(), &[SevSnp]),
        ("--crl", !args.crl.is_empty(), &[SevSnp]),
        ("--collateral", args.collateral.is_some(), &[Tdx, Sgx]),
        ("--event-log", args.event_log.is_some(), &[Tdx]),
        ("--config", args.config.is_some(), &[SevSnp, Tdx, Sgx]),
    ];
    for (flag, there, kinds) in given {
        if there && !kinds.contains(&kind) {
            let message = format!("{kind} evidence has no use for it");
            let help = "leave it out, or give the evidence that it is for";
            return Err(Failure::usage("useless-option", flag, message, help));
        }
    }
    Ok(())
}

/// Reads everything that is stapled.
pub(super) fn endorsements(args: &EvidenceArgs) -> Result<Endorsements, Failure> {
    let read = |path: &Path, what| files::read(path, what, hardware::ENDORSEMENTS_MAX);
    let mut certificates = Vec::new();
    for path in &args.certificates {
        let bytes = read(path, "certificates")?;
        match bytes.trim_ascii_start().starts_with(BEGIN.as_bytes()) {
            true => certificates.extend(pem(&bytes, path)?),
            false => certificates.push(bytes),
        }
    }
    let crls = args
        .crl
        .iter()
        .map(|path| read(path, "revocation list"))
        .collect::<Result<_, _>>()?;
    let collateral = args
        .collateral
        .as_deref()
        .map(|path| read(path, "collateral"))
        .transpose()?;
    let event_log = args
        .event_log
        .as_deref()
        .map(|path| files::read(path, "event log", hardware::EVENT_LOG_MAX))
        .transpose()?;
    Ok(Endorsements {
        certificates,
        crls,
        collateral,
        event_log,
    })
}

fn pem(bytes: &[u8], path: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    let bad = |why: &str| {
        Failure::usage(
            "not-pem",
            &path.display().to_string(),
            why,
            "give PEM certificates, or one in DER",
        )
    };
    let text = std::str::from_utf8(bytes).map_err(|_| bad("certificates are not text"))?;
    let blocks = text.split(BEGIN).skip(1);
    blocks
        .map(|block| {
            let (body, _) = block
                .split_once(END)
                .ok_or_else(|| bad("a certificate has no end line"))?;
            let body: String = body.split_whitespace().collect();
            base64::engine::general_purpose::STANDARD
                .decode(body)
                .map_err(|_| bad("a certificate is not base64"))
        })
        .collect()
}

/// What this very evidence must carry; what is not given is said to be unchecked.
pub(super) fn expected(args: &EvidenceArgs) -> Result<Expected, Failure> {
    Ok(Expected {
        report_data: rule(args.report_data.as_deref(), "--report-data")?,
        config: rule(args.config.as_deref(), "--config")?,
    })
}

fn rule<const N: usize>(text: Option<&str>, flag: &str) -> Result<Rule<Hex<N>>, Failure> {
    let Some(text) = text else {
        return Ok(Rule::Ignore(format!("{flag} was not given")));
    };
    hex_serde::decode_lower(text)
        .map(|bytes| Rule::Exact(Hex(bytes)))
        .ok_or_else(|| {
            let message = format!("{flag} is not {} lower-case hexadecimal digits", 2 * N);
            Failure::usage("bad-hex", flag, message, "")
        })
}
