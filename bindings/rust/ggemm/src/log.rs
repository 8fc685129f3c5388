// SPDX-License-Identifier: Apache-2.0
//! Lines of log.

use std::{
    ffi::{c_char, c_void},
    panic::{catch_unwind, AssertUnwindSafe},
};

use ggemm_sys as sys;

use crate::callback::text;

/// How much a line of log matters.
#[derive(Debug, Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// So far unused: failures are errors that calls return.
    Error,
    /// Soft failures, such as a cache that cannot be written, or a configuration passed over because its kernel fails.
    Warning,
    /// Compiles, loads, tunings, and fallbacks such as the host where no CUDA device is usable.
    Info,
    /// Kernels read from the disk cache.
    Debug,
}

impl LogLevel {
    pub(crate) fn raw(self) -> sys::ggemm_log_level {
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

pub(crate) type LogFn = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

pub(crate) unsafe extern "C" fn log_line(user: *mut c_void, level: sys::ggemm_log_level, message: *const c_char) {
    // SAFETY: `user` is a LogFn that lives as long as the context, `message` a text that lives as long as this call.
    let (log, message) = unsafe { (&*user.cast::<LogFn>(), text(message)) };
    // The line may come from any thread, also one of the library's, so there is no caller to go on panicking in. The
    // panic hook has told of it; its payload is not dropped, as that could panic again.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| log(LogLevel::of(level), &message))) {
        std::mem::forget(panic);
    }
}
