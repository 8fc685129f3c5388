// SPDX-License-Identifier: Apache-2.0
//! Grouped products of lists of host slices.

use std::{ffi::CStr, marker::PhantomData, ptr};

use ggemm_sys as sys;

use crate::{
    bias::RawBias,
    config::Config,
    epilogue::{Scalar, Scalars},
    error::check,
    gemm::{check_c, check_shapes},
    matrix::RawMat,
    problem::text_pointer,
    scale::{RawScale, Side},
    Activation, Bias, Compute, Context, DType, Error, Gate, Mat, MatMut, Result, Scale, ScaleKind, Source,
};

/// One product of a [`Grouped`] call: host slices of any shape.
#[derive(Debug)]
pub struct Group<'a> {
    a: RawMat,
    b: RawMat,
    c: Option<RawMat>,
    d: RawMat,
    bias: Option<RawBias>,
    /// Of A and of B; apart, for most groups have none and are moved about.
    scales: Option<Box<[Option<RawScale>; 2]>>,
    marker: PhantomData<(Mat<'a, u8>, MatMut<'a, u8>)>,
}

/// What all groups of a call must have in common: types, bias, scales.
type Class = ([DType; 4], Option<(sys::ggemm_bias, DType)>, [Option<ScaleKind>; 2]);

impl<'a> Group<'a> {
    /// D = act(alpha A B + beta C + bias), C being what D holds unless [`c`](Group::c) names another.
    #[must_use]
    #[inline]
    pub fn new<A, B, D>(a: Mat<'a, A>, b: Mat<'a, B>, d: MatMut<'a, D>) -> Self {
        Self { a: a.raw, b: b.raw, c: None, d: d.raw, bias: None, scales: None, marker: PhantomData }
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

    /// What A is scaled by: in all groups, or in none.
    #[must_use]
    pub fn scale_a(mut self, scale: Scale<'a>) -> Self {
        self.scales.get_or_insert_with(Box::default)[0] = Some(scale.raw());
        self
    }

    /// What B is scaled by: in all groups, or in none.
    #[must_use]
    pub fn scale_b(mut self, scale: Scale<'a>) -> Self {
        self.scales.get_or_insert_with(Box::default)[1] = Some(scale.raw());
        self
    }

    fn scale(&self, index: usize) -> Option<&RawScale> {
        self.scales.as_ref()?[index].as_ref()
    }

    /// C, which is D where no other is given.
    fn c_or_d(&self) -> &RawMat {
        self.c.as_ref().unwrap_or(&self.d)
    }

    #[inline]
    fn check(&self, gate: Gate) -> Result<()> {
        check_shapes(&self.a, &self.b, &self.d, gate.raw())?;
        self.a.check("A")?;
        self.b.check("B")?;
        self.d.check("D")?;
        if let Some(c) = &self.c {
            check_c(c, &self.d)?;
            c.check("C")?;
        }
        if let Some(scales) = &self.scales {
            for (scale, side) in scales.iter().zip([Side::A, Side::B]) {
                scale.as_ref().map_or(Ok(()), |scale| scale.check(side, &self.a, &self.b))?;
            }
        }
        self.bias.as_ref().map_or(Ok(()), |bias| bias.check(&self.a, &self.b))
    }

    fn class(&self) -> Class {
        let dtypes = [self.a.dtype, self.b.dtype, self.c_or_d().dtype, self.d.dtype];
        let scales = self.scales.as_ref().map_or([None; 2], |scales| scales.map(|scale| scale.map(|scale| scale.kind)));
        (dtypes, self.bias.as_ref().map(|bias| (bias.kind, bias.dtype)), scales)
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
    gate: Gate,
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
            gate: Gate::None,
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

    /// Gated pairs: each D has half as many columns as its B.
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
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
            group.check(self.gate).map_err(|error| Error::argument(format!("group {index}: {error}")))?;
            if group.class() != class {
                return Err(Error::argument(format!(
                    "group {index}: the types of A, B, C, D, bias and scales are {}, in group 0 {}",
                    class_text(group.class()),
                    class_text(class)
                )));
            }
        }
        self.run_checked(class)
    }

    fn run_checked(&self, class: Class) -> Result<()> {
        let ([a, b, c, d], bias, scales) = class;
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
            c: if self.scalars.uses_c() { table.matrix(2, c) } else { sys::GGEMM_GROUPED_DESC_INIT.c },
            d: table.matrix(3, d),
            config: text_pointer(self.config),
            tune_key: text_pointer(self.tune_key),
            ..sys::GGEMM_GROUPED_DESC_INIT
        };
        self.activation.write_to(&mut desc.epilogue);
        desc.epilogue.gate = self.gate.raw();
        if let Some((kind, dtype)) = bias {
            (desc.epilogue.bias, desc.epilogue.bias_dtype) = (kind, dtype.raw());
        }
        let mut args = sys::ggemm_grouped_args {
            a: table.array(0),
            b: table.array(1),
            c: if self.scalars.uses_c() { table.array(2) } else { ptr::null() },
            d: table.array(3),
            bias: if bias.is_some() { table.array(BIAS) } else { ptr::null() },
            alpha: scalars.alpha,
            beta: scalars.beta,
            ..sys::GGEMM_GROUPED_ARGS_INIT
        };
        let scale_table = scales.iter().any(Option::is_some).then(|| Table::of_scales(&self.groups));
        if let (Some(table), [a, b]) = (&scale_table, scales) {
            if let Some(kind) = a {
                (desc.scale_a, args.scale_a) = (table.scale(0, kind), table.array(0));
            }
            if let Some(kind) = b {
                (desc.scale_b, args.scale_b) = (table.scale(1, kind), table.array(1));
            }
        }
        // SAFETY: every group's views were checked; tables and scalars outlive the call, which is complete on return.
        check(unsafe { sys::ggemm_grouped_gemm(self.context.raw(), &desc, &args, ptr::null_mut()) })
    }
}

