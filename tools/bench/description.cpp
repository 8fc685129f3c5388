// SPDX-License-Identifier: Apache-2.0
#include "bench/description.hpp"

#include <algorithm>

#include "common/failure.hpp"
#include "common/mean_size.hpp"

namespace ggemm::bench {

std::vector<std::int32_t> group_sizes(const Case& one) {
  std::vector<std::int32_t> out;
  for (const Size& size : one.groups)
    for (const std::int64_t value : {size.m, size.n, size.k}) out.push_back(static_cast<std::int32_t>(value));
  return out;
}

std::vector<std::int32_t> group_lds(const Layout& layout) {
  std::vector<std::int32_t> out;
  for (size_t g = 0; g < layout.a.size(); g++)
    for (const std::int64_t value : {layout.a[g].ld, layout.b[g].ld, layout.d[g].ld}) out.push_back(static_cast<std::int32_t>(value));
  return out;
}

std::vector<std::int32_t> group_ends(const Case& one) {
  std::vector<std::int32_t> out;
  std::int64_t end = 0;
  for (const Size& size : one.groups) out.push_back(static_cast<std::int32_t>(end += size.m));
  return out;
}

bool ragged_rows(const Case& one, const Layout& layout) {
  if (one.groups.size() < 2 || one.layout[0] == 't') return false;
  const std::vector<std::int32_t> ends = group_ends(one);
  for (size_t g = 1; g < one.groups.size(); g++) {
    const auto follows = [&](const std::vector<View>& views) { return views[g].base == views[0].base + ends[g - 1] * views[0].ld && views[g].ld == views[0].ld; };
    const auto& b = layout.b;
    if (one.groups[g].n != one.groups[0].n || one.groups[g].k != one.groups[0].k || !follows(layout.a) || !follows(layout.d) || b[g].ld != b[0].ld || b[g].base - b[g - 1].base != b[1].base - b[0].base) return false;
  }
  return true;
}

Description::Description(const Case& one, const Layout& layout, const std::int32_t* sizes, const std::int32_t* lds, const std::int32_t* ends, std::string config) : grouped_(one.grouped()) {
  if (grouped_) {
    describe_groups(one, layout, sizes, lds, ends);
  } else {
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
    set(gemm_desc_.d, type.output, layout.d[0].ld, false);
  }
  force(config);
}

void Description::describe_groups(const Case& one, const Layout& layout, const std::int32_t* sizes, const std::int32_t* lds, const std::int32_t* ends) {
  const Type& type = type_named(one.dtype);
  const std::int64_t count = static_cast<std::int64_t>(one.groups.size());
  grouped_desc_.groups = count;
  grouped_desc_.compute = type.compute;
  const bool ragged = ragged_rows(one, layout);
  if (ragged) {
    grouped_desc_.form = GGEMM_GROUPS_RAGGED_M, grouped_desc_.ends = ggemm_i32_at(ends, 4);
    grouped_desc_.m = ggemm_const(group_ends(one).back()), grouped_desc_.n = ggemm_const(one.groups[0].n), grouped_desc_.k = ggemm_const(one.groups[0].k);
    grouped_desc_.b.group_stride = layout.b[1].base - layout.b[0].base;
  } else {
    grouped_desc_.m = ggemm_i32_at(sizes, 12), grouped_desc_.n = ggemm_i32_at(sizes + 1, 12), grouped_desc_.k = ggemm_i32_at(sizes + 2, 12);
  }
  const auto set = [ragged](ggemm_grouped_matrix& matrix, ggemm_dtype dtype, const View& first, const std::int32_t* lds, bool turned) {
    const ggemm_source ld = ragged ? ggemm_const(first.ld) : ggemm_i32_at(lds, 12);
    matrix.dtype = dtype;
    matrix.row_stride = turned ? ggemm_const(1) : ld;
    matrix.col_stride = turned ? ld : ggemm_const(1);
  };
  set(grouped_desc_.a, type.input, layout.a[0], lds, one.layout[0] == 't');
  set(grouped_desc_.b, type.input, layout.b[0], lds + 1, one.layout[1] == 't');
  set(grouped_desc_.d, type.output, layout.d[0], lds + 2, false);
  for (const Size& group : one.groups) {
    grouped_desc_.expected_m += group.m, grouped_desc_.expected_n += group.n, grouped_desc_.expected_k += group.k;
    sample_sizes_.insert(sample_sizes_.end(), {group.m, group.n, group.k});
  }
  for (std::int64_t* sum : {&grouped_desc_.expected_m, &grouped_desc_.expected_n, &grouped_desc_.expected_k}) *sum = tools::mean_size(*sum, count);
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
