// SPDX-License-Identifier: Apache-2.0
//! Matrices: views of host slices and of device memory.

use std::{fmt, marker::PhantomData};

use ggemm_sys as sys;

use crate::{element::dtype_name, problem::AT_MOST, DType, Element, Error, Result};

/// Marks operands that are slices of this program's own memory.
#[derive(Debug, Copy, Clone)]
pub enum Host {}
/// Marks operands in the memory of the context's device, which this program may not be able to read.
#[derive(Debug, Copy, Clone)]
pub enum Device {}
/// The type of the elements of a view that knows it at run time only: see [`Mat::untyped`].
#[derive(Debug, Copy, Clone)]
pub enum Untyped {}

/// A matrix that is read: element (i, j) is `i * row_stride + j * col_stride` elements from its first. It borrows what
/// it shows and copies nothing.
///
/// Whether the slice is long enough is checked when the product is run, and is an error then, not a panic.
///
/// ```
/// use ggemm::Mat;
///
/// let data: Vec<f32> = (0..6).map(|i| i as f32).collect();
/// let a = Mat::row_major(&data, 2, 3); //           0 1 2 / 3 4 5
/// let b = Mat::row_major(&data, 2, 3).t(); //       0 3 / 1 4 / 2 5
/// let c = Mat::strided(&data, 2, 2, 3, 2); //       0 2 / 3 5
/// let d = Mat::strided(&data, 2, 3, 0, 1); //       0 1 2 / 0 1 2
/// let e = Mat::strided(&data, 2, 3, -3, 1); //      3 4 5 / 0 1 2
/// assert_eq!((b.rows(), b.cols()), (3, 2));
/// ```
pub struct Mat<'a, T, M = Host> {
    pub(crate) raw: RawMat,
    marker: PhantomData<&'a T>,
    memory: PhantomData<M>,
}

impl<T, M> Copy for Mat<'_, T, M> {}

impl<T, M> Clone for Mat<'_, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

/// A matrix that is written: D, the result of a product. Otherwise as [`Mat`].
pub struct MatMut<'a, T, M = Host> {
    pub(crate) raw: RawMat,
    marker: PhantomData<&'a mut T>,
    memory: PhantomData<M>,
}

// SAFETY: a shared borrow of plain numbers, or an address that only unsafe launches use.
unsafe impl<T: Sync, M> Send for Mat<'_, T, M> {}
// SAFETY: as above.
unsafe impl<T: Sync, M> Sync for Mat<'_, T, M> {}
// SAFETY: an exclusive borrow of plain numbers, or an address that only unsafe launches use.
unsafe impl<T: Send, M> Send for MatMut<'_, T, M> {}
// SAFETY: nothing can be done through a shared reference to it.
unsafe impl<T: Sync, M> Sync for MatMut<'_, T, M> {}

/// A view without its type and lifetime.
#[derive(Debug, Copy, Clone)]
pub(crate) struct RawMat {
    /// The lowest address, which with negative strides is not that of element (0, 0).
    pub(crate) data: *const u8,
    /// Elements from there on that belong to the view.
    len: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: i64,
    pub(crate) col_stride: i64,
    pub(crate) dtype: DType,
}

impl RawMat {
    pub(crate) fn strided<T: Element>(
        data: *const T,
        len: usize,
        rows: usize,
        cols: usize,
        row_stride: isize,
        col_stride: isize,
    ) -> Self {
        let (row_stride, col_stride) = (row_stride as i64, col_stride as i64);
        Self { data: data.cast(), len, rows, cols, row_stride, col_stride, dtype: T::DTYPE }
    }

    fn t(self) -> Self {
        let Self { rows, cols, row_stride, col_stride, .. } = self;
        Self { rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride, ..self }
    }

    /// Refuses a view that reaches beyond its slice, or is of more than the C interface has numbers for.
    #[inline]
    pub(crate) fn check(&self, name: impl fmt::Display) -> Result<()> {
        if self.surely_fits() {
            Ok(())
        } else {
            self.check_closely(name)
        }
    }

    /// True of nearly every view that lies in its slice, by numbers that cannot overflow.
    #[inline]
    fn surely_fits(&self) -> bool {
        let (rows, cols) = (self.rows.wrapping_sub(1) as u64, self.cols.wrapping_sub(1) as u64);
        let (down, across) = (self.row_stride as u64, self.col_stride as u64);
        (rows | cols | down | across) < 1 << 30 && rows * down + cols * across < self.len as u64
    }

    #[cold]
    fn check_closely(&self, name: impl fmt::Display) -> Result<()> {
        if i64::try_from(self.rows.max(self.cols)).is_err() {
            // Without a stride it may lie in its slice all the same.
            Err(Error::argument(format!("{name} is {self}: {AT_MOST}")))
        } else if self.span() > self.len as u128 {
            Err(self.too_short(name))
        } else {
            Ok(())
        }
    }

