// SPDX-License-Identifier: Apache-2.0
//! The file of vectors, read.

use std::{fmt::Debug, slice};

use ggemm::{
    Activation, Bias, Compute, DType, Device, DeviceSlice, DeviceSliceMut, Element, Gate, Mat, MatMut, Scale,
    ScaleKind, Untyped, E4M3, E5M2,
};
use half::{bf16, f16};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub format: u32,
    pub cases: Vec<Value>,
}

#[derive(Deserialize, Clone)]
pub struct Case {
    pub name: String,
    pub form: String,
    pub compute: String,
    pub activation: String,
    pub p0: f64,
    pub p1: f64,
    pub bias: String,
    pub gate: String,
    pub alpha: Option<Vector>,
    pub beta: Option<Vector>,
    pub sizes: Option<String>,
    pub strides: Option<String>,
}

#[derive(Deserialize, Clone)]
pub struct Scales {
    pub scale_a: Option<Matrix>,
    pub scale_b: Option<Matrix>,
}

#[derive(Deserialize, Clone)]
pub struct Product {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Matrix,
    pub b: Matrix,
    pub c: Addend,
    pub d: Matrix,
    pub bias_vector: Option<Vector>,
    #[serde(flatten)]
    pub scales: Scales,
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub enum Addend {
    Matrix(Matrix),
    Text(String),
    None(()),
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// Of scales.
    pub kind: Option<String>,
    pub dtype: String,
    pub offset: usize,
    pub row_stride: isize,
    pub col_stride: isize,
    #[serde(default)]
    pub group_stride: isize,
    pub data: String,
    pub before: Option<String>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    pub dtype: String,
    pub data: String,
    #[serde(default)]
    pub group_stride: isize,
}

/// Runs the expression with `$type` standing for the type of that name.
macro_rules! with_type {
    ($name:expr, $type:ident => $body:expr) => {
        match $name {
            "f64" => {
                type $type = f64;
                $body
            }
            "f32" => {
                type $type = f32;
                $body
            }
            "f16" => {
                type $type = f16;
                $body
            }
            "bf16" => {
                type $type = bf16;
                $body
            }
            "e4m3" => {
                type $type = E4M3;
                $body
            }
            "e5m2" => {
                type $type = E5M2;
                $body
            }
            "i8" => {
                type $type = i8;
                $body
            }
            "i32" => {
                type $type = i32;
                $body
            }
            other => panic!("an unknown dtype: {other}"),
        }
    };
}

pub(crate) use with_type;

pub fn gate(name: &str) -> Gate {
    match name {
        "none" => Gate::None,
        "halves" => Gate::Halves,
        "interleaved" => Gate::Interleaved,
        other => panic!("an unknown gate: {other}"),
    }
}

pub fn scale_kind(name: &str) -> ScaleKind {
    match name {
        "tensor" => ScaleKind::Tensor,
        "vector" => ScaleKind::Vector,
        "1x128" => ScaleKind::Block1x128,
        "128x128" => ScaleKind::Block128x128,
        other => panic!("an unknown kind of scale: {other}"),
    }
}

/// Rows and columns of a matrix of scales, of A (B) with so many rows (columns).
fn scale_shape(matrix: &Matrix, along: usize, k: usize, of_a: bool) -> (ScaleKind, usize, usize) {
    let kind = scale_kind(matrix.kind.as_deref().expect("scales have a kind"));
    let deep = k.div_ceil(128);
    let (along, deep) = match kind {
        ScaleKind::Tensor => (1, 1),
        ScaleKind::Vector => (along, 1),
        ScaleKind::Block1x128 => (along, deep),
        _ => (along.div_ceil(128), deep),
    };
    if of_a {
        (kind, along, deep)
    } else {
        (kind, deep, along)
    }
}

pub fn host_scale<'a>(matrix: &Matrix, buffer: &'a Buffer, along: usize, k: usize, of_a: bool) -> Scale<'a> {
    let (kind, rows, cols) = scale_shape(matrix, along, k, of_a);
    let values = &buffer.elements::<f32>()[matrix.lowest(rows, cols)..];
    Scale::new(kind, Mat::strided(values, rows, cols, matrix.row_stride, matrix.col_stride))
}

