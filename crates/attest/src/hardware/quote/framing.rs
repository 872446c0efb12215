//! The frame of a quote, byte for byte. `dcap-qvl` reads what it needs and lets the rest be; here nothing is
//! left over, at any level, and the certificates stand in their one PEM spelling.

use super::super::x509::Certificate;
use super::collateral::{ENDS_IN_QUOTE, strict_pem};
use super::plain;
use crate::hardware::{Check, Rejection};

const HEADER_LEN: usize = 48;
const ENCLAVE_REPORT_LEN: usize = 384;
const TD_REPORT_10_LEN: usize = 584;
const TD_REPORT_15_LEN: usize = 648;
/// ECDSA signature and attestation key.
const SIGNATURE_AND_KEY_LEN: usize = 64 + 64;
/// Report of the quoting enclave and the PCK's signature over it.
const QE_REPORT_LEN: usize = ENCLAVE_REPORT_LEN + 64;
/// Certification data: a QE report with more certification data inside.
const CERT_TYPE_QE_REPORT: u16 = 6;
/// Certification data: the PCK chain, PEM.
const CERT_TYPE_PCK_CHAIN: u16 = 5;

/// Which of Intel's intermediates issued the PCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    /// Platforms with several packages.
    Platform,
    /// Platforms with one package.
    Processor,
}

impl std::fmt::Display for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Platform => "platform",
            Self::Processor => "processor",
        })
    }
}

/// A quote whose frame is right. Nothing in it is believed yet.
pub(crate) struct Frame<'a> {
    /// All bytes.
    pub(crate) quote: &'a [u8],
    /// The report inside, without the frame.
    pub(crate) report: &'a [u8],
    pub(crate) authority: Authority,
    /// PCK certificate, its issuer, the root; DER.
    pub(crate) pck_chain: [Vec<u8>; 3],
}

impl<'a> Frame<'a> {
    /// Checks every length, and that the PCK chain is leaf, intermediate and `root`.
    pub(crate) fn parse(quote: &'a [u8], tee_type: u32, root: &[u8]) -> Result<Self, Rejection> {
        let mut reader = Reader(quote);
        let header = Header::read(&mut reader)?;
        let body = header.body_len(tee_type, &mut reader)?;
        let report = reader.take(body, "report")?;
        let signature_len = reader.u32("length of the signature")?;
        let signature = reader.take(signature_len, "signature")?;
        reader.finish("the quote")?;

        let mut reader = Reader(signature);
        reader.take(SIGNATURE_AND_KEY_LEN, "signature and attestation key")?;
        let certification = match header.version {
            3 => reader.0,
            _ => {
                let found = reader.u16("type of the certification data")?;
                expect(found, CERT_TYPE_QE_REPORT, "certification data")?;
                let len = reader.u32("length of the certification data")?;
                let inner = reader.take(len, "certification data")?;
                reader.finish("the certification data")?;
                inner
            }
        };
        let mut reader = Reader(certification);
        reader.take(QE_REPORT_LEN, "QE report")?;
        let len = reader.u16("length of the QE's data")?;
        reader.take(usize::from(len), "QE's data")?;
        let found = reader.u16("type of the PCK data")?;
        expect(found, CERT_TYPE_PCK_CHAIN, "PCK data")?;
        let len = reader.u32("length of the PCK chain")?;
        let pem = reader.take(len, "PCK chain")?;
        reader.finish("the PCK chain")?;
        let (pck_chain, authority) = pck_chain(pem, root)?;
        Ok(Self {
            quote,
            report,
            authority,
            pck_chain,
        })
    }
}

struct Header {
    version: u16,
    tee_type: u32,
}

impl Header {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rejection> {
        let mut header = Reader(reader.take(HEADER_LEN, "header")?);
        let version = header.u16("version")?;
        let key_type = header.u16("attestation key type")?;
        let tee_type = header.u32("TEE type")? as u32;
        expect(key_type, 2, "attestation key type (ECDSA P-256)")?;
        Ok(Self { version, tee_type })
    }

