// SPDX-License-Identifier: Apache-2.0
// Barriers, warps and clusters on the emulated GPU: right kernels run whatever the order of events, wrong ones are told.
#include <catch2/matchers/catch_matchers_string.hpp>

#include "emulated_gpu.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Out {
  int* data;
};

constexpr int seeds = 20;

}  // namespace

TEST_CASE("threads take turns in an order that the seed decides") {
  EmulatedGpu gpu(R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) { out.data[1 + atomicAdd(out.data, 1)] = static_cast<int>(threadIdx.x); })");
  const auto order = [&](std::uint64_t seed) {
    std::vector<int> data(65, 0);
    CHECK(gpu.run(seed, 1, 64, 0, Out{data.data()}) == "");
    CHECK(data[0] == 64);
    return data;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

TEST_CASE("a missing __syncthreads shows") {
  const char* const text = R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  __shared__ int value[128];
  value[threadIdx.x] = static_cast<int>(threadIdx.x);
  BARRIER;
  out.data[threadIdx.x] = value[127 - threadIdx.x];
})";
  std::vector<int> data(128), right(128);
  for (int i = 0; i < 128; ++i) right[static_cast<std::size_t>(i)] = 127 - i;
  const auto is_right = [&] { return data == right; };
  EmulatedGpu with(text, {"-DBARRIER=__syncthreads()"});
  CHECK(with.right_of(seeds, 1, 128, 0, Out{data.data()}, is_right) == seeds);
  EmulatedGpu without(text, {"-DBARRIER="});
  CHECK(without.right_of(seeds, 1, 128, 0, Out{data.data()}, is_right) == 0);
}

TEST_CASE("shared memory is poisoned, and of each CTA its own") {
  EmulatedGpu gpu(R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  __shared__ int count[2];
  extern __shared__ __align__(1024) char bytes[];
  out.data[2 * blockIdx.x] = count[0] == 0 || bytes[5] == 0;
  count[1] = static_cast<int>(blockIdx.x);
  out.data[2 * blockIdx.x + 1] = count[1] + static_cast<int>(__cvta_generic_to_shared(bytes) % 1024);
})");
  std::vector<int> data(8, -1);
  CHECK(gpu.run(1, 4, 1, 100, Out{data.data()}) == "");
  CHECK(data == std::vector<int>{0, 0, 0, 1, 0, 2, 0, 3});
}

TEST_CASE("a deadlock tells what every thread waits for") {
  EmulatedGpu gpu(R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  extern __shared__ __align__(1024) char shared[];
  const u32 barrier = ptx::shared_address(shared);
  if (threadIdx.x == 0) ptx::barrier_init(barrier, 2);
  __syncthreads();
  if (threadIdx.x == 0) ptx::barrier_arrive_expect(barrier, 64);
  if (threadIdx.x < 32) ptx::barrier_wait(barrier, 0);
  else ptx::barrier_sync<128>(3);
})");
  const std::string failure = gpu.run(1, 1, 96, 64, Out{});
  CHECK_THAT(failure, ContainsSubstring("deadlock in kernel kernel"));
  CHECK_THAT(failure, ContainsSubstring("threads 0 to 31: waits for the mbarrier at 1024, parity 0 (it is in phase 0; 1 of 2 arrivals and 64 bytes are missing)"));
  CHECK_THAT(failure, ContainsSubstring("threads 32 to 95: waits for bar.sync 3, of 128 threads"));
  CHECK_THAT(failure, ContainsSubstring("GGEMM_EMULATOR_LAUNCH_SEED="));
}

TEST_CASE("misuse of a barrier in memory is told") {
  const char* const text = R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  extern __shared__ __align__(1024) char shared[];
  const u32 barrier = ptx::shared_address(shared);
  ptx::barrier_init(barrier, 1);
  ptx::fence_barrier_init();
  USE;
})";
  const auto said = [&](const std::string& use) {
    EmulatedGpu gpu(text, {"-DUSE=" + use});
    return gpu.run(1, 1, 1, 64, Out{});
  };
  CHECK(said("ptx::barrier_arrive(barrier),ptx::barrier_wait(barrier,0),ptx::barrier_wait(barrier,0)") == "");
  CHECK_THAT(said("ptx::barrier_arrive_expect(barrier,16),ptx::barrier_arrive(barrier)"), ContainsSubstring("beyond the phase's 1 arrivals"));
  CHECK_THAT(said("ptx::barrier_arrive(barrier+8)"), ContainsSubstring("there is no barrier at 1032"));
  CHECK_THAT(said("ptx::barrier_arrive(barrier+4)"), ContainsSubstring("no multiple of 8"));
  CHECK_THAT(said("shared[3]=1,ptx::barrier_arrive(barrier)"), ContainsSubstring("was overwritten"));
  CHECK_THAT(said("ptx::barrier_init(barrier,1)"), ContainsSubstring("where a barrier is"));
  CHECK_THAT(said("ptx::barrier_arrive(barrier+64)"), ContainsSubstring("of 1088 bytes of shared memory"));
  CHECK_THAT(said("ptx::barrier_wait(barrier,1),ptx::barrier_wait(barrier,0)"), ContainsSubstring("deadlock"));
}

