// SPDX-License-Identifier: Apache-2.0
//! Plain products: one call, or by a plan.

use std::{
    ffi::{c_void, CStr},
    marker::PhantomData,
    ptr::{self, NonNull},
};

use ggemm_sys as sys;

use crate::{
    callback::text,
    config::Config,
    epilogue::{Scalar, Scalars, Storage},
    error::check,
    matrix::{RawBias, RawMat},
    problem::{size, text_pointer, GemmProblem, Texts},
    Activation, Bias, Compute, Context, DType, Device, DeviceSlice, Element, Error, Host, Mat, MatMut, Result, Stream,
};

/// The operands of one product.
#[derive(Debug, Copy, Clone)]
struct Operands {
    a: RawMat,
    b: RawMat,
    c: Option<RawMat>,
    d: RawMat,
    bias: Option<RawBias>,
    scalars: Scalars,
}

impl Operands {
    fn new(a: RawMat, b: RawMat, d: RawMat) -> Self {
        Self { a, b, c: None, d, bias: None, scalars: Scalars::DEFAULT }
    }

    fn dtypes(&self) -> [DType; 3] {
        [self.a.dtype, self.b.dtype, self.d.dtype]
    }

    /// Refuses operands that do not fit each other or their slices.
    #[inline]
    fn check(&self) -> Result<()> {
        let Self { a, b, d, .. } = self;
        if let Some(error) = shapes_differ(a, b, d) {
            return Err(Error::argument(error));
        }
        a.check("A")?;
        b.check("B")?;
        d.check("D")?;
        if let Some(c) = &self.c {
            check_c(c, d)?;
            c.check("C")?;
        }
        if let Some(bias) = &self.bias {
            bias.check(d)?;
        }
        Ok(())
    }

    /// What the C interface takes; its scalars point into `storage`.
    #[inline]
    fn args(&self, storage: &mut Storage) -> Result<(sys::ggemm_gemm_args, u32)> {
        let scalars = self.scalars.bind(self.a.dtype, self.b.dtype, self.d.dtype, storage)?;
        let d = self.d.base();
        let c = match &self.c {
            Some(c) => c.base(),
            None if self.scalars.uses_c() => d,
            None => ptr::null(),
        };
        let args = sys::ggemm_gemm_args {
            struct_size: size_of::<sys::ggemm_gemm_args>(),
            a: self.a.base().cast(),
            b: self.b.base().cast(),
            c: c.cast(),
            d: d.cast_mut().cast(),
            bias: self.bias.map_or(ptr::null(), |bias| bias.data.cast()),
            alpha: scalars.alpha,
            beta: scalars.beta,
            m: size(self.d.rows),
            n: size(self.d.cols),
            k: size(self.a.cols),
        };
        Ok((args, scalars.on_device))
    }
}

/// A sentence about sizes that do not agree.
#[inline]
pub(crate) fn shapes_differ(a: &RawMat, b: &RawMat, d: &RawMat) -> Option<String> {
    if a.cols == b.rows && a.rows == d.rows && b.cols == d.cols {
        return None;
    }
    Some(if a.cols != b.rows {
        format!("k differs: A is {a} (k={}), B is {b} (k={})", a.cols, b.rows)
    } else if a.rows != d.rows {
        format!("m differs: A is {a} (m={}), D is {d} (m={})", a.rows, d.rows)
    } else {
        format!("n differs: B is {b} (n={}), D is {d} (n={})", b.cols, d.cols)
    })
}

pub(crate) fn check_c(c: &RawMat, d: &RawMat) -> Result<()> {
    if (c.rows, c.cols) == (d.rows, d.cols) {
        return Ok(());
    }
    Err(Error::argument(format!("the shapes of C and D differ: C is {c}, D is {d}")))
}

