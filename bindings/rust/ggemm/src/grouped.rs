// SPDX-License-Identifier: Apache-2.0
//! Grouped products of lists of host slices.

use std::{ffi::CStr, marker::PhantomData, ptr};

use ggemm_sys as sys;

use crate::{
    bias::RawBias,
    config::Config,
    epilogue::{Scalar, Scalars},
    error::check,
    gemm::{check_c, shapes_differ},
    matrix::RawMat,
    problem::text_pointer,
    Activation, Bias, Compute, Context, DType, Error, Mat, MatMut, Result, Source,
};

/// One product of a [`Grouped`] call: host slices of any shape.
#[derive(Debug)]
pub struct Group<'a> {
    a: RawMat,
    b: RawMat,
    c: Option<RawMat>,
    d: RawMat,
    bias: Option<RawBias>,
    marker: PhantomData<(Mat<'a, u8>, MatMut<'a, u8>)>,
}

impl<'a> Group<'a> {
    /// D = act(alpha A B + beta C + bias), C being what D holds unless [`c`](Group::c) names another.
    #[must_use]
    #[inline]
    pub fn new<A, B, D>(a: Mat<'a, A>, b: Mat<'a, B>, d: MatMut<'a, D>) -> Self {
        Self { a: a.raw, b: b.raw, c: None, d: d.raw, bias: None, marker: PhantomData }
    }

    /// What is added, times the call's [`beta`](Grouped::beta).
    #[must_use]
    pub fn c<T>(mut self, c: Mat<'a, T>) -> Self {
        self.c = Some(c.raw);
        self
    }

    /// What is added to each row or column before the activation: in all groups, or in none.
    #[must_use]
    pub fn bias(mut self, bias: Bias<'a>) -> Self {
        self.bias = Some(bias.raw);
        self
    }

    /// C, which is D where no other is given.
    fn c_or_d(&self) -> &RawMat {
        self.c.as_ref().unwrap_or(&self.d)
    }

    #[inline]
    fn check(&self) -> Result<()> {
        if let Some(error) = shapes_differ(&self.a, &self.b, &self.d) {
            return Err(Error::argument(error));
        }
        self.a.check("A")?;
        self.b.check("B")?;
        self.d.check("D")?;
        if let Some(c) = &self.c {
            check_c(c, &self.d)?;
            c.check("C")?;
        }
        self.bias.as_ref().map_or(Ok(()), |bias| bias.check(&self.d))
    }

    /// What all groups of a call must have in common.
    fn class(&self) -> ([DType; 4], Option<(sys::ggemm_bias, DType)>) {
        let dtypes = [self.a.dtype, self.b.dtype, self.c_or_d().dtype, self.d.dtype];
        (dtypes, self.bias.as_ref().map(|bias| (bias.kind, bias.dtype)))
    }
}

/// Many products of host slices in one call. [`Context::grouped`] makes it.
#[derive(Debug)]
#[must_use = "nothing is computed before run()"]
pub struct Grouped<'a> {
    context: &'a Context,
    groups: Vec<Group<'a>>,
    scalars: Scalars,
    activation: Activation,
    compute: Compute,
    config: Option<&'a CStr>,
    tune_key: Option<&'a CStr>,
}

impl Context {
    /// For every group D = act(alpha A B + beta C + bias), of host slices: any sizes and layouts, the same types.
    ///
    /// ```
    /// use ggemm::{Context, Group, Mat, MatMut};
    ///
    /// let context = Context::host()?;
    /// let (a, b) = ([1.0_f32, 2.0, 3.0, 4.0], [1.0_f32, 10.0]);
    /// let (mut first, mut second) = ([0.0_f32; 2], [0.0_f32; 1]);
    /// context
    ///     .grouped([
    ///         Group::new(Mat::row_major(&a, 2, 2), Mat::row_major(&b, 2, 1), MatMut::row_major(&mut first, 2, 1)),
    ///         Group::new(Mat::row_major(&a, 1, 2), Mat::row_major(&b, 2, 1), MatMut::row_major(&mut second, 1, 1)),
    ///     ])
    ///     .run()?;
    /// assert_eq!((first, second), ([21.0, 43.0], [21.0]));
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    pub fn grouped<'a>(&'a self, groups: impl IntoIterator<Item = Group<'a>>) -> Grouped<'a> {
        Grouped {
            context: self,
            groups: groups.into_iter().collect(),
            scalars: Scalars::DEFAULT,
            activation: Activation::None,
            compute: Compute::Default,
            config: None,
            tune_key: None,
        }
    }
}

impl<'a> Grouped<'a> {
    /// The factor of A B in every group: 1 by default.
    pub fn alpha(mut self, alpha: impl Into<f64>) -> Self {
        self.scalars.alpha = Scalar::Value(alpha.into());
        self
    }

    /// The factor of C in every group: 0 by default, and then C is not read.
    pub fn beta(mut self, beta: impl Into<f64>) -> Self {
        self.scalars.beta = Scalar::Value(beta.into());
        self
    }

