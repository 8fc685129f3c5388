// SPDX-License-Identifier: Apache-2.0
//! Device memory.

use std::marker::PhantomData;

use ggemm_sys as sys;

use crate::{matrix::RawMat, Bias, Device, Element, Mat, MatMut};

/// Device memory to read: an address and a length, for a time.
#[derive(Debug)]
pub struct DeviceSlice<'a, T> {
    pub(crate) data: *const T,
    pub(crate) len: usize,
    marker: PhantomData<&'a T>,
}

/// Device memory to write: an address and a length, for a time.
#[derive(Debug)]
pub struct DeviceSliceMut<'a, T> {
    pub(crate) data: *mut T,
    pub(crate) len: usize,
    marker: PhantomData<&'a mut T>,
}

impl<T> Copy for DeviceSlice<'_, T> {}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: addresses, which only unsafe launches use.
unsafe impl<T: Sync> Send for DeviceSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for DeviceSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for DeviceSliceMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for DeviceSliceMut<'_, T> {}

impl<'a, T> DeviceSlice<'a, T> {
    /// `len` elements from the address `data` on.
    ///
    /// # Safety
    /// They are memory of one allocation of the device, aligned to `T`, and stay allocated for `'a`.
    #[must_use]
    pub unsafe fn from_raw_parts(data: *const T, len: usize) -> Self {
        Self { data, len, marker: PhantomData }
    }
}

impl<'a, T: Element> DeviceSlice<'a, T> {
    /// As [`Mat::row_major`].
    #[must_use]
    pub fn row_major(self, rows: usize, cols: usize) -> Mat<'a, T, Device> {
        self.strided(rows, cols, cols as isize, 1)
    }

    /// As [`Mat::col_major`].
    #[must_use]
    pub fn col_major(self, rows: usize, cols: usize) -> Mat<'a, T, Device> {
        self.strided(rows, cols, 1, rows as isize)
    }

    /// As [`Mat::strided`].
    #[must_use]
    pub fn strided(self, rows: usize, cols: usize, row_stride: isize, col_stride: isize) -> Mat<'a, T, Device> {
        Mat::new(RawMat::strided(self.data, self.len, rows, cols, row_stride, col_stride))
    }

    /// As [`Bias::per_column`].
    #[must_use]
    pub fn bias_per_column(self) -> Bias<'a, Device> {
        Bias::new(sys::GGEMM_BIAS_PER_COLUMN, self.data, self.len)
    }

    /// As [`Bias::per_row`].
    #[must_use]
    pub fn bias_per_row(self) -> Bias<'a, Device> {
        Bias::new(sys::GGEMM_BIAS_PER_ROW, self.data, self.len)
    }
}

impl<'a, T> DeviceSliceMut<'a, T> {
    /// `len` elements from the address `data` on.
    ///
    /// # Safety
    /// They are memory of one allocation of the device, aligned to `T`, stay allocated for `'a`, and nothing else of this
    /// program names them during it.
    #[must_use]
    pub unsafe fn from_raw_parts(data: *mut T, len: usize) -> Self {
        Self { data, len, marker: PhantomData }
    }
}

impl<'a, T> DeviceSliceMut<'a, T> {
    /// The same memory for a grouped launch, which takes all its operands so and writes those that it says it does.
    #[must_use]
    pub fn as_const(self) -> DeviceSlice<'a, T> {
        DeviceSlice { data: self.data, len: self.len, marker: PhantomData }
    }
}

impl<'a, T: Element> DeviceSliceMut<'a, T> {
    /// As [`MatMut::row_major`].
    #[must_use]
    pub fn row_major(self, rows: usize, cols: usize) -> MatMut<'a, T, Device> {
        self.strided(rows, cols, cols as isize, 1)
    }

    /// As [`MatMut::col_major`].
    #[must_use]
    pub fn col_major(self, rows: usize, cols: usize) -> MatMut<'a, T, Device> {
        self.strided(rows, cols, 1, rows as isize)
    }

    /// As [`MatMut::strided`].
    #[must_use]
    pub fn strided(self, rows: usize, cols: usize, row_stride: isize, col_stride: isize) -> MatMut<'a, T, Device> {
        MatMut::new(RawMat::strided(self.data, self.len, rows, cols, row_stride, col_stride))
    }
}