/// The setters of operands that calls and runs of plans share.
macro_rules! operand_setters {
    () => {
        /// The factor of A B: 1 by default. 0 is a factor like others: NaN and infinity in A and B stay.
        #[inline]
        pub fn alpha(mut self, alpha: impl Into<f64>) -> Self {
            self.operands.scalars.alpha = Scalar::Value(alpha.into());
            self
        }

        /// The factor of C: 0 by default, and then C is not read. C is what D holds, unless [`c`](Self::c) names another.
        #[inline]
        pub fn beta(mut self, beta: impl Into<f64>) -> Self {
            self.operands.scalars.beta = Scalar::Value(beta.into());
            self
        }

        /// What is added, times [`beta`](Self::beta), which must be given too.
        #[inline]
        pub fn c<T>(mut self, c: Mat<'a, T, M>) -> Self {
            self.operands.c = Some(c.raw);
            self
        }

        /// What is added to each row or column before the activation.
        #[inline]
        pub fn bias(mut self, bias: Bias<'a, M>) -> Self {
            self.operands.bias = Some(bias.raw);
            self
        }
    };
}

/// The setters of operands in device memory, and the launch.
macro_rules! device_setters {
    () => {
        /// Alpha from device memory, read when the launch runs: `f64` where A or B is, `i32` where `i8` products are
        /// stored as such, else `f32`. Beta, if given, must lie there too.
        pub fn alpha_at<T: Element>(mut self, alpha: DeviceSlice<'a, T>) -> Self {
            self.operands.scalars.alpha = Scalar::at(alpha);
            self
        }

        /// Beta from device memory, as [`alpha_at`](Self::alpha_at).
        pub fn beta_at<T: Element>(mut self, beta: DeviceSlice<'a, T>) -> Self {
            self.operands.scalars.beta = Scalar::at(beta);
            self
        }

        /// The stream to launch on. Default: the legacy default stream.
        #[inline]
        pub fn on(mut self, stream: impl Into<Stream>) -> Self {
            self.stream = stream.into();
            self
        }
    };
}

/// A product to be run: D = act(alpha A B + beta C + bias). [`Context::gemm`] makes it.
#[derive(Debug)]
#[must_use = "nothing is computed before run() or launch()"]
pub struct Gemm<'a, M = Host> {
    context: &'a Context,
    operands: Operands,
    activation: Activation,
    compute: Compute,
    config: Option<&'a CStr>,
    tune_key: Option<&'a CStr>,
    stream: Stream,
    marker: PhantomData<(Mat<'a, u8, M>, MatMut<'a, u8, M>)>,
}

impl Context {
    /// D = act(alpha A B + beta C + bias), of host slices or in device memory. The first call of a class of problems
    /// compiles or loads its kernel; later ones are a look-up and a launch.
    ///
    /// ```
    /// use ggemm::{Activation::Gelu, Bias, Context, Mat, MatMut};
    ///
    /// let context = Context::host()?;
    /// let (m, n, k) = (64, 32, 128);
    /// let a = vec![0.5_f32; m * k];
    /// let b = vec![0.25_f32; n * k]; // given as [n, k]
    /// let bias = vec![-16.0_f32; n];
    /// let mut d = vec![0.0_f32; m * n];
    ///
    /// context
    ///     .gemm(Mat::row_major(&a, m, k), Mat::row_major(&b, n, k).t(), MatMut::row_major(&mut d, m, n))
    ///     .bias(Bias::per_column(&bias))
    ///     .activation(Gelu)
    ///     .run()?;
    /// assert_eq!(d[0], 0.0); // gelu(128 * 0.5 * 0.25 - 16)
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    #[inline]
    pub fn gemm<'a, A, B, D, M>(&'a self, a: Mat<'a, A, M>, b: Mat<'a, B, M>, d: MatMut<'a, D, M>) -> Gemm<'a, M> {
        Gemm {
            context: self,
            operands: Operands::new(a.raw, b.raw, d.raw),
            activation: Activation::None,
            compute: Compute::Default,
            config: None,
            tune_key: None,
            stream: Stream::DEFAULT,
            marker: PhantomData,
        }
    }
}

impl<'a, M> Gemm<'a, M> {
    operand_setters!();

    /// What is applied to each element at last.
    #[inline]
    pub fn activation(mut self, activation: Activation) -> Self {
        self.activation = activation;
        self
    }

