// SPDX-License-Identifier: Apache-2.0
//! What a context runs on, and where its memory may come from.

use std::{
    ffi::c_void,
    panic::{catch_unwind, AssertUnwindSafe},
    ptr::NonNull,
};

use ggemm_sys as sys;

use crate::{callback::array_text, error::check, Result};

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

pub(crate) fn device_info(context: *mut sys::ggemm_context) -> Result<DeviceInfo> {
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

pub(crate) unsafe extern "C" fn allocate(
    user: *mut c_void,
    bytes: usize,
    stream: *mut c_void,
    out: *mut *mut c_void,
) -> i32 {
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

pub(crate) unsafe extern "C" fn deallocate(user: *mut c_void, pointer: *mut c_void, bytes: usize, stream: *mut c_void) {
    // SAFETY: `user` is the allocator that the context keeps.
    let allocator = unsafe { &*user.cast::<Box<dyn DeviceAllocator>>() };
    let Some(pointer) = NonNull::new(pointer) else { return };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| allocator.deallocate(pointer, bytes, stream))) {
        std::mem::forget(panic); // as in log_line
    }
}
