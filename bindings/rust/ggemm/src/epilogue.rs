// SPDX-License-Identifier: Apache-2.0
//! What follows the product, and the scalars in it.

use std::ptr;

use ggemm_sys as sys;

use crate::{DType, DeviceSlice, Element, Error, Result};

/// A function that is applied to each element of alpha A B + beta C + bias.
#[derive(Debug, Copy, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Activation {
    /// x
    #[default]
    None,
    /// max(x, 0); NaN stays NaN
    Relu,
    /// x where x > 0, else slope x
    LeakyRelu {
        /// The factor of what is not above 0.
        slope: f64,
    },
    /// x/2 (1 + erf(x / sqrt 2))
    Gelu,
    /// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    GeluTanh,
    /// x / (1 + exp(-x))
    Silu,
    /// 1 / (1 + exp(-x))
    Sigmoid,
    /// tanh x
    Tanh,
    /// min(max(x, low), high); NaN stays NaN
    Clamp {
        /// The least result.
        low: f64,
        /// The greatest result, not below the least.
        high: f64,
    },
}

impl Activation {
    #[inline]
    fn raw(self) -> (sys::ggemm_activation, f64, f64) {
        match self {
            Self::None => (sys::GGEMM_ACTIVATION_NONE, 0.0, 0.0),
            Self::Relu => (sys::GGEMM_ACTIVATION_RELU, 0.0, 0.0),
            Self::LeakyRelu { slope } => (sys::GGEMM_ACTIVATION_LEAKY_RELU, slope, 0.0),
            Self::Gelu => (sys::GGEMM_ACTIVATION_GELU, 0.0, 0.0),
            Self::GeluTanh => (sys::GGEMM_ACTIVATION_GELU_TANH, 0.0, 0.0),
            Self::Silu => (sys::GGEMM_ACTIVATION_SILU, 0.0, 0.0),
            Self::Sigmoid => (sys::GGEMM_ACTIVATION_SIGMOID, 0.0, 0.0),
            Self::Tanh => (sys::GGEMM_ACTIVATION_TANH, 0.0, 0.0),
            Self::Clamp { low, high } => (sys::GGEMM_ACTIVATION_CLAMP, low, high),
        }
    }

    #[inline]
    pub(crate) fn write_to(self, epilogue: &mut sys::ggemm_epilogue_desc) {
        (epilogue.activation, epilogue.activation_p0, epilogue.activation_p1) = self.raw();
    }
}

/// How A and B are multiplied.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compute {
    /// In `f64` if A or B is `f64`; in wrapping `i32` if both are `i8`; else products and sums in `f32`, where `f32`
    /// inputs are exact.
    #[default]
    Default,
    /// `f32` inputs rounded to the nearest tf32 (10 explicit mantissa bits; which of two that are as near depends on the
    /// kernel), sums in `f32`, on tensor cores.
    Tf32,
    /// `f32` inputs with an error no larger than that of `f32` products and sums, on tensor cores: three bf16 terms of each.
    F32x3,
    /// fp8 products summed as fast as tensor cores can, which keep about 14 bits of a sum on compute capability 9.0.
    Fp8Fast,
}

impl Compute {
    #[inline]
    pub(crate) fn raw(self) -> sys::ggemm_compute {
        match self {
            Self::Default => sys::GGEMM_COMPUTE_DEFAULT,
            Self::Tf32 => sys::GGEMM_COMPUTE_TF32,
            Self::F32x3 => sys::GGEMM_COMPUTE_F32_ACCURATE,
            Self::Fp8Fast => sys::GGEMM_COMPUTE_FP8_FAST,
        }
    }
}

/// Gated pairs, as in SwiGLU (`Silu`) and GeGLU (`Gelu`): columns of the product come in pairs, and
/// D = act(x_gate) x_up has half as many, where x = alpha scale A B + bias. There is no C then.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Gate {
    /// No pairs.
    #[default]
    None,
    /// D's column j is of columns j (gate) and j + n/2 (up).
    Halves,
    /// D's column j is of columns 2j (gate) and 2j + 1 (up).
    Interleaved,
}