    /// How A and B are multiplied.
    #[inline]
    pub fn compute(mut self, compute: Compute) -> Self {
        self.compute = compute;
        self
    }

    /// Forces a configuration.
    #[inline]
    pub fn config(mut self, config: &'a Config) -> Self {
        self.config = Some(config.as_c_str());
        self
    }

    /// Uses only tuning records made under this key, whatever the sizes.
    #[inline]
    pub fn tune_key(mut self, key: &'a CStr) -> Self {
        self.tune_key = Some(key);
        self
    }

    /// The description of this problem, to prepare or to tune.
    #[must_use]
    pub fn problem(&self) -> GemmProblem {
        let texts = Texts { config: self.config.map(CStr::to_owned), tune_key: self.tune_key.map(CStr::to_owned) };
        let on_device = self.operands.scalars.on_device().into();
        GemmProblem::from_raw(self.desc(on_device), self.operands.dtypes(), self.operands.c.is_some(), texts)
    }

    /// A plan for problems like this one. Nothing is run.
    ///
    /// # Errors
    /// As [`Context::plan`].
    pub fn plan(&self) -> Result<Plan> {
        self.operands.check()?;
        self.context.plan(&self.problem())
    }

    #[inline]
    fn desc(&self, scalars_on_device: u32) -> sys::ggemm_gemm_desc {
        let Operands { a, b, c, d, bias, .. } = &self.operands;
        let c = match c {
            Some(c) => c.matrix(),
            None if self.operands.scalars.uses_c() => d.matrix(),
            None => sys::GGEMM_GEMM_DESC_INIT.c,
        };
        let mut desc = sys::ggemm_gemm_desc {
            m: size(d.rows),
            n: size(d.cols),
            k: size(a.cols),
            a: a.matrix(),
            b: b.matrix(),
            c,
            d: d.matrix(),
            compute: self.compute.raw(),
            config: text_pointer(self.config),
            tune_key: text_pointer(self.tune_key),
            ..sys::GGEMM_GEMM_DESC_INIT
        };
        self.activation.write_to(&mut desc.epilogue);
        if let Some(bias) = bias {
            (desc.epilogue.bias, desc.epilogue.bias_dtype) = (bias.kind, bias.dtype.raw());
        }
        desc.epilogue.scalars_on_device = scalars_on_device;
        desc
    }

    /// # Safety
    /// The operands are memory of the context's device, which other work leaves alone until this is done with it.
    #[inline]
    unsafe fn call(&self) -> Result<()> {
        self.operands.check()?;
        let mut storage = [0; 2];
        let (args, on_device) = self.operands.args(&mut storage)?;
        let desc = self.desc(on_device);
        // SAFETY: views were checked; description, arguments and scalars are read before the return.
        check(unsafe { sys::ggemm_gemm(self.context.raw(), &desc, &args, self.stream.as_raw()) })
    }
}

impl Gemm<'_, Host> {
    /// Computes it. D is complete on return.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): shapes do not agree, a slice is too short, the context is not
    /// the host's, or what else the text says. D is as it was.
    pub fn run(self) -> Result<()> {
        self.context.check_host()?;
        // SAFETY: borrowed slices, for a device that is done with them on return.
        unsafe { self.call() }
    }
}

impl<'a> Gemm<'a, Device> {
    device_setters!();

    /// Launches it on the stream and returns; on a host context it is complete on return.
    ///
    /// During the capture of a stream nothing is compiled: a kernel that is not loaded yet is
    /// [`ErrorKind::NotPrepared`](crate::ErrorKind::NotPrepared) then.
    ///
    /// # Safety
    /// - The operands are memory of the context's device, and the stream is one of its streams.
    /// - Until the launch has run, they stay allocated, A, B, C and bias are not written, and D is neither read nor written,
    ///   but for work that the stream orders before or after it.
    /// - It has run before the last handle of the context goes.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) as [`run`](Gemm::run);
    /// [`Unsupported`](crate::ErrorKind::Unsupported), [`Compile`](crate::ErrorKind::Compile) and
    /// [`Launch`](crate::ErrorKind::Launch) with their reasons in the text.
    pub unsafe fn launch(self) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.call() }
    }
}

