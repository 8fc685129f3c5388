// SPDX-License-Identifier: Apache-2.0
// The tensor-core kernel of sm_90a: a producer warpgroup and consumer warpgroups in one persistent CTA, tensor maps, wgmma, clusters; plain and grouped.
#include "ptx/launch.cuh"
#include "roles/cta.cuh"
#include "roles/grouped.cuh"
#include "roles/plain.cuh"

using namespace ggemm::kernels;

using Form = If<T::GROUPED, Grouped<T>, Plain<T>>;

// A launch of clusters, be these of one CTA, is dealt to GPCs by turns; another fills one GPC after the other. Then neighbours in the raster order, which read the same lines of A and B, are in one, and their requests are joined on the way to L2.
#if GG_CLUSTER_M * GG_CLUSTER_N * GG_CLUSTER_K == 1
#undef __cluster_dims__
#define __cluster_dims__(...)  // (and the kernel's head says the same either way, as the emulated GPU reads it)
#endif
static_assert((GG_CLUSTER_M * GG_CLUSTER_N * GG_CLUSTER_K == 1) == (Shape::CLUSTER == 1));
extern "C" __global__ void __cluster_dims__(Shape::CLUSTER, 1, 1) __launch_bounds__(PRODUCER_THREADS + 128 * CONSUMERS, GG_MIN_CTAS) GG_KERNEL_NAME(const __grid_constant__ Form::Params params) {
  extern __shared__ __align__(1024) char shared[];
  const Cta cta(shared);
  const Form form(params);
  const int warp = ptx::of_first_lane(static_cast<int>(threadIdx.x) / 32);
  // Nothing is under way until the first box is asked for, and parameters come slowly: of the producers' warps each has one thing to do ahead.
  Form::First first;
  if (warp == 0 || warp == Form::ALSO_FIRST) first.prepare(form);
  if (0 < warp && warp < PRODUCER_THREADS / 32 && ptx::renewed(static_cast<int>(threadIdx.x)) % 32 == 0) {  // (else a consumer keeps what follows from it, and spills)
    if (warp == 1) {
      cta.init();
      form.init();
      ptx::fence_barrier_init();
    }
    if (warp == Form::PREFETCHER) form.prefetch();
    if (warp == 3) form.prefetch_others();
  }
  __syncwarp();
  form.count();
  // A cluster's barrier, which is relaxed, orders nothing of what count() has written.
  if constexpr (Shape::CLUSTER == 1 || (T::GROUPED && T::SLICED)) __syncthreads();
  if constexpr (Shape::CLUSTER > 1) ptx::cluster_sync();
  form.begin();
  if (warp < PRODUCER_THREADS / 32) {
    if constexpr (MOVE_REGISTERS) ptx::registers_release<PRODUCER_REGISTERS>();
    form.produce(cta, first);
    if constexpr (T::CLUSTER_K > 1) {
      __syncwarp();
      ptx::cluster_barrier();  // the reduction's
    }
  } else {
    if constexpr (MOVE_REGISTERS) ptx::registers_take<CONSUMER_REGISTERS>();
    form.consume(cta, Shape::group(32 * warp));
  }
  form.end();
  // No CTA leaves while another may still read its sums; who comes here has those that it reads.
  if constexpr (T::CLUSTER_K > 1) {
    __syncwarp();
    ptx::cluster_sync();
  }
}