    /// Length of the report. Version 5 states its type and length.
    fn body_len(&self, tee_type: u32, reader: &mut Reader<'_>) -> Result<usize, Rejection> {
        if self.tee_type != tee_type {
            return Err(bad(format!(
                "TEE type {:#x}, expected {tee_type:#x}",
                self.tee_type
            )));
        }
        match (self.version, tee_type) {
            (3, 0) => Ok(ENCLAVE_REPORT_LEN),
            (4, 0x81) => Ok(TD_REPORT_10_LEN),
            (5, 0x81) => {
                let kind = reader.u16("type of the report")?;
                let len = reader.u32("length of the report")?;
                match (kind, len) {
                    (2, TD_REPORT_10_LEN) | (3, TD_REPORT_15_LEN) => Ok(len),
                    _ => Err(bad(format!(
                        "report of type {kind} with {len} bytes; this build reads TD 1.0 and 1.5"
                    ))),
                }
            }
            (version, _) => Err(bad(format!(
                "quote version {version} for TEE type {tee_type:#x}"
            ))),
        }
    }
}

/// Platforms hand quotes out in larger buffers. Whoever reads a file or a device cuts the zeros off here, once;
/// [`Frame::parse`] then accepts no byte too many.
///
/// Returns the quote and how many zeros were cut. Leaves bytes alone that are no quote, or that are followed by
/// anything but zeros.
pub(crate) fn unpad(bytes: &[u8]) -> (&[u8], usize) {
    let Some(len) = stated_len(bytes) else {
        return (bytes, 0);
    };
    match bytes.split_at_checked(len) {
        Some((quote, rest)) if rest.iter().all(|byte| *byte == 0) => (quote, rest.len()),
        _ => (bytes, 0),
    }
}

fn stated_len(bytes: &[u8]) -> Option<usize> {
    let mut reader = Reader(bytes);
    let header = Header::read(&mut reader).ok()?;
    let body = header.body_len(header.tee_type, &mut reader).ok()?;
    reader.take(body, "report").ok()?;
    let signature = reader.u32("length").ok()?;
    let before = bytes.len() - reader.0.len();
    before.checked_add(signature)
}

/// The chain's certificates, once and in order. The root must be the pinned one: it proves nothing by standing here.
fn pck_chain(pem: &[u8], root: &[u8]) -> Result<([Vec<u8>; 3], Authority), Rejection> {
    let chain = strict_pem(pem, ENDS_IN_QUOTE).map_err(bad)?;
    let chain: [Vec<u8>; 3] = chain.try_into().map_err(|chain: Vec<_>| {
        bad(format!(
            "PCK chain of {} certificates, expected 3",
            chain.len()
        ))
    })?;
    let [leaf, intermediate, last] = &chain;
    if last != root {
        return Err(bad(
            "PCK chain does not end in the pinned root (I1)".to_owned()
        ));
    }
    let leaf = Certificate::parse(leaf).map_err(bad)?;
    Certificate::parse(intermediate).map_err(bad)?;
    let authority = match leaf.issuer_name().as_str() {
        "Intel SGX PCK Platform CA" => Authority::Platform,
        "Intel SGX PCK Processor CA" => Authority::Processor,
        other => return Err(bad(format!("PCK certificate issued by {other}"))),
    };
    Ok((chain, authority))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize, what: &str) -> Result<&'a [u8], Rejection> {
        let found = self.0.len();
        let (taken, rest) = self
            .0
            .split_at_checked(len)
            .ok_or_else(|| bad(format!("{what}: {found} bytes left, expected {len}")))?;
        self.0 = rest;
        Ok(taken)
    }

    fn u16(&mut self, what: &str) -> Result<u16, Rejection> {
        let bytes = self.take(2, what)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self, what: &str) -> Result<usize, Rejection> {
        let bytes = self.take(4, what)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    fn finish(self, what: &str) -> Result<(), Rejection> {
        match self.0.len() {
            0 => Ok(()),
            rest => Err(bad(format!("{rest} bytes follow {what}"))),
        }
    }
}

fn expect(found: u16, expected: u16, what: &str) -> Result<(), Rejection> {
    match found == expected {
        true => Ok(()),
        false => Err(bad(format!("{what} of type {found}, expected {expected}"))),
    }
}

fn bad(detail: String) -> Rejection {
    Rejection::new(Check::QuoteFormat, plain(&detail))
}
