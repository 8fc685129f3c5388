// SPDX-License-Identifier: Apache-2.0
//! Scales, gated pairs, forms of groups, checked mode: what the shared vectors do not show.

use ggemm::{
    Activation, DType, DeviceSlice, DeviceSliceMut, Fault, FaultKind, Gate, Group, GroupScale, GroupStride,
    GroupedProblem, Layout, Mat, MatMut, Scale, ScaleKind, Source,
};

use crate::{host, refused, A, B};

#[test]
fn scales_and_pairs_of_slices() {
    let context = host();
    let (a, b) = (Mat::row_major(&A, 2, 3), Mat::row_major(&B, 3, 2));
    let (rows, number) = ([1.0_f32, 10.0], [0.5_f32]);
    let by_row = Scale::new(ScaleKind::Vector, Mat::row_major(&rows, 2, 1));
    let by_tensor = Scale::new(ScaleKind::Tensor, Mat::row_major(&number, 1, 1));
    let mut d = [0.0_f32; 4];
    context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).scale_a(by_row).scale_b(by_tensor).run().unwrap();
    assert_eq!(d, [2.0, 2.5, 50.0, 55.0]);

    let mut other = [0.0_f32; 4];
    fn group<'a>(a: Mat<'a, f32>, b: Mat<'a, f32>, scale: Scale<'a>, d: &'a mut [f32]) -> Group<'a> {
        Group::new(a, b, MatMut::row_major(d, 2, 2)).scale_a(scale)
    }
    let half = Mat::strided(&number, 1, 2, 0, 0);
    let each = Scale::new(ScaleKind::Vector, half);
    context
        .grouped([group(a, b, by_row, &mut d).scale_b(each), group(a, b, by_row, &mut other).scale_b(each)])
        .alpha(2)
        .run()
        .unwrap();
    assert_eq!((d, other), ([4.0, 5.0, 100.0, 110.0], [4.0, 5.0, 100.0, 110.0]));
    let text =
        refused(context.grouped([group(a, b, by_row, &mut d), group(a, b, by_row, &mut other).scale_b(each)]).run());
    assert!(
        text.ends_with("f32 f32 f32 f32 none Vector Vector, in group 0 f32 f32 f32 f32 none Vector none"),
        "{text}"
    );

    // Columns 0 and 1 are a pair.
    let mut pairs = [0.0_f32; 2];
    let call = context.gemm(a, b, MatMut::row_major(&mut pairs, 2, 1)).gate(Gate::Halves).activation(Activation::Relu);
    let plan = call.plan().unwrap();
    call.run().unwrap();
    assert_eq!(pairs, [20.0, 110.0]);
    plan.gemm(a, b, MatMut::row_major(&mut pairs, 2, 1)).alpha(2).run().unwrap();
    assert_eq!(pairs, [80.0, 440.0]);
    let text = refused(plan.gemm(a, b, MatMut::row_major(&mut pairs, 2, 1)).beta(1).run());
    assert_eq!(text, "beta is not 0 with epilogue.gate=halves: gated pairs have no C");

    let text = refused(context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).gate(Gate::Interleaved).run());
    assert_eq!(text, "n differs: B is 3x2 (n=2, so 1 pairs), D is 2x2");
    let text = refused(context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).scale_b(by_row).run());
    assert_eq!(text, "scale_b is 2x1, Vector of this product is 1x2");
    let plan = context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).scale_a(by_row).plan().unwrap();
    let text = refused(plan.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).run());
    assert_eq!(text, "scale_a is missing, the plan was made with it");
    plan.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).scale_a(by_row).run().unwrap();
    assert_eq!(d, [4.0, 5.0, 100.0, 110.0]);
}

