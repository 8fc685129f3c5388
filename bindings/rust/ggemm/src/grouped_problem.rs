// SPDX-License-Identifier: Apache-2.0
//! Descriptions of grouped problems.

use std::{ffi::CStr, ptr};

use ggemm_sys as sys;

use crate::{
    problem::{common_setters, text_pointer, BiasKind, Sizes, Texts},
    Activation, Compute, Config, DType, Element, Gate, Result, ScaleKind,
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

/// Where a group's matrix (its bias, its scales) is, counted from the group before.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum GroupStride {
    /// One behind the other without gaps. Also what one matrix of all groups is, as a ragged form has them.
    #[default]
    Packed,
    /// So many elements on; 0: all groups share it.
    Elements(isize),
    /// Anywhere: the operand is an array of one address a group, whatever the form.
    Pointers,
}

impl GroupStride {
    fn raw(self) -> (u32, i64) {
        match self {
            Self::Packed => (0, sys::GGEMM_PACKED),
            Self::Elements(distance) => (0, distance as i64),
            Self::Pointers => (1, sys::GGEMM_PACKED),
        }
    }
}

/// The scales of each group's A or B. Along what is ragged they are one matrix, in which each group has its own rows, or its
/// own blocks: group g's first is `start / 128 + g` blocks on, so that there is room for a partial block of each.
#[derive(Debug, Copy, Clone)]
pub struct GroupScale(sys::ggemm_grouped_scale);

// SAFETY: addresses, which only unsafe launches use.
unsafe impl Send for GroupScale {}
// SAFETY: as above.
unsafe impl Sync for GroupScale {}

impl GroupScale {
    /// Packed row-major, one group's behind the other's.
    #[must_use]
    pub fn new(kind: ScaleKind) -> Self {
        Self(sys::ggemm_grouped_scale { kind: kind.raw(), ..sys::GGEMM_GROUPED_DESC_INIT.scale_a })
    }

    /// Row and column stride, in elements. Fast: contiguous along A's rows, or B's columns.
    #[must_use]
    pub fn strides(mut self, row: Source, col: Source) -> Self {
        (self.0.row_stride, self.0.col_stride) = (row.raw, col.raw);
        self
    }

    /// Where each group's are. Of blocks along what is ragged, `Elements(0)` stands for groups that all begin at multiples
    /// of 128, with no room between them.
    #[must_use]
    pub fn groups(mut self, stride: GroupStride) -> Self {
        (self.0.pointers, self.0.group_stride) = stride.raw();
        self
    }
}

/// A grouped problem: for each group g, D_g = act(alpha A_g B_g + beta C_g + bias_g), in one call that reads sizes,
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
    sizes: Sizes,
    texts: Texts,
}

// SAFETY: no text's pointer of the description is set, and those of sources are addresses that only unsafe launches use.
unsafe impl Send for GroupedProblem {}
// SAFETY: as above.
unsafe impl Sync for GroupedProblem {}

