// SPDX-License-Identifier: Apache-2.0
//! Devices.

use std::{
    any::Any,
    ffi::{c_char, c_void, CString},
    fmt,
    os::unix::ffi::OsStrExt,
    panic::{catch_unwind, AssertUnwindSafe},
    path::{Path, PathBuf},
    ptr::{self, NonNull},
    sync::{Arc, Mutex, PoisonError},
};

use ggemm_sys as sys;

use crate::{
    callback::{array_text, text, Guarded},
    error::check,
    Error, Result,
};

/// One device with its kernels, its caches and what it has learned by tuning.
///
/// A handle: clones share one context, which ends with the last of its clones and of the plans made from it. It may be
/// used from any number of threads at once.
///
/// A context with a CUDA device does not survive `fork`. When the last handle goes, launched work must be complete, and
/// graphs that captured it must not be launched again.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    raw: NonNull<sys::ggemm_context>,
    kind: DeviceKind,
    /// Every log function that was ever set: a line in flight may still reach a former one.
    logs: Mutex<Vec<Arc<LogFn>>>,
    _keep: Keep,
}

/// What the C context refers to until it is destroyed.
struct Keep {
    _allocator: Option<Arc<Box<dyn DeviceAllocator>>>,
    _owner: Option<Box<dyn Any + Send + Sync>>,
}

// SAFETY: the C interface allows a context in any thread; what else is here is Send and Sync by itself.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the last use of it; plans hold a handle, so none is left.
        unsafe { sys::ggemm_context_destroy(self.raw.as_ptr()) }
    }
}

impl Context {
    /// The CPU: for products of slices.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) and the like only.
    pub fn host() -> Result<Self> {
        Self::builder().host().build()
    }

    /// The CUDA device of this ordinal: for products in device memory.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device): it cannot be used; the text lists every library and device tried.
    pub fn cuda(ordinal: i32) -> Result<Self> {
        Self::builder().cuda(ordinal).build()
    }

    /// The first CUDA device if there is a usable one, else the CPU; [`device`](Context::device) says which.
    ///
    /// # Errors
    /// As [`host`](Context::host).
    pub fn best() -> Result<Self> {
        Self::builder().build()
    }

    /// For everything that may be set.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// What it runs on.
    ///
    /// # Errors
    /// [`ErrorKind::Version`](crate::ErrorKind::Version) only.
    pub fn device(&self) -> Result<DeviceInfo> {
        device_info(self.raw())
    }

    /// Whether it is a GPU or the CPU.
    #[must_use]
    pub fn kind(&self) -> DeviceKind {
        self.inner.kind
    }

    /// Replaces the log function, as [`ContextBuilder::log`] sets it.
    ///
    /// # Errors
    /// None to be expected.
    pub fn set_log(&self, level: LogLevel, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Result<()> {
        let log: Arc<LogFn> = Arc::new(Box::new(log));
        let user = Arc::as_ptr(&log).cast_mut().cast();
        self.inner.logs.lock().unwrap_or_else(PoisonError::into_inner).push(log);
        // SAFETY: the function lives as long as the context.
        check(unsafe { sys::ggemm_context_set_log(self.raw(), Some(log_line), user, level.raw()) })
    }

    /// Ends the log.
    ///
    /// # Errors
    /// None to be expected.
    pub fn clear_log(&self) -> Result<()> {
        // SAFETY: no function is handed over.
        check(unsafe { sys::ggemm_context_set_log(self.raw(), None, ptr::null_mut(), 0) })
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut sys::ggemm_context {
        self.inner.raw.as_ptr()
    }

    /// Refuses host slices where they cannot be read.
    #[inline]
    pub(crate) fn check_host(&self) -> Result<()> {
        match self.inner.kind {
            DeviceKind::Host => Ok(()),
            DeviceKind::Cuda => Err(self.refuse_host()),
        }
    }

    #[cold]
    fn refuse_host(&self) -> Error {
        let device = self.device().map_or_else(|_| "a CUDA device".into(), |info| info.name);
        Error::argument(format!(
            "the operands are host slices, the context runs on {device}: give device memory and launch(), or use Context::host()"
        ))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("kind", &self.inner.kind).finish_non_exhaustive()
    }
}

/// GPU or CPU.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// A CUDA device: operands in its memory, calls asynchronous on a stream.
    Cuda,
    /// The CPU: operands in ordinary memory, calls complete on return.
    Host,
}

/// What a context runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// GPU or CPU.
    pub kind: DeviceKind,
    /// CUDA's number of it.
    pub ordinal: i32,
    /// `"NVIDIA H200"`, or the CPU's model.
    pub name: String,
    /// major * 10 + minor; 0 on the host.
    pub compute_capability: i32,
    /// 0 on the host.
    pub multiprocessors: i32,
    /// Host threads that the context may use.
    pub threads: i32,
    /// The CUDA driver's, major * 1000 + minor * 10; 0 on the host.
    pub driver_version: i32,
    /// Device memory in all.
    pub memory_bytes: u64,
    /// 0 on the host.
    pub l2_bytes: u64,
    /// Largest per CTA; 0 on the host.
    pub shared_memory_bytes: u64,
    /// What kernels are compiled for, such as `"sm_90a"`; empty on the host.
    pub arch: String,
    /// CBLAS in use on the host device; empty if none.
    pub blas: String,
}

