use super::*;

mod pem;

/// As they stand in a table, written out once more: a constant that is used on both sides would
/// hide a wrong byte order.
const VCEK_BYTES: [u8; 16] = *b"\x63\xda\x75\x8d\xe6\x64\x45\x64\xad\xc5\xf4\xb9\x3b\xe8\xac\xcd";
const VLEK_BYTES: [u8; 16] = *b"\xa8\x07\x4b\xc2\xa2\x5a\x48\x3e\xaa\xe6\x39\xc0\x45\xa0\xb8\xa1";
const ASK_BYTES: [u8; 16] = *b"\x4a\xb7\xb3\x79\xbb\xac\x4f\xe4\xa0\x2f\x05\xae\xf3\x27\xc7\x82";
const ARK_BYTES: [u8; 16] = *b"\xc0\xb4\x06\xa4\xa8\x03\x49\x52\x97\x43\x3f\xb6\x01\x4c\xd0\xae";
const CRL_BYTES: [u8; 16] = *b"\x92\xf8\x1b\xc3\x58\x11\x4d\x3d\x97\xff\xd1\x9f\x88\xdc\x67\xea";
const UNKNOWN: [u8; 16] = [0xee; 16];

/// A table of these rows, one after the other, ended.
fn table(rows: &[([u8; 16], &[u8])]) -> Vec<u8> {
    let mut offset = (rows.len() + 1) * ROW;
    let mut directory = Vec::new();
    let mut body = Vec::new();
    for (guid, bytes) in rows {
        directory.extend(row(*guid, offset as u32, bytes.len() as u32));
        body.extend_from_slice(bytes);
        offset += bytes.len();
    }
    directory.extend([0; ROW]);
    directory.extend(body);
    directory
}

fn row(guid: [u8; 16], offset: u32, length: u32) -> Vec<u8> {
    [&guid[..], &offset.to_le_bytes(), &length.to_le_bytes()].concat()
}

fn refused(table: &[u8]) -> CertificateTableError {
    CertificateTable::parse(table).unwrap_err()
}

// Catches a GUID of the wrong byte order or kind, an offset or a length that is off by one.
#[test]
fn each_certificate_arrives_in_its_place() {
    let parsed = CertificateTable::parse(&table(&[
        (VCEK_BYTES, b"\x30vcek"),
        (VLEK_BYTES, b"\x30vlek leaf"),
        (ASK_BYTES, b"\x30a"),
        (ARK_BYTES, b"\x30root"),
        (CRL_BYTES, b"\x30crl"),
    ]));
    let expected = CertificateTable {
        vcek: Some(b"\x30vcek".to_vec()),
        vlek: Some(b"\x30vlek leaf".to_vec()),
        ask: Some(b"\x30a".to_vec()),
        ark: Some(b"\x30root".to_vec()),
        crl: Some(b"\x30crl".to_vec()),
    };
    assert_eq!(parsed, Ok(expected));
}

// Catches a host without certificates, or with an extension, taken for a broken host.
#[test]
fn absent_and_unknown_rows_are_no_error() {
    for empty in [vec![], vec![0; ROW], vec![0; 4096]] {
        assert_eq!(CertificateTable::parse(&empty), Ok(Default::default()));
    }
    let parsed = CertificateTable::parse(&table(&[
        (UNKNOWN, b"no certificate"),
        (UNKNOWN, b""),
        ([0; 16], b"no end of the table"),
        (VCEK_BYTES, b"\x30vcek"),
    ]))
    .unwrap();
    assert_eq!(parsed.vcek.as_deref(), Some(&b"\x30vcek"[..]));
    assert_eq!(
        parsed,
        CertificateTable {
            vcek: parsed.vcek.clone(),
            ..Default::default()
        }
    );
}

// Catches an unused row, of no bytes and so at no place, taken for one over the directory.
#[test]
fn an_unused_row_lies_nowhere() {
    let rows = [row(UNKNOWN, 0, 0), row(VCEK_BYTES, 72, 2), vec![0; ROW]];
    let parsed = CertificateTable::parse(&[&rows.concat()[..], b"\x30v"].concat()).unwrap();
    assert_eq!(parsed.vcek.as_deref(), Some(&b"\x30v"[..]));
}

