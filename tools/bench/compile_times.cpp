// SPDX-License-Identifier: Apache-2.0
#include "bench/compile_times.hpp"

#include <chrono>
#include <memory>
#include <set>

#include "bench/problem.hpp"
#include "bench/stats.hpp"
#include "common/table.hpp"
#include "common/temporary_folder.hpp"

namespace ggemm::bench {
namespace {

double plan_us(ggemm_context* context, const Description& description, std::string& config) {
  const auto begin = std::chrono::steady_clock::now();
  const tools::Plan plan = description.plan(context);
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  config = tools::config_of(plan.get());
  return us;
}

Row time_row(const char* name, const std::vector<double>& times) {
  Row row;
  row.suite = row.category = "compile";
  row.name = name;
  row.ours_us = median(times);
  return row;
}

}  // namespace

std::vector<Row> compile_times(const tools::DeviceOptions& given, const std::vector<Case>& cases, const std::function<void(const std::string&)>& note) {
  const tools::TemporaryFolder folder;
  tools::DeviceOptions options = given;
  options.cache_dir = folder.path();
  std::vector<double> compiled, found;
  std::vector<std::unique_ptr<Problem>> problems;  // that had a kernel of their own
  {
    const tools::Context context = options.create();
    std::set<std::string> seen;
    for (const Case& one : cases) {
      auto problem = std::make_unique<Problem>(one);
      std::string config;
      const double us = plan_us(context.get(), problem->description, config);
      if (!seen.insert(one.dtype + scaling_name(one.scaling) + config.substr(0, config.rfind("_r"))).second) continue;  // rasters are no kernels
      compiled.push_back(us);
      note(tools::format("  %s, %s: %.0f ms", one.name.c_str(), config.c_str(), us / 1e3));
      problems.push_back(std::move(problem));
    }
  }
  const tools::Context context = options.create();
  for (const auto& problem : problems) {
    std::string config;
    found.push_back(plan_us(context.get(), problem->description, config));
  }
  return {time_row("from source", compiled), time_row("from the disk cache", found)};
}

}  // namespace ggemm::bench
