//! A fuzzer's input as a list of decisions. It never ends: after the last byte, all are zero.

/// What is left of the input.
pub struct Script<'a>(pub &'a [u8]);

impl<'a> Script<'a> {
    /// Whether anything is left.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    /// Two bytes, big-endian.
    pub fn number(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }

    /// So many bytes, or what is left.
    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Bytes with their length before them, in one byte.
    pub fn short(&mut self) -> &'a [u8] {
        let len = self.byte();
        self.bytes(usize::from(len))
    }

    /// Bytes with their length before them, in two bytes.
    pub fn long(&mut self) -> &'a [u8] {
        let len = self.number();
        self.bytes(len)
    }
}
