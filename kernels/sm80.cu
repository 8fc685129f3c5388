// SPDX-License-Identifier: Apache-2.0
// The tensor-core kernel of sm_80 and up: cp.async ring and mma.sync, plain and grouped; f16, bf16, tf32, i8 and f64, and f32 as f64.
#include "mainloop/multistage.cuh"
#include "tile_loop.cuh"

using namespace ggemm::kernels;

extern "C" __global__ void __launch_bounds__(Traits::THREADS, GG_MIN_CTAS) GG_KERNEL_NAME(const __grid_constant__ SchedulerOf<Traits>::Params params) {
  tile_loop<Traits, MultistageMainloop<Traits>>(params);
}