/// A class of plain problems bound to a kernel: running it looks nothing up and never compiles. May be run from many
/// threads at once. [`Context::plan`] makes it.
#[derive(Debug)]
pub struct Plan {
    raw: NonNull<sys::ggemm_plan>,
    /// The description that it was made from, without texts.
    desc: sys::ggemm_gemm_desc,
    context: Context,
}

// SAFETY: the C interface allows a plan in any thread; the description has no pointers.
unsafe impl Send for Plan {}
// SAFETY: as above.
unsafe impl Sync for Plan {}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the last use of it, and its context is still there.
        unsafe { sys::ggemm_plan_destroy(self.raw.as_ptr()) }
    }
}

impl Context {
    /// Chooses a configuration for the problem, compiles or loads its kernel, and binds both. The sizes of the problem
    /// make the choice; runs may bring others.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): a field is wrong. [`Unsupported`](crate::ErrorKind::Unsupported):
    /// no kernel serves this here. [`Compile`](crate::ErrorKind::Compile), [`Launch`](crate::ErrorKind::Launch): the kernel
    /// cannot be compiled or loaded.
    pub fn plan(&self, problem: &GemmProblem) -> Result<Plan> {
        let desc = problem.raw();
        let mut raw = ptr::null_mut();
        // SAFETY: a live context; the description is read before the return.
        check(unsafe { sys::ggemm_plan_create(self.raw(), &desc, &mut raw) })?;
        let desc = sys::ggemm_gemm_desc { config: ptr::null(), tune_key: ptr::null(), ..desc };
        Ok(Plan { raw: NonNull::new(raw).expect("a plan, as the status says"), desc, context: self.clone() })
    }
}

impl Plan {
    /// D = act(alpha A B + beta C + bias) with the plan's types, layouts, bias and activation, and any sizes.
    ///
    /// ```
    /// use ggemm::{Context, GemmProblem, Mat, MatMut};
    ///
    /// let context = Context::host()?;
    /// let plan = context.plan(&GemmProblem::new::<f32, f32, f32>(64, 3, 2))?;
    /// let (a, b, mut d) = ([1.0_f32, 2.0], [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0_f32; 3]);
    /// plan.gemm(Mat::row_major(&a, 1, 2), Mat::row_major(&b, 2, 3), MatMut::row_major(&mut d, 1, 3)).run()?;
    /// assert_eq!(d, [9.0, 12.0, 15.0]);
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    #[inline]
    pub fn gemm<'a, A, B, D, M>(&'a self, a: Mat<'a, A, M>, b: Mat<'a, B, M>, d: MatMut<'a, D, M>) -> PlanRun<'a, M> {
        PlanRun {
            plan: self,
            operands: Operands::new(a.raw, b.raw, d.raw),
            stream: Stream::DEFAULT,
            marker: PhantomData,
        }
    }

    /// Why it is as it is: problem, configuration and where it came from, kernel, registers. For people: the wording may
    /// change.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) only.
    pub fn explain(&self) -> Result<String> {
        explain(self.raw)
    }

    /// The configuration that it is bound to.
    ///
    /// # Errors
    /// None to be expected.
    pub fn config(&self) -> Result<Config> {
        Config::of_plan(self.raw)
    }
}

pub(crate) fn explain(plan: NonNull<sys::ggemm_plan>) -> Result<String> {
    let mut needed = 0;
    // SAFETY: a live plan; no buffer, and a place for the size.
    check(unsafe { sys::ggemm_plan_explain(plan.as_ptr(), ptr::null_mut(), 0, &mut needed) })?;
    let mut buffer = vec![0_u8; needed.max(1)];
    // SAFETY: a buffer of that size, which comes back with a final NUL.
    unsafe {
        check(sys::ggemm_plan_explain(plan.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len(), ptr::null_mut()))?;
        Ok(text(buffer.as_ptr().cast()).into_owned())
    }
}

