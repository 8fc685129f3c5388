// SPDX-License-Identifier: Apache-2.0
//! Devices.

use std::{
    any::Any,
    fmt,
    ptr::{self, NonNull},
    sync::{Arc, Mutex, PoisonError},
};

use ggemm_sys as sys;

use crate::{
    device::{device_info, DeviceAllocator, DeviceInfo, DeviceKind},
    error::check,
    log::{log_line, LogFn, LogLevel},
    ContextBuilder, Error, Result,
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
pub(crate) struct Keep {
    pub(crate) _allocator: Option<Arc<Box<dyn DeviceAllocator>>>,
    pub(crate) _owner: Option<Box<dyn Any + Send + Sync>>,
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

    /// Takes a context that was just made, and what it refers to.
    pub(crate) fn of(raw: *mut sys::ggemm_context, log: Option<Arc<LogFn>>, keep: Keep) -> Result<Self> {
        let raw = NonNull::new(raw).expect("a context, as the status says");
        let logs = Mutex::new(log.into_iter().collect());
        let mut inner = Inner { raw, kind: DeviceKind::Host, logs, _keep: keep };
        inner.kind = device_info(inner.raw.as_ptr())?.kind;
        Ok(Self { inner: Arc::new(inner) })
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
