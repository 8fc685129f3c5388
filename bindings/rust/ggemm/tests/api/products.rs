// SPDX-License-Identifier: Apache-2.0
//! What products compute, and what they refuse.

use ggemm::{
    Activation, Bias, BiasKind, DType, DeviceSlice, DeviceSliceMut, GemmProblem, Group, GroupedProblem, Layout, Mat,
    MatMut, Source, TileGrid,
};

use crate::{host, refused, A, B};

#[test]
fn alpha_beta_and_c() {
    let context = host();
    let c = [100.0_f32; 4];
    let mut d = [10.0_f32; 4];
    let (a, b) = (Mat::row_major(&A, 2, 3), Mat::row_major(&B, 3, 2));
    context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).run().unwrap();
    assert_eq!(d, [4.0, 5.0, 10.0, 11.0]);
    context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).alpha(2).beta(-1).run().unwrap();
    assert_eq!(d, [4.0, 5.0, 10.0, 11.0], "C is D itself");
    context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).c(Mat::row_major(&c, 2, 2)).beta(0.5).run().unwrap();
    assert_eq!(d, [54.0, 55.0, 60.0, 61.0]);
    context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).c(Mat::row_major(&c, 2, 2)).run().unwrap();
    assert_eq!(d, [4.0, 5.0, 10.0, 11.0], "without beta C is not read");
}

#[test]
fn views_and_padding() {
    let context = host();
    let mut d = [-1.0_f32; 9];
    // The rows of A backwards, B transposed, D in a wider array.
    let b = [1.0_f32, 0.0, 1.0, 0.0, 1.0, 1.0];
    context
        .gemm(Mat::strided(&A, 2, 3, -3, 1), Mat::row_major(&b, 2, 3).t(), MatMut::strided(&mut d, 2, 2, 5, 1))
        .run()
        .unwrap();
    assert_eq!(d, [10.0, 11.0, -1.0, -1.0, -1.0, 4.0, 5.0, -1.0, -1.0]);
    let mut d = [0.0_f32; 4];
    context
        .gemm(Mat::row_major(&A, 2, 3), Mat::row_major(&b, 2, 3).t(), MatMut::col_major(&mut d, 2, 2))
        .run()
        .unwrap();
    assert_eq!(d, [4.0, 10.0, 5.0, 11.0]);
}

#[test]
fn sizes_of_zero() {
    let context = host();
    let mut d = [7.0_f32; 4];
    context
        .gemm(Mat::row_major(&A[..0], 2, 0), Mat::row_major(&B[..0], 0, 2), MatMut::row_major(&mut d, 2, 2))
        .run()
        .unwrap();
    assert_eq!(d, [0.0; 4]);
    context
        .gemm(Mat::<f32>::row_major(&[], 0, 3), Mat::row_major(&B, 3, 2), MatMut::<f32>::row_major(&mut [], 0, 2))
        .run()
        .unwrap();
    context.grouped([]).run().unwrap();
}

#[test]
fn shapes_and_bounds_are_refused() {
    let context = host();
    let mut d = [7.0_f32; 4];
    let (a, b) = (Mat::row_major(&A, 2, 3), Mat::row_major(&B, 3, 2));
    let text = refused(context.gemm(a, b, MatMut::row_major(&mut d, 2, 1)).run());
    assert_eq!(text, "n differs: B is 3x2 (n=2), D is 2x1 (n=1)");
    let text = refused(context.gemm(a, b, MatMut::row_major(&mut d, 1, 2)).run());
    assert_eq!(text, "m differs: A is 2x3 (m=2), D is 1x2 (m=1)");
    let text = refused(context.gemm(Mat::row_major(&A[1..], 2, 3), b, MatMut::row_major(&mut d, 2, 2)).run());
    assert_eq!(text, "A is 2x3 with strides (3, 1) and so spans 6 elements, its slice has 5");
    let text = refused(context.gemm(a, b, MatMut::strided(&mut d, 2, 2, 3, 1)).run());
    assert!(text.starts_with("D is 2x2 with strides (3, 1) and so spans 5 elements"), "{text}");
    let c = [0.0_f32; 4];
    let text = refused(context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).c(Mat::row_major(&c, 1, 4)).beta(1).run());
    assert_eq!(text, "the shapes of C and D differ: C is 1x4, D is 2x2");
    let text = refused(context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).bias(Bias::per_row(&A)).run());
    assert_eq!(text, "bias has 6 elements, A B has 2 rows");
    let text = refused(context.gemm(a, b, MatMut::strided(&mut d, 2, 2, 1, 1)).run());
    assert!(text.contains("d.row_stride=1"), "the library's own sentence: {text}");
    assert_eq!(d, [7.0; 4]);
}

