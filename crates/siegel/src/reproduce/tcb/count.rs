//! Counts a Rust file: lines with code on them, and `unsafe` tokens.
//!
//! A small lexer: it knows comments, strings, characters, lifetimes and raw identifiers, so that a word
//! in a comment or a string is no token. The tests hold it against `proc-macro2`.

/// What is in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Lines that are neither blank nor only comment.
    pub lines: u64,
    /// `unsafe` tokens, those inside macros included.
    pub unsafe_tokens: u64,
    /// False where a comment or a string has no end: the figures are then a guess.
    pub whole: bool,
}

/// Counts one file.
pub fn count(source: &[u8]) -> Counted {
    let mut lexer = Lexer {
        source,
        at: 0,
        code_here: false,
        counted: Counted {
            whole: true,
            ..Counted::default()
        },
    };
    while lexer.peek(0).is_some() {
        lexer.token();
    }
    lexer.end_line();
    lexer.counted
}

struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    /// The present line has code on it.
    code_here: bool,
    counted: Counted,
}

impl<'a> Lexer<'a> {
    fn token(&mut self) {
        let Some(byte) = self.peek(0) else { return };
        match (byte, self.peek(1)) {
            (b'/', Some(b'/')) => self.line_comment(),
            (b'/', Some(b'*')) => self.block_comment(),
            (b'"', _) => self.string(),
            (b'\'', _) => self.quote(),
            (b'0'..=b'9', _) => {
                self.word();
            }
            _ if is_word(byte) => self.identifier(),
            _ => self.step_code(),
        }
    }

    fn identifier(&mut self) {
        let word = self.word();
        match (word, self.peek(0), self.peek(1)) {
            (b"unsafe", _, _) => self.counted.unsafe_tokens += 1,
            (b"b" | b"c", Some(b'"'), _) => self.string(),
            (b"b", Some(b'\''), _) => self.quote(),
            (b"r" | b"br" | b"cr", Some(b'"' | b'#'), _) => self.raw(),
            _ => {}
        }
    }

    /// `r"…"`, `r##"…"##`, or a raw identifier: `r#unsafe` is a name.
    fn raw(&mut self) {
        let hashes = self.rest().iter().take_while(|b| **b == b'#').count();
        match self.peek(hashes) {
            Some(b'"') => {}
            Some(byte) if hashes == 1 && is_word(byte) => {
                self.step_code();
                self.word();
                return;
            }
            _ => return,
        }
        self.skip_code(hashes + 1);
        while let Some(byte) = self.peek(0) {
            let closing = self.rest().iter().skip(1).take(hashes);
            if byte == b'"' && closing.filter(|b| **b == b'#').count() == hashes {
                self.skip_code(hashes + 1);
                return;
            }
            self.step_code();
        }
        self.counted.whole = false;
    }

    fn string(&mut self) {
        self.step_code();
        while let Some(byte) = self.peek(0) {
            self.step_code();
            match byte {
                b'"' => return,
                b'\\' => self.step_code(),
                _ => {}
            }
        }
        self.counted.whole = false;
    }

    /// A character, or a lifetime, which has no closing quote.
    fn quote(&mut self) {
        self.step_code();
        if self.peek(0) == Some(b'\\') {
            self.skip_code(2);
            while let Some(byte) = self.peek(0) {
                self.step_code();
                if byte == b'\'' {
                    return;
                }
            }
            self.counted.whole = false;
            return;
        }
        let length = match self.peek(0) {
            Some(0xf0..) => 4,
            Some(0xe0..) => 3,
            Some(0xc0..) => 2,
            _ => 1,
        };
        if self.peek(length) == Some(b'\'') {
            self.skip_code(length + 1);
        } else {
            self.word();
        }
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Block comments nest.
    fn block_comment(&mut self) {
        let mut depth = 0_u32;
        while let Some(byte) = self.peek(0) {
            match (byte, self.peek(1)) {
                (b'/', Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                (b'\n', _) => {
                    self.end_line();
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        self.counted.whole = false;
    }

    /// Identifier or number from here.
    fn word(&mut self) -> &'a [u8] {
        let length = self.rest().iter().take_while(|b| is_word(**b)).count();
        let from = self.at;
        self.at += length;
        self.code_here |= length > 0;
        self.source.get(from..self.at).unwrap_or_default()
    }

    fn skip_code(&mut self, bytes: usize) {
        for _ in 0..bytes {
            self.step_code();
        }
    }

    /// One byte that is no comment.
    fn step_code(&mut self) {
        match self.peek(0) {
            None => return,
            Some(b'\n') => self.end_line(),
            Some(byte) => self.code_here |= !byte.is_ascii_whitespace(),
        }
        self.at += 1;
    }

    fn end_line(&mut self) {
        self.counted.lines += u64::from(std::mem::take(&mut self.code_here));
    }

    fn rest(&self) -> &'a [u8] {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.get(self.at + ahead).copied()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
