// SPDX-License-Identifier: Apache-2.0
//! Plain products by a plan.

use std::{
    ffi::c_void,
    marker::PhantomData,
    ptr::{self, NonNull},
};

use ggemm_sys as sys;

use crate::{
    callback::text,
    config::Config,
    epilogue::Scalar,
    error::check,
    gemm::{device_setters, operand_setters, Operands},
    problem::GemmProblem,
    scale::{RawScale, Side},
    Bias, Context, Device, DeviceSlice, Element, Error, Host, Mat, MatMut, Result, Scale, Stream,
};

/// A class of plain problems bound to a kernel: running it looks nothing up, and compiles nothing unless an operand is less
/// aligned than the plan expects. May be run from many threads at once. [`Context::plan`] makes it.
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
        let desc = problem.raw()?;
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
        let Operands { a, b, c, d, bias, scale_a, scale_b, .. } = &self.operands;
        let desc = &self.plan.desc;
        a.check_planned(&desc.a, "A")?;
        b.check_planned(&desc.b, "B")?;
        d.check_planned(&desc.d, "D")?;
        match c {
            _ if desc.epilogue.gate != sys::GGEMM_GATE_NONE => {} // the library says that pairs have none
            Some(c) => c.check_planned(&desc.c, "C")?,
            None if self.operands.scalars.uses_c() => d.check_planned(&desc.c, "D, which is C too,")?,
            None => {}
        }
        let planned = (desc.epilogue.bias, desc.epilogue.bias_dtype);
        let given = bias.map_or((sys::GGEMM_BIAS_NONE, planned.1), |bias| (bias.kind, bias.dtype.raw()));
        if planned != given {
            return Err(bias_differs(planned, given));
        }
        RawScale::check_planned(scale_a.as_ref(), &desc.scale_a, Side::A)?;
        RawScale::check_planned(scale_b.as_ref(), &desc.scale_b, Side::B)
    }

    /// # Safety
    /// As `Gemm::call`.
    #[inline]
    unsafe fn call(&self) -> Result<()> {
        self.operands.check(self.plan.desc.epilogue.gate)?;
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
    Err(Error::argument(if on_device != 0 {
        "alpha and beta are in device memory, the plan takes them as numbers"
    } else {
        "alpha and beta are numbers, the plan takes them from device memory"
    }))
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
    /// As [`Gemm::run`](crate::Gemm::run); also where an operand's type or layout is not the plan's.
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
    /// As [`Gemm::launch`](crate::Gemm::launch).
    ///
    /// # Errors
    /// As [`run`](PlanRun::run), and [`ErrorKind::Launch`](crate::ErrorKind::Launch).
    pub unsafe fn launch(self) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.call() }
    }
}
