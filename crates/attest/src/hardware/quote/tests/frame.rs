//! Lengths at every level.

use super::*;

/// The verifier takes no byte too many; whoever opens a file cuts zeros off, and nothing else.
#[test]
fn nothing_follows_a_quote() {
    if folder().is_none() {
        return;
    }
    for case in all() {
        for more in [[0].as_slice(), &[1], &[0; 64], b"\n"] {
            let mut longer = case.clone();
            longer.evidence.body.extend_from_slice(more);
            assert_eq!(
                refused(&longer),
                Check::QuoteFormat,
                "{} {more:?}",
                case.name
            );
            let opened = open(&longer.evidence.body).unwrap();
            let zeros = more.iter().all(|byte| *byte == 0);
            assert_eq!(
                opened.body == case.evidence.body,
                zeros,
                "{} {more:?}",
                case.name
            );
        }
        let mut shorter = case.clone();
        shorter.evidence.body.pop();
        assert_eq!(refused(&shorter), Check::QuoteFormat, "{}", case.name);
    }
}

/// Every prefix is refused by the frame, and none panics.
#[test]
fn no_part_of_a_quote_is_a_quote() {
    if folder().is_none() {
        return;
    }
    let quote = tdx().evidence.body;
    for len in (0..800).chain([1000, 2000, 4000, quote.len() - 1]) {
        let found = Frame::parse(&quote[..len], 0x81, ROOT);
        assert!(found.is_err(), "{len}");
        open(&quote[..len]);
    }
}

/// Version 5 states what the report is and how long.
#[test]
fn version_5_frames() {
    if folder().is_none() {
        return;
    }
    let v4 = tdx().evidence.body;
    let v5 = |kind: u16, len: u32, report: &[u8]| {
        let mut body = v4[..48].to_vec();
        body[0] = 5;
        body.extend_from_slice(&kind.to_le_bytes());
        body.extend_from_slice(&len.to_le_bytes());
        body.extend_from_slice(report);
        body.extend_from_slice(&v4[48 + 584..]);
        body
    };
    let (td10, td15) = (&v4[48..48 + 584], [&v4[48..48 + 584], &[0; 64]].concat());
    for (kind, len, report, good) in [
        (2, 584, td10, true),
        (3, 648, td15.as_slice(), true),
        (2, 648, td15.as_slice(), false),
        (3, 584, td10, false),
        (1, 584, td10, false),
        (4, 648, td15.as_slice(), false),
        (2, u32::MAX, td10, false),
    ] {
        let mut case = tdx();
        case.evidence.body = v5(kind, len, report);
        // A good frame around what nobody signed.
        let wanted = if good {
            Check::QuoteSignature
        } else {
            Check::QuoteFormat
        };
        assert_eq!(refused(&case), wanted, "{kind} {len}");
        // Attributes stand six bytes later: SEPT_VE_DISABLE off, then migratable, then a bit without a meaning.
        if good {
            for (byte, mask) in [(3, 0x10), (3, 0x20), (0, 0x02), (5, 0x01)] {
                let mut case = case.clone();
                case.evidence.body[48 + 6 + 120 + byte] ^= mask;
                assert_eq!(
                    refused(&case),
                    Check::TdxAttributes,
                    "{kind} {byte} {mask:#x}"
                );
            }
        }
    }
}

/// A log's quote is without collateral: the frame and the registers are all that can be looked at.
#[test]
fn a_padded_quote_is_cut() {
    if folder().is_none() {
        return;
    }
    let file = read("tdx/ccel_cos113.quote");
    let opened = open(&file).unwrap();
    assert_eq!(
        (opened.kind, file.len()),
        (Kind::Tdx, opened.body.len() + opened.around)
    );
    assert!(opened.around > 0 && Frame::parse(opened.body, 0x81, ROOT).is_ok());
    assert!(Frame::parse(&file, 0x81, ROOT).is_err());
}

/// Nothing is signed behind the report, so lengths that agree could hide bytes at every level.
#[test]
fn nothing_hides_behind_lengths_that_agree() {
    if folder().is_none() {
        return;
    }
    // Where the lengths of signature, certification data and PCK chain stand.
    let (report, qe) = (48 + 584, 48 + 584 + 4 + 128 + 6 + 384 + 64);
    let chain = qe + 2 + 32 + 2;
    for lengths in [
        [report].as_slice(),
        &[report, report + 4 + 128 + 2],
        &[report, report + 4 + 128 + 2, chain],
    ] {
        let mut case = tdx();
        let body = &mut case.evidence.body;
        body.push(b' ');
        for at in lengths {
            let len = u32::from_le_bytes(body[*at..at + 4].try_into().unwrap()) + 1;
            body[*at..at + 4].copy_from_slice(&len.to_le_bytes());
        }
        // The good frame: the chain ends with the quote.
        let stated = u32::from_le_bytes(body[chain..chain + 4].try_into().unwrap()) as usize;
        let short = usize::from(lengths.len() < 3);
        assert_eq!(chain + 4 + stated + short, body.len());
        assert_eq!(refused(&case), Check::QuoteFormat, "{lengths:?}");
    }
}