#[test]
fn plans_take_what_they_were_made_for() {
    let context = host();
    let problem = GemmProblem::new::<f32, f32, f32>(2, 2, 3)
        .b_layout(Layout::ColMajor)
        .bias(BiasKind::PerColumn)
        .activation(Activation::Relu);
    let plan = context.plan(&problem).unwrap();
    drop(context); // the plan holds it
    assert!(plan.explain().unwrap().contains(plan.config().unwrap().name()));

    let b = [1.0_f32, 0.0, 1.0, 0.0, 1.0, 1.0];
    let (a, b) = (Mat::row_major(&A, 2, 3), Mat::row_major(&b, 2, 3).t());
    let mut d = [0.0_f32; 4];
    let bias = [-5.0_f32, 0.0];
    plan.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).bias(Bias::per_column(&bias)).run().unwrap();
    assert_eq!(d, [0.0, 5.0, 5.0, 11.0]);

    let text = refused(plan.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).run());
    assert_eq!(text, "bias is none, the plan is for f32 per column");
    let text = refused(
        plan.gemm(a, Mat::row_major(&B, 3, 2), MatMut::row_major(&mut d, 2, 2)).bias(Bias::per_column(&bias)).run(),
    );
    assert_eq!(text, "B is f32 with strides (2, 1), the plan is for f32 with strides (1, 3)");
    let wrong = [0_i8; 6];
    let text = refused(
        plan.gemm(Mat::row_major(&wrong, 2, 3), b, MatMut::row_major(&mut d, 2, 2)).bias(Bias::per_column(&bias)).run(),
    );
    assert_eq!(text, "A is i8 with strides (3, 1), the plan is for f32 with strides (3, 1)");
    // Another m is as good.
    plan.gemm(Mat::row_major(&A, 1, 3), b, MatMut::row_major(&mut d, 1, 2))
        .bias(Bias::per_column(&bias))
        .run()
        .unwrap();
    assert_eq!(d[..2], [0.0, 5.0]);
}

#[test]
fn scalars_in_device_memory() {
    let context = host();
    let (two, minus) = ([2.0_f32], [-1.0_f32]);
    let mut d = [0.0_f32; 4];
    // SAFETY: slices; the host device's memory is this program's, and it is done on return.
    unsafe {
        let at = |slice: &[f32]| DeviceSlice::from_raw_parts(slice.as_ptr(), slice.len());
        let views = |d: &mut [f32]| {
            let d = DeviceSliceMut::from_raw_parts(d.as_mut_ptr(), d.len());
            (at(&A).row_major(2, 3), at(&B).row_major(3, 2), d.row_major(2, 2))
        };
        let (a, b, out) = views(&mut d);
        context.gemm(a, b, out).alpha_at(at(&two)).launch().unwrap();
        assert_eq!(d, [8.0, 10.0, 20.0, 22.0]);
        let (a, b, out) = views(&mut d);
        context.gemm(a, b, out).alpha_at(at(&two)).beta_at(at(&minus)).launch().unwrap();
        assert_eq!(d, [0.0; 4]);

        let (a, b, out) = views(&mut d);
        let text = refused(context.gemm(a, b, out).alpha(2).beta_at(at(&minus)).launch());
        assert_eq!(text, "alpha=2 is a number while the other scalar is in device memory: give both there");
        let wrong = [1.0_f64];
        let (a, b, out) = views(&mut d);
        let text = refused(context.gemm(a, b, out).alpha_at(DeviceSlice::from_raw_parts(wrong.as_ptr(), 1)).launch());
        assert_eq!(text, "alpha is f64 in device memory, this problem takes f32");
        let (a, b, out) = views(&mut d);
        let text = refused(context.gemm(a, b, out).alpha_at(at(&two[..0])).launch());
        assert_eq!(text, "alpha is an empty slice of device memory");

        let plan = context.plan(&GemmProblem::new::<f32, f32, f32>(2, 2, 3)).unwrap();
        let (a, b, out) = views(&mut d);
        let text = refused(plan.gemm(a, b, out).alpha_at(at(&two)).launch());
        assert_eq!(text, "alpha and beta are in device memory, the plan takes them as numbers");
        let plan = context.plan(&GemmProblem::new::<f32, f32, f32>(2, 2, 3).scalars_on_device(true)).unwrap();
        let (a, b, out) = views(&mut d);
        let text = refused(plan.gemm(a, b, out).alpha(2).launch());
        assert_eq!(text, "alpha and beta are numbers, the plan takes them from device memory");
        let (a, b, out) = views(&mut d);
        plan.gemm(a, b, out).alpha_at(at(&two)).launch().unwrap();
        assert_eq!(d, [8.0, 10.0, 20.0, 22.0]);
    }
}