fn device_info(context: *mut sys::ggemm_context) -> Result<DeviceInfo> {
    let mut info = sys::GGEMM_DEVICE_INFO_INIT;
    // SAFETY: a live context, and a struct that says its size.
    check(unsafe { sys::ggemm_context_device(context, &mut info) })?;
    Ok(DeviceInfo {
        kind: if info.kind == sys::GGEMM_DEVICE_CUDA { DeviceKind::Cuda } else { DeviceKind::Host },
        ordinal: info.ordinal,
        name: array_text(&info.name),
        compute_capability: info.compute_capability,
        multiprocessors: info.multiprocessors,
        threads: info.threads,
        driver_version: info.driver_version,
        memory_bytes: info.memory_bytes as u64,
        l2_bytes: info.l2_bytes as u64,
        shared_memory_bytes: info.shared_memory_bytes as u64,
        arch: array_text(&info.arch),
        blas: array_text(&info.blas),
    })
}

/// How much a line of log matters.
#[derive(Debug, Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Soft failures, such as a cache that cannot be written.
    Warning,
    /// Compiles, loads, choices of configuration.
    Info,
    /// Cache hits and misses, candidates passed over.
    Debug,
}

impl LogLevel {
    fn raw(self) -> sys::ggemm_log_level {
        match self {
            Self::Error => sys::GGEMM_LOG_ERROR,
            Self::Warning => sys::GGEMM_LOG_WARNING,
            Self::Info => sys::GGEMM_LOG_INFO,
            Self::Debug => sys::GGEMM_LOG_DEBUG,
        }
    }

    fn of(raw: sys::ggemm_log_level) -> Self {
        match raw {
            sys::GGEMM_LOG_ERROR => Self::Error,
            sys::GGEMM_LOG_WARNING => Self::Warning,
            sys::GGEMM_LOG_INFO => Self::Info,
            _ => Self::Debug,
        }
    }
}

type LogFn = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

unsafe extern "C" fn log_line(user: *mut c_void, level: sys::ggemm_log_level, message: *const c_char) {
    // SAFETY: `user` is a LogFn that lives as long as the context, `message` a text that lives as long as this call.
    let (log, message) = unsafe { (&*user.cast::<LogFn>(), text(message)) };
    // The line may come from any thread, also one of the library's, so there is no caller to go on panicking in. The
    // panic hook has told of it; its payload is not dropped, as that could panic again.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| log(LogLevel::of(level), &message))) {
        std::mem::forget(panic);
    }
}

/// Where a CUDA context takes device memory from. The products need none of the library's; tuning does.
///
/// # Safety
/// [`allocate`](DeviceAllocator::allocate) answers with device memory of the context's device that is aligned to 256
/// bytes, at least as large as asked for, usable on the stream, and nobody else's until it is given back.
pub unsafe trait DeviceAllocator: Send + Sync {
    /// So many bytes for work on this CUDA stream, or `None` if they cannot be had. A panic counts as `None`.
    fn allocate(&self, bytes: usize, stream: *mut c_void) -> Option<NonNull<c_void>>;
    /// Takes back what [`allocate`](DeviceAllocator::allocate) gave. Must not panic: memory would be lost.
    fn deallocate(&self, pointer: NonNull<c_void>, bytes: usize, stream: *mut c_void);
}

unsafe extern "C" fn allocate(user: *mut c_void, bytes: usize, stream: *mut c_void, out: *mut *mut c_void) -> i32 {
    // SAFETY: `user` is the allocator that the context keeps.
    let allocator = unsafe { &*user.cast::<Box<dyn DeviceAllocator>>() };
    match catch_unwind(AssertUnwindSafe(|| allocator.allocate(bytes, stream))) {
        Ok(Some(pointer)) => {
            // SAFETY: a place for the address.
            unsafe { out.write(pointer.as_ptr()) };
            0
        }
        Ok(None) => 1,
        Err(panic) => {
            std::mem::forget(panic); // as in log_line
            1
        }
    }
}

unsafe extern "C" fn deallocate(user: *mut c_void, pointer: *mut c_void, bytes: usize, stream: *mut c_void) {
    // SAFETY: `user` is the allocator that the context keeps.
    let allocator = unsafe { &*user.cast::<Box<dyn DeviceAllocator>>() };
    let Some(pointer) = NonNull::new(pointer) else { return };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| allocator.deallocate(pointer, bytes, stream))) {
        std::mem::forget(panic); // as in log_line
    }
}

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
        let raw = NonNull::new(raw).expect("a context, as the status says");
        let mut inner = Inner {
            raw,
            kind: DeviceKind::Host,
            logs: Mutex::new(self.log.into_iter().map(|(_, log)| log).collect()),
            _keep: Keep { _allocator: self.allocator, _owner: self.owner },
        };
        inner.kind = device_info(inner.raw.as_ptr())?.kind;
        Ok(Context { inner: Arc::new(inner) })
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
