//! Matrix products: one fixed kernel, one order of sums.
//!
//! The inner loop is gemm's AVX2 and FMA kernel for `f32`, called directly. gemm's own driver is not
//! used: it chooses kernels by CPU and tile sizes by cache at run time. What a sum is does not depend
//! on the tiles here either, see [`Kernel::multiply`].

use crate::TensorError;

/// Lanes of a vector: matrices that the kernel reads or writes by the row have rows padded to a
/// multiple of it.
const LANES: usize = 8;

/// Terms that are added before a partial sum goes to the output.
pub(crate) const SLICE: usize = 512;

/// Rows of the output per tile.
const TILE_ROWS: usize = 6;

/// The row length that the kernel works with.
pub(crate) const fn padded(columns: usize) -> usize {
    columns.next_multiple_of(LANES)
}

/// The left factor: element (i, k) stands at `i * row + k * step`. So a matrix can be read as its
/// transpose, or out of wider rows, without a copy.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) row: usize,
    pub(crate) step: usize,
}

/// Rows of the output, terms of each sum, and its row length, a multiple of 8: the right factor's as
/// well.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) rows: usize,
    pub(crate) depth: usize,
    pub(crate) columns: usize,
}

/// Proof that this CPU has the instructions of the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Kernel(());

impl Kernel {
    /// Refuses a CPU without FMA (which implies AVX).
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn new() -> Result<Self, TensorError> {
        if std::arch::is_x86_feature_detected!("fma") {
            Ok(Self(()))
        } else {
            Err(TensorError::Cpu)
        }
    }

    /// Refuses: there is no other kernel that gives the same bytes.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn new() -> Result<Self, TensorError> {
        Err(TensorError::Cpu)
    }

    /// out ← out + scale · left · right.
    ///
    /// `right` is depth × columns, `out` rows × columns, both row-major without gaps.
    ///
    /// **Order (I7).** For every element, and for each slice of 512 k in turn: s ← 0, then
    /// s ← fma(left, right, s) with k ascending, then out ← fma(scale, s, out). Each element has an
    /// accumulator of its own, so tiles and lanes change nothing.
    pub(crate) fn multiply(
        self,
        size: Size,
        left: Left<'_>,
        right: &[f32],
        scale: f32,
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        for start in (0..size.depth).step_by(SLICE) {
            let slice = Size {
                depth: SLICE.min(size.depth - start),
                ..size
            };
            let left = Left {
                data: left.data.get(start * left.step..).unwrap_or_default(),
                ..left
            };
            let right = right.get(start * size.columns..).unwrap_or_default();
            self.slice(slice, left, right, scale, out)?;
        }
        Ok(())
    }

    /// One slice, tile by tile: 16 columns (8 for a last odd one) and up to 6 rows.
    fn slice(
        self,
        size: Size,
        left: Left<'_>,
        right: &[f32],
        scale: f32,
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        let Size {
            rows,
            depth,
            columns,
        } = size;
        for row in (0..rows).step_by(TILE_ROWS) {
            let height = TILE_ROWS.min(rows - row);
            let left = Left {
                data: left.data.get(row * left.row..).unwrap_or_default(),
                ..left
            };
            let mut column = 0;
            while column < columns {
                let vectors = if columns - column >= 2 * LANES { 2 } else { 1 };
                let right = right.get(column..).unwrap_or_default();
                let out = out.get_mut(row * columns + column..).unwrap_or_default();
                self.tile(
                    Tile {
                        vectors,
                        height,
                        depth,
                        stride: columns,
                    },
                    left,
                    right,
                    scale,
                    out,
                )?;
                column += vectors * LANES;
            }
        }
        Ok(())
    }

    /// One tile. All bounds are checked here, next to the block that relies on them.
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    fn tile(
        self,
        tile: Tile,
        left: Left<'_>,
        right: &[f32],
        scale: f32,
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        use gemm_f32::microkernel::fma::f32::UKR;

        let Tile {
            vectors,
            height,
            depth,
            stride,
        } = tile;
        let kernel = vectors
            .checked_sub(1)
            .and_then(|vectors| UKR.get(vectors))
            .and_then(|row| row.get(height.checked_sub(1)?))
            .ok_or(TensorError::Layout)?;
        let width = vectors * LANES;
        let deepest = depth.checked_sub(1).ok_or(TensorError::Layout)?;
        let inside = (height - 1) * left.row + deepest * left.step < left.data.len()
            && deepest * stride + width <= right.len()
            && (height - 1) * stride + width <= out.len();
        if !inside {
            return Err(TensorError::Layout);
        }
        // SAFETY: the kernel `UKR[vectors - 1][height - 1]` wants FMA, of which `self` is the proof. In
        // its own terms it is given m = width, n = height, k = depth and reads, for every depth p:
        // `width` numbers from right + p · stride, and one number from left + p · step + i · row for
        // each i < height; it reads and writes, for each i < height, `width` numbers from
        // out + i · stride (m and n are exactly the kernel's own, so it takes its whole-tile path).
        // The largest of these indices were compared with the three lengths above; all sizes are
        // those of slices, so the products and casts do not wrap. `out` is borrowed mutably, so it
        // does not overlap the others. The last pointer is a prefetch hint that the kernel ignores.
        unsafe {
            kernel(
                width,
                height,
                depth,
                out.as_mut_ptr(),
                right.as_ptr(),
                left.data.as_ptr(),
                stride as isize,
                1,
                stride as isize,
                left.step as isize,
                left.row as isize,
                1.0,
                scale,
                ALPHA_IS_ONE,
                false,
                false,
                false,
                std::ptr::null(),
            );
        }
        Ok(())
    }

    /// There is no `Kernel` here.
    #[cfg(not(target_arch = "x86_64"))]
    fn tile(
        self,
        _: Tile,
        _: Left<'_>,
        _: &[f32],
        _: f32,
        _: &mut [f32],
    ) -> Result<(), TensorError> {
        Err(TensorError::Cpu)
    }
}

