// SPDX-License-Identifier: Apache-2.0
// Before a plain product: copies operands that tensor maps do not reach, or that come slowly as they lie, both of a product in one launch.
#include "pipeline/repack.cuh"
#include "ptx/launch.cuh"

using namespace ggemm::kernels;

extern "C" __global__ void __launch_bounds__(repack_threads) GG_KERNEL_NAME(const __grid_constant__ RepackParams params) {
  ptx::launch_next();
  const bool second = blockIdx.x >= params.copies[0].blocks;
  copy_block(params.copies[second], static_cast<u32>(blockIdx.x - (second ? params.copies[0].blocks : 0)));
}