    /// Refuses a D of which two elements coincide: (i, j) and (i + col_stride / g, j - row_stride / g) do, if both are
    /// elements. Of a list of groups the library cannot tell, as their strides are arrays to it.
    #[inline]
    pub(crate) fn check_distinct(&self) -> Result<()> {
        if self.is_packed() || !self.coincides() {
            return Ok(());
        }
        Err(Error::argument(format!(
            "D is {self} with strides ({}, {}): its elements must not coincide",
            self.row_stride, self.col_stride
        )))
    }

    fn coincides(&self) -> bool {
        let (down, across) = (self.row_stride.unsigned_abs(), self.col_stride.unsigned_abs());
        let (mut g, mut rest) = (down, across);
        while rest != 0 {
            (g, rest) = (rest, g % rest);
        }
        let (rows, cols) = (self.rows as u64, self.cols as u64);
        if g == 0 {
            return rows.min(cols) > 0 && rows.max(cols) > 1;
        }
        across / g < rows && down / g < cols
    }

    /// Elements from the lowest address to the highest.
    fn span(&self) -> u128 {
        if self.rows == 0 || self.cols == 0 {
            return 0;
        }
        let reach = |count: usize, stride: i64| (count - 1) as u128 * u128::from(stride.unsigned_abs());
        reach(self.rows, self.row_stride) + reach(self.cols, self.col_stride) + 1
    }

    #[cold]
    fn too_short(&self, name: impl fmt::Display) -> Error {
        Error::argument(format!(
            "{name} is {self} with strides ({}, {}) and so spans {} elements, its slice has {}",
            self.row_stride,
            self.col_stride,
            self.span(),
            self.len
        ))
    }

    /// The address of element (0, 0) of a view that has been checked.
    #[inline]
    pub(crate) fn base(&self) -> *const u8 {
        let below = |count: usize, stride: i64| {
            if count > 1 && stride < 0 {
                (count - 1) * stride.unsigned_abs() as usize
            } else {
                0
            }
        };
        if (self.row_stride | self.col_stride) >= 0 || self.rows == 0 || self.cols == 0 {
            return self.data;
        }
        self.data
            .wrapping_add((below(self.rows, self.row_stride) + below(self.cols, self.col_stride)) * self.dtype.size())
    }

    /// True if each row follows the one before without a gap.
    #[inline]
    pub(crate) fn is_packed(&self) -> bool {
        self.col_stride == 1 && self.row_stride == self.cols as i64
    }

    #[inline]
    pub(crate) fn matrix(&self) -> sys::ggemm_matrix {
        let (row_stride, col_stride) =
            if self.is_packed() { (sys::GGEMM_PACKED, sys::GGEMM_PACKED) } else { (self.row_stride, self.col_stride) };
        sys::ggemm_matrix { dtype: self.dtype.raw(), reserved0: 0, row_stride, col_stride, reserved1: 0 }
    }

    /// Refuses a view that is not laid out as the description of a plan says.
    #[inline]
    pub(crate) fn check_planned(&self, planned: &sys::ggemm_matrix, name: &str) -> Result<()> {
        let row_stride = if planned.row_stride == sys::GGEMM_PACKED { self.cols as i64 } else { planned.row_stride };
        let col_stride = if planned.col_stride == sys::GGEMM_PACKED { 1 } else { planned.col_stride };
        // Where there is one row, or none, its stride means nothing.
        let same = planned.dtype == self.dtype.raw()
            && (self.rows <= 1 || row_stride == self.row_stride)
            && (self.cols <= 1 || col_stride == self.col_stride);
        if same {
            return Ok(());
        }
        Err(Error::argument(format!(
            "{name} is {} with strides ({}, {}), the plan is for {} with strides ({row_stride}, {col_stride})",
            self.dtype,
            self.row_stride,
            self.col_stride,
            dtype_name(planned.dtype),
        )))
    }
}

impl fmt::Display for RawMat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.cols)
    }
}

