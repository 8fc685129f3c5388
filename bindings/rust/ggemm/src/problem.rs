// SPDX-License-Identifier: Apache-2.0
//! Descriptions of problems, without operands: for plans, for preparing, for tuning.

use std::{
    ffi::{CStr, CString},
    ptr,
};

use ggemm_sys as sys;

use crate::{Activation, Compute, Config, DType, Element};

/// How a matrix of a [`GemmProblem`] lies in memory.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// Row after row without gaps; with other sizes, other strides.
    #[default]
    RowMajor,
    /// Column after column without gaps, for the sizes of the problem: what [`Mat::t`](crate::Mat::t) makes of row-major.
    ColMajor,
    /// These strides, in elements.
    Strided {
        /// From a row to the next.
        row: isize,
        /// From a column to the next.
        col: isize,
    },
}

impl Layout {
    fn matrix(self, dtype: DType, rows: usize) -> sys::ggemm_matrix {
        let (row_stride, col_stride) = match self {
            Self::RowMajor => (sys::GGEMM_PACKED, sys::GGEMM_PACKED),
            Self::ColMajor => (1, rows as i64),
            Self::Strided { row, col } => (row as i64, col as i64),
        };
        sys::ggemm_matrix { dtype: dtype.raw(), reserved0: 0, row_stride, col_stride, reserved1: 0 }
    }
}

/// Whether a bias is added, and to what.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum BiasKind {
    /// None is.
    #[default]
    None,
    /// `bias[j]` to column j.
    PerColumn,
    /// `bias[i]` to row i.
    PerRow,
}

impl BiasKind {
    fn raw(self) -> sys::ggemm_bias {
        match self {
            Self::None => sys::GGEMM_BIAS_NONE,
            Self::PerColumn => sys::GGEMM_BIAS_PER_COLUMN,
            Self::PerRow => sys::GGEMM_BIAS_PER_ROW,
        }
    }
}

/// The texts of a description.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    pub(crate) config: Option<CString>,
    pub(crate) tune_key: Option<CString>,
}

pub(crate) fn text_pointer(text: Option<&CStr>) -> *const core::ffi::c_char {
    text.map_or(ptr::null(), CStr::as_ptr)
}

/// The setters that plain and grouped descriptions share.
macro_rules! common_setters {
    () => {
        /// What is applied to each element at last.
        #[must_use]
        pub fn activation(mut self, activation: Activation) -> Self {
            activation.write_to(&mut self.desc.epilogue);
            self
        }

        /// A bias of D's type.
        #[must_use]
        pub fn bias(self, kind: BiasKind) -> Self {
            let dtype = self.d;
            self.bias_of(kind, dtype)
        }

        /// A bias of another type than D's.
        #[must_use]
        pub fn bias_of(mut self, kind: BiasKind, dtype: DType) -> Self {
            self.desc.epilogue.bias = kind.raw();
            self.desc.epilogue.bias_dtype = dtype.raw();
            self
        }

        /// Whether alpha and beta are in device memory. Only plans need to know.
        #[must_use]
        pub fn scalars_on_device(mut self, on_device: bool) -> Self {
            self.desc.epilogue.scalars_on_device = on_device.into();
            self
        }

        /// How A and B are multiplied.
        #[must_use]
        pub fn compute(mut self, compute: Compute) -> Self {
            self.desc.compute = compute.raw();
            self
        }

        /// Forces a configuration.
        #[must_use]
        pub fn config(mut self, config: &Config) -> Self {
            self.texts.config = Some(config.as_c_str().to_owned());
            self
        }

        /// Uses only tuning records made under this key, whatever the sizes; and tunes under it.
        #[must_use]
        pub fn tune_key(mut self, key: &CStr) -> Self {
            self.texts.tune_key = Some(key.to_owned());
            self
        }
    };
}

/// A plain problem: D = act(alpha A B + beta C + bias) with A `[m, k]`, B `[k, n]`, C and D `[m, n]`.
///
/// ```
/// use ggemm::{Activation, BiasKind, Context, GemmProblem, Layout};
///
/// let context = Context::host()?;
/// let problem = GemmProblem::new::<f32, f32, f32>(64, 32, 128)
///     .b_layout(Layout::ColMajor) // B is given as [n, k]
///     .bias(BiasKind::PerColumn)
///     .activation(Activation::Gelu);
/// let plan = context.plan(&problem)?;
/// println!("{}", plan.explain()?);
/// # Ok::<(), ggemm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GemmProblem {
    desc: sys::ggemm_gemm_desc,
    a: DType,
    b: DType,
    d: DType,
    has_c: bool,
    texts: Texts,
}

