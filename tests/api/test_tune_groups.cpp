// SPDX-License-Identifier: Apache-2.0
// Groups are tuned as the call has them: in one matrix an operand where its form says so, elsewhere behind pointers. Each candidate is checked against float64 before it may win.
#include <cmath>

#include "fixture.hpp"

namespace ggemm::tests {
namespace {

struct Groups {
  ggemm_grouped_form form;
  bool index;  // rows of A lie where one says
  bool alike;  // all groups have one k, which is a constant of the problem
};

ggemm_status tune(ggemm_context* context, ggemm_grouped_desc desc, const Groups& groups) {
  static const std::int32_t ends[] = {5, 5, 38}, counts[] = {5, 0, 33}, depths[] = {260, 260, 128}, index[38] = {};
  desc.form = groups.form, desc.groups = 3;
  const bool ragged = groups.form == GGEMM_GROUPS_RAGGED_M;
  desc.m = ggemm_const(ragged ? 38 : 33), desc.n = ggemm_const(130), desc.k = groups.alike ? ggemm_const(260) : ggemm_i32_at(depths, 4);
  if (groups.form == GGEMM_GROUPS_POINTERS || groups.form == GGEMM_GROUPS_BATCH) desc.m = ggemm_i32_at(counts, 4);
  if (groups.form == GGEMM_GROUPS_BATCH) desc.a.group_stride = 33 * 260, desc.d.group_stride = 33 * 130, desc.scale_a.group_stride = 33 * 3, desc.bias_group_stride = 130;
  if (ragged) desc.ends = ggemm_i32_at(ends, 4);
  if (groups.form == GGEMM_GROUPS_MASKED) desc.counts = ggemm_i32_at(counts, 4);
  if (groups.index) desc.a_index = ggemm_i32_at(index, 4), desc.a_rows = 38;
  const std::int64_t sample[] = {5, 130, 260, 0, 130, 260, 33, 130, groups.alike ? 260 : 128};
  const ggemm_problem problem{nullptr, &desc};
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.budget_seconds = 0.01, options.sample_sizes = sample, options.sample_groups = 3;
  return ggemm_tune(context, &problem, &options, nullptr);
}

}  // namespace

TEST_CASE("Groups of every form are tuned, with all that an epilogue adds") {
  const ContextPointer context = host_context();
  const Groups forms[] = {{GGEMM_GROUPS_POINTERS, false, true}, {GGEMM_GROUPS_POINTERS, false, false}, {GGEMM_GROUPS_RAGGED_M, false, true},
                          {GGEMM_GROUPS_RAGGED_M, true, true},  {GGEMM_GROUPS_MASKED, false, true},    {GGEMM_GROUPS_BATCH, false, true}};
  for (const Groups& groups : forms)
    for (const bool nn : {false, true})
      for (const ggemm_scale_kind kind : {GGEMM_SCALE_NONE, GGEMM_SCALE_TENSOR, GGEMM_SCALE_VECTOR, GGEMM_SCALE_BLOCK_1X128})
        for (const ggemm_bias bias : {GGEMM_BIAS_NONE, GGEMM_BIAS_PER_COLUMN, GGEMM_BIAS_PER_ROW}) {
          ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
          desc.a.dtype = desc.b.dtype = kind ? GGEMM_E4M3 : GGEMM_BF16, desc.d.dtype = GGEMM_F32;
          if (!nn) desc.b.row_stride = ggemm_const(1), desc.b.col_stride = ggemm_const(260);
          desc.scale_a.kind = kind, desc.scale_b.kind = kind == GGEMM_SCALE_BLOCK_1X128 ? GGEMM_SCALE_BLOCK_128X128 : kind;
          desc.epilogue.bias = bias;
          if (bias) desc.epilogue.bias_dtype = GGEMM_F32;
          else desc.epilogue.gate = GGEMM_GATE_HALVES;
          if (kind && bias == GGEMM_BIAS_PER_ROW) desc.scale_a.kind = GGEMM_SCALE_NONE;  // of B alone
          CAPTURE(groups.form, groups.index, groups.alike, nn, kind, bias);
          const ggemm_status status = tune(context.get(), desc, groups);
          INFO(ggemm_last_error());
          CHECK(status == GGEMM_OK);
        }
}

namespace {

// Two groups of these sizes, where the form does not have them from elsewhere.
ggemm_grouped_desc constant_groups(ggemm_grouped_form form, std::int64_t m, std::int64_t n, std::int64_t k) {
  static const std::int32_t ends[] = {3, 3};
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.form = form, desc.groups = 2;
  desc.m = ggemm_const(m), desc.n = ggemm_const(n), desc.k = ggemm_const(k);
  if (form == GGEMM_GROUPS_RAGGED_M || form == GGEMM_GROUPS_RAGGED_K) desc.ends = ggemm_i32_at(ends, 4);
  if (form == GGEMM_GROUPS_MASKED) desc.counts = ggemm_i32_at(ends, 4);
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  return desc;
}

ggemm_status tune_sample(const ggemm_grouped_desc& desc, const std::vector<std::int64_t>& sample, ggemm_tune_result* result = nullptr) {
  static const ContextPointer context = host_context();
  const ggemm_problem problem{nullptr, &desc};
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.budget_seconds = 0.01;
  if (!sample.empty()) options.sample_sizes = sample.data(), options.sample_groups = sample.size() / 3;
  const ggemm_status status = ggemm_tune(context.get(), &problem, &options, result);
  INFO(ggemm_last_error());
  CHECK((status == GGEMM_OK || status == GGEMM_ERROR_ARGUMENT));
  return status;
}

}  // namespace

TEST_CASE("Mean sizes are taken for the groups' where the description has none, an odd number of paired columns for an even one") {
  static const std::int64_t own[] = {64, 64};
  struct Row {
    ggemm_grouped_form form;
    bool own_n;
    std::int64_t m, n, k;  // of each group that is tuned
  };
  for (const Row& row : {Row{GGEMM_GROUPS_POINTERS, false, 64, 64, 64}, Row{GGEMM_GROUPS_BATCH, false, 64, 64, 64}, Row{GGEMM_GROUPS_RAGGED_M, false, 9, 64, 64},
                         Row{GGEMM_GROUPS_RAGGED_K, false, 64, 64, 9}, Row{GGEMM_GROUPS_MASKED, false, 9, 64, 64}, Row{GGEMM_GROUPS_POINTERS, true, 64, 60, 64}})
    for (const ggemm_gate gate : {GGEMM_GATE_HALVES, GGEMM_GATE_INTERLEAVED}) {
      CAPTURE(row.form, row.own_n, gate);
      ggemm_grouped_desc desc = constant_groups(row.form, 64, 64, 64);
      desc.epilogue.gate = gate;
      desc.expected_m = desc.expected_k = 9, desc.expected_n = 61;
      if (row.own_n) desc.n = ggemm_i64_at(own, 8);
      ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
      REQUIRE(tune_sample(desc, {}, &result) == GGEMM_OK);
      CHECK(std::llround(result.tflops * result.microseconds * 1e6) == 2 * 2 * row.m * row.n * row.k);
    }
}

TEST_CASE("A sample that no call of the description could have is refused by the size that is wrong") {
  struct Row {
    const char* title;
    ggemm_grouped_form form;
    std::vector<std::int64_t> sample;
    std::vector<std::string> sentence;  // none: it is right
  };
  const Row rows[] = {
      {"another n", GGEMM_GROUPS_RAGGED_M, {10, 64, 48, 10, 6, 48}, {"options.sample_sizes[1][1]=6", "n=64"}},
      {"another k", GGEMM_GROUPS_RAGGED_M, {10, 64, 3}, {"options.sample_sizes[0][2]=3", "k=48"}},
      {"another m", GGEMM_GROUPS_BATCH, {32, 64, 48, 31, 64, 48}, {"options.sample_sizes[1][0]=31", "m=32"}},
      {"another m of groups behind pointers", GGEMM_GROUPS_POINTERS, {33, 64, 48}, {"options.sample_sizes[0][0]=33", "m=32"}},
      {"another m of a ragged k", GGEMM_GROUPS_RAGGED_K, {10, 64, 48}, {"options.sample_sizes[0][0]=10", "m=32"}},
      {"another n of a masked m", GGEMM_GROUPS_MASKED, {10, 63, 48}, {"options.sample_sizes[0][1]=63", "n=64"}},
      {"rows of a ragged m", GGEMM_GROUPS_RAGGED_M, {10, 64, 48, 0, 64, 48}, {}},
      {"depths of a ragged k", GGEMM_GROUPS_RAGGED_K, {32, 64, 10, 32, 64, 0}, {}},
      {"rows of a masked m", GGEMM_GROUPS_MASKED, {10, 64, 48, 0, 64, 48}, {}},
      {"sizes as they are", GGEMM_GROUPS_BATCH, {32, 64, 48}, {}},
  };
  for (const Row& row : rows) {
    for (const bool columns : {false, true}) {
      INFO(row.title << (columns ? ", D in columns" : ""));
      ggemm_grouped_desc desc = constant_groups(row.form, 32, 64, 48);
      if (columns) desc.d.row_stride = ggemm_const(1), desc.d.col_stride = ggemm_const(40);
      CHECK(tune_sample(desc, row.sample) == (row.sentence.empty() ? GGEMM_OK : GGEMM_ERROR_ARGUMENT));
      if (!row.sentence.empty()) check_sentence(row.sentence);
    }
  }
  // Columns in pairs, where each group has its own.
  static const std::int64_t sizes[] = {10, 8, 3, 10, 8, 3};
  ggemm_grouped_desc desc = constant_groups(GGEMM_GROUPS_POINTERS, 0, 0, 0);
  desc.m = ggemm_i64_at(sizes, 24), desc.n = ggemm_i64_at(sizes + 1, 24), desc.k = ggemm_i64_at(sizes + 2, 24);
  desc.epilogue.gate = GGEMM_GATE_HALVES;
  CHECK(tune_sample(desc, {10, 8, 3, 10, 7, 3}) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"options.sample_sizes[1][1]=7", "epilogue.gate=halves", "even"});
  CHECK(tune_sample(desc, {10, 8, 3, 10, 6, 3}) == GGEMM_OK);
}

}  // namespace ggemm::tests
