// SPDX-License-Identifier: Apache-2.0
//! The whole interface on the host device: what it computes, refuses, reports and keeps alive.

use std::{
    ops::ControlFlow,
    panic::{catch_unwind, AssertUnwindSafe},
    path::PathBuf,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc, Mutex,
    },
    time::Duration,
};

use ggemm::{
    Activation, Bias, BiasKind, Config, Context, DType, DeviceKind, DeviceSlice, DeviceSliceMut, ErrorKind,
    GemmProblem, Group, GroupedProblem, Layout, LogLevel, Mat, MatMut, Problem, Source, TileGrid,
};

fn host() -> Context {
    Context::builder().host().cache_dir("").build().unwrap()
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ggemm-rust-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The text of a refused argument.
fn refused<T: std::fmt::Debug>(result: ggemm::Result<T>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    error.to_string()
}

const A: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const B: [f32; 6] = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];

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
    assert_eq!(text, "bias has 6 elements, D has 2 rows");
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
        assert_eq!(text, "alpha and beta are in device memory, the plan is for numbers");
        let plan = context.plan(&GemmProblem::new::<f32, f32, f32>(2, 2, 3).scalars_on_device(true)).unwrap();
        let (a, b, out) = views(&mut d);
        assert!(refused(plan.gemm(a, b, out).alpha(2).launch()).starts_with("alpha and beta are numbers"));
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
        "group 1: the types of A, B, C, D and bias are f32 f64 f32 f32 none, in group 0 f32 f32 f32 f32 none"
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

#[test]
fn arrays_of_addresses_are_counted() {
    let context = host();
    let addresses = [A.as_ptr(); 2];
    let problem = GroupedProblem::new::<f32, f32, f32>(3);
    // SAFETY: refused before anything is read.
    unsafe {
        let array = DeviceSlice::from_raw_parts(addresses.as_ptr(), 2);
        assert_eq!(
            refused(context.pointer_groups(&problem, array, array, array).launch()),
            "A has 2 addresses, the problem 3 groups"
        );
        let problem = GroupedProblem::new::<f32, f32, f32>(2).bias(BiasKind::PerRow);
        assert_eq!(
            refused(context.pointer_groups(&problem, array, array, array).launch()),
            "no bias is given, the problem has a bias"
        );
        let problem = GroupedProblem::new::<f32, f32, f32>(2).c(DType::F32, Source::PACKED, Source::PACKED);
        let text = refused(context.pointer_groups(&problem, array, array, array).beta(1).launch());
        assert_eq!(text, "beta is given, and no C, of which the problem has its own");
    }
}

#[test]
fn configurations() {
    let context = host();
    let problem = GemmProblem::new::<f32, f32, f32>(64, 64, 64);
    let configs = context.configs(&problem).unwrap();
    assert!(!configs.is_empty());
    for config in &configs {
        assert_eq!(config, &config.name().parse::<Config>().unwrap());
        assert_eq!(config.family, "host");
    }
    let forced = configs.last().unwrap();
    assert_eq!(&context.plan(&problem.config(forced)).unwrap().config().unwrap(), forced);
    let text = refused("sm80_what".parse::<Config>());
    assert!(text.contains("sm80_what"), "{text}");

    let gpu: Config = "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8".parse().unwrap();
    assert_eq!(gpu.to_string(), gpu.name());
    let mut d = [0.0_f32; 4];
    let call =
        context.gemm(Mat::row_major(&A, 2, 3), Mat::row_major(&B, 3, 2), MatMut::row_major(&mut d, 2, 2)).config(&gpu);
    assert!(refused(call.run()).contains(gpu.name()));
}

