// SPDX-License-Identifier: Apache-2.0
// Calls that a kernel with tensor maps serves: what it is handed, and what becomes of operands that such maps cannot describe.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "machine.hpp"
#include "params.cuh"

namespace ggemm::tests {
namespace {

constexpr const char* plain_config = "sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c1x1_r2";
constexpr const char* swapped_config = "sm90_i8_i8_i32_tn_8x64x128_w1x4_s2_c1x1_swap_r1";
constexpr const char* sliced_config = "sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c1x1x2_k3_r1";
constexpr const char* cluster_config = "sm90_i8_i8_i32_tn_128x64x128_w8x1_s2_c2x1_r1";

// i8 times i8 into i32: A row-major, B given as [n, k], both at multiples of 16 bytes unless `off` shifts them.
struct Bytes {
  static constexpr std::int64_t m = 70, n = 100, k = 512;
  alignas(16) std::int8_t a[m * k + 16], b[n * k + 16];
  alignas(16) std::int32_t d[m * n];
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;

  explicit Bytes(const char* config = nullptr, int off = 0) {
    for (std::size_t i = 0; i < sizeof a; ++i) a[i] = static_cast<std::int8_t>(i % 7 - 3);
    for (std::size_t i = 0; i < sizeof b; ++i) b[i] = static_cast<std::int8_t>(i % 5 - 2);
    std::fill_n(d, m * n, 77);
    driver().add_memory(a, sizeof a);
    driver().add_memory(b, sizeof b);
    driver().add_memory(d, sizeof d);
    desc.m = m, desc.n = n, desc.k = k;
    desc.a.dtype = desc.b.dtype = GGEMM_I8, desc.d.dtype = GGEMM_I32;
    desc.b.row_stride = 1, desc.b.col_stride = k;
    desc.config = config;
    args.a = a + off, args.b = b, args.d = d;
  }
  ~Bytes() {
    driver().wait();  // for what a test launched and did not look at
    driver().remove_memory(a);
    driver().remove_memory(b);
    driver().remove_memory(d);
  }
  bool right() const {
    driver().wait();
    const auto* x = static_cast<const std::int8_t*>(args.a);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::int32_t sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += x[i * k + l] * b[j * k + l];
        if (d[i * n + j] != sum) return false;
      }
    return true;
  }
};

}  // namespace

TEST_CASE("A kernel with tensor maps gets the product that was described, upright, swapped, in clusters and cut along k") {
  nvrtc_or_skip();
  Machine machine;
  for (const char* config : {plain_config, swapped_config, cluster_config, sliced_config}) {
    INFO(config);
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p(config);
    const long maps = driver().calls("cuTensorMapEncodeTiled");
    const ggemm_status status = ggemm_gemm(context.get(), &p.desc, &p.args, nullptr);
    INFO(ggemm_last_error());
    REQUIRE(status == GGEMM_OK);
    CHECK(p.right());
    CHECK(driver().calls("cuTensorMapEncodeTiled") - maps == 3);
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Operands that tensor maps cannot describe are copied to workspace first") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    for (const char* config : {plain_config, swapped_config}) {
      INFO(config);
      Bytes p(config, 1);
      const long launches = driver().calls("cuLaunchKernelEx");
      const ggemm_status status = ggemm_gemm(context.get(), &p.desc, &p.args, nullptr);
      INFO(ggemm_last_error());
      REQUIRE(status == GGEMM_OK);
      CHECK(p.right());
      CHECK(driver().calls("cuLaunchKernelEx") - launches == 2);
      // Warm, the workspace is there already.
      const long allocations = driver().calls("cuMemAllocAsync");
      REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
      CHECK(driver().calls("cuMemAllocAsync") == allocations);
    }
    // A plan does not know its operands' addresses before it runs.
    Bytes p(plain_config, 1);
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create(context.get(), &p.desc, &plan) == GGEMM_OK);
    REQUIRE(ggemm_plan_run(plan, &p.args, nullptr) == GGEMM_OK);
    CHECK(p.right());
    ggemm_plan_destroy(plan);
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Sums of slices of k lie in workspace, beside copies of operands, and not during a capture that has none") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    Stream stream;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes aligned(sliced_config), copied(sliced_config, 1);
    REQUIRE(ggemm_gemm(context.get(), &aligned.desc, &aligned.args, nullptr) == GGEMM_OK);
    CHECK(aligned.right());
    const long allocations = driver().calls("cuMemAllocAsync");
    REQUIRE(ggemm_gemm(context.get(), &aligned.desc, &aligned.args, nullptr) == GGEMM_OK);
    CHECK(driver().calls("cuMemAllocAsync") == allocations);
    REQUIRE(ggemm_gemm(context.get(), &copied.desc, &copied.args, nullptr) == GGEMM_OK);
    CHECK(copied.right());
    stream.begin(1);
    CHECK(ggemm_gemm(context.get(), &aligned.desc, &aligned.args, stream.get()) == GGEMM_ERROR_NOT_PREPARED);
    stream.end();
    stream.drop_graph();
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Eight-bit operands that are contiguous along m and n are turned first") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p("sm90_i8_i8_i32_tt_64x64x128_w4x1_s2_c1x1_r1");
    // B as [k, n] of the same bytes: the matrix is another, and so is the reference.
    p.desc.b.row_stride = GGEMM_PACKED, p.desc.b.col_stride = GGEMM_PACKED;
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    std::int32_t sum = 0;
    for (std::int64_t l = 0; l < Bytes::k; ++l) sum += p.a[3 * Bytes::k + l] * p.b[l * Bytes::n + 5];
    CHECK(p.d[3 * Bytes::n + 5] == sum);
    CHECK(driver().calls("cuLaunchKernelEx") == 2);
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("During capture workspace is not allocated, and what a graph was given stays") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    Stream stream;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p(plain_config, 1);
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create(context.get(), &p.desc, &plan) == GGEMM_OK);
    stream.begin(1);
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_ERROR_NOT_PREPARED);
    stream.end();
    stream.drop_graph();
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_OK);
    driver().wait();
    stream.begin(1);
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_OK);
    stream.end();
    stream.drop_graph();
    ggemm_plan_destroy(plan);
  }
  machine.check_clean();
}

TEST_CASE("Calls of many threads on one stream keep their operands' copies apart") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    constexpr int threads = 4, rounds = 5;
    std::vector<std::unique_ptr<Bytes>> problems;
    for (int t = 0; t < threads; ++t) {
      problems.push_back(std::make_unique<Bytes>(plain_config, 1));
      for (std::size_t i = 0; i < sizeof problems.back()->a; ++i) problems.back()->a[i] = static_cast<std::int8_t>((i + static_cast<std::size_t>(t)) % 7 - 3);
    }
    REQUIRE(ggemm_gemm(context.get(), &problems[0]->desc, &problems[0]->args, nullptr) == GGEMM_OK);
    std::atomic<int> failed = 0;
    std::vector<std::thread> workers;
    for (const auto& p : problems)
      workers.emplace_back([&context, &p, &failed] {
        for (int round = 0; round < rounds; ++round) failed += ggemm_gemm(context.get(), &p->desc, &p->args, nullptr) != GGEMM_OK;
      });
    for (std::thread& worker : workers) worker.join();
    CHECK(failed == 0);
    for (const auto& p : problems) CHECK(p->right());
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
