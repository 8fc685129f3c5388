// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]
#![no_std]
#![allow(non_camel_case_types)]

/// What bindgen makes of `ggemm.h`. Kept as a file of the crate: nobody needs libclang to use it.
#[rustfmt::skip]
mod bindings;
mod init;

pub use bindings::*;
pub use init::*;

/// As a row stride: packed row-major, so the number of columns. As a column stride: 1.
pub const GGEMM_PACKED: i64 = i64::MIN;
