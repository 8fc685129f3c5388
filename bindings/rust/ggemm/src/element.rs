// SPDX-License-Identifier: Apache-2.0
//! Element types.

use std::{ffi::CStr, fmt};

use ggemm_sys as sys;

use crate::{error::check, Error, Result};

/// The type of a matrix's elements, where it is known at run time only.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// `f64`
    F64,
    /// `f32`
    F32,
    /// IEEE 754 binary16, `half::f16`
    F16,
    /// The upper half of binary32, `half::bf16`
    Bf16,
    /// [`E4M3`]
    E4M3,
    /// [`E5M2`]
    E5M2,
    /// `i8`
    I8,
    /// `i32`: C, D and bias only
    I32,
}

impl DType {
    pub(crate) const fn raw(self) -> sys::ggemm_dtype {
        match self {
            Self::F64 => sys::GGEMM_F64,
            Self::F32 => sys::GGEMM_F32,
            Self::F16 => sys::GGEMM_F16,
            Self::Bf16 => sys::GGEMM_BF16,
            Self::E4M3 => sys::GGEMM_E4M3,
            Self::E5M2 => sys::GGEMM_E5M2,
            Self::I8 => sys::GGEMM_I8,
            Self::I32 => sys::GGEMM_I32,
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::E4M3 | Self::E5M2 | Self::I8 => 1,
        }
    }

    /// `"f64"`, `"f32"`, `"f16"`, `"bf16"`, `"e4m3"`, `"e5m2"`, `"i8"` or `"i32"`.
    #[must_use]
    pub fn name(self) -> &'static str {
        dtype_name(self.raw())
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(crate) fn dtype_name(dtype: sys::ggemm_dtype) -> &'static str {
    // SAFETY: static and never NULL; ASCII.
    unsafe { CStr::from_ptr(sys::ggemm_dtype_name(dtype)) }.to_str().unwrap_or("none")
}

/// A type of elements.
///
/// # Safety
/// The type has the size, the alignment and the meaning of [`DTYPE`](Element::DTYPE), and every pattern of bits is a
/// value of it.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// What it is to ggemm.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty: $dtype:ident),* $(,)?) => {$(
        // SAFETY: this is the type that the header means.
        unsafe impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}
elements! { f64: F64, f32: F32, E4M3: E4M3, E5M2: E5M2, i8: I8, i32: I32 }
#[cfg(feature = "half")]
elements! { half::f16: F16, half::bf16: Bf16 }

macro_rules! float8 {
    ($(#[doc = $doc:literal] $name:ident),* $(,)?) => {$(
        #[doc = $doc]
        /// A byte with a meaning: no arithmetic; [`convert`] converts whole slices.
        #[derive(Copy, Clone, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The value with these bits.
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }
            /// Its bits.
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }
            /// Rounded to nearest even; what is too large becomes the largest finite value, NaN stays NaN.
            #[must_use]
            pub fn from_f32(value: f32) -> Self {
                convert_one(value)
            }
            /// Its value, exactly.
            #[must_use]
            pub fn to_f32(self) -> f32 {
                convert_one(self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.to_f32())
            }
        }
    )*};
}
float8! {
    /// OCP 8-bit float with 4 exponent bits: no infinity, largest 448.
    E4M3,
    /// OCP 8-bit float with 5 exponent bits: largest finite 57344.
    E5M2,
}

fn convert_one<S: Element, D: Element + Default>(source: S) -> D {
    let mut destination = [D::default()];
    convert(&[source], &mut destination).expect("lengths agree");
    destination[0]
}

/// Converts as the products convert what they store: rounded to nearest even; integers and the fp8 types saturate (NaN
/// becomes 0 in integers and stays NaN in floats), `f16` and `bf16` overflow to infinity.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument): the slices are of different lengths.
///
/// ```
/// use ggemm::E4M3;
///
/// let mut small = [E4M3::default(); 3];
/// ggemm::convert(&[0.3_f32, -1000.0, f32::NAN], &mut small)?;
/// assert_eq!(small[0].to_f32(), 0.3125);
/// assert_eq!(small[1].to_f32(), -448.0);
/// assert!(small[2].to_f32().is_nan());
/// # Ok::<(), ggemm::Error>(())
/// ```
pub fn convert<S: Element, D: Element>(source: &[S], destination: &mut [D]) -> Result<()> {
    if source.len() != destination.len() {
        return Err(Error::argument(format!(
            "the source has {} elements, the destination {}",
            source.len(),
            destination.len()
        )));
    }
    // SAFETY: both slices have that many elements of these types and, being borrowed so, do not overlap.
    check(unsafe {
        sys::ggemm_convert(
            D::DTYPE.raw(),
            destination.as_mut_ptr().cast(),
            S::DTYPE.raw(),
            source.as_ptr().cast(),
            source.len(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_librarys() {
        use DType::*;
        for dtype in [F64, F32, F16, Bf16, E4M3, E5M2, I8, I32] {
            // SAFETY: takes a number.
            assert_eq!(dtype.size(), unsafe { sys::ggemm_dtype_size(dtype.raw()) }, "{dtype}");
            assert_eq!(dtype.name(), format!("{dtype:?}").to_lowercase());
        }
    }

    #[test]
    fn lengths_must_agree() {
        let error = convert(&[1.0_f32; 3], &mut [0_i8; 2]).unwrap_err();
        assert_eq!(error.to_string(), "the source has 3 elements, the destination 2");
    }

    #[test]
    fn integers_saturate() {
        let mut bytes = [1_i8; 4];
        convert(&[300.0_f64, -300.0, f64::NAN, 2.5], &mut bytes).unwrap();
        assert_eq!(bytes, [127, -128, 0, 2]);
    }
}
