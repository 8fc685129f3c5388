// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies on the emulated GPU: what they move, and that a missing wait shows.
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <numeric>

#include "emulated_gpu.hpp"
#include "tile/shared_tile.cuh"

using namespace ggemm;
using namespace ggemm::tests;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int seeds = 24;

struct TensorArguments {
  kernels::TensorMap map;
  void* out;
  std::int32_t inner, outer;
};

// Loads a box of 8 lines into shared memory and hands it out; WAIT before it is read.
constexpr const char* load_text = R"(struct Arguments { TensorMap map; void* out; i32 inner, outer; };
extern "C" __global__ void kernel(const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  const u32 box = ptx::shared_address(shared), barrier = box + 2048;
  if (threadIdx.x == 0) {
    ptx::barrier_init(barrier, 1);
    ptx::fence_barrier_init();
    ptx::barrier_arrive_expect(barrier, EXPECTED);
    ptx::tensor_load(box + OFFSET, p.map, barrier, PLACE);
  }
  __syncthreads();
  WAIT;
  for (int i = static_cast<int>(threadIdx.x); i < 1024; i += 32) static_cast<char*>(p.out)[i] = shared[i];
  ptx::barrier_wait(barrier, 0);
})";

std::vector<std::string> load_options(const char* wait, const char* bytes = "1024", const char* offset = "0", const char* place = "p.inner,p.outer") {
  return {std::string("-DWAIT=") + wait, std::string("-DEXPECTED=") + bytes, std::string("-DOFFSET=") + offset, std::string("-DPLACE=") + place};
}

// 20 lines of 100 numbers of 16 bits, 256 bytes apart.
struct Matrix {
  alignas(16) std::uint16_t data[20 * 128];
  Matrix() { std::iota(std::begin(data), std::end(data), std::uint16_t(1)); }
  kernels::TensorMap map() const { return tensor_map(data, 2, 100, 20, 256, 8); }
  std::uint16_t at(int line, int i) const { return line >= 0 && line < 20 && i >= 0 && i < 100 ? data[line * 128 + i] : std::uint16_t(0); }
};

// What a box of 8 lines from (inner, outer) looks like in shared memory.
std::vector<std::uint16_t> box_of(const Matrix& matrix, int inner, int outer) {
  std::vector<std::uint16_t> out(512);
  for (int line = 0; line < 8; ++line)
    for (int i = 0; i < 64; ++i) out[static_cast<std::size_t>(kernels::swizzle_128b(line * 128 + i * 2) / 2)] = matrix.at(outer + line, inner + i);
  return out;
}

}  // namespace

TEST_CASE("a box is swizzled, and zero outside the matrix") {
  const Matrix matrix;
  EmulatedGpu gpu(load_text, load_options("ptx::barrier_wait(barrier,0)"));
  for (const auto& [inner, outer] : std::vector<std::pair<int, int>>{{0, 0}, {64, 8}, {64, 16}, {40, 5}, {-8, -3}, {128, 0}, {0, 30}}) {
    INFO("from (" << inner << ", " << outer << ")");
    std::vector<std::uint16_t> out(512, 0xabcd);
    CHECK(gpu.run(3, 1, 32, 4096, TensorArguments{matrix.map(), out.data(), inner, outer}) == "");
    CHECK(out == box_of(matrix, inner, outer));
  }
}

TEST_CASE("a box of pairs has lines of both halves by turns, of those that each half has") {
  const Matrix matrix;
  const kernels::TensorMap map = tensor_map(matrix.data, 2, 100, 10, 256, 8, 10);
  EmulatedGpu gpu(load_text, load_options("ptx::barrier_wait(barrier,0)", "1024", "0", "p.inner,0,p.outer"));
  for (const auto& [inner, outer] : std::vector<std::pair<int, int>>{{0, 0}, {64, 3}, {0, 8}, {40, 9}, {0, -2}, {0, 10}}) {
    INFO("from (" << inner << ", " << outer << ")");
    std::vector<std::uint16_t> out(512, 0xabcd), right(512);
    CHECK(gpu.run(3, 1, 32, 4096, TensorArguments{map, out.data(), inner, outer}) == "");
    for (int line = 0; line < 8; ++line)
      for (int i = 0; i < 64; ++i) {
        const int pair = outer + line / 2;
        right[static_cast<std::size_t>(kernels::swizzle_128b(line * 128 + i * 2) / 2)] = pair >= 0 && pair < 10 ? matrix.at(pair + line % 2 * 10, inner + i) : std::uint16_t(0);
      }
    CHECK(out == right);
  }
  EmulatedGpu flat(load_text, load_options(""));
  std::vector<std::uint16_t> out(512);
  CHECK_THAT(flat.run(1, 1, 32, 4096, TensorArguments{map, out.data(), 0, 0}), ContainsSubstring("2 coordinates for a tensor map of 3 dimensions"));
}