// I14: catches a read outside, a sum that wraps, a directory without end.
#[test]
fn refuses_what_points_outside_or_does_not_end() {
    for (offset, length) in [
        (48, 2),
        (49, 1),
        (48, u32::MAX),
        (u32::MAX, u32::MAX),
        (u32::MAX, 1),
    ] {
        for guid in [VCEK_BYTES, UNKNOWN] {
            let hostile = [row(guid, offset, length), vec![0; ROW], vec![0x30]].concat();
            let CertificateTableError::OutOfRange {
                row: 0,
                start,
                table: 49,
                ..
            } = refused(&hostile)
            else {
                panic!("{offset}+{length}: {:?}", refused(&hostile));
            };
            assert_eq!(start, offset as usize);
        }
    }
    for endless in [
        vec![0x30; 1],
        vec![0; ROW - 1],
        row(VCEK_BYTES, 0, 0),
        row(UNKNOWN, 24, 0),
    ] {
        assert_eq!(refused(&endless), CertificateTableError::NotEnded);
    }
    let largest = super::super::MAX_BLOB;
    assert!(CertificateTable::parse(&vec![0; largest]).is_ok());
    let long = refused(&vec![0; largest + 1]);
    assert_eq!(long, CertificateTableError::TooLarge(largest + 1));
}

// I14: catches one certificate read as part of another, or as the directory itself.
#[test]
fn refuses_rows_that_overlap() {
    let body = [0x30u8; 20];
    let two =
        |first: Vec<u8>, second: Vec<u8>| [first, second, vec![0; ROW], body.to_vec()].concat();
    let start = 3 * ROW as u32;
    for (a, b, culprit) in [
        ((start, 11), (start + 10, 10), 1),
        ((start + 10, 10), (start, 11), 0),
        ((start, 20), (start, 20), 1),
        ((start, 20), (start + 5, 5), 1),
        ((start - 1, 2), (start + 5, 5), 0),
        ((start + 5, 5), (0, 10), 1),
    ] {
        for second in [ASK_BYTES, UNKNOWN] {
            let hostile = two(row(VCEK_BYTES, a.0, a.1), row(second, b.0, b.1));
            assert_eq!(
                refused(&hostile),
                CertificateTableError::Overlap { row: culprit }
            );
        }
    }
    let apart = two(row(VCEK_BYTES, start + 10, 10), row(ASK_BYTES, start, 10));
    assert!(CertificateTable::parse(&apart).is_ok());
}

// Catches a second certificate that replaces the first, and text or nothing handed on as DER.
#[test]
fn refuses_a_second_certificate_and_what_is_not_der() {
    let twice = table(&[(ARK_BYTES, b"\x30a"), (ARK_BYTES, b"\x30b")]);
    assert_eq!(
        refused(&twice),
        CertificateTableError::Twice {
            row: 1,
            name: "ARK"
        }
    );
    for not_der in [&b"MIIF"[..], b"\x00\x30", b" \x30", b""] {
        let error = refused(&table(&[(VCEK_BYTES, b"\x30"), (VLEK_BYTES, not_der)]));
        assert_eq!(
            error,
            CertificateTableError::NotDer {
                row: 1,
                name: "VLEK"
            }
        );
    }
}

// I14: catches a panic on a table that was cut or flipped, a cut table that is accepted, and bytes
// of the directory handed out as a certificate.
#[test]
fn cuts_and_flips_are_refused_or_harmless() {
    let whole = table(&[
        (VCEK_BYTES, b"\x30vcek"),
        (UNKNOWN, b"other"),
        (ASK_BYTES, b"\x30ask"),
    ]);
    for length in 1..whole.len() {
        refused(&whole[..length]);
    }
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(parsed) = CertificateTable::parse(&flipped) else {
            continue;
        };
        let CertificateTable {
            vcek,
            vlek,
            ask,
            ark,
            crl,
        } = parsed;
        for found in [vcek, vlek, ask, ark, crl].into_iter().flatten() {
            let mut body = flipped[4 * ROW..].windows(found.len());
            assert!(body.any(|piece| piece == found), "bit {bit}");
        }
    }
}
