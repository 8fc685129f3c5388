// SPDX-License-Identifier: Apache-2.0
//! A GPU, where there is one: cudarc's memory and streams, plans, groups, tuning with an allocator of one's own. Where there is
//! none each test says so and passes.
#![cfg(all(feature = "half", feature = "cudarc"))]

use std::{
    ffi::c_void,
    ptr::NonNull,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc,
    },
    time::Duration,
};

use cudarc::driver::{result, sys::CUstream, CudaContext};
use ggemm::{
    cudarc::{read, write},
    Activation, Context, DeviceAllocator, DeviceKind, ErrorKind, Fault, FaultKind, GemmProblem, GroupScale,
    GroupStride, GroupedProblem, Mat, MatMut, ScaleKind, Source,
};
use half::bf16;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// ggemm's context; `None`, and a line that says why, where there is no GPU.
fn found() -> Option<Context> {
    let error = match Context::cuda(0) {
        Ok(context) => return Some(context),
        Err(error) => error,
    };
    assert_eq!(error.kind(), ErrorKind::Device, "{error}");
    println!("skipped, no GPU: {error}");
    None
}

/// cudarc's context, if there is a GPU: without a driver cudarc would panic.
fn gpu() -> Option<Arc<CudaContext>> {
    found().map(|_| CudaContext::new(0).expect("ggemm found the device"))
}

/// Small integers: sums are exact in f32, whatever their order.
fn integers(count: usize, step: usize) -> Vec<bf16> {
    (0..count).map(|i| bf16::from_f32(((i * step) % 5) as f32 - 2.0)).collect()
}

const M: usize = 200;
const N: usize = 136;
const K: usize = 72;

fn expected(a: &[bf16], b: &[bf16], activation: Activation) -> Vec<f32> {
    let mut d = vec![0.0; M * N];
    let host = Context::host().expect("a host context");
    let product = host.gemm(Mat::row_major(a, M, K), Mat::row_major(b, N, K).t(), MatMut::row_major(&mut d, M, N));
    product.activation(activation).run().expect("a product");
    d
}

#[test]
fn products_and_plans() -> Outcome {
    let Some(cuda) = gpu() else { return Ok(()) };
    let stream = cuda.new_stream()?;
    let (host_a, host_b) = (integers(M * K, 3), integers(N * K, 7));
    let (a, b) = (stream.clone_htod(&host_a)?, stream.clone_htod(&host_b)?);
    let mut d = stream.alloc_zeros::<f32>(M * N)?;
    let context = Context::builder().cudarc(&cuda).build()?;
    assert_eq!(context.kind(), DeviceKind::Cuda);
    {
        let (a, b, mut d) = (read(&a, &stream), read(&b, &stream), write(&mut d, &stream));
        let product = context.gemm(a.slice().row_major(M, K), b.slice().row_major(N, K).t(), d.slice().row_major(M, N));
        // SAFETY: memory of this device, used on this stream alone, which is waited for below.
        unsafe { product.activation(Activation::Relu).on(&stream).launch()? };
    }
    assert_eq!(stream.clone_dtoh(&d)?, expected(&host_a, &host_b, Activation::Relu));

    let plan = {
        let (a, b, mut d) = (read(&a, &stream), read(&b, &stream), write(&mut d, &stream));
        context.gemm(a.slice().row_major(M, K), b.slice().row_major(N, K).t(), d.slice().row_major(M, N)).plan()?
    };
    println!("{}", plan.explain()?);
    {
        let (a, b, mut d) = (read(&a, &stream), read(&b, &stream), write(&mut d, &stream));
        let run = plan.gemm(a.slice().row_major(M, K), b.slice().row_major(N, K).t(), d.slice().row_major(M, N));
        // SAFETY: as above.
        unsafe { run.on(&stream).launch()? };
    }
    assert_eq!(stream.clone_dtoh(&d)?, expected(&host_a, &host_b, Activation::None));
    Ok(())
}

#[test]
fn groups_by_addresses() -> Outcome {
    let Some(cuda) = gpu() else { return Ok(()) };
    let stream = cuda.default_stream();
    let (host_a, host_b) = (integers(M * K, 3), integers(N * K, 7));
    let (a, b) = (stream.clone_htod(&host_a)?, stream.clone_htod(&host_b)?);
    let mut d = stream.alloc_zeros::<f32>(M * N)?;
    // The rows of one product, cut in three groups, of which one is empty.
    let cuts = [0, 64, 64, M];
    let sizes: Vec<i32> = cuts.windows(2).flat_map(|cut| [(cut[1] - cut[0]) as i32, N as i32, K as i32]).collect();
    let context = Context::builder().cudarc(&cuda).build()?;
    {
        let (a_start, b_start, d_start) = {
            use cudarc::driver::{DevicePtr, DevicePtrMut};
            (a.device_ptr(&stream).0, b.device_ptr(&stream).0, d.device_ptr_mut(&stream).0)
        };
        let at = |start: u64, row: usize| cuts[..3].iter().map(|&cut| start + (cut * row) as u64).collect::<Vec<_>>();
        let (a_at, b_at) = (stream.clone_htod(&at(a_start, 2 * K))?, stream.clone_htod(&vec![b_start; 3])?);
        let (d_at, sizes) = (stream.clone_htod(&at(d_start, 4 * N))?, stream.clone_htod(&sizes)?);
        let first = {
            use cudarc::driver::DevicePtr;
            sizes.device_ptr(&stream).0 as *const i32
        };
        let problem = GroupedProblem::new::<bf16, bf16, f32>(3)
            .m(Source::i32_at(first, 12))
            .n(Source::i32_at(first.wrapping_add(1), 12))
            .k(Source::i32_at(first.wrapping_add(2), 12))
            .b_strides(Source::constant(1), Source::constant(K as i64));
        let (a_at, b_at, d_at) = (read(&a_at, &stream), read(&b_at, &stream), read(&d_at, &stream));
        let launch = context.device_groups(&problem, a_at.slice(), b_at.slice(), d_at.slice());
        // SAFETY: addresses of rows of these matrices; the stream is waited for before anything goes.
        unsafe { launch.on(&stream).launch()? };
        stream.synchronize()?;
    }
    assert_eq!(stream.clone_dtoh(&d)?, expected(&host_a, &host_b, Activation::None));
    Ok(())
}