#[test]
fn tuning_measures_records_and_reports() {
    let folder = Folder::new("tune");
    let context = Context::builder().host().cache_dir(&folder.0).build().unwrap();
    let problem = GemmProblem::new::<f32, f32, f32>(32, 32, 32).tune_key(c"mine");
    let configs = context.configs(&problem).unwrap();
    let mut rows = 0;
    let tuned = context
        .tune(&problem)
        .configs(&configs[..1])
        .budget(Duration::from_millis(20))
        .on_row(|row| {
            assert_eq!((row.index, row.total, row.config, row.rejected), (0, 1, configs[0].name(), None));
            assert!(row.microseconds > 0.0 && row.tflops > 0.0);
            rows += 1;
            ControlFlow::Continue(())
        })
        .run()
        .unwrap();
    assert_eq!((tuned.best, tuned.timed, tuned.rejected, rows), (configs[0].clone(), 1, 0, 1));

    let entries = context.cache_entries().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].kind.as_str(), &entries[0].nvrtc), ("tuning", &None));
    assert!(entries[0].path.starts_with(&folder.0) && entries[0].bytes > 0);
    assert!(entries[0].last_used.elapsed().unwrap() < Duration::from_secs(600));
    assert_eq!(context.clear_cache_of_nvrtc("13.0").unwrap(), 0);
    assert_eq!(context.clear_cache().unwrap(), 1);
    assert!(context.cache_entries().unwrap().is_empty());

    let grouped = GroupedProblem::new::<f32, f32, f32>(2);
    assert!(refused(context.tune(&grouped).run()).contains("sample_sizes"));
    let sizes = [[4, 5, 6], [7, 8, 9]];
    let tuned = context.tune(&grouped).sample_sizes(&sizes).budget(Duration::from_millis(20)).run().unwrap();
    assert!(tuned.timed > 0);
}

#[test]
fn preparing_reports_and_can_be_stopped() {
    let context = host();
    let plain = GemmProblem::new::<f32, f32, f32>(16, 16, 16);
    let grouped =
        GroupedProblem::new::<f64, f64, f64>(2).m(Source::constant(4)).n(Source::constant(4)).k(Source::constant(4));
    let mut seen = Vec::new();
    context
        .prepare([Problem::from(&plain), Problem::from(&grouped)])
        .progress(|now| {
            assert!(!now.what.is_empty());
            seen.push((now.done, now.total));
            ControlFlow::Continue(())
        })
        .run()
        .unwrap();
    assert_eq!(seen, [(1, 2), (2, 2)]);
    context.prepare([] as [&GemmProblem; 0]).run().unwrap();
    let error = context.prepare([&plain, &plain]).progress(|_| ControlFlow::Break(())).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let wrong = GemmProblem::with_dtypes(DType::I32, DType::F32, DType::F32, 1, 1, 1);
    assert!(refused(context.prepare([&wrong]).run()).contains("i32"));
}

#[test]
fn panics_in_callbacks_stay_in_rust() {
    let context = host();
    let problem = GemmProblem::new::<f32, f32, f32>(16, 16, 16);
    let caught =
        |call: &mut dyn FnMut()| *catch_unwind(AssertUnwindSafe(call)).unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(
        caught(&mut || context.prepare([&problem, &problem]).progress(|_| panic!("progress")).run().unwrap()),
        "progress"
    );
    assert_eq!(caught(&mut || drop(context.tune(&problem).on_row(|_| panic!("row")).run())), "row");
    // The context is as good as before.
    context.plan(&problem).unwrap();

    let lines = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lines);
    let log = move |_: LogLevel, _: &str| {
        count.fetch_add(1, Ordering::Relaxed);
        panic!("log")
    };
    let context = Context::builder().host().cache_dir("").log(LogLevel::Debug, log).build().unwrap();
    context.tune(&problem).budget(Duration::from_millis(1)).run().unwrap();
    assert!(lines.load(Ordering::Relaxed) > 0, "the log function was called, and its panic went nowhere");
}

#[test]
fn the_log_can_be_replaced() {
    let lines = |into: &Arc<Mutex<Vec<String>>>| {
        let into = Arc::clone(into);
        move |level: LogLevel, line: &str| into.lock().unwrap().push(format!("{level:?} {line}"))
    };
    let (first, second) = (Arc::default(), Arc::default());
    let context = Context::builder().host().cache_dir("").log(LogLevel::Info, lines(&first)).build().unwrap();
    let problem = GemmProblem::new::<f32, f32, f32>(16, 16, 16);
    let logged = || drop(context.tune(&problem).budget(Duration::from_millis(1)).run().unwrap());
    logged();
    let before = first.lock().unwrap().clone();
    assert!(before.iter().any(|line| line.starts_with("Info tuned in ")), "{before:?}");
    context.set_log(LogLevel::Info, lines(&second)).unwrap();
    logged();
    let after = second.lock().unwrap().clone();
    assert!(!after.is_empty());
    context.clear_log().unwrap();
    logged();
    assert_eq!((&*first.lock().unwrap(), &*second.lock().unwrap()), (&before, &after));
    assert_eq!(Arc::strong_count(&first), 2, "kept while a line may be in flight");
    drop(context);
    assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1));
}

