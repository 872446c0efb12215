//! Buffers for numbers that come from a client's data.

use zeroize::Zeroize as _;

/// Numbers that are wiped when freed (I13). No `Debug`, no `Clone`.
#[derive(Default)]
pub(crate) struct Buffer(Vec<f32>);

impl Buffer {
    /// Makes it this long. What it holds afterwards is left to chance: old numbers and zeros.
    pub(crate) fn resize(&mut self, len: usize) {
        if len > self.0.capacity() {
            // Growing in place could leave an old copy behind.
            self.wipe();
            self.0 = vec![0.0; len];
        } else {
            self.0.resize(len, 0.0);
        }
    }

    /// In bulk: `zeroize` clears the elements of a `Vec` one by one, each behind a barrier of its own,
    /// and the capacity past them at once.
    fn wipe(&mut self) {
        self.0.clear();
        self.0.zeroize();
    }
}

impl std::ops::Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.wipe();
    }
}
