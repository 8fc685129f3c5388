// SPDX-License-Identifier: Apache-2.0
//! Grouped products in device memory.

use std::ptr::{self, NonNull};

use ggemm_sys as sys;

use crate::{
    config::Config,
    epilogue::{Scalar, Scalars},
    error::check,
    plan::{check_planned_scalars, explain},
    Context, DType, DeviceSlice, DeviceSliceMut, Element, Error, GroupMemory, GroupedProblem, Result, Stream,
};

#[derive(Debug, Copy, Clone)]
enum Target<'a> {
    Context(&'a Context, &'a GroupedProblem),
    Plan(&'a GroupedPlan),
}

/// A grouped launch of operands in device memory. [`Context::device_groups`] and
/// [`GroupedPlan::device_groups`] make it.
#[derive(Debug)]
#[must_use = "nothing is computed before launch()"]
pub struct DeviceGroups<'a> {
    target: Target<'a>,
    a: GroupMemory<'a>,
    b: GroupMemory<'a>,
    c: Option<GroupMemory<'a>>,
    d: GroupMemory<'a>,
    bias: Option<GroupMemory<'a>>,
    scale_a: Option<GroupMemory<'a>>,
    scale_b: Option<GroupMemory<'a>>,
    row_weights: Option<GroupMemory<'a>>,
    status: Option<GroupMemory<'a>>,
    scalars: Scalars,
    stream: Stream,
}

impl Context {
    /// For every group D_g = act(alpha scale_g A_g B_g + beta C_g + bias_g), in one call, of operands as the problem's form
    /// takes them: in device memory, an array of each group's address, or the elements of all groups. A captured launch may be
    /// replayed with other sizes, ends, strides and addresses in the same arrays.
    ///
    /// ```
    /// use ggemm::{Context, DeviceSlice, GroupedProblem, Source};
    ///
    /// // On the host device these arrays are ordinary memory; on a GPU they and what they point to are the GPU's.
    /// let (a, b, mut d) = ([1.0_f32, 2.0, 3.0, 4.0], [1.0_f32, 10.0], [0.0_f32; 3]);
    /// let sizes = [[2_i32, 1, 2], [1, 1, 2]];
    /// let a_at = [a.as_ptr(), a.as_ptr()];
    /// let b_at = [b.as_ptr(), b.as_ptr()];
    /// let d_at = [d.as_mut_ptr(), d[2..].as_mut_ptr()];
    ///
    /// let context = Context::host()?;
    /// let first: *const i32 = sizes.as_ptr().cast();
    /// let problem = GroupedProblem::new::<f32, f32, f32>(2)
    ///     .m(Source::i32_at(first, 12))
    ///     .n(Source::i32_at(first.wrapping_add(1), 12))
    ///     .k(Source::i32_at(first.wrapping_add(2), 12));
    /// // SAFETY: arrays of two addresses each, of matrices of those sizes.
    /// unsafe {
    ///     context
    ///         .device_groups(
    ///             &problem,
    ///             DeviceSlice::from_raw_parts(a_at.as_ptr(), 2),
    ///             DeviceSlice::from_raw_parts(b_at.as_ptr(), 2),
    ///             DeviceSlice::from_raw_parts(d_at.as_ptr(), 2),
    ///         )
    ///         .launch()?;
    /// }
    /// assert_eq!(d, [21.0, 43.0, 21.0]);
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    pub fn device_groups<'a>(
        &'a self,
        problem: &'a GroupedProblem,
        a: impl Into<GroupMemory<'a>>,
        b: impl Into<GroupMemory<'a>>,
        d: impl Into<GroupMemory<'a>>,
    ) -> DeviceGroups<'a> {
        DeviceGroups::new(Target::Context(self, problem), a.into(), b.into(), d.into())
    }

    /// As [`Context::plan`], for a grouped problem.
    ///
    /// # Errors
    /// As [`Context::plan`].
    pub fn plan_grouped(&self, problem: &GroupedProblem) -> Result<GroupedPlan> {
        let desc = problem.raw()?;
        let mut raw = ptr::null_mut();
        // SAFETY: a live context; the description is read before the return, its sources by launches only.
        check(unsafe { sys::ggemm_plan_create_grouped(self.raw(), &desc, &mut raw) })?;
        let raw = NonNull::new(raw).expect("a plan, as the status says");
        Ok(GroupedPlan { raw, problem: problem.clone(), _context: self.clone() })
    }
}

impl<'a> DeviceGroups<'a> {
    fn new(target: Target<'a>, a: GroupMemory<'a>, b: GroupMemory<'a>, d: GroupMemory<'a>) -> Self {
        Self {
            target,
            a,
            b,
            c: None,
            d,
            bias: None,
            scale_a: None,
            scale_b: None,
            row_weights: None,
            status: None,
            scalars: Scalars::DEFAULT,
            stream: Stream::DEFAULT,
        }
    }