impl Gate {
    #[inline]
    pub(crate) fn raw(self) -> sys::ggemm_gate {
        match self {
            Self::None => sys::GGEMM_GATE_NONE,
            Self::Halves => sys::GGEMM_GATE_HALVES,
            Self::Interleaved => sys::GGEMM_GATE_INTERLEAVED,
        }
    }
}

/// D's columns, of B's.
#[inline]
pub(crate) fn output_cols(gate: sys::ggemm_gate, cols: usize) -> usize {
    if gate == sys::GGEMM_GATE_NONE {
        cols
    } else {
        cols / 2
    }
}

/// Alpha or beta.
#[derive(Debug, Copy, Clone)]
pub(crate) enum Scalar {
    Value(f64),
    /// NULL for an empty slice.
    OnDevice(*const u8, DType),
    /// One a group, and how many there are.
    OfGroups(*const u8, DType, usize),
}

/// Alpha and beta of a call, to be handed over in the type that the problem computes its epilogue in.
#[derive(Debug, Copy, Clone)]
pub(crate) struct Scalars {
    pub(crate) alpha: Scalar,
    pub(crate) beta: Scalar,
}

/// Scalars as the C interface takes them. Its pointers are good as long as the [`Storage`] that they were bound to.
pub(crate) struct BoundScalars {
    pub(crate) alpha: *const core::ffi::c_void,
    pub(crate) beta: *const core::ffi::c_void,
    pub(crate) on_device: u32,
}

/// Room for an alpha and a beta of any type.
pub(crate) type Storage = [u64; 2];

impl Scalar {
    pub(crate) fn at<T: Element>(slice: DeviceSlice<'_, T>) -> Self {
        Self::OnDevice(if slice.len == 0 { ptr::null() } else { slice.data.cast() }, T::DTYPE)
    }

    pub(crate) fn of_groups<T: Element>(slice: DeviceSlice<'_, T>) -> Self {
        Self::OfGroups(slice.data.cast(), T::DTYPE, slice.len)
    }

    /// Bytes from one group's to the next one's; fewer than there are groups is an error.
    pub(crate) fn byte_stride(self, name: &str, groups: usize) -> Result<i64> {
        match self {
            Self::OfGroups(_, _, len) if len < groups => {
                Err(Error::argument(format!("{name} has {len} numbers, the problem {groups} groups")))
            }
            Self::OfGroups(_, dtype, _) => Ok(dtype.size() as i64),
            _ => Ok(0),
        }
    }
}

impl Scalars {
    pub(crate) const DEFAULT: Self = Self { alpha: Scalar::Value(1.0), beta: Scalar::Value(0.0) };

    /// False only if C is certainly not read.
    #[inline]
    pub(crate) fn uses_c(&self) -> bool {
        !matches!(self.beta, Scalar::Value(0.0))
    }

    /// True if one is in device memory, where then both must be.
    #[inline]
    pub(crate) fn on_device(&self) -> bool {
        !matches!((self.alpha, self.beta), (Scalar::Value(_), Scalar::Value(_)))
    }

    #[inline]
    pub(crate) fn bind(&self, a: DType, b: DType, d: DType, storage: &mut Storage) -> Result<BoundScalars> {
        let on_device = self.on_device();
        let dtype = scalar_dtype(a, b, d);
        let [for_alpha, for_beta] = storage;
        Ok(BoundScalars {
            alpha: bind_one("alpha", &self.alpha, 1.0, dtype, on_device, for_alpha)?,
            beta: bind_one("beta", &self.beta, 0.0, dtype, on_device, for_beta)?,
            on_device: on_device.into(),
        })
    }
}

/// The type that alpha and beta are read in.
#[inline]
fn scalar_dtype(a: DType, b: DType, d: DType) -> DType {
    match (a, b, d) {
        (DType::F64, _, _) | (_, DType::F64, _) => DType::F64,
        (DType::I8, DType::I8, DType::I32) => DType::I32,
        _ => DType::F32,
    }
}

