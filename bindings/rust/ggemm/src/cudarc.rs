// SPDX-License-Identifier: Apache-2.0
//! Operands from [cudarc](https://docs.rs/cudarc)'s device slices, launches on its streams.
//!
//! [`read`] and [`write`](fn@write) ask cudarc for an address, with the ordering between streams that it keeps: they make the stream
//! wait for earlier uses of the slice, and when they are dropped, after the launch, they record its use.
//!
//! ```no_run
//! use ggemm::{cudarc as gc, Context};
//! use half::bf16;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cuda = cudarc::driver::CudaContext::new(0)?;
//! let stream = cuda.default_stream();
//! let (m, n, k) = (4096, 4096, 4096);

//! # let a = unsafe { stream.alloc::<f32>(m * k)? };
//! # let b = unsafe { stream.alloc::<f32>(n * k)? };
//! # let mut d = unsafe { stream.alloc::<f32>(m * n)? };
//!
//! let context = Context::builder().cudarc(&cuda).build()?;
//! {
//!     let (a, b, mut d) = (gc::read(&a, &stream), gc::read(&b, &stream), gc::write(&mut d, &stream));
//!     let product = context.gemm(a.slice().row_major(m, k), b.slice().row_major(n, k).t(), d.slice().row_major(m, n));
//!     // SAFETY: all of it belongs to this stream, which is synchronised before the context goes.
//!     unsafe { product.on(&stream).launch()? };
//! }
//! stream.synchronize()?;
//! # Ok(())
//! # }
//! ```

use std::{ptr::NonNull, sync::Arc};

use ::cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};

use crate::{ContextBuilder, DeviceSlice, DeviceSliceMut, Stream};

/// Device memory that a launch on a stream reads. Keep it until after the launch.
#[must_use = "dropping it records the use of the slice, which must be after the launch"]
pub struct Read<'a, T> {
    slice: DeviceSlice<'a, T>,
    _sync: SyncOnDrop<'a>,
}

/// Device memory that a launch on a stream writes. Keep it until after the launch.
#[must_use = "dropping it records the use of the slice, which must be after the launch"]
pub struct Write<'a, T> {
    data: *mut T,
    len: usize,
    _sync: SyncOnDrop<'a>,
}

/// A `CudaSlice`, or a view of one, to be read on the stream.
pub fn read<'a, T>(slice: &'a impl DevicePtr<T>, stream: &'a CudaStream) -> Read<'a, T> {
    let len = slice.len();
    let (address, sync) = slice.device_ptr(stream);
    // SAFETY: cudarc's own slice, borrowed for 'a.
    Read { slice: unsafe { DeviceSlice::from_raw_parts(address as *const T, len) }, _sync: sync }
}

/// A `CudaSlice`, or a view of one, to be written on the stream.
pub fn write<'a, T>(slice: &'a mut impl DevicePtrMut<T>, stream: &'a CudaStream) -> Write<'a, T> {
    let len = slice.len();
    let (address, sync) = slice.device_ptr_mut(stream);
    Write { data: address as *mut T, len, _sync: sync }
}

impl<T> Read<'_, T> {
    /// As an operand, or as an array of addresses (`u64`).
    #[must_use]
    pub fn slice(&self) -> DeviceSlice<'_, T> {
        self.slice
    }
}

impl<T> Write<'_, T> {
    /// As the result.
    #[must_use]
    pub fn slice(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: cudarc's own slice, borrowed mutably for longer than this.
        unsafe { DeviceSliceMut::from_raw_parts(self.data, self.len) }
    }
}

impl<T> std::fmt::Debug for Read<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Read").field("len", &self.slice.len).finish_non_exhaustive()
    }
}

impl<T> std::fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Write").field("len", &self.len).finish_non_exhaustive()
    }
}

impl From<&CudaStream> for Stream {
    fn from(stream: &CudaStream) -> Self {
        Self::from_raw(stream.cu_stream().cast())
    }
}

impl From<&Arc<CudaStream>> for Stream {
    fn from(stream: &Arc<CudaStream>) -> Self {
        Self::from(&**stream)
    }
}

impl ContextBuilder {
    /// The device and the CUDA context of a cudarc context, which lives as long as the context that is built.
    pub fn cudarc(self, context: &Arc<CudaContext>) -> Self {
        let raw = NonNull::new(context.cu_ctx().cast()).expect("cudarc's contexts are not null");
        // SAFETY: a CUDA context that the owner kept here keeps alive.
        unsafe { self.cuda_context(raw) }.owner(Arc::clone(context))
    }
}