#[test]
fn groups_say_which_is_wrong() {
    let context = host();
    let (mut d0, mut d1) = ([1.0_f32; 4], [1.0_f32; 4]);
    let (a, b) = (Mat::row_major(&A, 2, 3), Mat::row_major(&B, 3, 2));
    let text = refused(
        context
            .grouped([
                Group::new(a, b, MatMut::row_major(&mut d0, 2, 2)),
                Group::new(a, b.t(), MatMut::row_major(&mut d1, 2, 2)),
            ])
            .run(),
    );
    assert_eq!(text, "group 1: k differs: A is 2x3 (k=3), B is 2x3 (k=2)");
    let wide = [1.0_f64; 6];
    let text = refused(
        context
            .grouped([
                Group::new(a, b, MatMut::row_major(&mut d0, 2, 2)),
                Group::new(a, Mat::row_major(&wide, 3, 2), MatMut::row_major(&mut d1, 2, 2)),
            ])
            .run(),
    );
    assert_eq!(
        text,
        "group 1: the types of A, B, C, D, bias and scales are f32 f64 f32 f32 none none none, in group 0 f32 f32 f32 f32 \
         none none none"
    );
    context
        .grouped([
            Group::new(a, b, MatMut::row_major(&mut d0, 2, 2)),
            Group::new(b, a, MatMut::row_major(&mut [0.0_f32; 9], 3, 3)),
        ])
        .beta(1)
        .run()
        .unwrap();
    assert_eq!((d0, d1), ([5.0, 6.0, 11.0, 12.0], [1.0; 4]));
}

/// What a single product refuses of D a list does, also where the groups' strides differ and so are arrays to the library.
#[test]
fn elements_of_d_do_not_coincide() {
    let context = host();
    let a = [1.0_f32; 16];
    let x = Mat::row_major(&a, 4, 4);
    for (rows, cols, row_stride, col_stride, coincide) in [
        (4, 4, 1, 1, true),
        (4, 4, 0, 1, true),
        (4, 4, 0, 0, true),
        (4, 4, -3, 1, true),
        (4, 4, 1, 3, true),
        (4, 4, 6, 4, true),
        (4, 1, 0, 9, true),
        (4, 4, 9, 1, false),
        (4, 4, -1, -4, false),
        (4, 4, 2, 9, false),
        (1, 4, 0, 1, false),
        (1, 1, 0, 0, false),
        (4, 0, 0, 0, false),
    ] {
        let (mut d, mut other) = ([7.0_f32; 40], [7.0_f32; 16]);
        let (a, b) = (Mat::strided(&a, rows, 4, 0, 1), Mat::strided(&a, 4, cols, 0, 1));
        let single = context.gemm(a, b, MatMut::strided(&mut d, rows, cols, row_stride, col_stride)).run();
        let view = MatMut::strided(&mut d, rows, cols, row_stride, col_stride);
        let groups = [Group::new(x, x, MatMut::row_major(&mut other, 4, 4)), Group::new(a, b, view)];
        let listed = context.grouped(groups).run();
        assert_eq!((single.is_err(), listed.is_err()), (coincide, coincide), "{row_stride}, {col_stride}");
        if coincide {
            let text = format!(
                "group 1: D is {rows}x{cols} with strides ({row_stride}, {col_stride}): its elements must not coincide"
            );
            assert_eq!((refused(listed), d, other), (text, [7.0; 40], [7.0; 16]));
        }
    }
}