TEST_CASE("bar.sync is of whole warps and of one count") {
  const char* const text = R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) { USE; })";
  const auto said = [&](const std::string& use) {
    EmulatedGpu gpu(text, {"-DUSE=" + use});
    return gpu.run(1, 1, 128, 0, Out{});
  };
  CHECK(said("ptx::barrier_sync<64>(1+threadIdx.x/64)") == "");
  CHECK_THAT(said("if(threadIdx.x%2)ptx::barrier_sync<64>(1)"), ContainsSubstring("a part of warp"));
  CHECK_THAT(said("if(threadIdx.x<64)ptx::barrier_sync<64>(1);else ptx::barrier_sync<128>(1)"), ContainsSubstring("for"));
  CHECK_THAT(said("if(threadIdx.x<64)ptx::barrier_sync<128>(1);else ptx::barrier_any<128>(1,true)"), ContainsSubstring("meet at barrier 1"));
}

TEST_CASE("bar.red gives all its threads one vote, which is each barrier's own") {
  const char* const text = R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  const int thread = static_cast<int>(threadIdx.x), number = 1 + thread / 64;
  for (int i = 0; i < 3; ++i) out.data[3 * thread + i] = ptx::barrier_any<64>(number, i == 1 && thread == 70);
})";
  EmulatedGpu gpu(text, {});
  std::vector<int> votes(3 * 128, 7);
  REQUIRE(gpu.run(1, 1, 128, 0, Out{votes.data()}) == "");
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < 3; ++i) CHECK(votes[static_cast<std::size_t>(3 * thread + i)] == (i == 1 && thread >= 64));
}

TEST_CASE("a warp's instruction wants all of the warp, with the same arguments") {
  const char* const text = R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  extern __shared__ __align__(1024) char shared[];
  const u32 at = ptx::shared_address(shared), lane = threadIdx.x;
  u32 words[4] = {};
  float sums[4] = {};
  USE;
})";
  const auto said = [&](const std::string& use) {
    EmulatedGpu gpu(text, {"-DUSE=" + use});
    return gpu.run(1, 1, 32, 1024, Out{});
  };
  CHECK(said("ptx::ldmatrix(words,at+lane*16),ptx::Bf16Mma::mma(sums,words,{words[0],words[1]})") == "");
  CHECK_THAT(said("if(lane<16)ptx::ldmatrix(words,at+lane*16)"), ContainsSubstring("deadlock") || ContainsSubstring("has ended"));
  CHECK_THAT(said("if(lane<16)ptx::ldmatrix(words,at);else ptx::ldmatrix_transposed(words,at)"), ContainsSubstring("other arguments than other lanes"));
  CHECK_THAT(said("if(lane<16)ptx::ldmatrix(words,at);else __syncwarp()"), ContainsSubstring("while other lanes of the warp are at"));
  CHECK_THAT(said("if(lane<16)ptx::ldmatrix(words,at);else __syncthreads()"), ContainsSubstring("while other lanes of the warp are at ldmatrix") || ContainsSubstring("deadlock"));
  CHECK_THAT(said("ptx::ldmatrix(words,at+lane*8)"), ContainsSubstring("no multiple of 16"));
  CHECK_THAT(said("ptx::ldmatrix(words,at+lane*32+32)"), ContainsSubstring("of 2048 bytes of shared memory"));
  CHECK_THAT(said("__shfl_sync(lane<8?0xffffffffu:0xffu,lane,0)"), ContainsSubstring("its own is not among") || ContainsSubstring("other arguments"));
}