TEST_CASE("a tensor load that is not waited for shows") {
  const Matrix matrix;
  std::vector<std::uint16_t> out(512);
  const std::vector<std::uint16_t> right = box_of(matrix, 0, 0);
  const TensorArguments arguments{matrix.map(), out.data(), 0, 0};
  EmulatedGpu waits(load_text, load_options("ptx::barrier_wait(barrier,0)"));
  int count = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::fill(out.begin(), out.end(), std::uint16_t(0));
    count += waits.run(seed, 1, 32, 4096, arguments).empty() && out == right;
  }
  CHECK(count == seeds);
  EmulatedGpu rushes(load_text, load_options(""));
  count = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::fill(out.begin(), out.end(), std::uint16_t(0));
    count += rushes.run(seed, 1, 32, 4096, arguments).empty() && out == right;
  }
  CHECK(count < seeds);
}

TEST_CASE("misuse of a tensor load is told") {
  const Matrix matrix;
  std::vector<std::uint16_t> out(512);
  const auto said = [&](const char* bytes, const char* offset, const kernels::TensorMap& map, int inner = 0) {
    EmulatedGpu gpu(load_text, load_options("", bytes, offset));
    return gpu.run(1, 1, 32, 4096, TensorArguments{map, out.data(), inner, 0});
  };
  CHECK_THAT(said("1040", "0", matrix.map()), ContainsSubstring("deadlock") && ContainsSubstring("16 bytes are missing"));
  CHECK_THAT(said("1024", "512", matrix.map()), ContainsSubstring("no multiple of 1024"));
  CHECK_THAT(said("1024", "4096", matrix.map()), ContainsSubstring("of 5120 bytes of shared memory"));
  CHECK_THAT(said("1024", "0", kernels::TensorMap{}), ContainsSubstring("there is no tensor map"));
  CHECK_THAT(said("1024", "0", matrix.map(), 37), ContainsSubstring("off 16 bytes"));
  kernels::TensorMap beside = matrix.map();
  beside.words[1] += 2;
  CHECK_THAT(said("1024", "0", beside), ContainsSubstring("not aligned to 16 bytes"));
}

TEST_CASE("the driver refuses maps as a real one does") {
  const Matrix matrix;
  const kernels::TensorMap right = tensor_map(matrix.data, 2, 100, 20, 256, 8);
  CHECK(right.words[1] == reinterpret_cast<std::uintptr_t>(matrix.data));
  CHECK_THROWS(tensor_map(matrix.data + 1, 2, 100, 20, 256, 8));
  CHECK_THROWS(tensor_map(matrix.data, 2, 100, 20, 250, 8));
  CHECK_THROWS(tensor_map(matrix.data, 2, 100, 20, 256, 257));
  CHECK_THROWS(tensor_map(matrix.data, 2, 100, 20, 192, 8));
  CHECK_THROWS(tensor_map(matrix.data, 2, 100, 10, 256, 8, (std::uint64_t(1) << 40) / 256));
}

