// SPDX-License-Identifier: Apache-2.0
//! The cases in which one matrix, or one at a distance, holds all groups.

use ggemm::{
    BiasKind, Context, DeviceSlice, DeviceSliceMut, GroupMemory, GroupScale, GroupStride, GroupedProblem, Source, E4M3,
    E5M2,
};
use half::{bf16, f16};
use serde::Deserialize;

use crate::case::{dtype, gate, scale_kind, with_type, Addend, Buffer, Case, Matrix, Scales, Vector};

#[derive(Deserialize)]
pub struct Form {
    pub groups: usize,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub ends: Option<Vector>,
    pub counts: Option<Vector>,
    pub a_index: Option<Vector>,
    pub a_rows: usize,
    pub d_index: Option<Vector>,
    pub d_rows: usize,
    pub d_index_unique: bool,
    pub row_weights: Option<Vector>,
    pub a: Matrix,
    pub b: Matrix,
    pub c: Addend,
    pub d: Matrix,
    pub bias_vector: Option<Vector>,
    #[serde(flatten)]
    pub scales: Scales,
}

/// The numbers of a column, which the buffer keeps.
fn source(vector: &Vector, buffer: &Buffer) -> Source {
    match vector.dtype.as_str() {
        "i32" => Source::i32_at(buffer.words.as_ptr().cast(), 4),
        "i64" => Source::i64_at(buffer.words.as_ptr().cast(), 8),
        other => panic!("an unknown width: {other}"),
    }
}

fn distance(group_stride: isize) -> GroupStride {
    if group_stride == 0 {
        GroupStride::Packed
    } else {
        GroupStride::Elements(group_stride)
    }
}

fn constants(matrix: &Matrix) -> (Source, Source) {
    (Source::constant(matrix.row_stride as i64), Source::constant(matrix.col_stride as i64))
}

/// Elements from that one on.
fn slice<T>(buffer: &Buffer, offset: usize) -> DeviceSlice<'_, T> {
    let len = (buffer.len / size_of::<T>()).saturating_sub(offset);
    // SAFETY: within the buffer; the host device's memory is this program's.
    unsafe { DeviceSlice::from_raw_parts(buffer.words.as_ptr().cast::<T>().wrapping_add(offset), len) }
}

fn memory<'a>(dtype: &str, buffer: &'a Buffer, offset: usize) -> GroupMemory<'a> {
    with_type!(dtype, T => slice::<T>(buffer, offset).into())
}

fn matrix<'a>(matrix: &Matrix, buffer: &'a Buffer) -> GroupMemory<'a> {
    memory(&matrix.dtype, buffer, matrix.offset)
}

impl Form {
    fn problem(&self, case: &Case, columns: &[Option<Buffer>; 4]) -> GroupedProblem {
        let size = |value: usize| Source::constant(value as i64);
        let ((a_row, a_col), (b_row, b_col), (d_row, d_col)) =
            (constants(&self.a), constants(&self.b), constants(&self.d));
        let [ends, counts, a_index, d_index] = [&self.ends, &self.counts, &self.a_index, &self.d_index];
        let column = |vector: &Option<Vector>, index: usize| -> Option<Source> {
            Some(source(vector.as_ref()?, columns[index].as_ref()?))
        };
        let mut problem =
            GroupedProblem::with_dtypes(dtype(&self.a.dtype), dtype(&self.b.dtype), dtype(&self.d.dtype), self.groups)
                .m(size(self.m))
                .n(size(self.n))
                .k(size(self.k))
                .a_strides(a_row, a_col)
                .a_groups(distance(self.a.group_stride))
                .b_strides(b_row, b_col)
                .b_groups(distance(self.b.group_stride))
                .d_strides(d_row, d_col)
                .d_groups(distance(self.d.group_stride))
                .activation(case.activation())
                .gate(gate(&case.gate))
                .compute(case.compute())
                .scalars_on_device(case.alpha.is_some() || case.beta.is_some())
                .checked();
        problem = match case.form.as_str() {
            "ragged_m" => problem.ragged_m(column(ends, 0).expect("ends")),
            "ragged_k" => problem.ragged_k(column(ends, 0).expect("ends")),
            "masked" => problem.masked(column(counts, 1).expect("counts")),
            "batch" => problem.batch(),
            other => panic!("{}: an unknown form: {other}", case.name),
        };
        if let Addend::Matrix(c) = &self.c {
            let (row, col) = constants(c);
            problem = problem.c(dtype(&c.dtype), row, col).c_groups(distance(c.group_stride));
        }
        if let Some(bias) = &self.bias_vector {
            let kind = if case.bias == "column" { BiasKind::PerColumn } else { BiasKind::PerRow };
            problem = problem.bias_of(kind, dtype(&bias.dtype)).bias_groups(distance(bias.group_stride));
        }
        if let Some(index) = column(a_index, 2) {
            problem = problem.a_index(index, self.a_rows);
        }
        if let Some(index) = column(d_index, 3) {
            problem = problem.d_index(index, self.d_rows);
        }
        if self.d_index_unique {
            problem = problem.d_index_unique();
        }
        let scale = |matrix: &Matrix| {
            let (row, col) = constants(matrix);
            let kind = scale_kind(matrix.kind.as_deref().expect("a kind"));
            GroupScale::new(kind).strides(row, col).groups(distance(matrix.group_stride))
        };
        if let Some(matrix) = &self.scales.scale_a {
            problem = problem.scale_a(scale(matrix));
        }
        if let Some(matrix) = &self.scales.scale_b {
            problem = problem.scale_b(scale(matrix));
        }
        problem
    }

