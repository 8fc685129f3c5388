// SPDX-License-Identifier: Apache-2.0
//! Biases.

use std::marker::PhantomData;

use ggemm_sys as sys;

use crate::{matrix::RawMat, DType, Element, Error, Host, Result};

/// A vector that is added to the columns or to the rows of D before the activation.
#[derive(Debug, Copy, Clone)]
pub struct Bias<'a, M = Host> {
    pub(crate) raw: RawBias,
    marker: PhantomData<&'a u8>,
    memory: PhantomData<M>,
}

// SAFETY: a shared borrow of plain numbers, or an address that only unsafe launches use.
unsafe impl<M> Send for Bias<'_, M> {}
// SAFETY: as above.
unsafe impl<M> Sync for Bias<'_, M> {}

#[derive(Debug, Copy, Clone)]
pub(crate) struct RawBias {
    pub(crate) kind: sys::ggemm_bias,
    pub(crate) data: *const u8,
    pub(crate) len: usize,
    pub(crate) dtype: DType,
}

impl<'a> Bias<'a> {
    /// `data[j]` is added to column j: as many elements as D has columns.
    #[must_use]
    #[inline]
    pub fn per_column<T: Element>(data: &'a [T]) -> Self {
        Self::new(sys::GGEMM_BIAS_PER_COLUMN, data.as_ptr(), data.len())
    }

    /// `data[i]` is added to row i: as many elements as D has rows.
    #[must_use]
    #[inline]
    pub fn per_row<T: Element>(data: &'a [T]) -> Self {
        Self::new(sys::GGEMM_BIAS_PER_ROW, data.as_ptr(), data.len())
    }
}

impl<M> Bias<'_, M> {
    pub(crate) fn new<T: Element>(kind: sys::ggemm_bias, data: *const T, len: usize) -> Self {
        Self {
            raw: RawBias { kind, data: data.cast(), len, dtype: T::DTYPE },
            marker: PhantomData,
            memory: PhantomData,
        }
    }
}

impl RawBias {
    /// Refuses a vector that does not fit the product of A and B.
    pub(crate) fn check(&self, a: &RawMat, b: &RawMat) -> Result<()> {
        let (name, needed) =
            if self.kind == sys::GGEMM_BIAS_PER_COLUMN { ("columns", b.cols) } else { ("rows", a.rows) };
        if self.len == needed {
            return Ok(());
        }
        Err(Error::argument(format!("bias has {} elements, A B has {needed} {name}", self.len)))
    }
}