#[test]
fn problems_have_all_of_it() {
    let context = host();
    let plain = ggemm::GemmProblem::new::<f32, f32, f32>(256, 64, 200)
        .scale_a(ScaleKind::Block1x128, Layout::ColMajor)
        .scale_b(ScaleKind::Block128x128, Layout::RowMajor)
        .gate(Gate::Halves);
    assert_eq!(context.configs(&plain.clone().max_ctas(7)).unwrap().len(), 1);
    assert!(refused(context.configs(&plain.max_ctas(-1))).contains("max_ctas=-1"));
    let ends = [64_i64, 256];
    let grouped = GroupedProblem::new::<f32, f32, f32>(2)
        .ragged_m(Source::i64_at(ends.as_ptr(), 8))
        .m(Source::constant(256))
        .n(Source::constant(64))
        .k(Source::constant(128))
        .scale_b(GroupScale::new(ScaleKind::Tensor).groups(GroupStride::Elements(0)))
        .expected(128, 64, 128)
        .expected_largest(256);
    assert!(context.plan_grouped(&grouped).unwrap().explain().unwrap().contains("group"));
}

#[test]
fn checked_mode_tells_what_is_wrong() {
    let context = host();
    let ends = [2_i32, 1];
    let problem = GroupedProblem::new::<f32, f32, f32>(2)
        .ragged_m(Source::i32_at(ends.as_ptr(), 4))
        .m(Source::constant(2))
        .n(Source::constant(1))
        .k(Source::constant(3))
        .checked();
    let (mut d, mut status) = ([9.0_f32; 2], [0; 4]);
    // SAFETY: here and below, matrices of those sizes.
    let text = unsafe {
        let at = |data: *const f32, len| DeviceSlice::from_raw_parts(data, len);
        let call = context.device_groups(&problem, at(A.as_ptr(), 6), at(B.as_ptr(), 6), at(d.as_mut_ptr(), 2));
        refused(call.status(DeviceSliceMut::from_raw_parts(status.as_mut_ptr(), 4)).launch())
    };
    assert_eq!(text, "ends[1] = 1, after 2 and with m=2 in all: ends must not fall or pass the last");
    let fault = Fault::read(status).unwrap();
    assert_eq!((fault.kind, fault.group, fault.field, d), (FaultKind::End, 1, "m", [9.0; 2]));
}

#[test]
fn memory_of_groups_is_what_the_problem_says() {
    let context = host();
    let sizes =
        |problem: GroupedProblem| problem.m(Source::constant(1)).n(Source::constant(1)).k(Source::constant(1)).batch();
    let problem = sizes(GroupedProblem::new::<f32, f32, f32>(3));
    let (x, at) = ([1.0_f32; 3], [A.as_ptr(); 3]);
    let mut d = [0.0_f32; 3];
    // SAFETY: refused before anything is read.
    unsafe {
        let (elements, addresses) =
            (DeviceSlice::from_raw_parts(x.as_ptr(), 3), DeviceSlice::from_raw_parts(at.as_ptr(), 3));
        let out = DeviceSlice::from_raw_parts(d.as_mut_ptr().cast_const(), 3);
        let text = refused(context.device_groups(&problem, addresses, elements, out).launch());
        assert_eq!(text, "A holds addresses, the problem takes f32");
        let text = refused(context.device_groups(&problem, elements, elements, out).bias(elements).launch());
        assert_eq!(text, "bias is given, the problem has none");
        let scaled = problem.clone().scale_a(GroupScale::new(ScaleKind::Tensor));
        let text = refused(context.device_groups(&scaled, elements, elements, out).launch());
        assert_eq!(text, "scale_a is missing, the problem has one");
        let doubles = sizes(GroupedProblem::with_dtypes(DType::F64, DType::F64, DType::F64, 3));
        let text = refused(context.device_groups(&doubles, elements, elements, out).launch());
        assert_eq!(text, "A holds f32, the problem takes f64");
        let text = refused(
            context
                .device_groups(&problem, elements, elements, out)
                .alphas_at(DeviceSlice::from_raw_parts(x.as_ptr(), 2))
                .launch(),
        );
        assert_eq!(text, "alpha has 2 numbers, the problem 3 groups");
        // B by addresses, beside elements.
        let mixed = problem.clone().b_groups(GroupStride::Pointers);
        context.device_groups(&mixed, elements, addresses, out).alphas_at(elements).launch().unwrap();
    }
    assert_eq!(d, [1.0; 3]);
}
