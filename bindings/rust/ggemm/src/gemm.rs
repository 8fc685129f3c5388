// SPDX-License-Identifier: Apache-2.0
//! Plain products by one call.

use std::{ffi::CStr, marker::PhantomData, ptr};

use ggemm_sys as sys;

use crate::{
    bias::RawBias,
    config::Config,
    epilogue::{output_cols, Scalar, Scalars, Storage},
    error::check,
    matrix::RawMat,
    problem::{text_pointer, GemmProblem, Texts},
    scale::{RawScale, Side},
    Activation, Bias, Compute, Context, Device, DeviceSlice, Element, Error, Gate, Host, Mat, MatMut, Plan, Result,
    Scale, Stream,
};

/// The operands of one product.
#[derive(Debug, Copy, Clone)]
pub(crate) struct Operands {
    pub(crate) a: RawMat,
    pub(crate) b: RawMat,
    pub(crate) c: Option<RawMat>,
    pub(crate) d: RawMat,
    pub(crate) bias: Option<RawBias>,
    pub(crate) scale_a: Option<RawScale>,
    pub(crate) scale_b: Option<RawScale>,
    pub(crate) scalars: Scalars,
}

impl Operands {
    pub(crate) fn new(a: RawMat, b: RawMat, d: RawMat) -> Self {
        Self { a, b, c: None, d, bias: None, scale_a: None, scale_b: None, scalars: Scalars::DEFAULT }
    }

    /// Refuses operands that do not fit each other or their slices.
    #[inline]
    pub(crate) fn check(&self, gate: sys::ggemm_gate) -> Result<()> {
        let Self { a, b, d, .. } = self;
        check_shapes(a, b, d, gate)?;
        a.check("A")?;
        b.check("B")?;
        d.check("D")?;
        if let Some(c) = &self.c {
            check_c(c, d)?;
            c.check("C")?;
        }
        if let Some(bias) = &self.bias {
            bias.check(a, b)?;
        }
        for (scale, side) in [(&self.scale_a, Side::A), (&self.scale_b, Side::B)] {
            if let Some(scale) = scale {
                scale.check(side, a, b)?;
            }
        }
        Ok(())
    }

    /// What the C interface takes; its scalars point into `storage`.
    #[inline]
    pub(crate) fn args(&self, storage: &mut Storage) -> Result<(sys::ggemm_gemm_args, u32)> {
        let scalars = self.scalars.bind(self.a.dtype, self.b.dtype, self.d.dtype, storage)?;
        let d = self.d.base();
        let c = match &self.c {
            Some(c) => c.base(),
            None if self.scalars.uses_c() => d,
            None => ptr::null(),
        };
        let args = sys::ggemm_gemm_args {
            a: self.a.base().cast(),
            b: self.b.base().cast(),
            c: c.cast(),
            d: d.cast_mut().cast(),
            bias: self.bias.map_or(ptr::null(), |bias| bias.data.cast()),
            alpha: scalars.alpha,
            beta: scalars.beta,
            m: self.d.rows as i64,
            n: self.b.cols as i64,
            k: self.a.cols as i64,
            scale_a: self.scale_a.map_or(ptr::null(), |scale| scale.values.base().cast()),
            scale_b: self.scale_b.map_or(ptr::null(), |scale| scale.values.base().cast()),
            ..sys::GGEMM_GEMM_ARGS_INIT
        };
        Ok((args, scalars.on_device))
    }
}

#[inline]
pub(crate) fn check_shapes(a: &RawMat, b: &RawMat, d: &RawMat, gate: sys::ggemm_gate) -> Result<()> {
    if a.cols == b.rows && a.rows == d.rows && output_cols(gate, b.cols) == d.cols {
        return Ok(());
    }
    Err(shapes_differ(a, b, d, gate))
}

