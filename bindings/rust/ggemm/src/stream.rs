// SPDX-License-Identifier: Apache-2.0
//! CUDA streams, as addresses.

use std::ffi::c_void;

/// A CUDA stream (a `CUstream`): what launches are ordered by. Nothing is owned.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Stream(*mut c_void);

// SAFETY: an address, which only unsafe launches use.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// CUDA's legacy default stream.
    pub const DEFAULT: Self = Self(std::ptr::null_mut());

    /// This `CUstream`.
    #[must_use]
    pub const fn from_raw(stream: *mut c_void) -> Self {
        Self(stream)
    }

    /// The `CUstream`.
    #[must_use]
    pub const fn as_raw(self) -> *mut c_void {
        self.0
    }
}
