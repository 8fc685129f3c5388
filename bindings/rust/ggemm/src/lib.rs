// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bias;
mod builder;
mod cache;
mod callback;
mod config;
mod context;
#[cfg(feature = "cudarc")]
pub mod cudarc;
mod device;
mod device_groups;
mod device_slice;
mod element;
mod epilogue;
mod error;
mod fault;
mod gemm;
mod group_memory;
mod grouped;
mod grouped_problem;
mod log;
mod matrix;
mod plan;
mod problem;
mod scale;
mod stream;
mod tile;
mod tune;

use std::ffi::{CStr, CString};

pub use bias::Bias;
pub use builder::{ContextBuilder, Finding};
pub use cache::CacheEntry;
pub use config::Config;
pub use context::Context;
pub use device::{DeviceAllocator, DeviceInfo, DeviceKind};
pub use device_groups::{DeviceGroups, GroupedPlan};
pub use device_slice::{DeviceSlice, DeviceSliceMut};
pub use element::{convert, DType, Element, E4M3, E5M2};
pub use epilogue::{Activation, Compute, Gate};
pub use error::{Error, ErrorKind, Result};
pub use fault::{Fault, FaultKind};
pub use gemm::Gemm;
pub use ggemm_sys as sys;
pub use group_memory::{GroupItem, GroupMemory};
pub use grouped::{Group, Grouped};
pub use grouped_problem::{GroupScale, GroupStride, GroupedProblem, Source};
pub use log::LogLevel;
pub use matrix::{Device, Host, Mat, MatMut, Untyped};
pub use plan::{Plan, PlanRun};
pub use problem::{BiasKind, GemmProblem, Layout, Problem};
pub use scale::{Scale, ScaleKind};
pub use stream::Stream;
pub use tile::{Tile, TileGrid};
pub use tune::{Prepare, Progress, Tune, TuneRow, Tuned};

/// The library's version, such as `"0.1.0"`.
#[must_use]
pub fn version() -> &'static str {
    // SAFETY: static and never NULL.
    unsafe { CStr::from_ptr(sys::ggemm_version_string()) }.to_str().unwrap_or_default()
}

/// The same as a number that grows from version to version: major * 10000 + minor * 100 + patch.
#[must_use]
pub fn version_number() -> i32 {
    // SAFETY: takes nothing.
    unsafe { sys::ggemm_version() }
}

/// Whether this build of the library has a feature: `"host"`, `"cuda"`, `"plain"`, `"grouped"`, `"grouped-forms"`,
/// `"row-index"`, `"checked"`, `"tune"`, `"prepare"`, `"tile-order"`, `"disk-cache"`, `"activations"`, `"bias"`, `"scales"`,
/// `"gated-pairs"` so far.
#[must_use]
pub fn has_feature(name: &str) -> bool {
    let Ok(name) = CString::new(name) else { return false };
    // SAFETY: a text.
    unsafe { sys::ggemm_has_feature(name.as_ptr()) != 0 }
}

/// Operands of both memories in one product:
/// ```compile_fail,E0308
/// # use ggemm::{Context, DeviceSlice, Mat, MatMut};
/// # let (context, a, mut d) = (Context::host().unwrap(), [1.0_f32], [0.0_f32]);
/// # let b = unsafe { DeviceSlice::from_raw_parts(a.as_ptr(), 1) };
/// context.gemm(Mat::row_major(&a, 1, 1), b.row_major(1, 1), MatMut::row_major(&mut d, 1, 1));
/// ```
/// A safe run in device memory:
/// ```compile_fail,E0599
/// # use ggemm::{Context, DeviceSlice, DeviceSliceMut};
/// # let (context, a, mut d) = (Context::host().unwrap(), [1.0_f32], [0.0_f32]);
/// # let (a, d) = unsafe { (DeviceSlice::from_raw_parts(a.as_ptr(), 1), DeviceSliceMut::from_raw_parts(d.as_mut_ptr(), 1)) };
/// context.gemm(a.row_major(1, 1), a.row_major(1, 1), d.row_major(1, 1)).run();
/// ```
/// A result that is an operand too:
/// ```compile_fail,E0502
/// # use ggemm::{Context, Mat, MatMut};
/// # let (context, mut d) = (Context::host().unwrap(), [1.0_f32]);
/// context.gemm(Mat::row_major(&d, 1, 1), Mat::row_major(&d, 1, 1), MatMut::row_major(&mut d, 1, 1)).run();
/// ```
/// An operand that is gone:
/// ```compile_fail,E0597
/// # use ggemm::{Context, Mat, MatMut};
/// # let (context, mut d) = (Context::host().unwrap(), [1.0_f32]);
/// let product = {
///     let a = vec![1.0_f32];
///     context.gemm(Mat::row_major(&a, 1, 1), Mat::row_major(&a, 1, 1), MatMut::row_major(&mut d, 1, 1))
/// };
/// product.run();
/// ```
#[cfg(doctest)]
struct MustNotCompile;

/// The language's page of the repository, whose snippets are tests.
#[cfg(all(doctest, feature = "half", feature = "cudarc"))]
#[doc = include_str!("../../../../docs/rust.md")]
struct Guide;
