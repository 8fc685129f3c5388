// SPDX-License-Identifier: Apache-2.0
// The CUDA-core kernel: any two dtypes and strides, plain and grouped. sm_75 and up.
#include "mainloop/simt.cuh"
#include "tile_loop.cuh"

using namespace ggemm::kernels;

extern "C" __global__ void __launch_bounds__(Traits::THREADS, GG_MIN_CTAS) GG_KERNEL_NAME(const __grid_constant__ SchedulerOf<Traits>::Params params) {
  tile_loop<Traits, SimtMainloop<Traits>>(params);
}
