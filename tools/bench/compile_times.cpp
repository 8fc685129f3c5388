// SPDX-License-Identifier: Apache-2.0
#include "bench/compile_times.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "bench/problem.hpp"
#include "bench/stats.hpp"
#include "common/failure.hpp"
#include "common/table.hpp"
#include "common/temporary_folder.hpp"

namespace ggemm::bench {
namespace {

// What the library's log says of products' kernels.
struct Times {
  const std::function<void(const std::string&)>& note;
  ggemm_log_fn log = nullptr;  // this and the next: who is told too, and how much
  ggemm_log_level most = GGEMM_LOG_WARNING;
  std::vector<double> by_engine{}, any{}, from_disk{};  // microseconds

  static void receive(void* user, ggemm_log_level level, const char* message) {
    Times& times = *static_cast<Times*>(user);
    if (level <= times.most) times.log(nullptr, level, message);
    char how[16], name[512];
    double ms = 0;
    if (std::sscanf(message, "%15s %511s in %lf ms", how, name, &ms) != 3) return;
    const std::string kernel = name, way = how;
    const bool product = kernel.starts_with("ggemm_sm90_") || kernel.starts_with("ggemm_sm80_") || kernel.starts_with("ggemm_simt_") || kernel.starts_with("ggemm_gemv_");
    if (!product || kernel.ends_with("_sum_pieces") || (way != "compiled" && way != "loaded")) return;
    (way == "loaded" ? times.from_disk : kernel.ends_with("_by_engine") ? times.by_engine : times.any).push_back(ms * 1e3);
    if (way == "compiled") times.note(tools::format("  %s: %.0f ms", name, ms));
  }
};

tools::Context create(const tools::DeviceOptions& options, Times& times) {
  ggemm_context_options o = options.options();
  times.log = o.log, times.most = o.log_level;
  o.log = Times::receive, o.log_user = &times, o.log_level = std::max(o.log_level, GGEMM_LOG_INFO);
  ggemm_context* context = nullptr;
  tools::check(ggemm_context_create(&o, &context));
  return tools::Context(context);
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
  options.cache_dir = folder.path(), options.threads = 1;
  Times times{note};
  for (int fresh = 0; fresh < 2; ++fresh) {  // the second context finds all on disk
    const tools::Context context = create(options, times);
    for (const Case& one : cases) Problem(one).description.plan(context.get());
  }
  const std::pair<const char*, const std::vector<double>&> kinds[] = {{"from source, C is not read", times.by_engine}, {"from source", times.any}, {"from the disk cache", times.from_disk}};
  std::vector<Row> rows;
  for (const auto& [name, taken] : kinds)
    if (!taken.empty()) rows.push_back(time_row(name, taken));  // not every family has kernels that read no C
  return rows;
}

}  // namespace ggemm::bench