/// A run of a [`Plan`]. [`Plan::gemm`] makes it.
#[derive(Debug)]
#[must_use = "nothing is computed before run() or launch()"]
pub struct PlanRun<'a, M = Host> {
    plan: &'a Plan,
    operands: Operands,
    stream: Stream,
    marker: PhantomData<(Mat<'a, u8, M>, MatMut<'a, u8, M>)>,
}

impl<'a, M> PlanRun<'a, M> {
    operand_setters!();

    /// Refuses operands that the plan's kernel would read otherwise than they lie.
    #[inline]
    fn check_planned(&self) -> Result<()> {
        let Operands { a, b, c, d, bias, .. } = &self.operands;
        let desc = &self.plan.desc;
        a.check_planned(&desc.a, "A")?;
        b.check_planned(&desc.b, "B")?;
        d.check_planned(&desc.d, "D")?;
        match c {
            Some(c) => c.check_planned(&desc.c, "C")?,
            None if self.operands.scalars.uses_c() => d.check_planned(&desc.c, "D, which is C too,")?,
            None => {}
        }
        let planned = (desc.epilogue.bias, desc.epilogue.bias_dtype);
        let given = bias.map_or((sys::GGEMM_BIAS_NONE, planned.1), |bias| (bias.kind, bias.dtype.raw()));
        if planned != given {
            return Err(bias_differs(planned, given));
        }
        Ok(())
    }

    /// # Safety
    /// As [`Gemm::call`].
    #[inline]
    unsafe fn call(&self) -> Result<()> {
        self.operands.check()?;
        self.check_planned()?;
        let mut storage = [0; 2];
        let (args, on_device) = self.operands.args(&mut storage)?;
        check_planned_scalars(args.alpha, args.beta, on_device, &self.plan.desc.epilogue)?;
        // SAFETY: views were checked; arguments and scalars are read before the return.
        check(unsafe { sys::ggemm_plan_run(self.plan.raw.as_ptr(), &args, self.stream.as_raw()) })
    }
}

/// Refuses scalars that are not where the plan's kernel would read them.
#[inline]
pub(crate) fn check_planned_scalars(
    alpha: *const c_void,
    beta: *const c_void,
    on_device: u32,
    planned: &sys::ggemm_epilogue_desc,
) -> Result<()> {
    if on_device == planned.scalars_on_device || (alpha.is_null() && beta.is_null()) {
        return Ok(());
    }
    let place = |on_device| if on_device != 0 { "in device memory" } else { "numbers" };
    Err(Error::argument(format!(
        "alpha and beta are {}, the plan is for {}",
        place(on_device),
        place(planned.scalars_on_device)
    )))
}

#[cold]
fn bias_differs(planned: (sys::ggemm_bias, sys::ggemm_dtype), given: (sys::ggemm_bias, sys::ggemm_dtype)) -> Error {
    let name = |(kind, dtype)| match kind {
        sys::GGEMM_BIAS_NONE => "none".into(),
        sys::GGEMM_BIAS_PER_COLUMN => format!("{} per column", crate::element::dtype_name(dtype)),
        _ => format!("{} per row", crate::element::dtype_name(dtype)),
    };
    Error::argument(format!("bias is {}, the plan is for {}", name(given), name(planned)))
}

impl PlanRun<'_, Host> {
    /// Computes it. D is complete on return.
    ///
    /// # Errors
    /// As [`Gemm::run`]; also where an operand's type or layout is not the plan's.
    pub fn run(self) -> Result<()> {
        self.plan.context.check_host()?;
        // SAFETY: borrowed slices, for a device that is done with them on return.
        unsafe { self.call() }
    }
}

impl<'a> PlanRun<'a, Device> {
    device_setters!();

    /// Launches it on the stream and returns; on a host context it is complete on return. Never compiles.
    ///
    /// # Safety
    /// As [`Gemm::launch`].
    ///
    /// # Errors
    /// As [`run`](PlanRun::run), and [`ErrorKind::Launch`](crate::ErrorKind::Launch).
    pub unsafe fn launch(self) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.call() }
    }
}
