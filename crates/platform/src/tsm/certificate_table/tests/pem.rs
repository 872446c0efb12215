//! Hosts that load PEM.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// As long as a real certificate, and the length is no multiple of three: the base64 ends in padding.
fn certificate() -> Vec<u8> {
    let body = (1..1360u32).map(|i| (i * i / 7) as u8);
    std::iter::once(0x30).chain(body).collect()
}

/// As `openssl` writes it.
fn pem(der: &[u8], label: &str) -> String {
    wrapped(der, label, 64, "\n")
}

fn wrapped(der: &[u8], label: &str, width: usize, end: &str) -> String {
    let base64 = STANDARD.encode(der);
    let lines = base64.as_bytes().chunks(width);
    let lines = lines.map(|line| format!("{}{end}", std::str::from_utf8(line).unwrap()));
    format!(
        "-----BEGIN {label}-----{end}{}-----END {label}-----{end}",
        lines.collect::<String>()
    )
}

fn parsed(guid: [u8; 16], text: &str) -> Result<CertificateTable, CertificateTableError> {
    CertificateTable::parse(&table(&[(guid, text.as_bytes())]))
}

// Catches PEM handed on as it came, the label of a list taken for that of a certificate, and a table
// that must be all of one format.
#[test]
fn pem_arrives_as_der() {
    let der = certificate();
    let (certificate, list) = (pem(&der, "CERTIFICATE"), pem(&der, "X509 CRL"));
    let rows = [
        (VCEK_BYTES, certificate.as_bytes()),
        (VLEK_BYTES, &der),
        (ASK_BYTES, certificate.as_bytes()),
        (ARK_BYTES, certificate.as_bytes()),
        (CRL_BYTES, list.as_bytes()),
    ];
    let one = Some(der.clone());
    let expected = CertificateTable {
        vcek: one.clone(),
        vlek: one.clone(),
        ask: one.clone(),
        ark: one.clone(),
        crl: one,
    };
    assert_eq!(CertificateTable::parse(&table(&rows)), Ok(expected));
}

// Catches a reader that knows one way to break lines.
#[test]
fn lines_may_end_and_break_anywhere_and_white_space_may_stand_around() {
    for len in [1, 2, 3, 100, 1360] {
        let der = &certificate()[..len];
        for (width, end) in [
            (64, "\n"),
            (64, "\r\n"),
            (76, "\n"),
            (9999, "\n"),
            (1, "\n"),
        ] {
            let text = wrapped(der, "CERTIFICATE", width, end);
            for text in [
                text.clone(),
                format!("\n {text}\r\n\t "),
                text.trim_end().to_owned(),
            ] {
                let found = parsed(ASK_BYTES, &text).unwrap();
                assert_eq!(found.ask.as_deref(), Some(der), "{text:?}");
            }
        }
    }
}

// I14: catches bytes of the host that nobody looks at, and a second spelling of the same bytes.
#[test]
fn refuses_all_but_one_block() {
    let der = certificate();
    let good = pem(&der, "CERTIFICATE");
    let list = pem(&der, "X509 CRL");
    let body = |base64: &str| {
        format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
    };
    assert!(parsed(VCEK_BYTES, &body("MDE=")).is_ok());
    for (text, why) in [
        (format!("{good}\0"), "end with"),
        (format!("{good}{good}"), "more than one"),
        (format!("{good}{list}"), "end with"),
        (format!("{list}{good}"), "begin with"),
        (format!("{good}subject=CN"), "end with"),
        (list.clone(), "begin with"),
        (
            good.replace("CERTIFICATE", "TRUSTED CERTIFICATE"),
            "begin with",
        ),
        (good.replace("CERTIFICATE", "certificate"), "begin with"),
        (good.replace("-----END", "----END"), "end with"),
        ("-----BEGIN CERTIFICATE-----".to_owned(), "end with"),
        (
            "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----x".to_owned(),
            "end with",
        ),
        (
            "-----BEGIN CERTIFICATE----------END CERTIFICATE-----".to_owned(),
            "line of its own",
        ),
        (
            "-----BEGIN CERTIFICATE-----MDE=\n-----END CERTIFICATE-----".to_owned(),
            "line of its own",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nMDE=-----END CERTIFICATE-----".to_owned(),
            "line of its own",
        ),
        (body("MDF="), "base64"),
        (body("MDE"), "base64"),
        (body("MDE=="), "base64"),
        (body("MDE=\nMDE="), "base64"),
        (body("MD E="), "base64"),
        (body("MDE= "), "base64"),
        (body("MD\rE="), "base64"),
        (body("MDE_"), "base64"),
        (body("MDE-"), "more than one"),
        (body("Proc-Type: 4,ENCRYPTED\n\nMDE="), "more than one"),
        (body("Version: 1\n\nMDE="), "base64"),
        (body("MDÉ="), "base64"),
    ] {
        let Err(CertificateTableError::Pem {
            row: 0,
            name: "VCEK",
            why: found,
        }) = parsed(VCEK_BYTES, &text)
        else {
            panic!("{text:?}: {:?}", parsed(VCEK_BYTES, &text));
        };
        assert!(found.contains(why), "{text:?}: {found}");
    }
    let remark = format!("subject=CN\n{good}");
    let of_another_kind = parsed(CRL_BYTES, &good).unwrap_err();
    let why = "it does not begin with the line of its kind";
    let name = "CRL";
    assert_eq!(
        of_another_kind,
        CertificateTableError::Pem { row: 0, name, why }
    );
    // Nothing, an INTEGER, and what does not begin as PEM.
    for text in [body(""), body("AgEB"), remark] {
        let name = "VCEK";
        let error = parsed(VCEK_BYTES, &text).unwrap_err();
        assert_eq!(
            error,
            CertificateTableError::NotDer { row: 0, name },
            "{text:?}"
        );
    }
}

// I14: catches a panic, and text that is read as something else than it says.
#[test]
fn cuts_and_flips_are_refused_or_say_what_they_say() {
    let text = pem(&certificate()[..100], "CERTIFICATE");
    for length in 0..text.trim_end().len() {
        assert!(parsed(ARK_BYTES, &text[..length]).is_err(), "{length}");
    }
    let mut accepted = 0;
    for bit in 0..text.len() * 8 {
        let mut flipped = text.clone().into_bytes();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(found) = CertificateTable::parse(&table(&[(ARK_BYTES, &flipped)])) else {
            continue;
        };
        accepted += 1;
        let flipped = String::from_utf8(flipped).unwrap();
        let spelled = pem(&found.ark.unwrap(), "CERTIFICATE");
        assert!(
            flipped.split_whitespace().eq(spelled.split_whitespace()),
            "bit {bit}"
        );
    }
    // Within the base64, some flips make another character of it.
    assert!(accepted > 100, "{accepted}");
}