/// The address of a scalar, NULL if it is the default.
#[inline]
fn bind_one(
    name: &str,
    scalar: &Scalar,
    default: f64,
    dtype: DType,
    on_device: bool,
    storage: &mut u64,
) -> Result<*const core::ffi::c_void> {
    if matches!(scalar, Scalar::Value(value) if *value == default) {
        return Ok(ptr::null());
    }
    bind_other(name, scalar, dtype, on_device, storage)
}

fn bind_other(
    name: &str,
    scalar: &Scalar,
    dtype: DType,
    on_device: bool,
    storage: &mut u64,
) -> Result<*const core::ffi::c_void> {
    match *scalar {
        Scalar::Value(value) if on_device => Err(Error::argument(format!(
            "{name}={value} is a number while the other scalar is in device memory: give both there"
        ))),
        Scalar::Value(value) => {
            let place = ptr::from_mut(storage);
            // SAFETY: eight bytes, aligned for each of the three.
            unsafe {
                match dtype {
                    DType::F64 => place.cast::<f64>().write(value),
                    DType::I32 if f64::from(value as i32) == value => place.cast::<i32>().write(value as i32),
                    DType::I32 => {
                        return Err(Error::argument(format!(
                            "{name}={value}: i8 products stored as i32 take whole numbers of 32 bits"
                        )))
                    }
                    _ => place.cast::<f32>().write(value as f32),
                }
            }
            Ok(place.cast_const().cast())
        }
        Scalar::OnDevice(data, _) if data.is_null() => {
            Err(Error::argument(format!("{name} is an empty slice of device memory")))
        }
        Scalar::OnDevice(data, given) | Scalar::OfGroups(data, given, _) if given == dtype => Ok(data.cast()),
        Scalar::OnDevice(_, given) | Scalar::OfGroups(_, given, _) => {
            Err(Error::argument(format!("{name} is {given} in device memory, this problem takes {dtype}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(scalars: Scalars, a: DType, d: DType) -> Result<(u64, bool)> {
        let mut storage = [0; 2];
        let bound = scalars.bind(a, a, d, &mut storage)?;
        Ok((storage[0], bound.alpha.is_null()))
    }

    #[test]
    fn alpha_is_written_in_the_type_of_the_sums() {
        let alpha = |value| Scalars { alpha: Scalar::Value(value), ..Scalars::DEFAULT };
        assert_eq!(bound(alpha(2.5), DType::F64, DType::F64).unwrap().0, 2.5_f64.to_bits());
        assert_eq!(bound(alpha(2.5), DType::Bf16, DType::F32).unwrap().0 as u32, 2.5_f32.to_bits());
        assert_eq!(bound(alpha(-3.0), DType::I8, DType::I32).unwrap().0 as u32, -3_i32 as u32);
        assert_eq!(bound(alpha(2.5), DType::I8, DType::F32).unwrap().0 as u32, 2.5_f32.to_bits());
        assert!(bound(alpha(1.0), DType::F32, DType::F32).unwrap().1, "1 is the default, which is NULL");
        for value in [0.5, 3e9, f64::NAN] {
            let error = bound(alpha(value), DType::I8, DType::I32).unwrap_err();
            assert!(error.to_string().starts_with(&format!("alpha={value}: ")), "{error}");
        }
    }

    #[test]
    fn scalars_share_a_memory_and_a_type() {
        let place = [1.0_f32];
        let device = Scalar::OnDevice(place.as_ptr().cast(), DType::F32);
        let mixed = Scalars { alpha: Scalar::Value(2.0), beta: device };
        assert!(bound(mixed, DType::F32, DType::F32).unwrap_err().to_string().starts_with("alpha=2 is a number"));
        let wrong = Scalars { alpha: device, ..Scalars::DEFAULT };
        let error = bound(wrong, DType::F64, DType::F64).unwrap_err();
        assert_eq!(error.to_string(), "alpha is f32 in device memory, this problem takes f64");
        assert!(bound(wrong, DType::F32, DType::F32).is_ok());
    }
}
