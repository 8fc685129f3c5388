// SPDX-License-Identifier: Apache-2.0
//! Scales of A and B.

use std::fmt;

use ggemm_sys as sys;

use crate::{matrix::RawMat, Error, Host, Mat, Result};

/// How an operand is scaled, by `f32` numbers that form a matrix of their own.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScaleKind {
    /// One number.
    Tensor,
    /// One for each row of A, `[m, 1]`; for each column of B, `[1, n]`.
    Vector,
    /// One for each 128 of k of a row of A, `[m, ceil(k/128)]`; of a column of B, `[ceil(k/128), n]`.
    Block1x128,
    /// One for each block of 128 rows of A and 128 of k, `[ceil(m/128), ceil(k/128)]`; of B,
    /// `[ceil(k/128), ceil(n/128)]`.
    Block128x128,
}

impl ScaleKind {
    #[inline]
    pub(crate) fn raw(self) -> sys::ggemm_scale_kind {
        match self {
            Self::Tensor => sys::GGEMM_SCALE_TENSOR,
            Self::Vector => sys::GGEMM_SCALE_VECTOR,
            Self::Block1x128 => sys::GGEMM_SCALE_BLOCK_1X128,
            Self::Block128x128 => sys::GGEMM_SCALE_BLOCK_128X128,
        }
    }

    /// How many there are along A's rows (B's columns) of `along`, and along k.
    pub(crate) fn counts(self, along: usize, k: usize) -> (usize, usize) {
        const BLOCK: usize = 128;
        match self {
            Self::Tensor => (1, 1),
            Self::Vector => (along, 1),
            Self::Block1x128 => (along, k.div_ceil(BLOCK)),
            Self::Block128x128 => (along.div_ceil(BLOCK), k.div_ceil(BLOCK)),
        }
    }
}

/// The scales of A or B.
///
/// ```
/// use ggemm::{Context, Mat, MatMut, Scale, ScaleKind};
///
/// let context = Context::host()?;
/// let (a, b, mut d) = ([1.0_f32, 2.0, 3.0, 4.0], [1.0_f32, 1.0], [0.0_f32; 2]);
/// let rows = [1.0_f32, 10.0];
/// context
///     .gemm(Mat::row_major(&a, 2, 2), Mat::row_major(&b, 2, 1), MatMut::row_major(&mut d, 2, 1))
///     .scale_a(Scale::new(ScaleKind::Vector, Mat::row_major(&rows, 2, 1)))
///     .run()?;
/// assert_eq!(d, [3.0, 70.0]);
/// # Ok::<(), ggemm::Error>(())
/// ```
#[derive(Debug, Copy, Clone)]
pub struct Scale<'a, M = Host> {
    kind: ScaleKind,
    values: Mat<'a, f32, M>,
}

impl<'a, M> Scale<'a, M> {
    /// These numbers, of which the kind says what they scale and how many there must be.
    #[must_use]
    pub fn new(kind: ScaleKind, values: Mat<'a, f32, M>) -> Self {
        Self { kind, values }
    }

    #[inline]
    pub(crate) fn raw(&self) -> RawScale {
        RawScale { kind: self.kind, values: self.values.raw }
    }
}

/// Which operand is scaled.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::A { "scale_a" } else { "scale_b" })
    }
}

#[derive(Debug, Copy, Clone)]
pub(crate) struct RawScale {
    pub(crate) kind: ScaleKind,
    pub(crate) values: RawMat,
}

impl RawScale {
    /// Refuses what does not fit the product of A and B.
    pub(crate) fn check(&self, side: Side, a: &RawMat, b: &RawMat) -> Result<()> {
        let along = if side == Side::A { a.rows } else { b.cols };
        let (along, deep) = self.kind.counts(along, a.cols);
        let (rows, cols) = if side == Side::A { (along, deep) } else { (deep, along) };
        if (self.values.rows, self.values.cols) != (rows, cols) {
            let kind = self.kind;
            return Err(Error::argument(format!(
                "{side} is {}, {kind:?} of this product is {rows}x{cols}",
                self.values
            )));
        }
        self.values.check(side)
    }

    pub(crate) fn scale(&self) -> sys::ggemm_scale {
        let sys::ggemm_matrix { row_stride, col_stride, .. } = self.values.matrix();
        sys::ggemm_scale { kind: self.kind.raw(), reserved0: 0, row_stride, col_stride }
    }

    /// Refuses scales that are not as the plan takes them; `None` where there are none.
    pub(crate) fn check_planned(given: Option<&Self>, planned: &sys::ggemm_scale, side: Side) -> Result<()> {
        let kind = given.map_or(sys::GGEMM_SCALE_NONE, |scale| scale.kind.raw());
        if kind != planned.kind {
            return Err(Error::argument(match (given, planned.kind) {
                (None, _) => format!("{side} is missing, the plan was made with it"),
                (Some(_), sys::GGEMM_SCALE_NONE) => format!("{side} is given, the plan was made without it"),
                (Some(given), _) => format!("{side} is a {:?}, the plan was made for another kind", given.kind),
            }));
        }
        match given.filter(|scale| scale.kind != ScaleKind::Tensor) {
            Some(scale) => scale.values.check_planned(
                &sys::ggemm_matrix {
                    dtype: sys::GGEMM_F32,
                    reserved0: 0,
                    row_stride: planned.row_stride,
                    col_stride: planned.col_stride,
                    reserved1: 0,
                },
                if side == Side::A { "scale_a" } else { "scale_b" },
            ),
            None => Ok(()),
        }
    }
}
