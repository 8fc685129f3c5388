// SPDX-License-Identifier: Apache-2.0
//! Preparing and tuning, ahead of the calls that are to be fast.

use std::{
    ffi::{c_char, c_void},
    fmt,
    ops::ControlFlow,
    ptr,
    time::Duration,
};

use ggemm_sys as sys;

use crate::{
    callback::{array_text, flow, text, Guarded},
    config::Config,
    error::check,
    problem::RawProblem,
    Context, Problem, Result,
};

/// How far [`Prepare::run`] has come.
#[derive(Debug, Copy, Clone)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Problems that are finished.
    pub done: usize,
    /// Problems in all.
    pub total: usize,
    /// What was just finished; empty if it failed.
    pub what: &'a str,
}

type ProgressFn<'a> = Box<dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'a>;

/// Kernels to be compiled and loaded. [`Context::prepare`] makes it.
#[must_use = "nothing is prepared before run()"]
pub struct Prepare<'a> {
    context: &'a Context,
    problems: Result<Vec<RawProblem>>,
    progress: Option<ProgressFn<'a>>,
    marker: std::marker::PhantomData<Problem<'a>>,
}

impl Context {
    /// Compiles and loads the kernels of many problems at once, in as many threads as the context may use; runs nothing. A
    /// problem that fails does not stop the others.
    ///
    /// ```
    /// use ggemm::{Context, GemmProblem, GroupedProblem, Problem, Source};
    ///
    /// let context = Context::host()?;
    /// let plain = GemmProblem::new::<f32, f32, f32>(64, 64, 64);
    /// let size = Source::constant(64);
    /// let grouped = GroupedProblem::new::<f32, f32, f32>(8).m(size).n(size).k(size);
    /// context
    ///     .prepare([Problem::from(&plain), Problem::from(&grouped)])
    ///     .progress(|now| {
    ///         eprintln!("{} of {}: {}", now.done, now.total, now.what);
    ///         std::ops::ControlFlow::Continue(())
    ///     })
    ///     .run()?;
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    pub fn prepare<'a>(&'a self, problems: impl IntoIterator<Item: Into<Problem<'a>>>) -> Prepare<'a> {
        let problems = problems.into_iter().map(|problem| problem.into().raw()).collect();
        Prepare { context: self, problems, progress: None, marker: std::marker::PhantomData }
    }
}

impl<'a> Prepare<'a> {
    /// Called from this thread as problems are finished; `Break` stops.
    pub fn progress(mut self, progress: impl FnMut(Progress<'_>) -> ControlFlow<()> + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Does it.
    ///
    /// # Errors
    /// Those of [`Context::plan`], of the problem that failed first; a description that is wrong is found before anything
    /// is compiled. [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled): the progress function broke off; what was
    /// finished by then stays.
    ///
    /// # Panics
    /// If the progress function does: once the library has returned.
    pub fn run(self) -> Result<()> {
        unsafe extern "C" fn report(user: *mut c_void, done: usize, total: usize, what: *const c_char) -> i32 {
            // SAFETY: `user` is the guarded closure below, `what` lives as long as this call.
            let (progress, what) = unsafe { (Guarded::<ProgressFn<'_>>::from_user(user), text(what)) };
            flow(progress.call(ControlFlow::Break(()), |progress| progress(Progress { done, total, what: &what })))
        }
        let problems = self.problems?;
        let problems: Vec<_> = problems.iter().map(RawProblem::as_sys).collect();
        let function: sys::ggemm_progress_fn = if self.progress.is_some() { Some(report) } else { None };
        let mut progress = Guarded::new(self.progress.unwrap_or_else(|| Box::new(|_| ControlFlow::Continue(()))));
        // SAFETY: a live context and live descriptions; the closure outlives the call.
        let status = unsafe {
            sys::ggemm_prepare(self.context.raw(), problems.as_ptr(), problems.len(), function, progress.as_user())
        };
        let result = check(status);
        drop(progress.finish());
        result
    }
}

impl fmt::Debug for Prepare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepare").field("problems", &self.problems.as_ref().map(Vec::len)).finish_non_exhaustive()
    }
}

/// A candidate of a tuning, as it is finished.
#[derive(Debug, Copy, Clone)]
#[non_exhaustive]
pub struct TuneRow<'a> {
    /// Its number, from 0.
    pub index: usize,
    /// Candidates in all.
    pub total: usize,
    /// Its name.
    pub config: &'a str,
    /// Median; 0 if it was not timed.
    pub microseconds: f64,
    /// 2 m n k over the time, summed over groups.
    pub tflops: f64,
    /// Why it cannot win; `None` if it can.
    pub rejected: Option<&'a str>,
}

/// What a tuning came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuned {
    /// The fastest configuration.
    pub best: Config,
    /// Its time.
    pub microseconds: f64,
    /// 2 m n k over the time, summed over groups.
    pub tflops: f64,
    /// What tuning took, compiles included.
    pub seconds: f64,
    /// Candidates that were timed.
    pub timed: usize,
    /// Candidates that could not win.
    pub rejected: usize,
}

type RowFn<'a> = Box<dyn FnMut(TuneRow<'_>) -> ControlFlow<()> + 'a>;

