//! Tile paths of C2SP tlog-tiles: `<level>/<index>[.p/<width>]`, `entries/<index>[.p/<width>]`,
//! where an index of more than three digits is `x001/x234/067`.

use crate::log::TILE_WIDTH;

/// Which tile is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TilePath {
    pub(crate) level: Level,
    pub(crate) index: u64,
    /// 1 to 256.
    pub(crate) width: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Hashes of a level of tiles (each spans eight levels of the tree).
    Hashes(u32),
    /// Entry bundles.
    Entries,
}

/// Reads the path behind `tile/`; `None` for any other spelling than [`format_entries`]'s.
pub(crate) fn parse(path: &str) -> Option<TilePath> {
    let (level, rest) = path.split_once('/')?;
    let level = match level {
        "entries" => Level::Entries,
        level => Level::Hashes(decimal(level).filter(|level| *level < 8)? as u32),
    };
    let (index, width) = match rest.split_once(".p/") {
        Some((index, width)) => (
            index,
            decimal(width).filter(|w| (1..TILE_WIDTH).contains(w))?,
        ),
        None => (rest, TILE_WIDTH),
    };
    let index = index.split('/').try_fold(0u64, |sum, group| {
        let digits = group.strip_prefix('x').unwrap_or(group);
        let three = digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit());
        let value = three.then(|| digits.parse::<u64>().ok())??;
        sum.checked_mul(1000)?.checked_add(value)
    })?;
    let parsed = TilePath {
        level,
        index,
        width,
    };
    (format(&parsed) == path).then_some(parsed)
}

/// The path of `width` entries of bundle `index`, behind `tile/`.
pub(crate) fn format_entries(index: u64, width: u64) -> String {
    format(&TilePath {
        level: Level::Entries,
        index,
        width,
    })
}

/// Reads an entry bundle (`u16 length ‖ body`, …); `None` if it is torn.
pub(crate) fn parse_entries(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut bodies = Vec::new();
    while !bytes.is_empty() {
        let (len, rest) = bytes.split_at_checked(2)?;
        let len = u16::from_be_bytes(len.try_into().ok()?);
        let (body, rest) = rest.split_at_checked(usize::from(len))?;
        bodies.push(body.to_vec());
        bytes = rest;
    }
    Some(bodies)
}

fn format(path: &TilePath) -> String {
    let level = match path.level {
        Level::Hashes(level) => level.to_string(),
        Level::Entries => "entries".to_owned(),
    };
    let mut index = format!("{:03}", path.index % 1000);
    let mut rest = path.index / 1000;
    while rest > 0 {
        index = format!("x{:03}/{index}", rest % 1000);
        rest /= 1000;
    }
    match path.width {
        TILE_WIDTH => format!("{level}/{index}"),
        width => format!("{level}/{index}.p/{width}"),
    }
}

fn decimal(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|n| n.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_per_tile() {
        let asked = parse("entries/x001/x234/067.p/8").unwrap();
        assert_eq!(
            asked,
            TilePath {
                level: Level::Entries,
                index: 1_234_067,
                width: 8
            }
        );
        assert_eq!(format(&asked), "entries/x001/x234/067.p/8");
        assert_eq!(parse("0/000").unwrap().width, 256);
        assert_eq!(parse("7/255").unwrap().level, Level::Hashes(7));
        for bad in [
            "0/0",
            "0/00",
            "0/0000",
            "8/000",
            "00/000",
            "0/x000/000",
            "0/001/234",
            "0/000.p/0",
            "0/000.p/256",
            "0/000.p/01",
            "0/000.p/",
            "entries",
            "0/",
            "/000",
            "-1/000",
            "0/+00",
            "0/x999/x999/x999/x999/x999/x999/x999/999",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
