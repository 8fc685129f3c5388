// SPDX-License-Identifier: Apache-2.0
//! Descriptions of problems, without operands: for plans, for preparing, for tuning.

use std::{
    ffi::{CStr, CString},
    ptr,
};

use ggemm_sys as sys;

use crate::{Activation, Compute, Config, DType, Element, Error, Gate, GroupedProblem, Result, ScaleKind};

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

    fn scale(self, kind: ScaleKind, rows: usize) -> sys::ggemm_scale {
        let sys::ggemm_matrix { row_stride, col_stride, .. } = self.matrix(DType::F32, rows);
        sys::ggemm_scale { kind: kind.raw(), reserved0: 0, row_stride, col_stride }
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
    pub(crate) fn raw(self) -> sys::ggemm_bias {
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

/// What the C interface has no number above.
pub(crate) const AT_MOST: &str = "sizes are 9223372036854775807 at most";

/// Sizes as the C interface takes them; the first that it has no number for is an error of the calls that they are for.
#[derive(Debug, Copy, Clone, Default)]
pub(crate) struct Sizes {
    too_large: Option<(&'static str, usize)>,
}

impl Sizes {
    pub(crate) fn take(&mut self, name: &'static str, value: usize) -> i64 {
        i64::try_from(value).unwrap_or_else(|_| {
            self.too_large.get_or_insert((name, value));
            i64::MAX
        })
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self.too_large {
            None => Ok(()),
            Some((name, value)) => Err(Error::argument(format!("{name}={value}: {AT_MOST}"))),
        }
    }
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

        /// Gated pairs: D has half as many columns as B.
        #[must_use]
        pub fn gate(mut self, gate: Gate) -> Self {
            self.desc.epilogue.gate = gate.raw();
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

        /// CTAs at most that multiply at once, so that other work may run beside. Default: 0, as many as the device holds.
        #[must_use]
        pub fn max_ctas(mut self, ctas: i32) -> Self {
            self.desc.max_ctas = ctas;
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
pub(crate) use common_setters;

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
    sizes: Sizes,
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
        (desc.a.dtype, desc.b.dtype, desc.d.dtype) = (a.raw(), b.raw(), d.raw());
        Self::from_raw(desc, [a, b, d], [m, n, k], false, Texts::default())
    }

    /// Sizes and texts are set anew.
    pub(crate) fn from_raw(
        desc: sys::ggemm_gemm_desc,
        [a, b, d]: [DType; 3],
        [m, n, k]: [usize; 3],
        has_c: bool,
        texts: Texts,
    ) -> Self {
        let mut sizes = Sizes::default();
        let (m, n, k) = (sizes.take("m", m), sizes.take("n", n), sizes.take("k", k));
        let desc = sys::ggemm_gemm_desc { m, n, k, config: ptr::null(), tune_key: ptr::null(), ..desc };
        Self { desc, a, b, d, has_c, sizes, texts }
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

    /// How A is scaled, and how the scales lie in memory.
    #[must_use]
    pub fn scale_a(mut self, kind: ScaleKind, layout: Layout) -> Self {
        let (rows, _) = kind.counts(self.desc.m as usize, self.desc.k as usize);
        self.desc.scale_a = layout.scale(kind, rows);
        self
    }

    /// How B is scaled, and how the scales lie in memory.
    #[must_use]
    pub fn scale_b(mut self, kind: ScaleKind, layout: Layout) -> Self {
        let (_, rows) = kind.counts(self.desc.n as usize, self.desc.k as usize);
        self.desc.scale_b = layout.scale(kind, rows);
        self
    }

    common_setters!();

    /// The description with its texts, good as long as `self`.
    pub(crate) fn raw(&self) -> Result<sys::ggemm_gemm_desc> {
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
    pub(crate) fn raw(&self) -> Result<RawProblem> {
        Ok(match self {
            Self::Gemm(problem) => RawProblem::Gemm(Box::new(problem.raw()?)),
            Self::Grouped(problem) => RawProblem::Grouped(Box::new(problem.raw()?)),
        })
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