/// What views have in common.
macro_rules! view {
    ($name:ident) => {
        impl<'a, T, M> $name<'a, T, M> {
            pub(crate) fn new(raw: RawMat) -> Self {
                Self { raw, marker: PhantomData, memory: PhantomData }
            }

            /// The transposed view: nothing is moved.
            #[must_use]
            #[inline]
            pub fn t(self) -> Self {
                Self::new(self.raw.t())
            }

            /// How many rows it has.
            #[must_use]
            pub fn rows(&self) -> usize {
                self.raw.rows
            }

            /// How many columns it has.
            #[must_use]
            pub fn cols(&self) -> usize {
                self.raw.cols
            }

            /// The type of its elements.
            #[must_use]
            pub fn dtype(&self) -> DType {
                self.raw.dtype
            }

            /// The same view with the type of its elements known at run time only, so that views of different types are
            /// of one Rust type. Nothing else changes.
            #[must_use]
            pub fn untyped(self) -> $name<'a, Untyped, M> {
                $name::new(self.raw)
            }
        }

        impl<T, M> fmt::Debug for $name<'_, T, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let RawMat { row_stride, col_stride, dtype, .. } = self.raw;
                write!(
                    f,
                    concat!(stringify!($name), "({} {}, strides ({}, {}))"),
                    dtype, self.raw, row_stride, col_stride
                )
            }
        }
    };
}
view!(Mat);
view!(MatMut);

impl<'a, T: Element> Mat<'a, T> {
    /// Row after row without gaps.
    #[must_use]
    #[inline]
    pub fn row_major(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, cols as isize, 1)
    }

    /// Column after column without gaps.
    #[must_use]
    #[inline]
    pub fn col_major(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, 1, rows as isize)
    }

    /// Any strides, in elements: 0 repeats a row or a column, a negative one goes backwards. The slice begins with the
    /// element of the lowest address, so with a negative stride not with element (0, 0).
    #[must_use]
    #[inline]
    pub fn strided(data: &'a [T], rows: usize, cols: usize, row_stride: isize, col_stride: isize) -> Self {
        Self::new(RawMat::strided(data.as_ptr(), data.len(), rows, cols, row_stride, col_stride))
    }
}

impl<'a, T: Element> MatMut<'a, T> {
    /// Row after row without gaps.
    #[must_use]
    #[inline]
    pub fn row_major(data: &'a mut [T], rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, cols as isize, 1)
    }

    /// Column after column without gaps.
    #[must_use]
    #[inline]
    pub fn col_major(data: &'a mut [T], rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, 1, rows as isize)
    }

    /// Any strides as in [`Mat::strided`] with which no two elements coincide. Elements between rows are left as they
    /// are.
    #[must_use]
    #[inline]
    pub fn strided(data: &'a mut [T], rows: usize, cols: usize, row_stride: isize, col_stride: isize) -> Self {
        Self::new(RawMat::strided(data.as_mut_ptr(), data.len(), rows, cols, row_stride, col_stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(mat: Mat<'_, f32>) -> String {
        mat.raw.check("A").unwrap_err().to_string()
    }

    #[test]
    fn the_span_must_lie_in_the_slice() {
        let data = [0.0_f32; 10];
        for (rows, cols, row_stride, col_stride) in
            [(2, 5, 5, 1), (5, 2, 1, 5), (3, 2, -4, 1), (1000, 10, 0, 1), (0, 9, 99, 1), (1, 1, 99, 99)]
        {
            Mat::strided(&data, rows, cols, row_stride, col_stride).raw.check("A").unwrap();
        }
        assert_eq!(
            refused(Mat::row_major(&data, 3, 4)),
            "A is 3x4 with strides (4, 1) and so spans 12 elements, its slice has 10"
        );
        assert!(refused(Mat::strided(&data, 2, 5, -6, 1)).contains("spans 11 elements"));
        assert!(
            refused(Mat::strided(&data, 2, 2, isize::MIN, isize::MIN)).contains("spans 18446744073709551617 elements")
        );
        assert!(refused(Mat::row_major(&data, isize::MAX as usize, isize::MAX as usize)).contains("its slice has 10"));
    }

    #[test]
    fn negative_strides_begin_at_the_slice_s_start() {
        let data = [0.0_f32; 12];
        let offset = |m: Mat<'_, f32>| (m.raw.base() as usize - data.as_ptr() as usize) / 4;
        assert_eq!(offset(Mat::strided(&data, 3, 4, -4, 1)), 8);
        assert_eq!(offset(Mat::strided(&data, 3, 4, 4, -1)), 3);
        assert_eq!(offset(Mat::strided(&data, 3, 4, -4, -1)), 11);
        assert_eq!(offset(Mat::strided(&data, 3, 4, -4, -1).t()), 11);
        assert_eq!(offset(Mat::strided(&data, 0, 4, -4, -1)), 0);
    }

    #[test]
    fn packed_is_told_from_strided() {
        let data = [0.0_f32; 12];
        assert_eq!(Mat::row_major(&data, 3, 4).raw.matrix().row_stride, sys::GGEMM_PACKED);
        assert_eq!(Mat::row_major(&data, 3, 4).t().t().raw.matrix().col_stride, sys::GGEMM_PACKED);
        let transposed = Mat::row_major(&data, 3, 4).t().raw.matrix();
        assert_eq!((transposed.row_stride, transposed.col_stride), (1, 4));
    }
}
