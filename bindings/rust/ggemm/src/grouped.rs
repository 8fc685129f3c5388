// SPDX-License-Identifier: Apache-2.0
//! Grouped products of lists of host slices.

use std::{
    ffi::{c_void, CStr},
    fmt,
    marker::PhantomData,
    mem::{self, MaybeUninit},
    ptr,
};

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
type Class = ([DType; 4], Option<(sys::ggemm_bias, DType)>, Option<[Option<ScaleKind>; 2]>);

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

    /// The scales of A (0) or B (1), where the class has them.
    fn scale(&self, index: usize) -> &RawMat {
        &self.scales.as_ref().and_then(|scales| scales[index].as_ref()).expect("the scales of this class").values
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
        self.d.check_distinct()?;
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
        let scales = self.scales.as_ref().map(|scales| scales.map(|scale| scale.map(|scale| scale.kind)));
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
    /// names, shapes do not agree, a slice is too short, elements of D coincide, or types are others than in group 0. Every
    /// D is as it was.
    pub fn run(self) -> Result<()> {
        self.context.check_host()?;
        let Some(first) = self.groups.first() else { return Ok(()) };
        let class = first.class();
        for (index, group) in self.groups.iter().enumerate() {
            group.check(self.gate).map_err(|error| in_group(index, error))?;
            if group.class() != class {
                return Err(in_group(index, class_differs(group, first)));
            }
        }
        self.run_checked(class)
    }

    fn run_checked(&self, class: Class) -> Result<()> {
        let ([a, b, c, d], bias, scales) = class;
        let mut storage = [0; 2];
        let scalars = self.scalars.bind(a, b, d, &mut storage)?;
        let (mut few, mut many) = ([MaybeUninit::uninit(); FEW * COLUMNS], Vec::new());
        let free = if self.groups.len() <= FEW {
            &mut few[..]
        } else {
            many.reserve_exact(self.groups.len() * COLUMNS);
            many.spare_capacity_mut()
        };
        let mut columns = Columns { groups: &self.groups, free };

        let (mut desc, mut args) = (sys::GGEMM_GROUPED_DESC_INIT, sys::GGEMM_GROUPED_ARGS_INIT);
        desc.groups = self.groups.len() as i64;
        desc.compute = self.compute.raw();
        desc.config = text_pointer(self.config);
        desc.tune_key = text_pointer(self.tune_key);
        desc.m = columns.source(|group| group.d.rows as i64);
        desc.n = columns.source(|group| group.b.cols as i64);
        desc.k = columns.source(|group| group.a.cols as i64);
        args.a = columns.matrix(&mut desc.a, a, |group| &group.a);
        args.b = columns.matrix(&mut desc.b, b, |group| &group.b);
        args.d = columns.matrix(&mut desc.d, d, |group| &group.d);
        if self.scalars.uses_c() {
            args.c = columns.matrix(&mut desc.c, c, Group::c_or_d);
        }
        self.activation.write_to(&mut desc.epilogue);
        desc.epilogue.gate = self.gate.raw();
        if let Some((kind, dtype)) = bias {
            (desc.epilogue.bias, desc.epilogue.bias_dtype) = (kind, dtype.raw());
            args.bias = columns.column(|group| group.bias.map_or(0, |bias| bias.data as u64)).cast();
        }
        let [scale_a, scale_b] = scales.unwrap_or_default();
        if let Some(kind) = scale_a {
            args.scale_a = columns.scale(&mut desc.scale_a, kind, 0);
        }
        if let Some(kind) = scale_b {
            args.scale_b = columns.scale(&mut desc.scale_b, kind, 1);
        }
        (args.alpha, args.beta) = (scalars.alpha, scalars.beta);
        // SAFETY: every group's views were checked; columns and scalars outlive the call, which is complete on return.
        check(unsafe { sys::ggemm_grouped_gemm(self.context.raw(), &desc, &args, ptr::null_mut()) })
    }
}

