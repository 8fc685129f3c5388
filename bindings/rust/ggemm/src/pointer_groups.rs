// SPDX-License-Identifier: Apache-2.0
//! Grouped products of arrays of addresses in device memory.

use std::ptr::{self, NonNull};

use ggemm_sys as sys;

use crate::{
    config::Config,
    epilogue::{Scalar, Scalars},
    error::check,
    plan::{check_planned_scalars, explain},
    Context, DeviceSlice, Element, Error, GroupedProblem, Result, Stream,
};

/// What the arrays of a [`PointerGroups`] hold: addresses, of eight bytes each.
pub trait Address: sealed::Sealed {}
impl<T> Address for *const T {}
impl<T> Address for *mut T {}
impl Address for u64 {}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for *const T {}
    impl<T> Sealed for *mut T {}
    impl Sealed for u64 {}
}

#[derive(Debug, Copy, Clone)]
enum Target<'a> {
    Context(&'a Context, &'a GroupedProblem),
    Plan(&'a GroupedPlan),
}

/// A grouped launch whose operands are device arrays of one address a group. [`Context::pointer_groups`] and
/// [`GroupedPlan::pointer_groups`] make it.
#[derive(Debug)]
#[must_use = "nothing is computed before launch()"]
pub struct PointerGroups<'a> {
    target: Target<'a>,
    a: (*const u8, usize),
    b: (*const u8, usize),
    c: Option<(*const u8, usize)>,
    d: (*const u8, usize),
    bias: Option<(*const u8, usize)>,
    scalars: Scalars,
    stream: Stream,
}

fn array<P: Address>(slice: DeviceSlice<'_, P>) -> (*const u8, usize) {
    (slice.data.cast(), slice.len)
}

impl Context {
    /// For every group D_g = act(alpha A_g B_g + beta C_g + bias_g), in one launch: the arrays, in device memory, hold the
    /// address of each group's matrix. A captured launch may be replayed with other sizes, strides and addresses in the
    /// same arrays.
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
    ///         .pointer_groups(
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
    pub fn pointer_groups<'a, P: Address, Q: Address, R: Address>(
        &'a self,
        problem: &'a GroupedProblem,
        a: DeviceSlice<'a, P>,
        b: DeviceSlice<'a, Q>,
        d: DeviceSlice<'a, R>,
    ) -> PointerGroups<'a> {
        PointerGroups::new(Target::Context(self, problem), array(a), array(b), array(d))
    }

    /// As [`Context::plan`], for a grouped problem.
    ///
    /// # Errors
    /// As [`Context::plan`].
    pub fn plan_grouped(&self, problem: &GroupedProblem) -> Result<GroupedPlan> {
        let desc = problem.raw();
        let mut raw = ptr::null_mut();
        // SAFETY: a live context; the description is read before the return, its sources by launches only.
        check(unsafe { sys::ggemm_plan_create_grouped(self.raw(), &desc, &mut raw) })?;
        let raw = NonNull::new(raw).expect("a plan, as the status says");
        Ok(GroupedPlan { raw, problem: problem.clone(), _context: self.clone() })
    }
}

impl<'a> PointerGroups<'a> {
    fn new(target: Target<'a>, a: (*const u8, usize), b: (*const u8, usize), d: (*const u8, usize)) -> Self {
        Self { target, a, b, c: None, d, bias: None, scalars: Scalars::DEFAULT, stream: Stream::DEFAULT }
    }

    /// The addresses of C, laid out as the problem's [`c`](GroupedProblem::c) says, else as D.
    pub fn c<P: Address>(mut self, c: DeviceSlice<'a, P>) -> Self {
        self.c = Some(array(c));
        self
    }

    /// The addresses of the biases.
    pub fn bias<P: Address>(mut self, bias: DeviceSlice<'a, P>) -> Self {
        self.bias = Some(array(bias));
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
    ///   group's D overlaps another's, nor any group's A, B or bias, nor another group's C.
    /// - Until the launch has run, all of it stays allocated and as it is, and no D is read or written, but for work that
    ///   the stream orders before or after it.
    /// - It has run before the last handle of the context goes.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): an array is shorter than the number of groups, bias is given
    /// and not described or the other way round, or what the text says. Else as [`Gemm::launch`](crate::Gemm::launch).
    pub unsafe fn launch(self) -> Result<()> {
        let problem = match self.target {
            Target::Context(_, problem) => problem,
            Target::Plan(plan) => &plan.problem,
        };
        self.check(problem)?;
        let [a, b, d] = problem.dtypes();
        let mut storage = [0; 2];
        let scalars = self.scalars.bind(a, b, d, &mut storage)?;
        let c = match self.c {
            Some((c, _)) => c,
            None if self.scalars.uses_c() => self.d.0,
            None => ptr::null(),
        };
        let args = sys::ggemm_grouped_args {
            a: self.a.0.cast(),
            b: self.b.0.cast(),
            c: c.cast(),
            d: self.d.0.cast(),
            bias: self.bias.map_or(ptr::null(), |(bias, _)| bias.cast()),
            alpha: scalars.alpha,
            beta: scalars.beta,
            ..sys::GGEMM_GROUPED_ARGS_INIT
        };
        let mut desc = problem.raw();
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
        let groups = problem.groups();
        let arrays =
            [("A", Some(self.a)), ("B", Some(self.b)), ("C", self.c), ("D", Some(self.d)), ("bias", self.bias)];
        for (name, array) in arrays {
            if let Some((_, len)) = array.filter(|&(_, len)| len < groups) {
                return Err(Error::argument(format!("{name} has {len} addresses, the problem {groups} groups")));
            }
        }
        if problem.has_bias() != self.bias.is_some() {
            let given = |given| if given { "a bias" } else { "no bias" };
            return Err(Error::argument(format!(
                "{} is given, the problem has {}",
                given(self.bias.is_some()),
                given(problem.has_bias())
            )));
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
    /// As [`Context::pointer_groups`], by this plan.
    pub fn pointer_groups<'a, P: Address, Q: Address, R: Address>(
        &'a self,
        a: DeviceSlice<'a, P>,
        b: DeviceSlice<'a, Q>,
        d: DeviceSlice<'a, R>,
    ) -> PointerGroups<'a> {
        PointerGroups::new(Target::Plan(self), array(a), array(b), array(d))
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
