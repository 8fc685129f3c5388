// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup on the emulated GPU: their registers and operands while they are under way. (That the sums are right is seen by the kernels' own tests.)
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "emulated_gpu.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int seeds = 24;

struct Out {
  float* data;
};

// Every sum is 16: of 16 ones of bf16, or of 8 ones of tf32 and twos in A's registers. FENCE, WAIT and OVER (before WAIT) are the test's, A its descriptor or its registers.
constexpr const char* text = R"(struct Out { float* data; };
extern "C" __global__ void kernel(const __grid_constant__ Out out) {
  extern __shared__ __align__(1024) char shared[];
  u16* const elements = reinterpret_cast<u16*>(shared);
  for (int i = static_cast<int>(threadIdx.x); i < 8192; i += 128) elements[i] = GG_A == 4 || i % 2 ? 0x3f80 : 0;
  ptx::fence_async();
  __syncthreads();
  const u32 at = ptx::shared_address(shared);
  float sums[4] = {};
  [[maybe_unused]] u32 a[4] = {0x40000000, 0x40000000, 0x40000000, 0x40000000};
  FENCE;
  ptx::Wgmma<8>::mma(sums, A, ptx::wgmma_descriptor(at + 8192, 0, 1024), 1);
  ptx::wgmma_commit();
  OVER;
  WAIT;
  out.data[threadIdx.x] = sums[threadIdx.x % 4];
  ptx::wgmma_wait<0>();
})";

std::string run(const std::string& fence, const std::string& over, const std::string& wait, int& right, bool registers = false) {
  std::vector<std::string> options = {"-DFENCE=" + fence, "-DOVER=" + over, "-DWAIT=" + wait};
  if (registers) options.insert(options.end(), {"-DGG_A=2", "-DGG_B=2", "-DGG_MAJOR_A=1", "-DA=a"});
  else options.emplace_back("-DA=ptx::wgmma_descriptor(at,0,1024)");
  EmulatedGpu gpu(text, options);
  std::string failure;
  right = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::vector<float> out(128);
    const std::string said = gpu.run(seed, 1, 128, 16384, Out{out.data()});
    if (!said.empty()) failure = said;
    right += said.empty() && out == std::vector<float>(128, 16.0f);
  }
  return failure;
}

}  // namespace

TEST_CASE("a product that is waited for is right") {
  int right = 0;
  CHECK(run("ptx::wgmma_fence()", "", "ptx::wgmma_wait<0>()", right) == "");
  CHECK(right == seeds);
}

TEST_CASE("sums that are read before the wait are not there") {
  int right = 0;
  CHECK(run("ptx::wgmma_fence()", "", "", right) == "");
  CHECK(right == 0);
  CHECK(run("ptx::wgmma_fence()", "", "ptx::wgmma_wait<1>()", right) == "");
  CHECK(right == 0);
}

TEST_CASE("operands that change before the wait spoil a product, for some seeds") {
  int right = 0;
  CHECK(run("ptx::wgmma_fence()", "elements[threadIdx.x*64]=0", "ptx::wgmma_wait<0>()", right) == "");
  CHECK(right < seeds);
}

TEST_CASE("a product reads A's registers until it is waited for") {
  int right = 0;
  CHECK(run("ptx::wgmma_fence()", "", "ptx::wgmma_wait<0>()", right, true) == "");
  CHECK(right == seeds);
  CHECK(run("ptx::wgmma_fence()", "a[2]=0", "ptx::wgmma_wait<0>()", right, true) == "");
  CHECK(right < seeds);
  const std::string another = "ptx::Wgmma<8>::mma(sums,a,ptx::wgmma_descriptor(at+8192,0,1024),0)";
  CHECK_THAT(run("ptx::wgmma_fence()", another, "ptx::wgmma_wait<0>()", right, true), ContainsSubstring("A in registers, without a wgmma.fence"));
}

TEST_CASE("misuse of a warpgroup's instructions is told") {
  int right = 0;
  // A lane may be ahead of others at what follows, not at what comes before.
  CHECK(run("ptx::wgmma_fence()", "if(__shfl_sync(0xffffffffu,1,0)!=1)return", "ptx::wgmma_wait<0>()", right) == "");
  CHECK_THAT(run("if(threadIdx.x%32<16)__syncwarp();ptx::wgmma_fence()", "", "ptx::wgmma_wait<0>()", right), ContainsSubstring("wgmma.fence, while other lanes of the warp are at __syncwarp"));
  CHECK_THAT(run("", "", "ptx::wgmma_wait<0>()", right), ContainsSubstring("without a wgmma.fence"));
  CHECK_THAT(run("ptx::wgmma_fence()", "sums[1]=3", "ptx::wgmma_wait<0>()", right), ContainsSubstring("wrote registers that a product (wgmma) under way writes"));
  CHECK_THAT(run("if(threadIdx.x<64)ptx::wgmma_fence();else ptx::wgmma_commit()", "", "ptx::wgmma_wait<0>()", right), ContainsSubstring("where other threads of the warpgroup execute"));
  CHECK_THAT(run("ptx::wgmma_fence()", "if(threadIdx.x==5)return", "ptx::wgmma_wait<0>()", right), ContainsSubstring("ends while products (wgmma)"));
  CHECK_THAT(run("if(threadIdx.x<96)ptx::wgmma_fence()", "", "ptx::wgmma_wait<0>()", right), ContainsSubstring("wgmma"));
}