pub fn device_scale<'a>(matrix: &Matrix, buffer: &'a Buffer, along: usize, k: usize, of_a: bool) -> Scale<'a, Device> {
    let (kind, rows, cols) = scale_shape(matrix, along, k, of_a);
    let values = &buffer.elements::<f32>()[matrix.lowest(rows, cols)..];
    // SAFETY: a slice; the host device's memory is this program's.
    let values = unsafe { DeviceSlice::from_raw_parts(values.as_ptr(), values.len()) };
    Scale::new(kind, values.strided(rows, cols, matrix.row_stride, matrix.col_stride))
}

pub fn dtype(name: &str) -> DType {
    with_type!(name, T => T::DTYPE)
}

/// Bytes, aligned for every type.
pub struct Buffer {
    pub words: Vec<u64>,
    pub len: usize,
}

impl Buffer {
    pub fn new(digits: &str) -> Self {
        let bytes: Vec<u8> =
            (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect();
        let mut words = vec![0; bytes.len().div_ceil(8)];
        for (i, byte) in bytes.iter().enumerate() {
            words[i / 8] |= u64::from(*byte) << (8 * (i % 8));
        }
        Self { words, len: bytes.len() }
    }

    pub fn elements<T: Element>(&self) -> &[T] {
        // SAFETY: that many bytes, aligned, of which every pattern is a value.
        unsafe { slice::from_raw_parts(self.words.as_ptr().cast(), self.len / size_of::<T>()) }
    }

    pub fn elements_mut<T: Element>(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len / size_of::<T>()) }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    pub fn scalar(&self, dtype: &str) -> f64 {
        match dtype {
            "f64" => self.elements::<f64>()[0],
            "f32" => self.elements::<f32>()[0].into(),
            "i32" => self.elements::<i32>()[0].into(),
            other => panic!("an unknown dtype of a scalar: {other}"),
        }
    }
}

impl Matrix {
    /// Where the lowest of the matrix's elements is, as views begin there.
    pub fn lowest(&self, rows: usize, cols: usize) -> usize {
        if rows == 0 || cols == 0 {
            return 0;
        }
        let below = |count: usize, stride: isize| if stride < 0 { (count - 1) * stride.unsigned_abs() } else { 0 };
        self.offset - below(rows, self.row_stride) - below(cols, self.col_stride)
    }

    pub fn host<'a>(&self, buffer: &'a Buffer, rows: usize, cols: usize) -> Mat<'a, Untyped> {
        with_type!(self.dtype.as_str(), T => {
            let data = &buffer.elements::<T>()[self.lowest(rows, cols)..];
            Mat::strided(data, rows, cols, self.row_stride, self.col_stride).untyped()
        })
    }

    pub fn host_mut<'a>(&self, buffer: &'a mut Buffer, rows: usize, cols: usize) -> MatMut<'a, Untyped> {
        with_type!(self.dtype.as_str(), T => {
            let data = &mut buffer.elements_mut::<T>()[self.lowest(rows, cols)..];
            MatMut::strided(data, rows, cols, self.row_stride, self.col_stride).untyped()
        })
    }

    pub fn device<'a>(&self, buffer: &'a Buffer, rows: usize, cols: usize) -> Mat<'a, Untyped, Device> {
        with_type!(self.dtype.as_str(), T => {
            let data = &buffer.elements::<T>()[self.lowest(rows, cols)..];
            // SAFETY: a slice; the host device's memory is this program's.
            let data = unsafe { DeviceSlice::from_raw_parts(data.as_ptr(), data.len()) };
            data.strided(rows, cols, self.row_stride, self.col_stride).untyped()
        })
    }

    pub fn device_mut<'a>(&self, buffer: &'a mut Buffer, rows: usize, cols: usize) -> MatMut<'a, Untyped, Device> {
        with_type!(self.dtype.as_str(), T => {
            let data = &mut buffer.elements_mut::<T>()[self.lowest(rows, cols)..];
            // SAFETY: as above.
            let data = unsafe { DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len()) };
            data.strided(rows, cols, self.row_stride, self.col_stride).untyped()
        })
    }

    pub fn address(&self, buffer: &mut Buffer) -> u64 {
        buffer.words.as_mut_ptr() as u64 + (self.offset * dtype(&self.dtype).size()) as u64
    }
}