/// gemm's code for "add to what is there".
#[cfg(target_arch = "x86_64")]
const ALPHA_IS_ONE: u8 = 1;

/// One call of the kernel.
#[derive(Clone, Copy)]
struct Tile {
    /// Columns, in vectors of 8: 1 or 2.
    vectors: usize,
    /// Rows, 1 to 6.
    height: usize,
    /// Terms of each sum, at least 1.
    depth: usize,
    /// Row length of the right factor and the output.
    stride: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::check::numbers;

    /// The order of sums as documented, one number at a time.
    fn reference(size: Size, left: Left<'_>, right: &[f32], scale: f32, out: &mut [f32]) {
        for i in 0..size.rows {
            for j in 0..size.columns {
                for start in (0..size.depth).step_by(512) {
                    let mut sum = 0.0f32;
                    for k in start..size.depth.min(start + 512) {
                        let x = left.data[i * left.row + k * left.step];
                        sum = x.mul_add(right[k * size.columns + j], sum);
                    }
                    let at = &mut out[i * size.columns + j];
                    *at = scale.mul_add(sum, *at);
                }
            }
        }
    }

    fn bits(numbers: &[f32]) -> Vec<u32> {
        numbers.iter().map(|x| x.to_bits()).collect()
    }

    /// I7. Equal to the last bit, whatever the tiles: a fused or unfused operation more or less, lanes
    /// that are added across, or another split of k would show.
    #[test]
    fn i7_products_are_sums_in_the_documented_order() {
        let kernel = Kernel::new().unwrap();
        let sizes = [
            (1, 1, 8),
            (6, 3, 16),
            (7, 32, 24),
            (13, 33, 64),
            (32, 7, 40),
            (5, 511, 8),
        ];
        for (rows, depth, columns) in sizes.into_iter().chain([(2, 513, 16), (3, 1537, 8)]) {
            let size = Size {
                rows,
                depth,
                columns,
            };
            let data = numbers(rows * depth, 1);
            let right = numbers(depth * columns, 2);
            for (row, step) in [(depth, 1), (1, rows)] {
                let left = Left {
                    data: &data,
                    row,
                    step,
                };
                let mut ours = numbers(rows * columns, 3);
                let mut theirs = ours.clone();
                kernel
                    .multiply(size, left, &right, -0.3, &mut ours)
                    .unwrap();
                reference(size, left, &right, -0.3, &mut theirs);
                assert_eq!(bits(&ours), bits(&theirs), "{rows} x {depth} x {columns}");
            }
        }
    }

    /// I7. A long sum is exactly its slices of 512 one after the other; and that is not what one long
    /// chain gives, so the split is really there.
    #[test]
    fn i7_long_sums_are_split_at_512() {
        let kernel = Kernel::new().unwrap();
        let (depth, columns) = (1300, 8);
        let data = numbers(depth, 4);
        let right = numbers(depth * columns, 5);
        let product = |from: usize, to: usize, out: &mut [f32]| {
            let size = Size {
                rows: 1,
                depth: to - from,
                columns,
            };
            let left = Left {
                data: &data[from..],
                row: depth,
                step: 1,
            };
            kernel
                .multiply(size, left, &right[from * columns..], 1.0, out)
                .unwrap();
        };
        let mut whole = vec![0.0; columns];
        product(0, depth, &mut whole);
        let mut slices = vec![0.0; columns];
        for (from, to) in [(0, 512), (512, 1024), (1024, 1300)] {
            product(from, to, &mut slices);
        }
        assert_eq!(bits(&whole), bits(&slices));

        let chain = |j: usize| {
            (0..depth).fold(0.0f32, |sum, k| {
                data[k].mul_add(right[k * columns + j], sum)
            })
        };
        assert!((0..columns).any(|j| chain(j).to_bits() != whole[j].to_bits()));
    }

    /// Nothing outside a buffer is touched: one number short is refused.
    #[test]
    fn short_buffers_are_refused() {
        let kernel = Kernel::new().unwrap();
        let size = Size {
            rows: 7,
            depth: 20,
            columns: 24,
        };
        let (data, right) = (vec![1.0; 7 * 20], vec![1.0; 20 * 24]);
        let mut out = vec![0.0; 7 * 24];
        let mut run = |data: &[f32], right: &[f32], short: usize| {
            let left = Left {
                data,
                row: 20,
                step: 1,
            };
            let end = out.len() - short;
            kernel.multiply(size, left, right, 1.0, &mut out[..end])
        };
        assert_eq!(run(&data, &right, 0), Ok(()));
        assert_eq!(run(&data[1..], &right, 0), Err(TensorError::Layout));
        assert_eq!(run(&data, &right[1..], 0), Err(TensorError::Layout));
        assert_eq!(run(&data, &right, 1), Err(TensorError::Layout));
    }
}
