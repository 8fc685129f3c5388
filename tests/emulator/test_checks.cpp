// SPDX-License-Identifier: Apache-2.0
// The check of groups on the emulated GPU tells what the host finds.
#include <algorithm>

#include "emulated_gpu.hpp"
#include "host/groups.hpp"
#include "support/rng.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

// Groups of which one in so many has strides of D that are drawn without a thought; sizes, strides and pointers in memory.
struct DrawnGroups {
  std::vector<std::int64_t> sizes, strides;
  std::vector<const void*> pointers;
  kernels::CheckParams params{};

  DrawnGroups(std::uint64_t seed, std::int64_t groups, double careless) {
    Rng random(seed);
    const int gate = random.chance(0.3) ? GGEMM_GATE_HALVES : GGEMM_GATE_NONE;
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t m = random.between(0, 6), n = 2 * random.between(0, 4);
      sizes.insert(sizes.end(), {m, n});
      const bool turned = random.chance(0.5);
      strides.insert(strides.end(), {turned ? 1 : n + random.between(1, 3), turned ? -m - random.between(1, 3) : 1});
      if (random.chance(careless)) strides[static_cast<std::size_t>(2 * g)] = random.between(-9, 9), strides.back() = random.between(-9, 9);
      pointers.push_back(&sizes);
    }
    kernels::GroupedParams& p = params.groups;
    const auto number = [&](const std::vector<std::int64_t>& numbers, int which) { return kernels::Source{numbers.data() + which, 16, 0, GGEMM_SOURCE_I64, kernels::source_itself}; };
    const auto constant = [](std::int64_t value) { return kernels::Source{nullptr, 0, value, GGEMM_SOURCE_CONST, kernels::source_itself}; };
    p.groups = groups, p.m = number(sizes, 0), p.n = number(sizes, 1), p.k = constant(1);
    p.a = p.b = p.c = p.d = {pointers.data(), 0, 0, 1, 0, constant(kernels::packed_stride), constant(1)};
    p.d.row_stride = number(strides, 0), p.d.col_stride = number(strides, 1);
    params.checks = {4, 4, 4, 4, 0, GGEMM_F32, 1, kernels::group_shape(0, 0, gate)};
  }
  DrawnGroups(const DrawnGroups&) = delete;
};

}  // namespace

TEST_CASE("the check of groups tells the group that the host finds, of many whose strides of D are right and some that are not") {
  const auto& files = jit::embedded_files();
  const auto file = std::find_if(files.begin(), files.end(), [](const jit::EmbeddedFile& f) { return std::string(f.name) == "check.cu"; });
  REQUIRE(file != files.end());
  EmulatedGpu gpu(file->text, {"-DGG_KERNEL_NAME=kernel"});
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    DrawnGroups groups(seed, seed % 3 ? 30 : 700, seed % 4 ? 0.05 : 0);
    std::vector<std::int32_t> told(4, 9), expected(4, 9);
    host::find_fault(groups.params.groups, groups.params.checks).tell(expected.data());
    groups.params.status = told.data();
    INFO("seed " << seed);
    CHECK(gpu.run(seed, 1, kernels::check_threads, 0, groups.params) == "");
    CHECK(told == expected);
    wrong += expected[0] == GGEMM_FAULT_STRIDE;
    CHECK((expected[0] == GGEMM_FAULT_STRIDE || expected[0] == GGEMM_FAULT_NONE));
    if (seed % 4 == 0) CHECK(expected[0] == GGEMM_FAULT_NONE);
  }
  CHECK(wrong >= 20);
}