fn class_text((dtypes, bias, scales): Class) -> String {
    let dtypes = dtypes.map(DType::name).join(" ");
    let scales = scales.map(|scale| scale.map_or("none".into(), |scale| format!("{scale:?}"))).join(" ");
    match bias {
        None => format!("{dtypes} none {scales}"),
        Some((sys::GGEMM_BIAS_PER_COLUMN, dtype)) => format!("{dtypes} {dtype} per column {scales}"),
        Some((_, dtype)) => format!("{dtypes} {dtype} per row {scales}"),
    }
}

/// Arrays of addresses in the [`Table`] of operands: A, B, C, D and bias.
const ARRAYS: usize = 5;
const BIAS: usize = 4;
/// Columns of its rows: row and column stride of A, B, C and D, then m, n and k.
const COLUMNS: usize = 11;
const SIZES: usize = 8;

/// What the C interface reads of all groups, in one allocation: an array of each kind of address, then a row of strides
/// (and sizes) for each group.
struct Table {
    words: Vec<u64>,
    groups: usize,
    arrays: usize,
    columns: usize,
    /// Whether a matrix is packed in all groups.
    packed: [bool; 4],
}

impl Table {
    // vec![0; n] would ask calloc, which glibc serves the slower of the two where little is asked for.
    #[allow(clippy::slow_vector_initialization)]
    fn zero(groups: usize, arrays: usize, columns: usize) -> Self {
        let mut words = Vec::with_capacity((arrays + columns) * groups);
        words.resize((arrays + columns) * groups, 0);
        Self { words, groups, arrays, columns, packed: [true; 4] }
    }

    fn new(groups: &[Group<'_>]) -> Self {
        let count = groups.len();
        let mut table = Self::zero(count, ARRAYS, COLUMNS);
        let packed = &mut table.packed;
        let (arrays, rows) = table.words.split_at_mut(ARRAYS * count);
        for (g, (group, row)) in groups.iter().zip(rows.chunks_exact_mut(COLUMNS)).enumerate() {
            for (index, matrix) in [&group.a, &group.b, group.c_or_d(), &group.d].into_iter().enumerate() {
                arrays[index * count + g] = matrix.base() as u64;
                row[2 * index] = matrix.row_stride as u64;
                row[2 * index + 1] = matrix.col_stride as u64;
                packed[index] &= matrix.is_packed();
            }
            arrays[BIAS * count + g] = group.bias.map_or(0, |bias| bias.data as u64);
            row[SIZES] = group.d.rows as u64;
            row[SIZES + 1] = group.b.cols as u64;
            row[SIZES + 2] = group.a.cols as u64;
        }
        table
    }

    /// Of scales of A and B.
    fn of_scales(groups: &[Group<'_>]) -> Self {
        let count = groups.len();
        let mut table = Self::zero(count, 2, 4);
        for (g, group) in groups.iter().enumerate() {
            for index in 0..2 {
                let Some(RawScale { values, .. }) = group.scale(index) else { continue };
                table.words[index * count + g] = values.base() as u64;
                let row = 2 * count + 4 * g + 2 * index;
                (table.words[row], table.words[row + 1]) = (values.row_stride as u64, values.col_stride as u64);
                table.packed[index] &= values.is_packed();
            }
        }
        table
    }

    /// The addresses of A, B, C, D or bias; of scales of A or B.
    fn array(&self, index: usize) -> *const core::ffi::c_void {
        self.words[index * self.groups..].as_ptr().cast()
    }

    /// A constant if it is one, which serves faster kernels; else the place in memory.
    fn source(&self, column: usize) -> sys::ggemm_source {
        let rows = &self.words[self.arrays * self.groups + column..];
        // Not step_by: that divides, which the products of a few groups would notice.
        if (1..self.groups).all(|g| rows[g * self.columns] == rows[0]) {
            return Source::constant(rows[0] as i64).raw;
        }
        Source::i64_at(rows.as_ptr().cast(), (size_of::<i64>() * self.columns) as isize).raw
    }

    fn strides(&self, index: usize) -> (sys::ggemm_source, sys::ggemm_source) {
        if self.packed[index] {
            (Source::PACKED.raw, Source::PACKED.raw)
        } else {
            (self.source(2 * index), self.source(2 * index + 1))
        }
    }

    fn matrix(&self, index: usize, dtype: DType) -> sys::ggemm_grouped_matrix {
        let (row_stride, col_stride) = self.strides(index);
        sys::ggemm_grouped_matrix { dtype: dtype.raw(), row_stride, col_stride, ..sys::GGEMM_GROUPED_DESC_INIT.a }
    }

    fn scale(&self, index: usize, kind: ScaleKind) -> sys::ggemm_grouped_scale {
        let (row_stride, col_stride) = self.strides(index);
        let default = sys::GGEMM_GROUPED_DESC_INIT.scale_a;
        sys::ggemm_grouped_scale { kind: kind.raw(), pointers: 1, row_stride, col_stride, ..default }
    }
}
