// SPDX-License-Identifier: Apache-2.0
//! Errors: a kind to act on and ggemm's sentence to read.

use std::{ffi::CStr, fmt};

use ggemm_sys as sys;

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, grouped by what the caller does next.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is wrong: correct it.
    Argument,
    /// A right request that this device or build cannot serve.
    Unsupported,
    /// Needs a compile or an allocation that is not allowed during stream capture: prepare first.
    NotPrepared,
    /// Host or device memory is used up.
    OutOfMemory,
    /// NVRTC is missing or refused a kernel; the text has its log.
    Compile,
    /// The driver refused a load or a launch.
    Launch,
    /// No usable device or driver; the text lists what was tried.
    Device,
    /// These bindings and the library are of incompatible versions.
    Version,
    /// A callback asked to stop.
    Cancelled,
    /// A defect of ggemm: please report it.
    Internal,
}

/// A failed call: its [kind](Error::kind), and as text the sentence that names the field and the values.
///
/// ```
/// use ggemm::{Context, ErrorKind, Mat, MatMut};
///
/// let context = Context::host()?;
/// let (a, b, mut d) = ([1.0_f32; 6], [1.0_f32; 8], [0.0_f32; 8]);
/// let error = context
///     .gemm(Mat::row_major(&a, 2, 3), Mat::row_major(&b, 2, 4), MatMut::row_major(&mut d, 2, 4))
///     .run()
///     .unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Argument);
/// assert_eq!(error.to_string(), "k differs: A is 2x3 (k=3), B is 2x4 (k=2)");
/// # Ok::<(), ggemm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    text: Box<str>,
}

impl Error {
    /// What to do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn argument(text: impl Into<Box<str>>) -> Self {
        Self { kind: ErrorKind::Argument, text: text.into() }
    }

    /// The error of a call that has just failed in this thread.
    #[cold]
    fn last(status: sys::ggemm_status) -> Self {
        let kind = match status {
            sys::GGEMM_ERROR_ARGUMENT => ErrorKind::Argument,
            sys::GGEMM_ERROR_UNSUPPORTED => ErrorKind::Unsupported,
            sys::GGEMM_ERROR_NOT_PREPARED => ErrorKind::NotPrepared,
            sys::GGEMM_ERROR_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
            sys::GGEMM_ERROR_COMPILE => ErrorKind::Compile,
            sys::GGEMM_ERROR_LAUNCH => ErrorKind::Launch,
            sys::GGEMM_ERROR_DEVICE => ErrorKind::Device,
            sys::GGEMM_ERROR_VERSION => ErrorKind::Version,
            sys::GGEMM_ERROR_CANCELLED => ErrorKind::Cancelled,
            _ => ErrorKind::Internal,
        };
        // SAFETY: never NULL, and valid until this thread's next failure.
        let text = unsafe { CStr::from_ptr(sys::ggemm_last_error()) };
        Self { kind, text: text.to_string_lossy().into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// Turns the status of a call that has just returned into a result.
#[inline]
pub(crate) fn check(status: sys::ggemm_status) -> Result<()> {
    if status == sys::GGEMM_OK {
        Ok(())
    } else {
        Err(Error::last(status))
    }
}