TEST_CASE("a box that is stored is clipped, but for the rest of 16 bytes") {
  const char* const text = R"(struct Arguments { TensorMap map; void* out; i32 inner, outer; };
extern "C" __global__ void kernel(const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  for (int i = static_cast<int>(threadIdx.x); i < 512; i += 32) reinterpret_cast<u16*>(shared)[i] = static_cast<u16>(1000 + i);
  ptx::fence_async();
  __syncwarp();
  if (threadIdx.x == 0) {
    ptx::tensor_store(p.map, ptx::shared_address(shared), p.inner, p.outer);
    ptx::store_commit();
    WAIT;
    OVER;
  }
})";
  const auto run = [&](const char* wait, const char* over, std::uint64_t seed, std::string& failure) {
    EmulatedGpu gpu(text, {std::string("-DWAIT=") + wait, std::string("-DOVER=") + over});
    Matrix matrix;
    failure = gpu.run(seed, 1, 32, 1024, TensorArguments{matrix.map(), nullptr, 64, 14});
    Matrix right;
    for (int line = 14; line < 20; ++line)
      for (int i = 64; i < 104; ++i) right.data[line * 128 + i] = static_cast<std::uint16_t>(1000 + kernels::swizzle_128b((line - 14) * 128 + (i - 64) * 2) / 2);  // the matrix ends at 100
    return std::memcmp(matrix.data, right.data, sizeof right.data) == 0;
  };
  std::string failure;
  CHECK(run("ptx::store_wait_read<0>()", "memset(shared,0,1024)", 1, failure));
  CHECK(failure == "");
  run("", "", 1, failure);
  CHECK_THAT(failure, ContainsSubstring("without having waited"));
}

TEST_CASE("a line that is stored is all that is written, and whole vectors") {
  const char* const text = R"(struct Arguments { TensorMap map; char* out; i32 to, bytes; };
extern "C" __global__ void kernel(const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += 32) shared[i] = static_cast<char>(i);
  ptx::fence_async();
  __syncwarp();
  if (threadIdx.x == 0) {
    ptx::bulk_store(p.out + p.to, ptx::shared_address(shared + 32), static_cast<u32>(p.bytes));
    ptx::store_commit();
    ptx::store_wait_read<0>();
    memset(shared, 0, 256);
  }
})";
  EmulatedGpu gpu(text, {});
  alignas(16) char out[128];
  const auto said = [&](int to, int bytes) {
    std::memset(out, -1, sizeof out);
    return gpu.run(1, 1, 32, 1024, TensorArguments{Matrix().map(), out, to, bytes});
  };
  CHECK(said(16, 48) == "");
  for (int i = 0; i < 128; ++i) CHECK(static_cast<int>(out[i]) == (i >= 16 && i < 64 ? i + 16 : -1));
  CHECK_THAT(said(8, 48), ContainsSubstring("no multiple of 16"));
  CHECK_THAT(said(16, 40), ContainsSubstring("40 bytes"));
}

TEST_CASE("shared memory that a store still reads must not change") {
  const char* const text = R"(struct Arguments { TensorMap map; void* out; i32 inner, outer; };
extern "C" __global__ void kernel(const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  memset(shared, 1, 1024);
  ptx::tensor_store(p.map, ptx::shared_address(shared), 0, 0);
  ptx::store_commit();
  WAIT;
  memset(shared, 2, 1024);
  ptx::store_wait_read<0>();
})";
  const auto right = [&](const char* wait) {
    EmulatedGpu gpu(text, {std::string("-DWAIT=") + wait});
    int count = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      Matrix matrix;
      REQUIRE(gpu.run(seed, 1, 1, 1024, TensorArguments{matrix.map(), nullptr, 0, 0}) == "");
      count += matrix.at(3, 7) == 0x0101;
    }
    return count;
  };
  CHECK(right("ptx::store_wait_read<0>()") == seeds);
  CHECK(right("ptx::store_wait_read<1>()") < seeds);
}

TEST_CASE("cp.async: zeros where it is off, late where it is not waited for, trapped where it is misaligned") {
  const char* const text = R"(struct Arguments { const char* in; char* out; };
extern "C" __global__ void kernel(const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  const u32 at = ptx::shared_address(shared) + threadIdx.x * 16;
  ptx::cp_async<16>(at, p.in + threadIdx.x * 16, threadIdx.x % 4 != 3);
  ptx::cp_async_commit();
  WAIT;
  __syncthreads();
  for (int i = 0; i < 16; ++i) p.out[threadIdx.x * 16 + i] = shared[(31 - threadIdx.x) * 16 + i];
})";
  struct Arguments {
    const char* in;
    char* out;
  };
  alignas(16) char in[513], out[512];
  std::iota(std::begin(in), std::end(in), char(1));
  const auto right = [&](const char* wait) {
    EmulatedGpu gpu(text, {std::string("-DWAIT=") + wait});
    int count = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      REQUIRE(gpu.run(seed, 1, 32, 512, Arguments{in, out}) == "");
      bool same = true;
      for (int i = 0; i < 512; ++i) same = same && out[i] == ((31 - i / 16) % 4 == 3 ? 0 : in[(31 - i / 16) * 16 + i % 16]);
      count += same;
    }
    return count;
  };
  CHECK(right("ptx::cp_async_wait<0>()") == seeds);
  CHECK(right("ptx::cp_async_wait<1>()") < seeds);
  EmulatedGpu gpu(text, {"-DWAIT=ptx::cp_async_wait<0>()"});
  CHECK_THAT(gpu.run(1, 1, 32, 512, Arguments{in + 1, out}), ContainsSubstring("no multiple of 16"));
}

