// SPDX-License-Identifier: Apache-2.0
//! Configurations, tuning, preparing, callbacks, contexts.

use std::{
    ops::ControlFlow,
    panic::{catch_unwind, AssertUnwindSafe},
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc, Mutex,
    },
    time::Duration,
};

use ggemm::{
    Config, Context, DType, DeviceKind, ErrorKind, GemmProblem, GroupedProblem, LogLevel, Mat, MatMut, Problem, Source,
    TileGrid,
};

use crate::{host, refused, Folder, A, B};

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
    assert_eq!((config.cluster, config.swapped), ((0, 0, 0), false));

    let grid = TileGrid::new(40, 25, 16, 10).raster(2).cluster(2, 1);
    let tile = grid.at(9).unwrap();
    assert_eq!((grid.count().unwrap(), tile.row, tile.col, tile.rows, tile.cols), (10, 2, 3, 32..40, 25..25));
    let config: Config = "sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s8_c1x2_swap_r1".parse().unwrap();
    assert_eq!((config.cluster, config.swapped), ((1, 2, 1), true));
    let places: Vec<_> = TileGrid::of(32, 512, &config).tiles().unwrap().map(|tile| (tile.row, tile.col)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]);
    assert_eq!(TileGrid::grouped(&sizes, 2, 2).cluster(2, 1).count().unwrap(), 8);
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
    let parts: Vec<i32> = ggemm::version().split('.').map(|part| part.parse().unwrap()).collect();
    assert_eq!(ggemm::version_number(), parts[0] * 10000 + parts[1] * 100 + parts[2]);
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
