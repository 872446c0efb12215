//! Just enough DER to read a certificate and a timestamp token: tag, length, content, in order.

use siegel_ident::Timestamp;

use crate::clock_text::from_digits;

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const OID: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// What is left to read of a structure.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(&'a [u8]);

/// One element.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    /// With tag and length.
    pub(crate) whole: &'a [u8],
}

impl<'a> Element<'a> {
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader(self.content)
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element; `None` at the end or if it is malformed: lengths are definite and minimal.
    pub(crate) fn any(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let len = bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b));
                let minimal = bytes.first() != Some(&0) && len > 0x7f;
                minimal.then_some((len, rest))?
            }
            _ => return None,
        };
        let (content, after) = rest.split_at_checked(len)?;
        let whole = self.0.get(..self.0.len() - after.len())?;
        self.0 = after;
        Some(Element {
            tag,
            content,
            whole,
        })
    }

    /// The next element, if it has this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Option<Element<'a>> {
        let mut ahead = *self;
        let element = ahead.any().filter(|element| element.tag == tag)?;
        *self = ahead;
        Some(element)
    }

    /// The next element, which must be the last.
    pub(crate) fn last(&mut self, tag: u8) -> Option<Element<'a>> {
        self.expect(tag).filter(|_| self.is_empty())
    }

    /// The next element, a time in UTC. A fraction of a second is dropped.
    pub(crate) fn time(&mut self) -> Option<Timestamp> {
        let element = self.any()?;
        let text = std::str::from_utf8(element.content)
            .ok()?
            .strip_suffix('Z')?;
        let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
        let digits = match element.tag {
            GENERALIZED_TIME => whole.to_owned(),
            // RFC 5280, 4.1.2.5.1: two digits of a year below 50 are of this century.
            UTC_TIME if whole.len() == 12 && whole < "5" => format!("20{whole}"),
            UTC_TIME if whole.len() == 12 => format!("19{whole}"),
            _ => return None,
        };
        from_digits(&digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_definite_and_minimal() {
        let read = |bytes: &[u8]| Reader::new(bytes).any().map(|e| e.content.len());
        assert_eq!(read(&[0x04, 2, 1, 1]), Some(2));
        assert_eq!(
            read(&[&[0x04, 0x81, 0x80][..], &[0; 128]].concat()),
            Some(128)
        );
        for bad in [
            &[0x04, 3, 1, 1][..],
            &[0x04, 0x80, 0, 0],
            &[0x04, 0x81, 2, 1, 1],
            &[&[0x04, 0x82, 0, 0x80][..], &[0; 128]].concat(),
            &[0x04, 0x84, 0, 0, 0, 1, 1],
            &[0x04],
            &[],
        ] {
            assert_eq!(read(bad), None, "{bad:x?}");
        }
    }

    #[test]
    fn times_are_in_utc() {
        let read = |tag: u8, text: &str| {
            let bytes = [&[tag, text.len() as u8][..], text.as_bytes()].concat();
            Reader::new(&bytes).time().map(|t| t.0)
        };
        assert_eq!(read(0x18, "20230712155636Z"), Some(1_689_177_396));
        assert_eq!(read(0x18, "20230712155636.25Z"), Some(1_689_177_396));
        assert_eq!(read(0x17, "230712155636Z"), Some(1_689_177_396));
        assert_eq!(read(0x17, "700101000000Z"), Some(0));
        for (tag, bad) in [
            (0x17, "500101000000Z"),
            (0x18, "20230712155636"),
            (0x18, "20231312155636Z"),
            (0x18, "20230230155636Z"),
            (0x18, "2023071215563Z"),
            (0x18, "2023+712155636Z"),
            (0x17, "20230712155636Z"),
            (0x04, "20230712155636Z"),
        ] {
            assert_eq!(read(tag, bad), None, "{bad}");
        }
    }
}