TEST_CASE("multicast loads reach the CTAs of their mask, and count there") {
  const char* const text = R"(struct Arguments { TensorMap map; void* out; i32 inner, outer; };
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  const u32 box = ptx::shared_address(shared), barrier = box + 2048, rank = ptx::cluster_rank();
  if (threadIdx.x == 0) {
    ptx::barrier_init(barrier, 1);
    ptx::fence_barrier_init();
  }
  ptx::cluster_sync();
  if (threadIdx.x == 0) {
    ptx::barrier_arrive_expect(barrier, 2048);
    ptx::tensor_load_multicast(box + 1024 * rank, p.map, barrier, 0, static_cast<i32>(8 * rank), MASK);
  }
  ptx::barrier_wait(barrier, 0);
  for (int i = static_cast<int>(threadIdx.x); i < 2048; i += 32) static_cast<char*>(p.out)[2048 * rank + i] = shared[i];
  LAST;
})";
  const Matrix matrix;
  std::vector<std::uint16_t> right = box_of(matrix, 0, 0), second = box_of(matrix, 0, 8);
  right.insert(right.end(), second.begin(), second.end());
  right.insert(right.end(), right.begin(), right.end());
  EmulatedGpu gpu(text, {"-DMASK=3", "-DLAST=ptx::cluster_barrier()"});
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::vector<std::uint16_t> out(2048);
    REQUIRE(gpu.run(seed, 2, 32, 4096, TensorArguments{matrix.map(), out.data(), 0, 0}) == "");
    REQUIRE(out == right);
  }
  std::vector<std::uint16_t> out(2048);
  EmulatedGpu one(text, {"-DMASK=1<<rank", "-DLAST="});
  CHECK_THAT(one.run(1, 2, 32, 4096, TensorArguments{matrix.map(), out.data(), 0, 0}), ContainsSubstring("deadlock"));
  EmulatedGpu outside(text, {"-DMASK=4", "-DLAST="});
  CHECK_THAT(outside.run(1, 2, 32, 4096, TensorArguments{matrix.map(), out.data(), 0, 0}), ContainsSubstring("to CTAs 0004 of a cluster of 2"));
}

TEST_CASE("a map in global memory is used as it was until it is acquired") {
  const char* const text = R"(struct Arguments { TensorMap* map; const void* data; char* out; };
extern "C" __global__ void kernel(const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  const u32 box = ptx::shared_address(shared), barrier = box + 2048;
  ptx::barrier_init(barrier, 1);
  for (u32 round = 0; round < 2; ++round) {
    ptx::barrier_arrive_expect(barrier, 1024);
    ptx::tensor_load(box, *p.map, barrier, 0, 0);
    ptx::barrier_wait(barrier, round);
    p.out[round] = shared[0];
    ptx::tensor_map_replace(*p.map, p.data, 100);
    ptx::tensor_map_replace<1>(*p.map, 20, 256);
    ptx::tensor_map_release();
    ACQUIRE;
  }
})";
  struct Arguments {
    kernels::TensorMap* map;
    const void* data;
    char* out;
  };
  const auto seen = [&](const char* acquire) {
    EmulatedGpu gpu(text, {std::string("-DACQUIRE=") + acquire});
    Matrix first, second;
    second.data[0] = 77;
    struct alignas(128) Place {
      kernels::TensorMap map;
    };
    // Never given back: the next map at the same place would be taken for it.
    Place* const place = new Place{first.map()};
    char out[2] = {};
    CHECK(gpu.run(1, 1, 1, 4096, Arguments{&place->map, second.data, out}) == "");
    CHECK(out[0] == 1);
    return static_cast<int>(out[1]);
  };
  CHECK(seen("ptx::tensor_map_acquire(*p.map)") == 77);
  CHECK(seen("") == 1);
}