    pub fn run(&self, context: &Context, case: &Case, by_plan: bool) -> ggemm::Result<()> {
        let buffer = |vector: &Option<Vector>| vector.as_ref().map(|vector| Buffer::new(&vector.data));
        let columns = [&self.ends, &self.counts, &self.a_index, &self.d_index].map(buffer);
        let problem = self.problem(case, &columns);
        let scale = |scale: &Option<Matrix>| scale.as_ref().map(|scale| Buffer::new(&scale.data));
        let (a, b) = (Buffer::new(&self.a.data), Buffer::new(&self.b.data));
        let d = Buffer::new(self.d.before.as_ref().expect("d has a before"));
        let c = if let Addend::Matrix(c) = &self.c { Some(Buffer::new(&c.data)) } else { None };
        let (bias, weights) = (buffer(&self.bias_vector), buffer(&self.row_weights));
        let (alpha, beta) = (buffer(&case.alpha), buffer(&case.beta));
        let (scale_a, scale_b) = (scale(&self.scales.scale_a), scale(&self.scales.scale_b));
        let mut status = [7; 4];

        let plan;
        let (a, b, d_memory) = (matrix(&self.a, &a), matrix(&self.b, &b), matrix(&self.d, &d));
        let mut call = if by_plan {
            plan = context.plan_grouped(&problem)?;
            plan.device_groups(a, b, d_memory)
        } else {
            context.device_groups(&problem, a, b, d_memory)
        };
        if let (Addend::Matrix(at), Some(c)) = (&self.c, &c) {
            call = call.c(matrix(at, c));
        }
        if let (Some(vector), Some(bias)) = (&self.bias_vector, &bias) {
            call = call.bias(memory(&vector.dtype, bias, 0));
        }
        if let (Some(at), Some(scale)) = (&self.scales.scale_a, &scale_a) {
            call = call.scale_a(matrix(at, scale));
        }
        if let (Some(at), Some(scale)) = (&self.scales.scale_b, &scale_b) {
            call = call.scale_b(matrix(at, scale));
        }
        if let Some(weights) = &weights {
            call = call.row_weights(slice(weights, 0));
        }
        // One number is of all groups.
        if let (Some(vector), Some(alpha)) = (&case.alpha, &alpha) {
            let one = alpha.len == dtype(&vector.dtype).size();
            call = with_type!(vector.dtype.as_str(), T => {
                if one { call.alpha_at(slice::<T>(alpha, 0)) } else { call.alphas_at(slice::<T>(alpha, 0)) }
            });
        }
        if let (Some(vector), Some(beta)) = (&case.beta, &beta) {
            let one = beta.len == dtype(&vector.dtype).size();
            call = with_type!(vector.dtype.as_str(), T => {
                if one { call.beta_at(slice::<T>(beta, 0)) } else { call.betas_at(slice::<T>(beta, 0)) }
            });
        }
        // SAFETY: operands, sizes and strides are the case's; the host device is done on return.
        unsafe { call.status(DeviceSliceMut::from_raw_parts(status.as_mut_ptr(), 4)).launch()? };
        assert_eq!(ggemm::Fault::read(status), None, "{}", case.name);
        self.d.check(&case.name, if by_plan { "a plan of its form" } else { "its form" }, &d);
        Ok(())
    }
}