    /// C, laid out as the problem's [`c`](GroupedProblem::c) says, else as D.
    pub fn c(mut self, c: impl Into<GroupMemory<'a>>) -> Self {
        self.c = Some(c.into());
        self
    }

    /// The biases.
    pub fn bias(mut self, bias: impl Into<GroupMemory<'a>>) -> Self {
        self.bias = Some(bias.into());
        self
    }

    /// The scales of A.
    pub fn scale_a(mut self, scale: impl Into<GroupMemory<'a>>) -> Self {
        self.scale_a = Some(scale.into());
        self
    }

    /// The scales of B.
    pub fn scale_b(mut self, scale: impl Into<GroupMemory<'a>>) -> Self {
        self.scale_b = Some(scale.into());
        self
    }

    /// With [`d_index`](GroupedProblem::d_index): a number for each row of the groups' order, which it is multiplied by at last.
    pub fn row_weights(mut self, weights: DeviceSlice<'a, f32>) -> Self {
        self.row_weights = Some(weights.into());
        self
    }

    /// Four numbers for what [`checked`](GroupedProblem::checked) mode finds, written in the stream's order:
    /// [`Fault::read`](crate::Fault::read) tells it. On a host context `launch` returns it as an error too.
    pub fn status(mut self, status: DeviceSliceMut<'a, i32>) -> Self {
        self.status = Some(GroupMemory::written(&status));
        self
    }

    /// The factor of A B in every group: 1 by default.
    pub fn alpha(mut self, alpha: impl Into<f64>) -> Self {
        self.scalars.alpha = Scalar::Value(alpha.into());
        self
    }

    /// The factor of C in every group: 0 by default, and then C is not read. Without [`c`](Self::c) C is what D holds.
    pub fn beta(mut self, beta: impl Into<f64>) -> Self {
        self.scalars.beta = Scalar::Value(beta.into());
        self
    }

    /// Alpha from device memory, as [`Gemm::alpha_at`](crate::Gemm::alpha_at).
    pub fn alpha_at<T: Element>(mut self, alpha: DeviceSlice<'a, T>) -> Self {
        self.scalars.alpha = Scalar::at(alpha);
        self
    }

    /// Beta from device memory, as [`Gemm::alpha_at`](crate::Gemm::alpha_at).
    pub fn beta_at<T: Element>(mut self, beta: DeviceSlice<'a, T>) -> Self {
        self.scalars.beta = Scalar::at(beta);
        self
    }

    /// One alpha for each group, from device memory.
    pub fn alphas_at<T: Element>(mut self, alphas: DeviceSlice<'a, T>) -> Self {
        self.scalars.alpha = Scalar::of_groups(alphas);
        self
    }

    /// One beta for each group, from device memory.
    pub fn betas_at<T: Element>(mut self, betas: DeviceSlice<'a, T>) -> Self {
        self.scalars.beta = Scalar::of_groups(betas);
        self
    }

    /// The stream to launch on. Default: the legacy default stream.
    pub fn on(mut self, stream: impl Into<Stream>) -> Self {
        self.stream = stream.into();
        self
    }

    /// Launches it on the stream and returns; on a host context it is complete on return.
    ///
    /// # Safety
    /// - The arrays, the sources of the problem and the matrices that the addresses name are memory of the context's
    ///   device, and the stream is one of its streams. Addresses, sizes and strides are right when the launch runs. No
    ///   group's D overlaps another's, nor any group's A, B, bias or scales, nor another group's C.
    /// - Until the launch has run, all of it stays allocated and as it is, and no D is read or written, but for work that
    ///   the stream orders before or after it.
    /// - It has run before the last handle of the context goes.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): an array is shorter than the number of groups, an operand is not
    /// what the problem describes, or what the text says. Else as [`Gemm::launch`](crate::Gemm::launch).
    pub unsafe fn launch(self) -> Result<()> {
        let problem = match self.target {
            Target::Context(_, problem) => problem,
            Target::Plan(plan) => &plan.problem,
        };
        let mut desc = problem.raw()?;
        self.check(problem)?;
        let [a, b, d] = problem.dtypes();
        let mut storage = [0; 2];
        let scalars = self.scalars.bind(a, b, d, &mut storage)?;
        let at = |memory: Option<GroupMemory<'_>>| memory.map_or(ptr::null(), |memory| memory.data.cast());
        let args = sys::ggemm_grouped_args {
            a: self.a.data.cast(),
            b: self.b.data.cast(),
            c: at(self.c.or_else(|| self.scalars.uses_c().then_some(self.d))),
            d: self.d.data.cast(),
            bias: at(self.bias),
            alpha: scalars.alpha,
            beta: scalars.beta,
            alpha_byte_stride: self.scalars.alpha.byte_stride("alpha", problem.groups())?,
            beta_byte_stride: self.scalars.beta.byte_stride("beta", problem.groups())?,
            row_weights: at(self.row_weights),
            status: at(self.status).cast_mut(),
            scale_a: at(self.scale_a),
            scale_b: at(self.scale_b),
            ..sys::GGEMM_GROUPED_ARGS_INIT
        };
        match self.target {
            Target::Context(context, _) => {
                desc.epilogue.scalars_on_device = scalars.on_device;
                // SAFETY: the caller's promise; description, arguments and scalars are read before the return.
                check(unsafe { sys::ggemm_grouped_gemm(context.raw(), &desc, &args, self.stream.as_raw()) })
            }
            Target::Plan(plan) => {
                check_planned_scalars(args.alpha, args.beta, scalars.on_device, &desc.epilogue)?;
                // SAFETY: as above.
                check(unsafe { sys::ggemm_plan_run_grouped(plan.raw.as_ptr(), &args, self.stream.as_raw()) })
            }
        }
    }