impl Vector {
    pub fn value(&self) -> f64 {
        Buffer::new(&self.data).scalar(&self.dtype)
    }

    pub fn host<'a>(&self, buffer: &'a Buffer, kind: &str) -> Bias<'a> {
        with_type!(self.dtype.as_str(), T => match kind {
            "column" => Bias::per_column(buffer.elements::<T>()),
            "row" => Bias::per_row(buffer.elements::<T>()),
            other => panic!("an unknown bias: {other}"),
        })
    }

    pub fn device<'a>(&self, buffer: &'a Buffer, kind: &str) -> Bias<'a, Device> {
        with_type!(self.dtype.as_str(), T => {
            let data = buffer.elements::<T>();
            // SAFETY: as for matrices.
            let data = unsafe { DeviceSlice::from_raw_parts(data.as_ptr(), data.len()) };
            if kind == "column" { data.bias_per_column() } else { data.bias_per_row() }
        })
    }
}

impl Case {
    pub fn activation(&self) -> Activation {
        match self.activation.as_str() {
            "none" => Activation::None,
            "relu" => Activation::Relu,
            "leaky_relu" => Activation::LeakyRelu { slope: self.p0 },
            "gelu" => Activation::Gelu,
            "gelu_tanh" => Activation::GeluTanh,
            "silu" => Activation::Silu,
            "sigmoid" => Activation::Sigmoid,
            "tanh" => Activation::Tanh,
            "clamp" => Activation::Clamp { low: self.p0, high: self.p1 },
            other => panic!("an unknown activation: {other}"),
        }
    }

    pub fn compute(&self) -> Compute {
        match self.compute.as_str() {
            "default" => Compute::Default,
            "tf32" => Compute::Tf32,
            "fp8_fast" => Compute::Fp8Fast,
            "f32x3" => Compute::F32x3,
            other => panic!("an unknown compute mode: {other}"),
        }
    }

    pub fn scalars(&self) -> (f64, f64) {
        let value = |scalar: &Option<Vector>, default| scalar.as_ref().map_or(default, Vector::value);
        (value(&self.alpha, 1.0), value(&self.beta, 0.0))
    }
}

/// The buffers of a product.
pub struct Buffers {
    pub a: Buffer,
    pub b: Buffer,
    pub c: Option<Buffer>,
    pub d: Buffer,
    pub bias: Option<Buffer>,
    pub scales: [Option<Buffer>; 2],
}

impl Product {
    pub fn buffers(&self) -> Buffers {
        Buffers {
            a: Buffer::new(&self.a.data),
            b: Buffer::new(&self.b.data),
            c: self.c().map(|c| Buffer::new(&c.data)),
            d: Buffer::new(self.d.before.as_ref().expect("d has a before")),
            bias: self.bias_vector.as_ref().map(|bias| Buffer::new(&bias.data)),
            scales: [&self.scales.scale_a, &self.scales.scale_b].map(|s| s.as_ref().map(|s| Buffer::new(&s.data))),
        }
    }

    /// A C of its own: none, and the text "d", stand for what the crate does by itself.
    pub fn c(&self) -> Option<&Matrix> {
        match &self.c {
            Addend::Matrix(c) => Some(c),
            Addend::Text(text) => {
                assert_eq!(text, "d");
                None
            }
            Addend::None(()) => None,
        }
    }

    /// D's columns.
    pub fn cols(&self, case: &Case) -> usize {
        if case.gate == "none" {
            self.n
        } else {
            self.n / 2
        }
    }
}

impl Matrix {
    pub fn check(&self, name: &str, way: impl Debug, d: &Buffer) {
        let expected = Buffer::new(&self.data);
        assert_eq!(d.len, expected.len, "{name}");
        let differs = d.bytes().iter().zip(expected.bytes()).position(|(given, expected)| given != expected);
        if let Some(byte) = differs {
            let (given, expected) = (d.bytes()[byte], expected.bytes()[byte]);
            panic!("{name}, by {way:?}: byte {byte} of D is {given:02x}, must be {expected:02x}");
        }
    }
}