/// A problem to be tuned. [`Context::tune`] makes it.
#[must_use = "nothing is measured before run()"]
pub struct Tune<'a> {
    context: &'a Context,
    problem: Result<RawProblem>,
    budget: Duration,
    configs: Vec<&'a Config>,
    sample: Option<&'a [[i64; 3]]>,
    row: Option<RowFn<'a>>,
}

impl Context {
    /// Measures configurations on scratch memory with random data, each one verified before it may win, and records the
    /// best: later calls of the same class use it, in this process and, through the disk cache, in later ones. Plans keep
    /// what they have.
    ///
    /// ```
    /// use std::{ops::ControlFlow, time::Duration};
    /// use ggemm::{Context, GemmProblem};
    ///
    /// let context = Context::builder().host().cache_dir("").build()?;
    /// let tuned = context
    ///     .tune(&GemmProblem::new::<f32, f32, f32>(64, 64, 64))
    ///     .budget(Duration::from_millis(50))
    ///     .on_row(|row| {
    ///         println!("{} {:.1} us {}", row.config, row.microseconds, row.rejected.unwrap_or_default());
    ///         ControlFlow::Continue(())
    ///     })
    ///     .run()?;
    /// println!("{}: {:.3} TFLOP/s", tuned.best, tuned.tflops);
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    pub fn tune<'a>(&'a self, problem: impl Into<Problem<'a>>) -> Tune<'a> {
        let problem = problem.into().raw();
        Tune { context: self, problem, budget: Duration::ZERO, configs: Vec::new(), sample: None, row: None }
    }
}

impl<'a> Tune<'a> {
    /// Time allowed. No candidate is begun after it; the one under way is finished. Default: 10 s.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// The candidates. Default: the library's own.
    pub fn configs(mut self, configs: impl IntoIterator<Item = &'a Config>) -> Self {
        self.configs = configs.into_iter().collect();
        self
    }

    /// m, n and k of each group of the sample that a grouped problem is measured with. Default: as many groups as the
    /// problem has, of its expected sizes.
    pub fn sample_sizes(mut self, sizes: &'a [[i64; 3]]) -> Self {
        self.sample = Some(sizes);
        self
    }

    /// Receives each candidate as it is finished, in this thread, and again, with the reason, if it fails when it is timed
    /// once more. `Break` stops with what is known.
    pub fn on_row(mut self, row: impl FnMut(TuneRow<'_>) -> ControlFlow<()> + 'a) -> Self {
        self.row = Some(Box::new(row));
        self
    }

    /// Does it. Complete on return.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): there is nothing to tune.
    /// [`Unsupported`](crate::ErrorKind::Unsupported): no candidate was legal and right; the text has each one's reason.
    /// [`Cancelled`](crate::ErrorKind::Cancelled): stopped before any candidate was right.
    /// [`OutOfMemory`](crate::ErrorKind::OutOfMemory): the scratch memory cannot be had.
    ///
    /// # Panics
    /// If the row function does: once the library has returned.
    pub fn run(self) -> Result<Tuned> {
        unsafe extern "C" fn report(user: *mut c_void, row: *const sys::ggemm_tune_row) -> i32 {
            // SAFETY: `user` is the guarded closure below; the row and its texts live as long as this call.
            let (function, row) = unsafe { (Guarded::<RowFn<'_>>::from_user(user), &*row) };
            // SAFETY: as above.
            let (config, rejected) = unsafe { (text(row.config), text(row.rejected)) };
            let row = TuneRow {
                index: row.index,
                total: row.total,
                config: &config,
                microseconds: row.microseconds,
                tflops: row.tflops,
                rejected: (!row.rejected.is_null()).then_some(&*rejected),
            };
            flow(function.call(ControlFlow::Break(()), |function| function(row)))
        }
        let problem = self.problem?;
        let names: Vec<_> = self.configs.iter().map(|config| config.as_c_str().as_ptr()).collect();
        let mut options = sys::GGEMM_TUNE_OPTIONS_INIT;
        options.budget_seconds = self.budget.as_secs_f64();
        (options.configs, options.config_count) = (names.as_ptr(), names.len());
        if let Some(sizes) = self.sample {
            (options.sample_sizes, options.sample_groups) = (sizes.as_ptr().cast(), sizes.len());
        }
        options.function = if self.row.is_some() { Some(report) } else { None };
        let mut row = Guarded::new(self.row.unwrap_or_else(|| Box::new(|_| ControlFlow::Continue(()))));
        options.user = row.as_user();
        let mut tuned = sys::GGEMM_TUNE_RESULT_INIT;
        let problem = problem.as_sys();
        // SAFETY: a live context and description; names, sizes and the closure outlive the call.
        let status = unsafe { sys::ggemm_tune(self.context.raw(), &problem, &options, ptr::from_mut(&mut tuned)) };
        let result = check(status);
        drop(row.finish());
        result?;
        Ok(Tuned {
            best: array_text(&tuned.best).parse()?,
            microseconds: tuned.microseconds,
            tflops: tuned.tflops,
            seconds: tuned.seconds,
            timed: tuned.timed,
            rejected: tuned.rejected,
        })
    }
}

impl fmt::Debug for Tune<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tune").field("budget", &self.budget).field("configs", &self.configs).finish_non_exhaustive()
    }
}
