// SPDX-License-Identifier: Apache-2.0
// Accesses to shared memory that nothing orders are found for every order of events; those that a barrier orders are not complained of.
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>

#include "emulated_gpu.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int seeds = 8;

struct Arguments {
  kernels::TensorMap map;
  int* out;
};

// Runs `body` as 128 threads in clusters of two CTAs, with some names at hand. What was said, if the same for every seed; else "differs".
std::string said(const std::string& body) {
  setenv("GGEMM_EMULATOR_RACES", "1", 1);
  EmulatedGpu gpu(R"(struct Arguments { TensorMap map; int* out; };
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  const u32 at = ptx::shared_address(shared), barrier = at + 16384, rank = ptx::cluster_rank();
  const int thread = static_cast<int>(threadIdx.x);
  int* const words = reinterpret_cast<int*>(shared);
  float sums[4] = {};
  if (thread == 0) ptx::barrier_init(barrier, 1);
  ptx::cluster_sync();
)" + body + "\n  p.out[0] = static_cast<int>(sums[0]);\n  ptx::cluster_barrier();\n}");
  unsetenv("GGEMM_EMULATOR_RACES");
  alignas(16) static char matrix[1024];
  alignas(16) static int out[128];
  std::string first;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::string now = gpu.run(seed, 2, 128, 16384 + 64, Arguments{tensor_map(matrix, 1, 128, 8, 128, 8), out});
    if (seed == 1) first = now;
    if (now.empty() != first.empty()) return "differs";
  }
  return first;
}

const auto race = ContainsSubstring("(a race)");

}  // namespace

TEST_CASE("threads: a barrier between a write and the reads") {
  CHECK(said("words[thread] = 1; __syncthreads(); sums[0] = words[127 - thread];") == "");
  CHECK_THAT(said("words[thread] = 1; sums[0] = words[127 - thread];"), race && ContainsSubstring("the thread"));
  CHECK(said("if (thread == 5) words[0] = 1; __syncthreads(); sums[0] = words[0];") == "");
  CHECK_THAT(said("sums[0] = words[0]; if (thread == 5) words[0] = 1;"), race);
  CHECK(said("reinterpret_cast<u8*>(shared)[thread] = 1;") == "");  // neighbouring bytes are nobody else's
  CHECK_THAT(said("reinterpret_cast<u8*>(shared)[thread / 2] = 1;"), race);
}

TEST_CASE("threads: barriers of a part order that part only") {
  CHECK(said("words[thread] = 1; __syncwarp(); sums[0] = words[thread ^ 1];") == "");
  CHECK_THAT(said("words[thread] = 1; __syncwarp(); sums[0] = words[thread ^ 32];"), race);
  CHECK(said("words[thread] = 1; ptx::barrier_sync<64>(1 + thread / 64); sums[0] = words[thread ^ 32];") == "");
  CHECK_THAT(said("words[thread] = 1; ptx::barrier_sync<64>(1 + thread / 64); sums[0] = words[thread ^ 64];"), race);
  CHECK(said("if (thread == 0) words[0] = 1, ptx::barrier_arrive(barrier); else ptx::barrier_wait(barrier, 0), sums[0] = words[0];") == "");
  CHECK_THAT(said("if (thread == 0) ptx::barrier_arrive(barrier), words[0] = 1; else ptx::barrier_wait(barrier, 0), sums[0] = words[0];"), race);
}

TEST_CASE("ldmatrix and stmatrix access what each lane holds") {
  CHECK(said("u32 w[4] = {}; ptx::stmatrix(at + thread * 16, w); sums[0] = words[thread / 32 * 128 + thread % 32];") == "");
  CHECK_THAT(said("u32 w[4] = {}; ptx::stmatrix(at + thread * 16, w); ptx::ldmatrix_transposed(w, at + thread * 16);"), race && ContainsSubstring("ldmatrix"));
  CHECK(said("u32 w[4] = {}; ptx::stmatrix(at + thread * 16, w); __syncwarp(); ptx::ldmatrix_transposed(w, at + thread * 16);") == "");
}

