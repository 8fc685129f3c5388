// SPDX-License-Identifier: Apache-2.0
//! Descriptions of grouped problems.

use std::{ffi::CStr, ptr};

use ggemm_sys as sys;

use crate::{
    problem::{common_setters, size, text_pointer, BiasKind, Texts},
    Activation, Compute, Config, DType, Element,
};

/// Where a number of each group comes from: a size or a stride, in elements.
#[derive(Debug, Copy, Clone)]
pub struct Source {
    pub(crate) raw: sys::ggemm_source,
}

// SAFETY: an address, which only unsafe launches use.
unsafe impl Send for Source {}
// SAFETY: as above.
unsafe impl Sync for Source {}

impl Source {
    /// As a stride: rows, each of the group's own length, without gaps.
    pub const PACKED: Self = Self::constant(sys::GGEMM_PACKED);

    /// The same for every group.
    #[must_use]
    pub const fn constant(value: i64) -> Self {
        Self {
            raw: sys::ggemm_source {
                data: ptr::null(),
                byte_stride: 0,
                value,
                kind: sys::GGEMM_SOURCE_CONST,
                reserved0: 0,
            },
        }
    }

    /// Group g's is the `i32` that lies `g * byte_stride` bytes after `data`, in device memory. It is read when the
    /// launch runs, and must stay as it is until then.
    #[must_use]
    pub const fn i32_at(data: *const i32, byte_stride: isize) -> Self {
        Self::at(data.cast(), byte_stride, sys::GGEMM_SOURCE_I32)
    }

    /// As [`i32_at`](Source::i32_at), of `i64`.
    #[must_use]
    pub const fn i64_at(data: *const i64, byte_stride: isize) -> Self {
        Self::at(data.cast(), byte_stride, sys::GGEMM_SOURCE_I64)
    }

    const fn at(data: *const core::ffi::c_void, byte_stride: isize, kind: sys::ggemm_source_kind) -> Self {
        Self { raw: sys::ggemm_source { data, byte_stride: byte_stride as i64, value: 0, kind, reserved0: 0 } }
    }
}

/// A grouped problem: for each group g, D_g = act(alpha A_g B_g + beta C_g + bias_g), in one launch that reads sizes,
/// strides and addresses on the device.
///
/// ```
/// use ggemm::{GroupedProblem, Source};
///
/// # let sizes = [[1_i32, 2, 3]; 4];
/// // sizes: i32 [G, 3] in device memory: m, n and k of each group
/// let first: *const i32 = sizes.as_ptr().cast();
/// let problem = GroupedProblem::new::<f32, f32, f32>(sizes.len())
///     .m(Source::i32_at(first, 12))
///     .n(Source::i32_at(first.wrapping_add(1), 12))
///     .k(Source::i32_at(first.wrapping_add(2), 12));
/// ```
#[derive(Debug, Clone)]
pub struct GroupedProblem {
    desc: sys::ggemm_grouped_desc,
    a: DType,
    b: DType,
    d: DType,
    has_c: bool,
    texts: Texts,
}

// SAFETY: no text's pointer of the description is set, and those of sources are addresses that only unsafe launches use.
unsafe impl Send for GroupedProblem {}
// SAFETY: as above.
unsafe impl Sync for GroupedProblem {}

/// Setters of one source, or of a matrix's two strides.
macro_rules! source_setters {
    ($($name:ident: $doc:literal),*) => {$(
        #[doc = $doc]
        #[must_use]
        pub fn $name(mut self, source: Source) -> Self {
            self.desc.$name = source.raw;
            self
        }
    )*};
    (strides $($name:ident = $matrix:ident: $doc:literal),*) => {$(
        #[doc = $doc]
        #[must_use]
        pub fn $name(mut self, row: Source, col: Source) -> Self {
            (self.desc.$matrix.row_stride, self.desc.$matrix.col_stride) = (row.raw, col.raw);
            self
        }
    )*};
}

impl GroupedProblem {
    /// So many groups of sizes 0, all matrices packed row-major, of these types of A, B and D.
    #[must_use]
    pub fn new<A: Element, B: Element, D: Element>(groups: usize) -> Self {
        Self::with_dtypes(A::DTYPE, B::DTYPE, D::DTYPE, groups)
    }

    /// As [`new`](GroupedProblem::new), of types that are known at run time only.
    #[must_use]
    pub fn with_dtypes(a: DType, b: DType, d: DType, groups: usize) -> Self {
        let mut desc = sys::GGEMM_GROUPED_DESC_INIT;
        desc.groups = size(groups);
        (desc.a.dtype, desc.b.dtype, desc.d.dtype) = (a.raw(), b.raw(), d.raw());
        Self { desc, a, b, d, has_c: false, texts: Texts::default() }
    }

    source_setters! {
        m: "Rows of A and D.",
        n: "Columns of B and D.",
        k: "Columns of A, rows of B."
    }
    source_setters! { strides
        a_strides = a: "Row and column stride of A. Unit strides as constants are fast: a kernel is compiled for them.",
        b_strides = b: "Row and column stride of B.",
        d_strides = d: "Row and column stride of D."
    }

    /// A C of its own. Without this C is D itself, should a call give a beta.
    #[must_use]
    pub fn c(mut self, dtype: DType, row_stride: Source, col_stride: Source) -> Self {
        self.desc.c.dtype = dtype.raw();
        (self.desc.c.row_stride, self.desc.c.col_stride) = (row_stride.raw, col_stride.raw);
        self.has_c = true;
        self
    }

    /// Mean sizes of a group, for the choice of configuration only; 0 where not known.
    #[must_use]
    pub fn expected(mut self, m: usize, n: usize, k: usize) -> Self {
        (self.desc.expected_m, self.desc.expected_n, self.desc.expected_k) = (size(m), size(n), size(k));
        self
    }

    common_setters!();

    pub(crate) fn groups(&self) -> usize {
        self.desc.groups as usize
    }

    pub(crate) fn dtypes(&self) -> [DType; 3] {
        [self.a, self.b, self.d]
    }

    pub(crate) fn has_c(&self) -> bool {
        self.has_c
    }

    pub(crate) fn has_bias(&self) -> bool {
        self.desc.epilogue.bias != sys::GGEMM_BIAS_NONE
    }

    /// The description with its texts, good as long as `self`.
    pub(crate) fn raw(&self) -> sys::ggemm_grouped_desc {
        let mut desc = self.desc;
        desc.config = text_pointer(self.texts.config.as_deref());
        desc.tune_key = text_pointer(self.texts.tune_key.as_deref());
        if !self.has_c {
            desc.c = desc.d;
        }
        desc
    }
}