/// Setters of one source, of a matrix's two strides, or of where the groups' matrices are.
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
    (groups $($name:ident = $matrix:ident: $doc:literal),*) => {$(
        #[doc = $doc]
        #[must_use]
        pub fn $name(mut self, stride: GroupStride) -> Self {
            (self.desc.$matrix.pointers, self.desc.$matrix.group_stride) = stride.raw();
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
        let mut sizes = Sizes::default();
        desc.groups = sizes.take("groups", groups);
        (desc.a.dtype, desc.b.dtype, desc.d.dtype) = (a.raw(), b.raw(), d.raw());
        Self { desc, a, b, d, has_c: false, sizes, texts: Texts::default() }
    }

    source_setters! {
        m: "Rows of A and D.",
        n: "Columns of B and D.",
        k: "Columns of A, rows of B."
    }
    source_setters! { groups
        a_groups = a: "Where each group's A is.",
        b_groups = b: "Where each group's B is.",
        c_groups = c: "Where each group's C is, after [`c`](GroupedProblem::c).",
        d_groups = d: "Where each group's D is."
    }
    source_setters! { strides
        a_strides = a: "Row and column stride of A. Unit strides as constants are fast: a kernel is compiled for them.",
        b_strides = b: "Row and column stride of B.",
        d_strides = d: "Row and column stride of D."
    }

    /// Rows sorted by group: A, C and D are one matrix each, of `m` rows in all, of which group g has those from the end of
    /// group g - 1 (the first: 0) to `ends[g]`. m, n and k are constants.
    ///
    /// ```
    /// use ggemm::{Context, DeviceSlice, GroupedProblem, Source};
    ///
    /// let (x, w, mut y) = ([1.0_f32, 2.0, 3.0], [10.0_f32, 100.0], [0.0_f32; 3]); // one column each, two groups
    /// let ends = [1_i32, 3]; // on a GPU all of them are in its memory
    /// let problem = GroupedProblem::new::<f32, f32, f32>(2)
    ///     .ragged_m(Source::i32_at(ends.as_ptr(), 4))
    ///     .m(Source::constant(3))
    ///     .n(Source::constant(1))
    ///     .k(Source::constant(1));
    /// let context = Context::host()?;
    /// // SAFETY: matrices of those sizes.
    /// unsafe {
    ///     let at = |data: *const f32, len| DeviceSlice::from_raw_parts(data, len);
    ///     context.device_groups(&problem, at(x.as_ptr(), 3), at(w.as_ptr(), 2), at(y.as_mut_ptr(), 3)).launch()?;
    /// }
    /// assert_eq!(y, [10.0, 200.0, 300.0]);
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    #[must_use]
    pub fn ragged_m(self, ends: Source) -> Self {
        self.ragged(sys::GGEMM_GROUPS_RAGGED_M, ends)
    }

    /// Weight gradients: A is one matrix `[m, k]` and B one `[k, n]`, of which group g has the columns and rows from the end of
    /// group g - 1 to `ends[g]`; each group has a D. m, n and k are constants.
    #[must_use]
    pub fn ragged_k(self, ends: Source) -> Self {
        self.ragged(sys::GGEMM_GROUPS_RAGGED_K, ends)
    }

    fn ragged(mut self, form: sys::ggemm_grouped_form, ends: Source) -> Self {
        (self.desc.form, self.desc.ends) = (form, ends.raw);
        self
    }

    /// Room for `m` rows in each group, of which `counts[g]` count. n and k are constants.
    #[must_use]
    pub fn masked(mut self, counts: Source) -> Self {
        (self.desc.form, self.desc.counts) = (sys::GGEMM_GROUPS_MASKED, counts.raw);
        self
    }

    /// Every matrix at a distance from the one before.
    #[must_use]
    pub fn batch(mut self) -> Self {
        self.desc.form = sys::GGEMM_GROUPS_BATCH;
        self
    }

    /// Where the groups' biases are; of a bias per row in a ragged m nothing but `Packed` makes sense.
    #[must_use]
    pub fn bias_groups(mut self, stride: GroupStride) -> Self {
        (self.desc.bias_pointers, self.desc.bias_group_stride) = stride.raw();
        self
    }

    /// In a ragged m: row i of the groups' order is row `index[i]` of A, which has so many rows. An index below 0 stands for a
    /// row of zeros.
    #[must_use]
    pub fn a_index(mut self, index: Source, rows: usize) -> Self {
        (self.desc.a_index, self.desc.a_rows) = (index.raw, self.sizes.take("a_rows", rows));
        self
    }

    /// In a ragged m: row i of the groups' order goes to row `index[i]` of D, which has so many rows, or nowhere if that is
    /// below 0. Rows that go to one row are added up, in their order.
    #[must_use]
    pub fn d_index(mut self, index: Source, rows: usize) -> Self {
        (self.desc.d_index, self.desc.d_rows) = (index.raw, self.sizes.take("d_rows", rows));
        self
    }

    /// No two rows go to one row of D, which is then stored at once.
    #[must_use]
    pub fn d_index_unique(mut self) -> Self {
        self.desc.d_index_unique = 1;
        self
    }

    /// How A is scaled.
    #[must_use]
    pub fn scale_a(mut self, scale: GroupScale) -> Self {
        self.desc.scale_a = scale.0;
        self
    }

    /// How B is scaled.
    #[must_use]
    pub fn scale_b(mut self, scale: GroupScale) -> Self {
        self.desc.scale_b = scale.0;
        self
    }

    /// Checked mode: the numbers and pointers of all groups are looked at before anything is computed; what is wrong is told by
    /// the launch's [`status`](crate::DeviceGroups::status), and nothing is written then.
    #[must_use]
    pub fn checked(mut self) -> Self {
        self.desc.checked = 1;
        self
    }

    /// A C of its own. Without this C is D itself, should a call give a beta.
    #[must_use]
    pub fn c(mut self, dtype: DType, row_stride: Source, col_stride: Source) -> Self {
        self.desc.c.dtype = dtype.raw();
        (self.desc.c.row_stride, self.desc.c.col_stride) = (row_stride.raw, col_stride.raw);
        self.has_c = true;
        self
    }

    /// Mean sizes of a group (of a ragged m, where the largest is told too, better of the groups that have rows), for the choice of configuration only; 0 where not known.
    #[must_use]
    pub fn expected(mut self, m: usize, n: usize, k: usize) -> Self {
        self.desc.expected_m = self.sizes.take("expected_m", m);
        self.desc.expected_n = self.sizes.take("expected_n", n);
        self.desc.expected_k = self.sizes.take("expected_k", k);
        self
    }

    /// Rows of the largest group, for the choice of configuration only: as many as the mean where groups are alike, all groups' rows where
    /// one has them all; 0 where not known.
    #[must_use]
    pub fn expected_largest(mut self, m: usize) -> Self {
        self.desc.expected_largest_m = self.sizes.take("expected_largest_m", m);
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

    pub(crate) fn desc(&self) -> &sys::ggemm_grouped_desc {
        &self.desc
    }

    /// The description with its texts, good as long as `self`.
    pub(crate) fn raw(&self) -> Result<sys::ggemm_grouped_desc> {
        self.sizes.check()?;
        let mut desc = self.desc;
        desc.config = text_pointer(self.texts.config.as_deref());
        desc.tune_key = text_pointer(self.texts.tune_key.as_deref());
        if !self.has_c && desc.epilogue.gate == sys::GGEMM_GATE_NONE {
            desc.c = desc.d;
        }
        Ok(desc)
    }
}