/// The rows of one product, cut in three groups, of which one is empty; then ends that fall, in checked mode.
#[test]
fn rows_sorted_by_group() -> Outcome {
    let Some(cuda) = gpu() else { return Ok(()) };
    let stream = cuda.default_stream();
    let (host_a, host_b) = (integers(M * K, 3), integers(N * K, 7));
    let (a, b) = (stream.clone_htod(&host_a)?, stream.clone_htod(&host_b)?);
    let mut d = stream.alloc_zeros::<f32>(M * N)?;
    let (mut status, scale) = (stream.clone_htod(&[7_i32; 4])?, stream.clone_htod(&[0.5_f32])?);
    let context = Context::builder().cudarc(&cuda).build()?;
    for (ends, fault) in [([64_i32, 64, M as i32], None), ([64, 63, M as i32], Some(FaultKind::End))] {
        let ends = stream.clone_htod(&ends)?;
        {
            let first = {
                use cudarc::driver::DevicePtr;
                ends.device_ptr(&stream).0 as *const i32
            };
            let problem = GroupedProblem::new::<bf16, bf16, f32>(3)
                .ragged_m(Source::i32_at(first, 4))
                .m(Source::constant(M as i64))
                .n(Source::constant(N as i64))
                .k(Source::constant(K as i64))
                .b_strides(Source::constant(1), Source::constant(K as i64))
                .b_groups(GroupStride::Elements(0))
                .scale_a(GroupScale::new(ScaleKind::Tensor).groups(GroupStride::Elements(0)))
                .activation(Activation::Relu)
                .checked();
            let (a, b, scale) = (read(&a, &stream), read(&b, &stream), read(&scale, &stream));
            let (mut d, mut status) = (write(&mut d, &stream), write(&mut status, &stream));
            let plan = context.plan_grouped(&problem)?;
            let launch = plan.device_groups(a.slice(), b.slice(), d.slice().as_const());
            // SAFETY: matrices of these sizes; the stream is waited for before anything goes.
            unsafe { launch.alpha(2).scale_a(scale.slice()).status(status.slice()).on(&stream).launch()? };
            stream.synchronize()?;
        }
        let found: [i32; 4] = stream.clone_dtoh(&status)?.try_into().expect("four numbers");
        assert_eq!(Fault::read(found).map(|fault| fault.kind), fault);
        // What was wrong has written nothing.
        assert_eq!(stream.clone_dtoh(&d)?, expected(&host_a, &host_b, Activation::Relu));
    }
    Ok(())
}

/// The driver's own allocator, counted.
struct Counted(Arc<AtomicUsize>);

// SAFETY: memory of the current device from its stream-ordered allocator.
unsafe impl DeviceAllocator for Counted {
    fn allocate(&self, bytes: usize, stream: *mut c_void) -> Option<NonNull<c_void>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: a stream of the context that is current during the call.
        let address = unsafe { result::malloc_async(stream as CUstream, bytes) }.ok()?;
        NonNull::new(address as *mut c_void)
    }
    fn deallocate(&self, pointer: NonNull<c_void>, _bytes: usize, stream: *mut c_void) {
        // SAFETY: as above; what allocate() gave.
        let freed = unsafe { result::free_async(pointer.as_ptr() as u64, stream as CUstream) };
        self.0.fetch_add(if freed.is_ok() { 1000 } else { 0 }, Ordering::Relaxed);
    }
}

#[test]
fn tuning_takes_the_allocator() -> Outcome {
    let Some(cuda) = gpu() else { return Ok(()) };
    let count = Arc::new(AtomicUsize::new(0));
    let context = Context::builder().cudarc(&cuda).cache_dir("").allocator(Counted(Arc::clone(&count))).build()?;
    let problem = GemmProblem::new::<bf16, bf16, f32>(M, N, K);
    let configs = context.configs(&problem)?;
    let tuned = context.tune(&problem).configs(&configs[..1]).budget(Duration::from_millis(200)).run()?;
    assert_eq!(tuned.best, configs[0]);
    let count = count.load(Ordering::Relaxed);
    assert!(count > 0 && count % 1000 == count / 1000, "{count}: thousands of frees, ones of allocations");
    Ok(())
}

#[test]
fn host_slices_are_refused() -> Outcome {
    let Some(context) = found() else { return Ok(()) };
    let (a, mut d) = ([1.0_f32], [0.0_f32]);
    let product = context.gemm(Mat::row_major(&a, 1, 1), Mat::row_major(&a, 1, 1), MatMut::row_major(&mut d, 1, 1));
    let error = product.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains(&context.device()?.name), "{error}");
    Ok(())
}
