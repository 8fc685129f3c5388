// SPDX-License-Identifier: Apache-2.0
//! How a context is made, and what of its parts is there.

use std::{
    any::Any,
    ffi::{c_void, CString},
    fmt,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr::{self, NonNull},
    sync::Arc,
};

use ggemm_sys as sys;

use crate::{
    callback::{text, Guarded},
    context::Keep,
    device::{allocate, deallocate, DeviceAllocator},
    error::check,
    log::{log_line, LogFn, LogLevel},
    Context, Error, Result,
};

/// How a context is made: each setting has a default, and the text of [`ContextBuilder::build`] an example.
#[derive(Default)]
#[must_use = "build() makes the context"]
pub struct ContextBuilder {
    device: sys::ggemm_device_kind,
    ordinal: i32,
    cuda_context: Option<NonNull<c_void>>,
    threads: i32,
    log: Option<(LogLevel, Arc<LogFn>)>,
    allocator: Option<Arc<Box<dyn DeviceAllocator>>>,
    cache_dir: Option<PathBuf>,
    shared_cache_dir: Option<PathBuf>,
    cache_limit_bytes: u64,
    nvrtc_path: Option<PathBuf>,
    cblas_path: Option<PathBuf>,
    owner: Option<Box<dyn Any + Send + Sync>>,
}

impl ContextBuilder {
    /// The CPU.
    pub fn host(mut self) -> Self {
        self.device = sys::GGEMM_DEVICE_HOST;
        self
    }

    /// The CUDA device of this ordinal.
    pub fn cuda(mut self, ordinal: i32) -> Self {
        (self.device, self.ordinal) = (sys::GGEMM_DEVICE_CUDA, ordinal);
        self
    }

    /// This CUDA context (a `CUcontext`) instead of its device's primary one.
    ///
    /// # Safety
    /// It is one, and outlives the context that is built and all plans of it.
    pub unsafe fn cuda_context(mut self, context: NonNull<c_void>) -> Self {
        (self.device, self.cuda_context) = (sys::GGEMM_DEVICE_CUDA, Some(context));
        self
    }

    /// Something that is to live as long as the context.
    #[cfg(feature = "cudarc")]
    pub(crate) fn owner(mut self, owner: impl Any + Send + Sync) -> Self {
        self.owner = Some(Box::new(owner));
        self
    }

    /// Host threads for the host device and for compiling. Default: 0, the cores that this process may use.
    pub fn threads(mut self, threads: i32) -> Self {
        self.threads = threads;
        self
    }

    /// Receives lines of log, up to this level. Default: no log.
    ///
    /// It is called from any thread that uses the context and from threads of the library. It must not use the context:
    /// it may run in the middle of making the very kernel that it would ask for. A panic in it is lost, but for what the
    /// panic hook prints.
    pub fn log(mut self, level: LogLevel, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some((level, Arc::new(Box::new(log))));
        self
    }

    /// Where device memory comes from. Default: the driver's stream-ordered allocator.
    pub fn allocator(mut self, allocator: impl DeviceAllocator + 'static) -> Self {
        self.allocator = Some(Arc::new(Box::new(allocator)));
        self
    }