TEST_CASE("shuffles and votes") {
  EmulatedGpu gpu(R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  const int lane = static_cast<int>(threadIdx.x);
  out.data[lane] = __shfl_up_sync(0xffffffffu, lane * 10, 3);
  out.data[32 + lane] = __shfl_sync(0xffffffffu, lane * 10, lane ^ 5);
  out.data[64 + lane] = static_cast<int>(__ballot_sync(0xffffffffu, lane % 3 == 0));
})");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<int> data(96, -1);
    REQUIRE(gpu.run(seed, 1, 32, 0, Out{data.data()}) == "");
    for (int lane = 0; lane < 32; ++lane) {
      CHECK(data[static_cast<std::size_t>(lane)] == (lane < 3 ? lane : lane - 3) * 10);
      CHECK(data[static_cast<std::size_t>(32 + lane)] == (lane ^ 5) * 10);
      CHECK(data[static_cast<std::size_t>(64 + lane)] == 0x49249249);
    }
  }
}

TEST_CASE("a cluster: arrivals at other CTAs' barriers, and a barrier of all") {
  const char* const text = R"(struct Out { int* data; };
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const __grid_constant__ Out out) {
  extern __shared__ __align__(1024) char shared[];
  const u32 barrier = ptx::shared_address(shared), rank = ptx::cluster_rank();
  if (threadIdx.x == 0) ptx::barrier_init(barrier, 64), ptx::fence_barrier_init();
  FIRST;
  ptx::barrier_arrive_at(barrier, rank ^ 1);
  ptx::barrier_arrive_at(barrier, rank);
  ptx::barrier_wait(barrier, 0);
  if (threadIdx.x == 0) atomicAdd(out.data, 1 + static_cast<int>(rank));
  LAST;
})";
  int sum = 0;
  const auto is_right = [&] { return sum == 2 * 3; };
  const auto run = [&](const std::string& first, const std::string& last) {
    EmulatedGpu gpu(text, {"-DFIRST=" + first, "-DLAST=" + last});
    int count = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      sum = 0;
      count += gpu.run(seed, 4, 32, 64, Out{&sum}).empty() && is_right();
    }
    return count;
  };
  CHECK(run("ptx::cluster_sync()", "ptx::cluster_barrier()") == seeds);
  CHECK(run("__syncthreads()", "ptx::cluster_barrier()") < seeds);  // the other CTA's barrier may not be there yet
  CHECK(run("ptx::cluster_sync()", "") == seeds);                 // each waits for all arrivals at its own
}

TEST_CASE("registers of all warpgroups fit together") {
  const char* const text = R"(struct Out { int* data; };
extern "C" __global__ void __launch_bounds__(384, 1) kernel(const __grid_constant__ Out out) {
  if (threadIdx.x < 128) ptx::registers_release<PRODUCER>();
  else ptx::registers_take<232>();
})";
  EmulatedGpu fits(text, {"-DPRODUCER=40"});
  CHECK(fits.run(1, 1, 384, 0, Out{}) == "");
  EmulatedGpu too_many(text, {"-DPRODUCER=48"});
  CHECK_THAT(too_many.run(1, 1, 384, 0, Out{}), ContainsSubstring("waits for setmaxnreg to 232"));
}

TEST_CASE("memory that is not there ends the launch, not the process") {
  const char* const text = R"(struct Out { int* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  extern __shared__ __align__(1024) char shared[];
  USE;
})";
  const auto said = [&](const std::string& use) {
    EmulatedGpu gpu(text, {"-DUSE=" + use});
    return gpu.run(1, 1, 1, 1000, Out{});
  };
  CHECK_THAT(said("out.data[2]=5"), ContainsSubstring("CTA 0, thread 0: touches memory at 0x8, where nothing is mapped"));
  CHECK_THAT(said("shared[8192]=5"), ContainsSubstring("where nothing is mapped"));
  CHECK_THAT(said("shared[1003]=5"), ContainsSubstring("wrote behind its 2024 bytes of shared memory"));
  CHECK_THAT(said("ptx::load_vector(shared+8)"), ContainsSubstring("no multiple of 16"));
  CHECK_THAT(said("__cvta_generic_to_shared(&out)"), ContainsSubstring("not in the CTA's shared memory"));
}

TEST_CASE("what does not compile comes back with the compiler's words") {
  try {
    compile("struct Out { int* data; };\nextern \"C\" __global__ void kernel(const __grid_constant__ Out out) { out.datum[0] = 1; }\n");
    FAIL("it compiled");
  } catch (const std::runtime_error& e) {
    CHECK_THAT(e.what(), ContainsSubstring("kernel.cu:2:") && ContainsSubstring("datum"));
  }
}