#[test]
fn sizes_that_no_number_holds_are_refused() {
    const MOST: &str = "sizes are 9223372036854775807 at most";
    let context = host();
    let (one, huge) = ([1.0_f32], usize::MAX);
    let (a, b) = (Mat::strided(&one, 1, huge, 0, 0), Mat::strided(&one, huge, 1, 0, 0));
    let wanted = format!("A is 1x18446744073709551615: {MOST}");
    let mut d = [7.0_f32; 2];
    let (first, second) = d.split_at_mut(1);
    let text = refused(context.gemm(a, b, MatMut::row_major(first, 1, 1)).run());
    assert_eq!(text, wanted);
    let plan = context.plan(&GemmProblem::new::<f32, f32, f32>(1, 1, 1)).unwrap();
    assert_eq!(refused(plan.gemm(a, b, MatMut::row_major(first, 1, 1)).run()), wanted);
    let one_by_one = Mat::row_major(&one, 1, 1);
    let groups = [
        Group::new(one_by_one, one_by_one, MatMut::row_major(first, 1, 1)),
        Group::new(a, b, MatMut::row_major(second, 1, 1)),
    ];
    assert_eq!(refused(context.grouped(groups).run()), format!("group 1: {wanted}"));
    assert_eq!(d, [7.0; 2]);

    let (k, groups) = (format!("k=18446744073709551615: {MOST}"), format!("groups=9223372036854775808: {MOST}"));
    let described = context.gemm(a, b, MatMut::row_major(&mut d, 1, 1)).problem();
    for problem in [described, GemmProblem::new::<i8, i8, i8>(1, 0, huge)] {
        assert_eq!(refused(context.plan(&problem)), k);
        assert_eq!(refused(context.configs(&problem)), k);
        assert_eq!(refused(context.prepare([&problem]).run()), k);
        assert_eq!(refused(context.tune(&problem).run()), k);
    }
    let many = GroupedProblem::new::<f32, f32, f32>(1 << 63);
    assert_eq!(refused(context.plan_grouped(&many)), groups);
    // SAFETY: refused before anything is read.
    unsafe {
        let none = DeviceSlice::from_raw_parts(one.as_ptr(), 0);
        assert_eq!(refused(context.device_groups(&many, none, none, none).launch()), groups);
    }
    let rows = GroupedProblem::new::<f32, f32, f32>(1).a_index(Source::constant(0), huge).expected_largest(huge);
    assert!(refused(context.plan_grouped(&rows)).starts_with("a_rows=18446744073709551615: "));
    assert!(refused(TileGrid::new(huge, 1, 128, 128).count()).starts_with("m=18446744073709551615: "));
    assert!(refused(TileGrid::new(1, huge, 128, 128).at(0)).starts_with("n=18446744073709551615: "));
}

#[test]
fn groups_of_all_sizes_and_layouts() {
    let context = host();
    let (a, b): (Vec<f32>, Vec<f32>) = (0..64).map(|i| ((i % 7) as f32, (i % 5) as f32)).unzip();
    // Few groups, and more than have their arrays on the stack; alike, or of other sizes and layouts each.
    for (count, alike) in [(1, true), (4, true), (4, false), (8, false), (9, true), (30, false)] {
        let views = |group: usize| {
            let group = if alike { 0 } else { group };
            let (m, n, k) = (1 + group % 4, 1 + group % 3, 1 + group % 5);
            let a = if group % 2 == 1 { Mat::strided(&a, m, k, -8, 1) } else { Mat::strided(&a, m, k, 8, 1) };
            (m, n, a, if group % 3 == 2 { Mat::row_major(&b, n, k).t() } else { Mat::row_major(&b, k, n) })
        };
        let (mut listed, mut single) = (vec![[1.0_f32; 12]; count], vec![[1.0_f32; 12]; count]);
        let groups = listed.iter_mut().enumerate().map(|(group, d)| {
            let (m, n, a, b) = views(group);
            Group::new(a, b, MatMut::strided(d, m, n, 1, m as isize))
        });
        context.grouped(groups).beta(2).run().unwrap();
        for (group, d) in single.iter_mut().enumerate() {
            let (m, n, a, b) = views(group);
            context.gemm(a, b, MatMut::strided(d, m, n, 1, m as isize)).beta(2).run().unwrap();
        }
        assert_eq!(listed, single, "{count} groups");
    }
}

#[test]
fn arrays_of_addresses_are_counted() {
    let context = host();
    let addresses = [A.as_ptr(); 2];
    let problem = GroupedProblem::new::<f32, f32, f32>(3);
    // SAFETY: refused before anything is read.
    unsafe {
        let array = DeviceSlice::from_raw_parts(addresses.as_ptr(), 2);
        assert_eq!(
            refused(context.device_groups(&problem, array, array, array).launch()),
            "A has 2 addresses, 3 are needed"
        );
        let problem = GroupedProblem::new::<f32, f32, f32>(2).bias(BiasKind::PerRow);
        assert_eq!(
            refused(context.device_groups(&problem, array, array, array).launch()),
            "bias is missing, the problem has one"
        );
        let problem = GroupedProblem::new::<f32, f32, f32>(2).c(DType::F32, Source::PACKED, Source::PACKED);
        let text = refused(context.device_groups(&problem, array, array, array).beta(1).launch());
        assert_eq!(text, "beta is given, and no C, of which the problem has its own");
    }
}
