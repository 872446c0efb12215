//! Canonical JSON in one pass: into one buffer, and sorted where it lies.
//!
//! It spells only what is plainly the same in every reading of RFC 8785: integers that a double
//! holds exactly, and names in ASCII without escapes, whose bytes sort like UTF-16. At anything else it
//! gives up, and the whole document is left to the general writer.

use std::io;

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};

/// Largest integer up to which every one is a double (2⁵³).
const EXACT: u64 = 1 << 53;

/// What the general writer would write; `None` if that takes the general writer.
pub(super) fn write<T: Serialize>(value: &T, capacity: usize) -> Option<Vec<u8>> {
    let mut canonical = Canonical {
        out: Vec::with_capacity(capacity),
        open: Vec::new(),
        members: Vec::new(),
        scratch: Vec::new(),
    };
    let formatter = &mut canonical;
    let mut serializer = Serializer::with_formatter(io::sink(), Borrowed(formatter));
    value.serialize(&mut serializer).ok()?;
    Some(canonical.out)
}

struct Canonical {
    out: Vec<u8>,
    /// The objects that are not closed yet, outermost first.
    open: Vec<Object>,
    /// Their members, in the order in which they came.
    members: Vec<Member>,
    scratch: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Object {
    /// Its first one in `members`.
    members: usize,
    /// Where its text begins in `out`, behind the brace.
    start: usize,
}

/// Places in `out`.
#[derive(Clone, Copy)]
struct Member {
    start: usize,
    /// Of the name, quotes included.
    name_end: usize,
    end: usize,
}

impl Canonical {
    fn name(&self, member: &Member) -> &[u8] {
        // Without quotes: they would sort a name behind those that it begins.
        let inner = member.start + 1..member.name_end.saturating_sub(1);
        self.out.get(inner).unwrap_or_default()
    }

    fn name_ended(&mut self) -> io::Result<()> {
        let end = self.out.len();
        let last = self.members.last_mut().ok_or_else(gives_up)?;
        last.name_end = end;
        let last = *last;
        let plain = |byte: &u8| byte.is_ascii() && *byte != b'\\';
        match self.name(&last).iter().all(plain) {
            true => Ok(()),
            false => Err(gives_up()),
        }
    }

    /// Brings the members of the innermost object into order, and forgets them.
    fn close(&mut self) -> io::Result<()> {
        let object = self.open.pop().ok_or_else(gives_up)?;
        let mut members = self.members.split_off(object.members);
        let sorted = members.is_sorted_by(|a, b| self.name(a) < self.name(b));
        if sorted {
            return Ok(());
        }
        members.sort_by(|a, b| self.name(a).cmp(self.name(b)));
        self.scratch.clear();
        for (place, member) in members.iter().enumerate() {
            if place > 0 {
                self.scratch.push(b',');
            }
            let text = self.out.get(member.start..member.end);
            self.scratch.extend_from_slice(text.ok_or_else(gives_up)?);
        }
        // Of two members of one name the general writer keeps one.
        let twice = |pair: &[Member]| matches!(pair, [a, b] if self.name(a) == self.name(b));
        if members.windows(2).any(twice) {
            return Err(gives_up());
        }
        self.out.truncate(object.start);
        self.out.extend_from_slice(&self.scratch);
        Ok(())
    }

    fn unsigned(&mut self, value: u64) -> io::Result<()> {
        match value <= EXACT {
            true => CompactFormatter.write_u64(&mut self.out, value),
            false => Err(gives_up()),
        }
    }

    fn signed(&mut self, value: i64) -> io::Result<()> {
        match value.unsigned_abs() <= EXACT {
            true => CompactFormatter.write_i64(&mut self.out, value),
            false => Err(gives_up()),
        }
    }
}

fn gives_up() -> io::Error {
    io::ErrorKind::Unsupported.into()
}

/// The writer that `serde_json` passes along is not used: what was written is still moved about.
struct Borrowed<'a>(&'a mut Canonical);

/// Integers, by way of the widest of their kind.
macro_rules! integers {
    ($($name:ident: $type:ty => $by:ident as $wide:ty;)*) => {$(
        fn $name<W: ?Sized + io::Write>(&mut self, _: &mut W, value: $type) -> io::Result<()> {
            let value = <$wide>::try_from(value).map_err(|_| gives_up())?;
            self.0.$by(value)
        }
    )*};
}

impl Formatter for Borrowed<'_> {
    integers! {
        write_i8: i8 => signed as i64;
        write_i16: i16 => signed as i64;
        write_i32: i32 => signed as i64;
        write_i64: i64 => signed as i64;
        write_i128: i128 => signed as i64;
        write_u8: u8 => unsigned as u64;
        write_u16: u16 => unsigned as u64;
        write_u32: u32 => unsigned as u64;
        write_u64: u64 => unsigned as u64;
        write_u128: u128 => unsigned as u64;
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, _: &mut W, _: f32) -> io::Result<()> {
        Err(gives_up())
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, _: &mut W, _: f64) -> io::Result<()> {
        Err(gives_up())
    }

    fn write_number_str<W: ?Sized + io::Write>(&mut self, _: &mut W, _: &str) -> io::Result<()> {
        Err(gives_up())
    }

    fn write_raw_fragment<W: ?Sized + io::Write>(&mut self, _: &mut W, _: &str) -> io::Result<()> {
        Err(gives_up())
    }

    fn write_null<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        CompactFormatter.write_null(&mut self.0.out)
    }

    fn write_bool<W: ?Sized + io::Write>(&mut self, _: &mut W, value: bool) -> io::Result<()> {
        CompactFormatter.write_bool(&mut self.0.out, value)
    }

    fn begin_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.out.push(b'"');
        Ok(())
    }

    fn end_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.out.push(b'"');
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.0.out.extend_from_slice(fragment.as_bytes());
        Ok(())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            // RFC 8785 does not escape it, and serde_json never asks for it.
            CharEscape::Solidus => Err(gives_up()),
            other => CompactFormatter.write_char_escape(&mut self.0.out, other),
        }
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.out.push(b'[');
        Ok(())
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.out.push(b']');
        Ok(())
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        first: bool,
    ) -> io::Result<()> {
        CompactFormatter.begin_array_value(&mut self.0.out, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        let canonical = &mut *self.0;
        canonical.out.push(b'{');
        canonical.open.push(Object {
            members: canonical.members.len(),
            start: canonical.out.len(),
        });
        Ok(())
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.close()?;
        self.0.out.push(b'}');
        Ok(())
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        first: bool,
    ) -> io::Result<()> {
        let canonical = &mut *self.0;
        if !first {
            canonical.out.push(b',');
        }
        let start = canonical.out.len();
        canonical.members.push(Member {
            start,
            name_end: start,
            end: start,
        });
        Ok(())
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.name_ended()
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.out.push(b':');
        Ok(())
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        let end = self.0.out.len();
        // Those of objects in the value were forgotten when they closed.
        self.0.members.last_mut().ok_or_else(gives_up)?.end = end;
        Ok(())
    }
}