    /// What is applied to each element at last.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.activation = activation;
        self
    }

    /// How A and B are multiplied.
    pub fn compute(mut self, compute: Compute) -> Self {
        self.compute = compute;
        self
    }

    /// Forces a configuration.
    pub fn config(mut self, config: &'a Config) -> Self {
        self.config = Some(config.as_c_str());
        self
    }

    /// Uses only tuning records made under this key.
    pub fn tune_key(mut self, key: &'a CStr) -> Self {
        self.tune_key = Some(key);
        self
    }

    /// Computes it. Every D is complete on return.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): the context is not the host's, or in a group, which the text
    /// names, shapes do not agree, a slice is too short, or types are others than in group 0. Every D is as it was.
    pub fn run(self) -> Result<()> {
        self.context.check_host()?;
        let Some(first) = self.groups.first() else { return Ok(()) };
        let class = first.class();
        for (index, group) in self.groups.iter().enumerate() {
            group.check().map_err(|error| Error::argument(format!("group {index}: {error}")))?;
            if group.class() != class {
                return Err(Error::argument(format!(
                    "group {index}: the types of A, B, C, D and bias are {}, in group 0 {}",
                    class_text(group.class()),
                    class_text(class)
                )));
            }
        }
        self.run_checked(class)
    }

    fn run_checked(&self, class: ([DType; 4], Option<(sys::ggemm_bias, DType)>)) -> Result<()> {
        let ([a, b, c, d], bias) = class;
        let mut storage = [0; 2];
        let scalars = self.scalars.bind(a, b, d, &mut storage)?;
        let table = Table::new(&self.groups);
        let mut desc = sys::ggemm_grouped_desc {
            groups: self.groups.len() as i64,
            compute: self.compute.raw(),
            m: table.source(SIZES),
            n: table.source(SIZES + 1),
            k: table.source(SIZES + 2),
            a: table.matrix(0, a),
            b: table.matrix(1, b),
            c: table.matrix(2, c),
            d: table.matrix(3, d),
            config: text_pointer(self.config),
            tune_key: text_pointer(self.tune_key),
            ..sys::GGEMM_GROUPED_DESC_INIT
        };
        self.activation.write_to(&mut desc.epilogue);
        if let Some((kind, dtype)) = bias {
            (desc.epilogue.bias, desc.epilogue.bias_dtype) = (kind, dtype.raw());
        }
        let args = sys::ggemm_grouped_args {
            a: table.array(0),
            b: table.array(1),
            c: if self.scalars.uses_c() { table.array(2) } else { ptr::null() },
            d: table.array(3),
            bias: if bias.is_some() { table.array(4) } else { ptr::null() },
            alpha: scalars.alpha,
            beta: scalars.beta,
            ..sys::GGEMM_GROUPED_ARGS_INIT
        };
        // SAFETY: every group's views were checked; table and scalars outlive the call, which is complete on return.
        check(unsafe { sys::ggemm_grouped_gemm(self.context.raw(), &desc, &args, ptr::null_mut()) })
    }
}

fn class_text((dtypes, bias): ([DType; 4], Option<(sys::ggemm_bias, DType)>)) -> String {
    let dtypes = dtypes.map(DType::name).join(" ");
    match bias {
        None => format!("{dtypes} none"),
        Some((sys::GGEMM_BIAS_PER_COLUMN, dtype)) => format!("{dtypes} {dtype} per column"),
        Some((_, dtype)) => format!("{dtypes} {dtype} per row"),
    }
}

/// Arrays of addresses in a [`Table`]: A, B, C, D and bias.
const ARRAYS: usize = 5;
/// Columns of a [`Table`]'s rows: row and column stride of A, B, C and D, then m, n and k.
const COLUMNS: usize = 11;
const SIZES: usize = 8;

/// What the C interface reads of all groups, in one allocation: an array of each kind of address, then a row of strides
/// and sizes for each group.
struct Table {
    words: Vec<u64>,
    groups: usize,
    /// Whether a matrix is packed in all groups.
    packed: [bool; 4],
}

impl Table {
    // vec![0; n] would ask calloc, which glibc serves the slower of the two where little is asked for.
    #[allow(clippy::slow_vector_initialization)]
    fn new(groups: &[Group<'_>]) -> Self {
        let count = groups.len();
        let mut words = Vec::with_capacity((ARRAYS + COLUMNS) * count);
        words.resize((ARRAYS + COLUMNS) * count, 0);
        let mut packed = [true; 4];
        let (arrays, rows) = words.split_at_mut(ARRAYS * count);
        for (g, (group, row)) in groups.iter().zip(rows.chunks_exact_mut(COLUMNS)).enumerate() {
            for (index, matrix) in [&group.a, &group.b, group.c_or_d(), &group.d].into_iter().enumerate() {
                arrays[index * count + g] = matrix.base() as u64;
                row[2 * index] = matrix.row_stride as u64;
                row[2 * index + 1] = matrix.col_stride as u64;
                packed[index] &= matrix.is_packed();
            }
            arrays[(ARRAYS - 1) * count + g] = group.bias.map_or(0, |bias| bias.data as u64);
            row[SIZES] = group.d.rows as u64;
            row[SIZES + 1] = group.d.cols as u64;
            row[SIZES + 2] = group.a.cols as u64;
        }
        Self { words, groups: count, packed }
    }

    /// The addresses of A, B, C, D or bias.
    fn array(&self, index: usize) -> *const core::ffi::c_void {
        self.words[index * self.groups..].as_ptr().cast()
    }

    /// A constant if it is one, which serves faster kernels; else the place in memory.
    fn source(&self, column: usize) -> sys::ggemm_source {
        let rows = &self.words[ARRAYS * self.groups + column..];
        if rows.iter().step_by(COLUMNS).all(|value| *value == rows[0]) {
            return Source::constant(rows[0] as i64).raw;
        }
        Source::i64_at(rows.as_ptr().cast(), size_of::<[i64; COLUMNS]>() as isize).raw
    }

    fn matrix(&self, index: usize, dtype: DType) -> sys::ggemm_grouped_matrix {
        let (row_stride, col_stride) = if self.packed[index] {
            (Source::PACKED.raw, Source::PACKED.raw)
        } else {
            (self.source(2 * index), self.source(2 * index + 1))
        };
        sys::ggemm_grouped_matrix { dtype: dtype.raw(), row_stride, col_stride, ..sys::GGEMM_GROUPED_DESC_INIT.a }
    }
}