TEST_CASE("copies: until they are waited for, nobody else may touch their shared memory") {
  const std::string load = "if (thread == 0) ptx::barrier_arrive_expect(barrier, 1024), ptx::tensor_load(at, p.map, barrier, 0, 0); ";
  CHECK(said(load + "ptx::barrier_wait(barrier, 0); sums[0] = words[thread];") == "");
  CHECK_THAT(said(load + "if (thread == 9) sums[0] = words[thread]; ptx::barrier_wait(barrier, 0);"), race && (ContainsSubstring("a copy that the mbarrier") || ContainsSubstring("cp.async.bulk.tensor")));
  CHECK_THAT(said("words[thread] = 1; __syncthreads(); " + load + "ptx::barrier_wait(barrier, 0);"), ContainsSubstring("without a fence (fence.proxy.async)"));
  CHECK(said("words[thread] = 1; ptx::fence_async(); __syncthreads(); " + load + "ptx::barrier_wait(barrier, 0);") == "");
  // That threads have read the bytes meanwhile is no fence.
  CHECK_THAT(said("words[thread] = 1; __syncthreads(); sums[0] = words[thread ^ 1]; __syncthreads(); " + load + "ptx::barrier_wait(barrier, 0);"), ContainsSubstring("without a fence (fence.proxy.async)"));
  const std::string copy = "ptx::cp_async<4>(at + thread * 4, p.out, false); ptx::cp_async_commit(); ";
  CHECK(said(copy + "ptx::cp_async_wait<0>(); __syncthreads(); sums[0] = words[thread ^ 1];") == "");
  CHECK_THAT(said(copy + "__syncthreads(); sums[0] = words[thread ^ 1]; ptx::cp_async_wait<0>();"), race && ContainsSubstring("cp.async of"));
}

TEST_CASE("stores: what they read is written before, with a fence, and not again until they have read it") {
  const std::string fill = "words[thread] = 1; ptx::fence_async(); __syncthreads(); ", store = "if (thread == 0) ptx::tensor_store(p.map, at, 0, 0), ptx::store_commit(); ";
  const std::string wait = "if (thread == 0) ptx::store_wait_read<0>(); ", over = "words[thread] = 2; ", line = "if (thread == 0) ptx::bulk_store(p.out, at, 512), ptx::store_commit(); ";
  CHECK(said(fill + store + wait + "__syncthreads(); " + over) == "");
  CHECK_THAT(said(fill + store + "__syncthreads(); " + over + wait), race && ContainsSubstring("a bulk store of"));
  CHECK_THAT(said(fill + store + wait + over), race);  // thread 0 waits, the others do not know
  CHECK_THAT(said("words[thread] = 1; __syncthreads(); " + store + wait), ContainsSubstring("without a fence"));
  CHECK(said(fill + line + wait + "__syncthreads(); " + over) == "");
  CHECK_THAT(said(fill + line + "__syncthreads(); " + over + wait), race && ContainsSubstring("a bulk store of"));
  CHECK_THAT(said("words[thread] = 1; __syncthreads(); " + line + wait), ContainsSubstring("without a fence"));
}

TEST_CASE("products read their operands from the first to the wait") {
  const std::string fill = "words[thread] = 0; words[thread + 2048] = 0; ptx::fence_async(); __syncthreads(); ";
  const std::string product = "ptx::wgmma_fence(); ptx::Wgmma<8>::mma(sums, ptx::wgmma_descriptor(at, 0, 1024), ptx::wgmma_descriptor(at + 8192, 0, 1024), 1); ptx::wgmma_commit(); ";
  const std::string wait = "ptx::wgmma_wait<0>(); ";
  CHECK(said(fill + product + wait + "__syncthreads(); words[thread] = 1;") == "");
  CHECK_THAT(said(fill + product + "if (thread == 3) words[0] = 1; " + wait), race);
  CHECK_THAT(said("words[thread] = 0; __syncthreads(); " + product + wait), ContainsSubstring("without a fence"));
  CHECK_THAT(said("words[thread] = 0; ptx::fence_async(); " + product + wait), race);
}

TEST_CASE("a cluster's CTAs see each other's shared memory by way of a releasing barrier") {
  const std::string write = "words[thread] = 1; ", read = "sums[0] = static_cast<float>(ptx::load_cluster(ptx::cluster_address(at + thread * 16 % 256, rank ^ 1)).word[0]); ";
  CHECK(said(write + "ptx::cluster_barrier(); " + read) == "");
  CHECK_THAT(said(write + "ptx::cluster_sync(); " + read), race);  // relaxed: it orders no ordinary accesses
  CHECK_THAT(said(write + "__syncthreads(); " + read), race);
}