#[cold]
fn in_group(index: usize, error: impl fmt::Display) -> Error {
    Error::argument(format!("group {index}: {error}"))
}

#[cold]
fn class_differs(group: &Group<'_>, first: &Group<'_>) -> String {
    format!(
        "the types of A, B, C, D, bias and scales are {}, in group 0 {}",
        class_text(group.class()),
        class_text(first.class())
    )
}

fn class_text((dtypes, bias, scales): Class) -> String {
    let dtypes = dtypes.map(DType::name).join(" ");
    let scales =
        scales.unwrap_or_default().map(|scale| scale.map_or("none".into(), |scale| format!("{scale:?}"))).join(" ");
    match bias {
        None => format!("{dtypes} none {scales}"),
        Some((sys::GGEMM_BIAS_PER_COLUMN, dtype)) => format!("{dtypes} {dtype} per column {scales}"),
        Some((_, dtype)) => format!("{dtypes} {dtype} per row {scales}"),
    }
}

/// As many columns as a call can need: m, n, k and bias; address, row and column stride of A, B, C, D and two scales.
const COLUMNS: usize = 4 + 3 * 6;
/// Up to so many groups they are on the stack.
const FEW: usize = 8;

/// Arrays of one word of each group, for the C interface, cut from the room that is `free`: only those that are needed
/// are written.
struct Columns<'c> {
    groups: &'c [Group<'c>],
    free: &'c mut [MaybeUninit<u64>],
}

impl<'c> Columns<'c> {
    fn column(&mut self, mut word: impl FnMut(&'c Group<'c>) -> u64) -> *const u64 {
        let (column, free) = mem::take(&mut self.free).split_at_mut(self.groups.len());
        self.free = free;
        for (place, group) in column.iter_mut().zip(self.groups) {
            place.write(word(group));
        }
        column.as_ptr().cast()
    }

    /// A constant if it is one, which serves faster kernels; else a column.
    fn source(&mut self, number: impl Fn(&'c Group<'c>) -> i64) -> sys::ggemm_source {
        let first = number(&self.groups[0]);
        if self.groups.iter().all(|group| number(group) == first) {
            return Source::constant(first).raw;
        }
        Source::i64_at(self.column(|group| number(group) as u64).cast(), size_of::<i64>() as isize).raw
    }

    /// The addresses of matrices. Their strides are written where they are not all packed, which is the default.
    fn addresses(
        &mut self,
        [row_stride, col_stride]: [&mut sys::ggemm_source; 2],
        matrix: impl Fn(&'c Group<'c>) -> &'c RawMat,
    ) -> *const c_void {
        let mut packed = true;
        let addresses = self.column(|group| {
            let matrix = matrix(group);
            packed &= matrix.is_packed();
            // What is packed begins with its lowest address.
            (if packed { matrix.data } else { matrix.base() }) as u64
        });
        if !packed {
            *row_stride = self.source(|group| matrix(group).row_stride);
            *col_stride = self.source(|group| matrix(group).col_stride);
        }
        addresses.cast()
    }

    /// Describes matrices and returns their addresses.
    fn matrix(
        &mut self,
        desc: &mut sys::ggemm_grouped_matrix,
        dtype: DType,
        matrix: impl Fn(&'c Group<'c>) -> &'c RawMat,
    ) -> *const c_void {
        desc.dtype = dtype.raw();
        self.addresses([&mut desc.row_stride, &mut desc.col_stride], matrix)
    }

    /// Describes the scales of A (0) or B (1), which all groups have, and returns their addresses.
    fn scale(&mut self, desc: &mut sys::ggemm_grouped_scale, kind: ScaleKind, index: usize) -> *const c_void {
        (desc.kind, desc.pointers) = (kind.raw(), 1);
        self.addresses([&mut desc.row_stride, &mut desc.col_stride], |group| group.scale(index))
    }
}