// SAFETY: no pointer of the description is set; `raw` sets them in a copy.
unsafe impl Send for GemmProblem {}
// SAFETY: as above.
unsafe impl Sync for GemmProblem {}

impl GemmProblem {
    /// All matrices row-major, of these types of A, B and D.
    #[must_use]
    pub fn new<A: Element, B: Element, D: Element>(m: usize, n: usize, k: usize) -> Self {
        Self::with_dtypes(A::DTYPE, B::DTYPE, D::DTYPE, m, n, k)
    }

    /// As [`new`](GemmProblem::new), of types that are known at run time only.
    #[must_use]
    pub fn with_dtypes(a: DType, b: DType, d: DType, m: usize, n: usize, k: usize) -> Self {
        let mut desc = sys::GGEMM_GEMM_DESC_INIT;
        (desc.m, desc.n, desc.k) = (size(m), size(n), size(k));
        (desc.a.dtype, desc.b.dtype, desc.d.dtype) = (a.raw(), b.raw(), d.raw());
        Self { desc, a, b, d, has_c: false, texts: Texts::default() }
    }

    pub(crate) fn from_raw(desc: sys::ggemm_gemm_desc, dtypes: [DType; 3], has_c: bool, texts: Texts) -> Self {
        let [a, b, d] = dtypes;
        let desc = sys::ggemm_gemm_desc { config: ptr::null(), tune_key: ptr::null(), ..desc };
        Self { desc, a, b, d, has_c, texts }
    }

    /// How A lies in memory.
    #[must_use]
    pub fn a_layout(mut self, layout: Layout) -> Self {
        self.desc.a = layout.matrix(self.a, self.desc.m as usize);
        self
    }

    /// How B lies in memory.
    #[must_use]
    pub fn b_layout(mut self, layout: Layout) -> Self {
        self.desc.b = layout.matrix(self.b, self.desc.k as usize);
        self
    }

    /// How D lies in memory.
    #[must_use]
    pub fn d_layout(mut self, layout: Layout) -> Self {
        self.desc.d = layout.matrix(self.d, self.desc.m as usize);
        self
    }

    /// A C of its own. Without this C is D itself, should a call give a beta.
    #[must_use]
    pub fn c(mut self, dtype: DType, layout: Layout) -> Self {
        self.desc.c = layout.matrix(dtype, self.desc.m as usize);
        self.has_c = true;
        self
    }

    common_setters!();

    /// The description with its texts, good as long as `self`.
    pub(crate) fn raw(&self) -> sys::ggemm_gemm_desc {
        let mut desc = self.desc;
        desc.config = text_pointer(self.texts.config.as_deref());
        desc.tune_key = text_pointer(self.texts.tune_key.as_deref());
        if !self.has_c {
            desc.c = desc.d;
        }
        desc
    }
}

/// A size for the C interface. One that no memory could hold becomes the largest, which the library refuses.
pub(crate) fn size(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

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

/// A problem of either kind; made by `From` of a reference to it.
#[derive(Debug, Copy, Clone)]
pub enum Problem<'a> {
    /// Plain.
    Gemm(&'a GemmProblem),
    /// Grouped.
    Grouped(&'a GroupedProblem),
}

impl<'a> From<&'a GemmProblem> for Problem<'a> {
    fn from(problem: &'a GemmProblem) -> Self {
        Self::Gemm(problem)
    }
}

impl<'a> From<&'a GroupedProblem> for Problem<'a> {
    fn from(problem: &'a GroupedProblem) -> Self {
        Self::Grouped(problem)
    }
}

/// Descriptions as the C interface takes them.
pub(crate) enum RawProblem {
    Gemm(Box<sys::ggemm_gemm_desc>),
    Grouped(Box<sys::ggemm_grouped_desc>),
}

impl Problem<'_> {
    /// Good as long as the problems that `self` refers to.
    pub(crate) fn raw(&self) -> RawProblem {
        match self {
            Self::Gemm(problem) => RawProblem::Gemm(Box::new(problem.raw())),
            Self::Grouped(problem) => RawProblem::Grouped(Box::new(problem.raw())),
        }
    }
}

impl RawProblem {
    /// Good as long as `self`.
    pub(crate) fn as_sys(&self) -> sys::ggemm_problem {
        match self {
            Self::Gemm(desc) => sys::ggemm_problem { gemm: &**desc, grouped: ptr::null() },
            Self::Grouped(desc) => sys::ggemm_problem { gemm: ptr::null(), grouped: &**desc },
        }
    }
}
