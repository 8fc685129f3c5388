// SPDX-License-Identifier: Apache-2.0
#include "bench/description.hpp"

#include <algorithm>

#include "common/failure.hpp"
#include "common/mean_size.hpp"

namespace ggemm::bench {

namespace {

ggemm_scale_kind kind_of(Scaling scaling, bool of_a) {
  switch (scaling) {
    case Scaling::none:
      return GGEMM_SCALE_NONE;
    case Scaling::tensor:
      return GGEMM_SCALE_TENSOR;
    case Scaling::row:
      return GGEMM_SCALE_VECTOR;
    case Scaling::block:
      return of_a ? GGEMM_SCALE_BLOCK_1X128 : GGEMM_SCALE_BLOCK_128X128;
  }
  return GGEMM_SCALE_NONE;
}

// Whether an operand of such groups is one matrix of all.
bool joined(ggemm_grouped_form form, char operand) { return form == GGEMM_GROUPS_RAGGED_M ? operand != 'b' : form == GGEMM_GROUPS_RAGGED_K && operand != 'd'; }

}  // namespace

Description::Description(const Case& one, const Layout& layout, const GroupArrays& arrays, std::string config) : grouped_(one.grouped()) {
  if (grouped_) describe_groups(one, layout, arrays);
  else describe_plain(one, layout);
  force(config);
}

void Description::describe_plain(const Case& one, const Layout& layout) {
  const Type& type = type_named(one.dtype);
  gemm_desc_.m = one.size.m, gemm_desc_.n = one.size.n, gemm_desc_.k = one.size.k;
  gemm_desc_.compute = type.compute;
  const auto set = [](ggemm_matrix& matrix, ggemm_dtype dtype, std::int64_t ld, bool turned) {
    matrix.dtype = dtype;
    matrix.row_stride = turned ? 1 : ld;
    matrix.col_stride = turned ? ld : 1;
  };
  set(gemm_desc_.a, type.input, layout.a[0].ld, one.layout[0] == 't');
  set(gemm_desc_.b, type.input, layout.b[0].ld, one.layout[1] == 't');
  set(gemm_desc_.d, one.output(), layout.d[0].ld, false);
  if (one.scaling == Scaling::none) return;
  const auto scale = [&](ggemm_scale& to, const ScaleView& from, bool of_a) {
    to.kind = kind_of(one.scaling, of_a);
    to.row_stride = from.row_stride, to.col_stride = from.col_stride;
  };
  scale(gemm_desc_.scale_a, layout.scale_a[0], true);
  scale(gemm_desc_.scale_b, layout.scale_b[0], false);
}

void Description::set_form(const Case& one, const Layout& layout, const GroupArrays& arrays) {
  ggemm_grouped_desc& x = grouped_desc_;
  x.m = ggemm_const(one.groups[0].m), x.n = ggemm_const(one.groups[0].n), x.k = ggemm_const(one.groups[0].k);
  switch (one.form) {
    case Form::own:
      if (ragged_rows(one, layout)) break;
      x.m = ggemm_i32_at(arrays.sizes, 12), x.n = ggemm_i32_at(arrays.sizes + 1, 12), x.k = ggemm_i32_at(arrays.sizes + 2, 12);
      return;
    case Form::gathered:
      x.a_index = ggemm_i32_at(arrays.index, 4), x.a_rows = one.rows;
      break;
    case Form::scattered:
      x.d_index = ggemm_i32_at(arrays.index, 4), x.d_rows = one.rows;
      break;
    case Form::masked:
      x.form = GGEMM_GROUPS_MASKED, x.m = ggemm_const(one.rows), x.counts = ggemm_i32_at(arrays.sizes, 12);
      return;
    case Form::batch:
      x.form = GGEMM_GROUPS_BATCH;
      return;
    case Form::ragged_k:
      x.form = GGEMM_GROUPS_RAGGED_K, x.ends = ggemm_i32_at(arrays.ends, 4), x.k = ggemm_const(group_ends(one).back());
      return;
  }
  x.form = GGEMM_GROUPS_RAGGED_M, x.ends = ggemm_i32_at(arrays.ends, 4), x.m = ggemm_const(group_ends(one).back());
}

void Description::describe_groups(const Case& one, const Layout& layout, const GroupArrays& arrays) {
  ggemm_grouped_desc& x = grouped_desc_;
  const Type& type = type_named(one.dtype);
  const std::int64_t count = static_cast<std::int64_t>(one.groups.size());
  x.groups = count;
  x.compute = type.compute;
  set_form(one, layout, arrays);
  const auto set = [&](ggemm_grouped_matrix& matrix, char operand, ggemm_dtype dtype, const std::vector<View>& views, const std::int32_t* lds, bool turned) {
    const ggemm_source ld = x.form != GGEMM_GROUPS_POINTERS ? ggemm_const(views[0].ld) : ggemm_i32_at(lds, 12);
    matrix.dtype = dtype;
    matrix.row_stride = turned ? ggemm_const(1) : ld;
    matrix.col_stride = turned ? ld : ggemm_const(1);
    if (x.form != GGEMM_GROUPS_POINTERS && !joined(x.form, operand)) matrix.group_stride = distance(views);
  };
  set(x.a, 'a', type.input, layout.a, arrays.lds, one.layout[0] == 't');
  set(x.b, 'b', type.input, layout.b, arrays.lds + 1, one.layout[1] == 't');
  set(x.d, 'd', one.output(), layout.d, arrays.lds + 2, false);
  if (one.accumulate) x.c = x.d;
  if (one.scaling != Scaling::none) {
    const auto scale = [&](ggemm_grouped_scale& to, char operand, const std::vector<ScaleView>& views) {
      to.kind = kind_of(one.scaling, operand == 'a');
      to.row_stride = ggemm_const(views[0].row_stride), to.col_stride = ggemm_const(views[0].col_stride);
      if (one.scaling == Scaling::tensor) to.group_stride = 0;  // one number for all groups
      else if (!joined(x.form, operand)) to.group_stride = views[1].base - views[0].base;
    };
    scale(x.scale_a, 'a', layout.scale_a);
    scale(x.scale_b, 'b', layout.scale_b);
  }
  std::int64_t counted = 0;
  for (const Size& group : one.groups) {
    sample_sizes_.insert(sample_sizes_.end(), {group.m, group.n, group.k});
    if (group.m == 0 && x.form == GGEMM_GROUPS_RAGGED_M) continue;  // the mean is of the others, as there are so many rows in all
    ++counted;
    x.expected_m += group.m, x.expected_n += group.n, x.expected_k += group.k;
    x.expected_largest_m = std::max(x.expected_largest_m, group.m);
  }
  for (std::int64_t* sum : {&x.expected_m, &x.expected_n, &x.expected_k}) *sum = tools::mean_size(*sum, counted);
}

void Description::force(const std::string& config) {
  config_ = config;
  gemm_desc_.config = grouped_desc_.config = config_.empty() ? nullptr : config_.c_str();
}

ggemm_tune_options Description::tune_options(double budget_seconds) const {
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.budget_seconds = budget_seconds;
  if (grouped_) {
    options.sample_sizes = sample_sizes_.data();
    options.sample_groups = sample_sizes_.size() / 3;
  }
  return options;
}

tools::Plan Description::plan(ggemm_context* context) const {
  ggemm_plan* plan = nullptr;
  tools::check(grouped_ ? ggemm_plan_create_grouped(context, &grouped_desc_, &plan) : ggemm_plan_create(context, &gemm_desc_, &plan));
  return tools::Plan(plan);
}

std::vector<std::string> Description::ranked(ggemm_context* context, size_t most) const {
  const ggemm_problem described = problem();
  size_t count = 0;
  tools::check(ggemm_config_count(context, &described, &count));
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(count, most); i++) {
    ggemm_config config = GGEMM_CONFIG_INIT;
    tools::check(ggemm_config_get(context, &described, i, &config));
    out.push_back(config.name);
  }
  return out;
}

}  // namespace ggemm::bench
