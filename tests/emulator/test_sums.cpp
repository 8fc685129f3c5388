// SPDX-License-Identifier: Apache-2.0
// Rows that meet in a row of D are added up in their order, whichever CTA has which columns of it.
#include <algorithm>
#include <cmath>

#include "emulated_gpu.hpp"
#include "jit/render.hpp"
#include "support/rng.hpp"

using namespace ggemm;
using namespace ggemm::tests;

TEST_CASE("rows that meet are added up in their order, by CTAs that have rows of D or some of their columns") {
  const auto& files = jit::embedded_files();
  const auto file = std::find_if(files.begin(), files.end(), [](const jit::EmbeddedFile& f) { return std::string(f.name) == "sum_rows.cu"; });
  REQUIRE(file != files.end());
  const std::string f32 = std::to_string(GGEMM_F32);
  EmulatedGpu gpu(file->text, {"-DGG_KERNEL_NAME=kernel", "-DGG_VALUE=" + f32, "-DGG_D=" + f32});
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Rng random(seed);
    const std::int64_t columns = random.pick({1, 128, 129, 300}), to = random.pick({1, 5, 40}), rows = random.between(0, 700);
    std::vector<float> values, weights, d(static_cast<std::size_t>(to * columns), -7), expected = d;
    std::vector<std::int32_t> index;
    for (std::int64_t i = 0; i < rows * columns; ++i) values.push_back(static_cast<float>(random.between(-999, 999)) / 7);
    for (std::int64_t i = 0; i < rows; ++i) weights.push_back(static_cast<float>(random.between(-9, 9)) / 5), index.push_back(static_cast<std::int32_t>(random.between(-1, to)));
    const bool weighted = random.chance(0.7);
    for (std::int64_t row = 0; row < to; ++row)
      for (std::int64_t j = 0; j < columns; ++j) {
        float* sum = nullptr;
        for (std::int64_t i = 0; i < rows; ++i) {
          if (index[static_cast<std::size_t>(i)] != row) continue;
          const float value = values[static_cast<std::size_t>(i * columns + j)], weight = weighted ? weights[static_cast<std::size_t>(i)] : 1;
          if (sum) *sum = std::fma(weight, value, *sum);
          else *(sum = &expected[static_cast<std::size_t>(row * columns + j)]) = weight * value;
        }
      }
    kernels::SumParams p{};
    p.values = values.data(), p.columns = columns, p.groups = 1;
    p.block_columns = random.pick({128, 256, 384}), p.blocks_across = static_cast<kernels::u32>(kernels::ceil_div(columns, p.block_columns));
    p.ends = {&rows, 8, rows, GGEMM_SOURCE_I64, kernels::source_ends};
    p.rows.d_index = {index.data(), 4, to, GGEMM_SOURCE_I32, kernels::source_itself};
    p.rows.weights = weighted ? weights.data() : nullptr;
    p.d = {d.data(), columns, 1};
    const int ctas = static_cast<int>(random.between(1, 9));
    INFO("seed " << seed << ": " << rows << " rows to " << to << " of " << columns << ", " << ctas << " CTAs of " << p.block_columns << " columns");
    CHECK(gpu.run(seed, ctas, kernels::sum_threads, 0, p) == "");
    CHECK(d == expected);
  }
}
