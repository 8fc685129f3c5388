// SPDX-License-Identifier: Apache-2.0
//! How calls reach a CUDA device: without a driver, and with the project's driver for tests (`$GGEMM_FAKE_DRIVER`), in whose memory
//! nothing is computed. The driver is chosen once in a process, so each test runs in one of its own.

use std::{
    env,
    ffi::c_void,
    process::Command,
    ptr::NonNull,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc, Mutex,
    },
    time::Duration,
};

use ggemm::{
    Context, DType, DeviceAllocator, DeviceKind, DeviceSlice, DeviceSliceMut, ErrorKind, GemmProblem, GroupedProblem,
    Layout, LogLevel, Mat, MatMut, Source, Stream,
};

/// Runs the test of this name in a process that takes this file for the driver.
fn in_child(test: &str, driver: &str, body: impl FnOnce()) {
    if env::var("GGEMM_TEST_CHILD").is_ok_and(|child| child == test) {
        return body();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .envs([("GGEMM_TEST_CHILD", test), ("GGEMM_LIBCUDA", driver), ("GGEMM_FAKE_DEVICES", "90")])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{errors}");
}

fn with_fake_driver(test: &str, body: impl FnOnce(Context)) {
    match env::var("GGEMM_FAKE_DRIVER") {
        Ok(driver) => in_child(test, &driver, || body(Context::builder().cuda(0).cache_dir("").build().unwrap())),
        Err(_) => println!("skipped: needs $GGEMM_FAKE_DRIVER, the project's libcuda.so.1 for tests"),
    }
}

/// Device memory of that address.
fn at<'a, T>(address: usize, len: usize) -> DeviceSlice<'a, T> {
    // SAFETY: nothing reads it.
    unsafe { DeviceSlice::from_raw_parts(address as *const T, len) }
}

fn at_mut<'a, T>(address: usize, len: usize) -> DeviceSliceMut<'a, T> {
    // SAFETY: nothing writes it.
    unsafe { DeviceSliceMut::from_raw_parts(address as *mut T, len) }
}

#[test]
fn no_driver() {
    if Context::cuda(0).is_ok() {
        return println!("skipped: this machine has a GPU");
    }
    in_child("no_driver", "/nonexistent/libcuda.so.1", || {
        let error = Context::cuda(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
        assert!(error.to_string().contains("/nonexistent/libcuda.so.1"), "{error}");
        let lines = Arc::new(Mutex::new(String::new()));
        let log = Arc::clone(&lines);
        let context = Context::builder()
            .cache_dir("")
            .log(LogLevel::Info, move |_, line| log.lock().unwrap().push_str(line))
            .build()
            .unwrap();
        assert_eq!(context.kind(), DeviceKind::Host);
        assert!(lines.lock().unwrap().contains("no CUDA device, so the host is used"), "{lines:?}");
    });
}

#[test]
fn the_device_is_told_and_host_slices_are_refused() {
    with_fake_driver("the_device_is_told_and_host_slices_are_refused", |context| {
        let device = context.device().unwrap();
        assert_eq!((device.kind, device.ordinal, device.compute_capability), (DeviceKind::Cuda, 0, 90));
        assert_eq!(device.arch, "sm_90a");
        assert!(device.multiprocessors > 0 && device.memory_bytes > 0 && device.driver_version >= 12000);
        assert!(Context::cuda(7).unwrap_err().to_string().contains('7'));

        let (a, mut d) = ([1.0_f32; 4], [0.0_f32; 4]);
        let view = Mat::row_major(&a, 2, 2);
        let error = context.gemm(view, view, MatMut::row_major(&mut d, 2, 2)).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains(&device.name), "{error}");
    });
}

#[test]
fn products_of_device_memory_are_launched() {
    with_fake_driver("products_of_device_memory_are_launched", |context| {
        let operands = || {
            let (a, b) = (at::<f32>(0x1000, 4).row_major(2, 2), at::<f32>(0x2000, 4).row_major(2, 2).t());
            (a, b, at_mut::<f32>(0x3000, 4).row_major(2, 2))
        };
        let (a, b, d) = operands();
        let bias = at::<f32>(0x4000, 2).bias_per_column();
        let product = context.gemm(a, b, d).bias(bias).alpha_at(at::<f32>(0x5000, 1));
        // SAFETY: here and below, memory that nothing reads or writes.
        unsafe { product.launch().unwrap() };
        let (a, b, d) = operands();
        let product = context.gemm(a, b, d).on(Stream::from_raw(0x6661 as *mut c_void));
        // SAFETY: as above; the driver refuses a stream that is none of its own.
        assert!(unsafe { product.launch() }.is_err(), "a stream that is none reached nothing");

        let plan = context.plan(&GemmProblem::new::<f32, f32, f32>(2, 2, 2).b_layout(Layout::ColMajor)).unwrap();
        assert!(plan.explain().unwrap().contains("registers"));
        let (a, b, d) = operands();
        // SAFETY: as above.
        unsafe { plan.gemm(a, b, d).alpha(2).launch().unwrap() };
        assert!(
            context.configs(&GemmProblem::with_dtypes(DType::F32, DType::F32, DType::F32, 2, 2, 2)).unwrap().len() > 1
        );
    });
}

#[test]
fn groups_are_read_from_device_memory() {
    with_fake_driver("groups_are_read_from_device_memory", |context| {
        let size = |offset: usize| Source::i32_at((0x1000 + offset) as *const i32, 12);
        let problem = GroupedProblem::new::<f32, f32, f32>(3).m(size(0)).n(size(4)).k(size(8));
        let array = |address: usize| at::<u64>(address, 3);
        // SAFETY: arrays that nothing reads.
        unsafe { context.device_groups(&problem, array(0x2000), array(0x2100), array(0x2200)).launch().unwrap() };
        let plan = context.plan_grouped(&problem).unwrap();
        // SAFETY: as above.
        unsafe { plan.device_groups(array(0x2000), array(0x2100), array(0x2200)).alpha(2).launch().unwrap() };
    });
}

/// Has nothing to give.
struct Empty(Arc<AtomicUsize>);

// SAFETY: it gives nothing.
unsafe impl DeviceAllocator for Empty {
    fn allocate(&self, bytes: usize, _stream: *mut c_void) -> Option<NonNull<c_void>> {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        None
    }
    fn deallocate(&self, _pointer: NonNull<c_void>, _bytes: usize, _stream: *mut c_void) {
        panic!("nothing was allocated");
    }
}

#[test]
fn memory_is_asked_of_the_allocator() {
    with_fake_driver("memory_is_asked_of_the_allocator", |_| {
        let asked = Arc::new(AtomicUsize::new(0));
        let context = Context::builder().cuda(0).cache_dir("").allocator(Empty(Arc::clone(&asked))).build().unwrap();
        let problem = GemmProblem::new::<f32, f32, f32>(16, 16, 16);
        let error = context.tune(&problem).budget(Duration::from_millis(1)).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        assert!(asked.load(Ordering::Relaxed) >= 16 * 16 * 4);
    });
}