#[cold]
fn shapes_differ(a: &RawMat, b: &RawMat, d: &RawMat, gate: sys::ggemm_gate) -> Error {
    let cols = output_cols(gate, b.cols);
    Error::argument(if a.cols != b.rows {
        format!("k differs: A is {a} (k={}), B is {b} (k={})", a.cols, b.rows)
    } else if a.rows != d.rows {
        format!("m differs: A is {a} (m={}), D is {d} (m={})", a.rows, d.rows)
    } else if gate == sys::GGEMM_GATE_NONE {
        format!("n differs: B is {b} (n={}), D is {d} (n={})", b.cols, d.cols)
    } else {
        format!("n differs: B is {b} (n={}, so {cols} pairs), D is {d}", b.cols)
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

        /// What A is scaled by.
        #[inline]
        pub fn scale_a(mut self, scale: Scale<'a, M>) -> Self {
            self.operands.scale_a = Some(scale.raw());
            self
        }

        /// What B is scaled by.
        #[inline]
        pub fn scale_b(mut self, scale: Scale<'a, M>) -> Self {
            self.operands.scale_b = Some(scale.raw());
            self
        }
    };
}
pub(crate) use operand_setters;

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
pub(crate) use device_setters;

/// A product to be run: D = act(alpha A B + beta C + bias). [`Context::gemm`] makes it.
#[derive(Debug)]
#[must_use = "nothing is computed before run() or launch()"]
pub struct Gemm<'a, M = Host> {
    context: &'a Context,
    operands: Operands,
    activation: Activation,
    gate: Gate,
    compute: Compute,
    max_ctas: i32,
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
            gate: Gate::None,
            compute: Compute::Default,
            max_ctas: 0,
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

    /// Gated pairs: D has half as many columns as B.
    #[inline]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// CTAs at most that multiply at once, so that other work may run beside. Default: 0, as many as the device holds.
    #[inline]
    pub fn max_ctas(mut self, ctas: i32) -> Self {
        self.max_ctas = ctas;
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
        let Operands { a, b, c, d, .. } = &self.operands;
        let (dtypes, sizes) = ([a.dtype, b.dtype, d.dtype], [d.rows, b.cols, a.cols]);
        GemmProblem::from_raw(self.desc(on_device), dtypes, sizes, c.is_some(), texts)
    }

    /// A plan for problems like this one. Nothing is run.
    ///
    /// # Errors
    /// As [`Context::plan`].
    pub fn plan(&self) -> Result<Plan> {
        self.operands.check(self.gate.raw())?;
        self.context.plan(&self.problem())
    }

    #[inline]
    fn desc(&self, scalars_on_device: u32) -> sys::ggemm_gemm_desc {
        let Operands { a, b, c, d, bias, scale_a, scale_b, .. } = &self.operands;
        let c = match c {
            Some(c) => c.matrix(),
            None if self.operands.scalars.uses_c() => d.matrix(),
            None => sys::GGEMM_GEMM_DESC_INIT.c,
        };
        let mut desc = sys::ggemm_gemm_desc {
            m: d.rows as i64,
            n: b.cols as i64,
            k: a.cols as i64,
            a: a.matrix(),
            b: b.matrix(),
            c,
            d: d.matrix(),
            compute: self.compute.raw(),
            max_ctas: self.max_ctas,
            config: text_pointer(self.config),
            tune_key: text_pointer(self.tune_key),
            ..sys::GGEMM_GEMM_DESC_INIT
        };
        self.activation.write_to(&mut desc.epilogue);
        if let Some(bias) = bias {
            (desc.epilogue.bias, desc.epilogue.bias_dtype) = (bias.kind, bias.dtype.raw());
        }
        if let Some(scale) = scale_a {
            desc.scale_a = scale.scale();
        }
        if let Some(scale) = scale_b {
            desc.scale_b = scale.scale();
        }
        desc.epilogue.gate = self.gate.raw();
        desc.epilogue.scalars_on_device = scalars_on_device;
        desc
    }

    /// # Safety
    /// The operands are memory of the context's device, which other work leaves alone until this is done with it.
    #[inline]
    unsafe fn call(&self) -> Result<()> {
        self.operands.check(self.gate.raw())?;
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