    fn check(&self, problem: &GroupedProblem) -> Result<()> {
        let desc = problem.desc();
        let first_form = desc.form == sys::GGEMM_GROUPS_POINTERS;
        // Whether it is described, whether by addresses, and else by what elements.
        let bias_dtype = if desc.epilogue.bias_dtype == 0 { desc.d.dtype } else { desc.epilogue.bias_dtype };
        let (has_bias, scale) = (desc.epilogue.bias != sys::GGEMM_BIAS_NONE, |kind| kind != sys::GGEMM_SCALE_NONE);
        let c = if problem.has_c() { &desc.c } else { &desc.d };
        for (name, given, described, pointers, elements) in [
            ("A", Some(self.a), true, first_form || desc.a.pointers != 0, desc.a.dtype),
            ("B", Some(self.b), true, first_form || desc.b.pointers != 0, desc.b.dtype),
            ("C", self.c, self.c.is_some(), first_form || c.pointers != 0, c.dtype),
            ("D", Some(self.d), true, first_form || desc.d.pointers != 0, desc.d.dtype),
            ("bias", self.bias, has_bias, first_form || desc.bias_pointers != 0, bias_dtype),
            ("scale_a", self.scale_a, scale(desc.scale_a.kind), desc.scale_a.pointers != 0, sys::GGEMM_F32),
            ("scale_b", self.scale_b, scale(desc.scale_b.kind), desc.scale_b.pointers != 0, sys::GGEMM_F32),
            ("status", self.status, desc.checked != 0, false, sys::GGEMM_I32),
        ] {
            let Some(memory) = given else {
                if described {
                    return Err(Error::argument(format!("{name} is missing, the problem has one")));
                }
                continue;
            };
            if !described {
                return Err(Error::argument(format!("{name} is given, the problem has none")));
            }
            let wanted = if pointers { sys::GGEMM_DTYPE_NONE } else { elements };
            if memory.elements.map_or(sys::GGEMM_DTYPE_NONE, DType::raw) != wanted {
                return Err(memory.is_not(name, wanted));
            }
            let needed = if pointers { problem.groups() } else { 4 * usize::from(name == "status") };
            if memory.len < needed {
                let what = if pointers { "addresses" } else { "numbers" };
                return Err(Error::argument(format!("{name} has {} {what}, {needed} are needed", memory.len)));
            }
        }
        if problem.has_c() && self.c.is_none() && self.scalars.uses_c() {
            return Err(Error::argument("beta is given, and no C, of which the problem has its own"));
        }
        Ok(())
    }
}

/// A class of grouped problems bound to a kernel; otherwise as [`Plan`](crate::Plan). [`Context::plan_grouped`] makes it.
/// The device arrays that its problem names are read by every run.
#[derive(Debug)]
pub struct GroupedPlan {
    raw: NonNull<sys::ggemm_plan>,
    problem: GroupedProblem,
    _context: Context,
}

// SAFETY: the C interface allows a plan in any thread.
unsafe impl Send for GroupedPlan {}
// SAFETY: as above.
unsafe impl Sync for GroupedPlan {}

impl Drop for GroupedPlan {
    fn drop(&mut self) {
        // SAFETY: the last use of it, and its context is still there.
        unsafe { sys::ggemm_plan_destroy(self.raw.as_ptr()) }
    }
}

impl GroupedPlan {
    /// As [`Context::device_groups`], by this plan.
    pub fn device_groups<'a>(
        &'a self,
        a: impl Into<GroupMemory<'a>>,
        b: impl Into<GroupMemory<'a>>,
        d: impl Into<GroupMemory<'a>>,
    ) -> DeviceGroups<'a> {
        DeviceGroups::new(Target::Plan(self), a.into(), b.into(), d.into())
    }

    /// As [`Plan::explain`](crate::Plan::explain).
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
