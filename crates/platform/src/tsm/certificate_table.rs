//! The certificates that a host hands to an SNP guest with an extended guest request.
//!
//! AMD's Guest-Hypervisor Communication Block specification (56421), `MSG_REPORT_REQ`: first a
//! directory of 24-byte rows, GUID (16 bytes in the order they are written), offset and length
//! (u32 little-endian, from the start of the table), ended by a row of zeros; then the
//! certificates. The host wrote it, so nothing in it is trusted: a verifier checks the chain.

mod pem;

/// Bytes of one row of the directory.
const ROW: usize = 24;

const VCEK: [u8; 16] = 0x63da758d_e664_4564_adc5_f4b93be8accd_u128.to_be_bytes();
const VLEK: [u8; 16] = 0xa8074bc2_a25a_483e_aae6_39c045a0b8a1_u128.to_be_bytes();
const ASK: [u8; 16] = 0x4ab7b379_bbac_4fe4_a02f_05aef327c782_u128.to_be_bytes();
const ARK: [u8; 16] = 0xc0b406a4_a803_4952_9743_3fb6014cd0ae_u128.to_be_bytes();
const CRL: [u8; 16] = 0x92f81bc3_5811_4d3d_97ff_d19f88dc67ea_u128.to_be_bytes();

/// The certificates of one table, each DER or absent. A host need not give any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateTable {
    /// Of the chip and its firmware.
    pub vcek: Option<Vec<u8>>,
    /// Of the cloud provider, in place of the VCEK.
    pub vlek: Option<Vec<u8>>,
    /// The intermediate: the ASK above a VCEK, or the ASVK above a VLEK, which has no GUID of its
    /// own.
    pub ask: Option<Vec<u8>>,
    /// AMD's root.
    pub ark: Option<Vec<u8>>,
    /// Revoked certificates, signed by the ARK.
    pub crl: Option<Vec<u8>>,
}

impl CertificateTable {
    /// Reads the auxiliary data of an SNP quote. No bytes at all are a table without certificates;
    /// rows of other GUIDs are skipped.
    ///
    /// # Errors
    ///
    /// I14: too long, not ended, a row outside the table or over another row, a certificate twice,
    /// neither DER nor one block of PEM.
    pub fn parse(table: &[u8]) -> Result<Self, CertificateTableError> {
        if table.len() > super::MAX_BLOB {
            return Err(CertificateTableError::TooLarge(table.len()));
        }
        let rows = rows(table)?;
        disjoint(&rows)?;
        let mut found = Self::default();
        for (index, row) in rows.iter().enumerate() {
            let Some((name, label, slot)) = found.slot(&row.guid) else {
                continue;
            };
            let bytes = table.get(row.start..row.end).unwrap_or_default();
            let der = der(bytes, label, name, index)?;
            if slot.replace(der).is_some() {
                return Err(CertificateTableError::Twice { row: index, name });
            }
        }
        Ok(found)
    }

    /// Name, label in PEM, and where it goes.
    fn slot(
        &mut self,
        guid: &[u8; 16],
    ) -> Option<(&'static str, &'static str, &mut Option<Vec<u8>>)> {
        match *guid {
            VCEK => Some(("VCEK", pem::CERTIFICATE, &mut self.vcek)),
            VLEK => Some(("VLEK", pem::CERTIFICATE, &mut self.vlek)),
            ASK => Some(("ASK", pem::CERTIFICATE, &mut self.ask)),
            ARK => Some(("ARK", pem::CERTIFICATE, &mut self.ark)),
            CRL => Some(("CRL", pem::LIST, &mut self.crl)),
            _ => None,
        }
    }
}

/// What a row holds, written either way.
fn der(
    bytes: &[u8],
    label: &str,
    name: &'static str,
    row: usize,
) -> Result<Vec<u8>, CertificateTableError> {
    let bad = |why| CertificateTableError::Pem { row, name, why };
    let der = match pem::is_meant(bytes) {
        true => pem::decode(bytes, label).map_err(bad)?,
        false => bytes.to_vec(),
    };
    // The tag of a SEQUENCE; more is the verifier's to find out.
    match der.first() {
        Some(0x30) => Ok(der),
        _ => Err(CertificateTableError::NotDer { row, name }),
    }
}

struct Row {
    guid: [u8; 16],
    start: usize,
    end: usize,
}

/// The directory without its end. Every row lies within the table.
fn rows(table: &[u8]) -> Result<Vec<Row>, CertificateTableError> {
    let mut rows = Vec::new();
    if table.is_empty() {
        return Ok(rows);
    }
    for row in table.as_chunks::<ROW>().0 {
        if row.iter().all(|&b| b == 0) {
            return Ok(rows);
        }
        let [guid @ .., s0, s1, s2, s3, l0, l1, l2, l3] = *row;
        let start = u32::from_le_bytes([s0, s1, s2, s3]) as usize;
        let end = start.saturating_add(u32::from_le_bytes([l0, l1, l2, l3]) as usize);
        if end > table.len() {
            return Err(CertificateTableError::OutOfRange {
                row: rows.len(),
                start,
                end,
                table: table.len(),
            });
        }
        rows.push(Row { guid, start, end });
    }
    Err(CertificateTableError::NotEnded)
}

/// No row lies over the directory, its end included, or over another row.
fn disjoint(rows: &[Row]) -> Result<(), CertificateTableError> {
    let mut spans: Vec<_> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.start < row.end)
        .map(|(index, row)| (row.start, row.end, index))
        .collect();
    spans.sort_unstable();
    let mut free_from = (rows.len() + 1) * ROW;
    for (start, end, row) in spans {
        if start < free_from {
            return Err(CertificateTableError::Overlap { row });
        }
        free_from = end;
    }
    Ok(())
}

/// Why the certificate table of a host was refused. Rows count from 0. The report itself may still
/// be good: get its certificates from AMD's key server.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateTableError {
    /// Longer than any table (I14).
    #[error("the host's certificate table has {0} bytes, at most {max} are read", max = super::MAX_BLOB)]
    TooLarge(usize),
    /// The directory has no row of zeros.
    #[error("the directory of the host's certificate table has no end: a row of zeros is missing")]
    NotEnded,
    /// A row points outside.
    #[error(
        "row {row} of the host's certificate table names bytes {start}..{end}, but the table has \
         {table}"
    )]
    OutOfRange {
        /// Which row.
        row: usize,
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
        /// Bytes of the table.
        table: usize,
    },
    /// A row names bytes that are not its own.
    #[error("row {row} of the host's certificate table lies over the directory or another row")]
    Overlap {
        /// Which row.
        row: usize,
    },
    /// Two rows of one kind.
    #[error("row {row} of the host's certificate table is a second {name}")]
    Twice {
        /// Which row.
        row: usize,
        /// The certificate.
        name: &'static str,
    },
    /// PEM that is not exactly one block of its kind.
    #[error(
        "row {row} of the host's certificate table: the {name} is PEM, but {why}. The host must give \
         one block, or DER"
    )]
    Pem {
        /// Which row.
        row: usize,
        /// The certificate.
        name: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// No DER, not even in PEM.
    #[error(
        "row {row} of the host's certificate table: the {name} is not DER. A host that loaded another \
         format must convert it"
    )]
    NotDer {
        /// Which row.
        row: usize,
        /// The certificate.
        name: &'static str,
    },
}

#[cfg(test)]
mod tests;
