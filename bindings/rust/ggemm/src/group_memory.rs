// SPDX-License-Identifier: Apache-2.0
//! What grouped launches take their operands as.

use std::marker::PhantomData;

use ggemm_sys as sys;

use crate::{element::dtype_name, DType, DeviceSlice, DeviceSliceMut, Error, E4M3, E5M2};

/// What the memory of a grouped operand may hold: addresses, of eight bytes each, or elements.
pub trait GroupItem: sealed::Sealed {
    /// The elements' type; `None` for addresses.
    const ELEMENTS: Option<DType>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! group_memory {
    ($($(#[$attribute:meta])* $type:ty: $elements:expr),* $(,)?) => {$(
        $(#[$attribute])*
        impl sealed::Sealed for $type {}
        $(#[$attribute])*
        impl GroupItem for $type {
            const ELEMENTS: Option<DType> = $elements;
        }
    )*};
}
group_memory! {
    u64: None,
    f64: Some(DType::F64),
    f32: Some(DType::F32),
    E4M3: Some(DType::E4M3),
    E5M2: Some(DType::E5M2),
    i8: Some(DType::I8),
    i32: Some(DType::I32),
    #[cfg(feature = "half")]
    half::f16: Some(DType::F16),
    #[cfg(feature = "half")]
    half::bf16: Some(DType::Bf16),
}
impl<T> sealed::Sealed for *const T {}
impl<T> GroupItem for *const T {
    const ELEMENTS: Option<DType> = None;
}
impl<T> sealed::Sealed for *mut T {}
impl<T> GroupItem for *mut T {
    const ELEMENTS: Option<DType> = None;
}

/// The memory of a grouped operand: an array of addresses, or elements. Made by `From` of a [`DeviceSlice`] of either.
#[derive(Debug, Copy, Clone)]
pub struct GroupMemory<'a> {
    pub(crate) data: *const u8,
    pub(crate) len: usize,
    pub(crate) elements: Option<DType>,
    marker: PhantomData<&'a u8>,
}

impl<'a, T: GroupItem> From<DeviceSlice<'a, T>> for GroupMemory<'a> {
    fn from(slice: DeviceSlice<'a, T>) -> Self {
        Self { data: slice.data.cast(), len: slice.len, elements: T::ELEMENTS, marker: PhantomData }
    }
}

impl<'a> GroupMemory<'a> {
    pub(crate) fn written(slice: &DeviceSliceMut<'a, i32>) -> Self {
        let data = slice.data.cast_const().cast();
        Self { data, len: slice.len, elements: Some(DType::I32), marker: PhantomData }
    }

    #[cold]
    pub(crate) fn is_not(&self, name: &str, wanted: sys::ggemm_dtype) -> Error {
        let holds = self.elements.map_or("addresses", DType::name);
        let wanted = if wanted == sys::GGEMM_DTYPE_NONE { "addresses" } else { dtype_name(wanted) };
        Error::argument(format!("{name} holds {holds}, the problem takes {wanted}"))
    }
}