#[test]
fn tile_order() {
    // The worked examples: 4x4 tiles and 1024x768, both with raster groups of 2.
    let tile = TileGrid::new(4, 4, 1, 1).raster(2).at(15).unwrap();
    assert_eq!((tile.row, tile.col), (3, 3));
    let grid = TileGrid::new(1024, 768, 128, 64).raster(2);
    let tile = grid.at(60).unwrap();
    assert_eq!((tile.group, tile.row, tile.col, tile.rows, tile.cols), (0, 4, 6, 512..640, 384..448));
    let tiles: std::collections::HashSet<_> = grid.tiles().unwrap().map(|tile| (tile.row, tile.col)).collect();
    assert_eq!(tiles.len(), 96);
    assert!(refused(grid.at(96)).contains("96"));

    let sizes = [[3, 3], [0, 5], [5, 2]];
    let grid = TileGrid::grouped(&sizes, 2, 2);
    let tiles: Vec<_> = grid.tiles().unwrap().map(|tile| (tile.group, tile.rows, tile.cols)).collect();
    assert_eq!(grid.count().unwrap(), 7);
    assert_eq!(tiles[3], (0, 2..3, 2..3));
    assert_eq!(tiles[6], (2, 4..5, 0..2));

    let config: Config = "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8".parse().unwrap();
    assert_eq!(TileGrid::of(1024, 1024, &config).count().unwrap(), 32);
    assert_eq!((config.cluster, config.swapped), ((0, 0), false));

    let grid = TileGrid::new(40, 25, 16, 10).raster(2).cluster(2, 1);
    let tile = grid.at(3).unwrap();
    assert_eq!((grid.count().unwrap(), tile.row, tile.col, tile.rows, tile.cols), (12, 3, 0, 40..40, 0..10));
    let config: Config = "sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s8_c1x2_swap_r1".parse().unwrap();
    assert_eq!((config.cluster, config.swapped), ((1, 2), true));
    let places: Vec<_> = TileGrid::of(32, 512, &config).tiles().unwrap().map(|tile| (tile.row, tile.col)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]);
    assert!(refused(TileGrid::grouped(&sizes, 2, 2).cluster(2, 1).count()).contains("cluster_m=2"));
}

#[test]
fn one_context_in_many_threads() {
    let context = host();
    let plan = context.plan(&GemmProblem::new::<f32, f32, f32>(2, 2, 3)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (context, plan) = (context.clone(), &plan);
            scope.spawn(move || {
                for _ in 0..50 {
                    let mut d = [0.0_f32; 4];
                    let (a, b) = (Mat::row_major(&A, 2, 3), Mat::row_major(&B, 3, 2));
                    context.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).alpha(thread).run().unwrap();
                    assert_eq!(d, [4.0, 5.0, 10.0, 11.0].map(|x: f32| x * thread as f32));
                    plan.gemm(a, b, MatMut::row_major(&mut d, 2, 2)).alpha(thread).beta(1).run().unwrap();
                    assert_eq!(d, [8.0, 10.0, 20.0, 22.0].map(|x: f32| x * thread as f32));
                }
            });
        }
    });
}

#[test]
fn devices_tell_of_themselves() {
    let context = host();
    assert_eq!(context.kind(), DeviceKind::Host);
    let device = context.device().unwrap();
    assert_eq!((device.kind, device.arch.as_str()), (DeviceKind::Host, ""));
    assert!(!device.name.is_empty() && device.threads > 0 && device.memory_bytes > 0);
    let error = Context::cuda(4096).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(!error.to_string().is_empty());
    assert!(refused(Context::builder().host().threads(-1).build()).contains("threads=-1"));
    assert!(refused(Context::builder().cache_dir("a\0b").build()).starts_with("cache_dir="));
    let findings = Context::builder().diagnose().unwrap();
    assert!(findings.iter().any(|finding| finding.component == "driver"), "{findings:?}");
}

#[test]
fn the_library_says_what_it_is() {
    assert!(ggemm::version().starts_with("0.1."));
    assert!(ggemm::has_feature("host") && !ggemm::has_feature("teleport") && !ggemm::has_feature("a\0b"));
}

#[test]
fn handles_may_go_where_the_contract_allows() {
    fn anywhere<T: Send + Sync + 'static>() {}
    fn across<T: Send + Sync>() {}
    anywhere::<Context>();
    anywhere::<ggemm::Plan>();
    anywhere::<ggemm::GroupedPlan>();
    anywhere::<GemmProblem>();
    anywhere::<GroupedProblem>();
    anywhere::<Config>();
    anywhere::<ggemm::Error>();
    across::<Mat<'_, f32>>();
    across::<MatMut<'_, f32>>();
    across::<TileGrid<'_>>();
}
