//! What a target holds in memory: an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that a parser may hold for each byte of its input: a tree of CBOR has a node of many bytes for each.
pub const FACTOR: usize = 96;
/// And besides: buffers of a fixed size, and the target's own.
pub const BASE: usize = 128 * 1024;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: everything is handed to the system's allocator as it came; only sizes are counted besides.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's contract is ours.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Bytes that are allocated now.
pub fn live() -> usize {
    LIVE.load(Relaxed)
}

/// Runs `parse` on an input of so many bytes; panics if it held more than the input can ask for (I14).
pub fn bounded<T>(input: usize, parse: impl FnOnce() -> T) -> T {
    let before = live();
    PEAK.store(before, Relaxed);
    let out = parse();
    let held = PEAK.load(Relaxed).saturating_sub(before);
    let most = input * FACTOR + BASE;
    assert!(
        held <= most,
        "{held} bytes held for {input}, at most {most}"
    );
    out
}