    /// The folder of the disk cache; an empty path: none, memory only. Default: `$GGEMM_CACHE_DIR`, else
    /// `$XDG_CACHE_HOME/ggemm`, else `$HOME/.cache/ggemm`.
    pub fn cache_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.cache_dir = Some(path.as_ref().into());
        self
    }

    /// A second folder that is only read; an empty path: none. Default: `$GGEMM_SHARED_CACHE_DIR`, else none.
    pub fn shared_cache_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.shared_cache_dir = Some(path.as_ref().into());
        self
    }

    /// How much the cache folder may hold; the least recently used entries go first. Default: 1 GiB.
    pub fn cache_limit_bytes(mut self, bytes: u64) -> Self {
        self.cache_limit_bytes = bytes;
        self
    }

    /// The NVRTC library's file. Default: `$GGEMM_NVRTC`, else searched for.
    pub fn nvrtc_path(mut self, path: impl AsRef<Path>) -> Self {
        self.nvrtc_path = Some(path.as_ref().into());
        self
    }

    /// A CBLAS library's file; an empty path: none, own kernels only. Default: `$GGEMM_CBLAS`, else searched for.
    pub fn cblas_path(mut self, path: impl AsRef<Path>) -> Self {
        self.cblas_path = Some(path.as_ref().into());
        self
    }

    /// Makes the context. Environment variables that are named here are read now, and never again.
    ///
    /// ```
    /// use ggemm::{Context, DeviceKind, LogLevel};
    ///
    /// let context = Context::builder()
    ///     .host()
    ///     .threads(2)
    ///     .cache_dir("")
    ///     .log(LogLevel::Warning, |level, line| eprintln!("ggemm {level:?}: {line}"))
    ///     .build()?;
    /// assert_eq!(context.kind(), DeviceKind::Host);
    /// assert_eq!(context.device()?.threads, 2);
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): an option is out of range.
    /// [`ErrorKind::Device`](crate::ErrorKind::Device): a CUDA device was demanded and cannot be used.
    pub fn build(self) -> Result<Context> {
        let raw = self.with_options(|options| {
            let mut raw = ptr::null_mut();
            // SAFETY: the texts of the options live here, and functions and what they use as long as the context.
            check(unsafe { sys::ggemm_context_create(options, &mut raw) })?;
            Ok(raw)
        })?;
        Context::of(raw, self.log.map(|(_, log)| log), Keep { _allocator: self.allocator, _owner: self.owner })
    }

    /// Looks for everything that a context of these settings could use, and reports each part, found or not. What is
    /// missing is a finding, not an error.
    ///
    /// ```
    /// for finding in ggemm::Context::builder().diagnose()? {
    ///     println!("{}: {} {}", finding.component, finding.detail, finding.advice);
    /// }
    /// # Ok::<(), ggemm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): an option is out of range.
    pub fn diagnose(&self) -> Result<Vec<Finding>> {
        unsafe extern "C" fn visit(user: *mut c_void, finding: *const sys::ggemm_finding) {
            // SAFETY: `user` is the guarded list below, and the finding lives as long as this call.
            let (findings, finding) = unsafe { (Guarded::<Vec<Finding>>::from_user(user), &*finding) };
            // SAFETY: texts of the finding.
            let text = |pointer| unsafe { text(pointer) }.into_owned();
            findings.call((), |findings| {
                findings.push(Finding {
                    component: text(finding.component),
                    found: finding.found != 0,
                    needed: finding.needed != 0,
                    detail: text(finding.detail),
                    advice: text(finding.advice),
                });
            });
        }
        self.with_options(|options| {
            let mut findings = Guarded::new(Vec::new());
            // SAFETY: the texts of the options and the list outlive the call.
            check(unsafe { sys::ggemm_diagnose(options, Some(visit), findings.as_user()) })?;
            Ok(findings.finish())
        })
    }

    /// Calls with the C options, whose texts live as long as the call.
    fn with_options<R>(&self, call: impl FnOnce(&sys::ggemm_context_options) -> Result<R>) -> Result<R> {
        let c_path = |name: &str, path: &Option<PathBuf>| match path {
            None => Ok(None),
            Some(path) => CString::new(path.as_os_str().as_bytes())
                .map(Some)
                .map_err(|_| Error::argument(format!("{name}={} holds a NUL", path.display()))),
        };
        let cache_dir = c_path("cache_dir", &self.cache_dir)?;
        let shared_cache_dir = c_path("shared_cache_dir", &self.shared_cache_dir)?;
        let nvrtc_path = c_path("nvrtc_path", &self.nvrtc_path)?;
        let cblas_path = c_path("cblas_path", &self.cblas_path)?;
        let pointer = crate::problem::text_pointer;
        let mut options = sys::GGEMM_CONTEXT_OPTIONS_INIT;
        options.device = self.device;
        options.ordinal = self.ordinal;
        options.cuda_context = self.cuda_context.map_or(ptr::null_mut(), NonNull::as_ptr);
        options.threads = self.threads;
        if let Some((level, log)) = &self.log {
            options.log_level = level.raw();
            options.log = Some(log_line);
            options.log_user = Arc::as_ptr(log).cast_mut().cast();
        }
        if let Some(allocator) = &self.allocator {
            options.allocate = Some(allocate);
            options.deallocate = Some(deallocate);
            options.allocator_user = Arc::as_ptr(allocator).cast_mut().cast();
        }
        options.cache_dir = pointer(cache_dir.as_deref());
        options.shared_cache_dir = pointer(shared_cache_dir.as_deref());
        options.cache_limit_bytes = self.cache_limit_bytes;
        options.nvrtc_path = pointer(nvrtc_path.as_deref());
        options.cblas_path = pointer(cblas_path.as_deref());
        call(&options)
    }
}

impl fmt::Debug for ContextBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextBuilder")
            .field("device", &self.device)
            .field("ordinal", &self.ordinal)
            .field("threads", &self.threads)
            .field("cache_dir", &self.cache_dir)
            .field("shared_cache_dir", &self.shared_cache_dir)
            .field("nvrtc_path", &self.nvrtc_path)
            .field("cblas_path", &self.cblas_path)
            .finish_non_exhaustive()
    }
}

/// Something that [`ContextBuilder::diagnose`] looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// `"driver"`, `"device 0"`, `"nvrtc"`, `"cblas"`, `"cache"` ...
    pub component: String,
    /// Whether it is there.
    pub found: bool,
    /// Whether something does not work without it.
    pub needed: bool,
    /// Version and path, or every path that was tried.
    pub detail: String,
    /// What to install or set; empty when nothing is missing.
    pub advice: String,
}
