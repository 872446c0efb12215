//! Times as text: the digits of ASN.1 and RFC 3339, to unix seconds.

use siegel_ident::Timestamp;

/// `YYYYMMDDhhmmss` in UTC. `None` for what is no such time, or is before 1970.
pub(crate) fn from_digits(digits: &str) -> Option<Timestamp> {
    if digits.len() != 14 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| digits.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let days = days_since_1970(year, month, day)?;
    let in_range = hour < 24 && minute < 60 && second < 60;
    in_range.then_some(Timestamp(((days * 24 + hour) * 60 + minute) * 60 + second))
}

/// RFC 3339 in UTC (`2021-01-12T11:53:27Z`, perhaps with a fraction): whole seconds, and whether
/// there is more than zero after them.
pub(crate) fn from_rfc3339(text: &str) -> Option<(Timestamp, bool)> {
    let text = text
        .strip_suffix('Z')
        .or_else(|| text.strip_suffix("+00:00"))?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digit = |b: &u8| b.is_ascii_digit();
    let separators: Vec<u8> = whole.bytes().filter(|b| !digit(b)).collect();
    let placed = whole.len() == 19 && separators == b"--T::" && whole.get(10..11) == Some("T");
    let fraction_is_digits = !fraction.is_empty() && fraction.bytes().all(|b| digit(&b));
    if !placed || !fraction_is_digits {
        return None;
    }
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    Some((from_digits(&digits)?, fraction.bytes().any(|b| b != b'0')))
}

fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let length = |month: u64| match month {
        2 => 28 + u64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let valid = year >= 1970 && (1..=12).contains(&month) && day >= 1 && day <= length(month);
    valid.then(|| {
        let years: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
        years + (1..month).map(length).sum::<u64>() + day - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        for (digits, seconds) in [
            ("19700101000000", 0),
            ("20000229235959", 951_868_799),
            ("20230712155636", 1_689_177_396),
            ("21000301000000", 4_107_542_400),
        ] {
            assert_eq!(from_digits(digits), Some(Timestamp(seconds)), "{digits}");
        }
        for bad in [
            "19691231235959",
            "20230229000000",
            "21000229000000",
            "20231301000000",
            "20230100000000",
            "20230101240000",
            "20230101006000",
            "20230101000060",
            "2023010100000",
            "2023+101000000",
            "",
        ] {
            assert_eq!(from_digits(bad), None, "{bad}");
        }
    }

    #[test]
    fn rfc_3339() {
        let time = Timestamp(1_689_177_396);
        assert_eq!(from_rfc3339("2023-07-12T15:56:36Z"), Some((time, false)));
        assert_eq!(
            from_rfc3339("2023-07-12T15:56:36.000Z"),
            Some((time, false))
        );
        assert_eq!(
            from_rfc3339("2023-07-12T15:56:36.010+00:00"),
            Some((time, true))
        );
        for bad in [
            "2023-07-12T15:56:36",
            "2023-07-12 15:56:36Z",
            "2023-07-12T15:56:36+01:00",
            "2023-07-12T15:56:36.Z",
            "2023-7-12T15:56:360Z",
            "2023:07-12T15-56:36Z",
            "",
        ] {
            assert_eq!(from_rfc3339(bad), None, "{bad}");
        }
    }
}
