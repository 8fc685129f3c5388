// SPDX-License-Identifier: Apache-2.0
#include "tally.hpp"

#include <cstdio>
#include <stdexcept>

namespace ggemm::tests {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char ch : text) {
    if (ch == '"' || ch == '\\') out += '\\';
    if (static_cast<unsigned char>(ch) >= 0x20)
      out += ch;
    else
      out += ' ';
  }
  return out + "\"";
}

long long ll(std::int64_t v) { return v; }

}  // namespace

void Tally::kernel(const RowKey& row, const std::string& config) {
  std::lock_guard lock(mutex_);
  ++rows_[row].kernels;
  used_.insert(config + (row.grouped ? ", grouped" : ""));
}

void Tally::passed(const RowKey& row, Kind kind, const Case& input) {
  constexpr const char* forms[] = {"pointers", "ragged m", "ragged k", "masked", "batch"};
  std::lock_guard lock(mutex_);
  ++rows_[row].passed[static_cast<std::size_t>(kind)];
  if (!input.type.grouped) return;
  ++forms_[forms[input.form]];
  if (input.type.gather || input.type.scatter) ++forms_["rows by index"];
  if (input.checked) ++forms_["checked"];
}

void Tally::refused(const RowKey& row) {
  std::lock_guard lock(mutex_);
  ++rows_[row].refused;
}

void Tally::unfit(const RowKey& row) {
  std::lock_guard lock(mutex_);
  ++rows_[row].unfit;
}

void Tally::failed(const RowKey& row, Kind kind, Failure failure) {
  std::lock_guard lock(mutex_);
  ++rows_[row].failed;
  if (static_cast<int>(failures_.size()) < shown_) {
    constexpr const char* kinds[] = {"exact", "real", "degenerate"};
    std::printf("FAILED %s, %s: %s\n  case:   %s\n  repeat: %s\n", kinds[static_cast<int>(kind)],
                failure.config.empty() ? "the library's choice" : failure.config.c_str(), failure.what.c_str(), failure.input.c_str(),
                failure.repeat.c_str());
    std::fflush(stdout);
  }
  failures_.push_back(std::move(failure));
}

void Tally::legal(const std::set<std::string>& configs) {
  std::lock_guard lock(mutex_);
  legal_.insert(configs.begin(), configs.end());
}

void Tally::add_seconds(const std::string& mode, double seconds) {
  std::lock_guard lock(mutex_);
  seconds_[mode] += seconds;
}

std::int64_t Tally::total() const {
  std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const auto& [key, row] : rows_) sum += row.passed[0] + row.passed[1] + row.passed[2] + row.failed;
  return sum;
}

std::int64_t Tally::failures() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(failures_.size());
}

void Tally::print() const {
  std::lock_guard lock(mutex_);
  std::printf("%-8s %-8s %-8s %8s %8s %8s %10s %8s %8s %8s\n", "family", "A and B", "form", "kernels", "exact", "real", "degenerate", "refused", "unfit",
              "failed");
  for (const auto& [key, row] : rows_)
    std::printf("%-8s %-8s %-8s %8lld %8lld %8lld %10lld %8lld %8lld %8lld\n", key.family.c_str(), key.dtype.c_str(), key.grouped ? "grouped" : "plain",
                ll(row.kernels), ll(row.passed[0]), ll(row.passed[1]), ll(row.passed[2]), ll(row.refused), ll(row.unfit), ll(row.failed));
  if (!legal_.empty()) std::printf("%zu of %zu configurations, by name and form\n", used_.size(), legal_.size());
}

void Tally::write_json(const std::string& path, const Options& options, const Run& run) const {
  std::lock_guard lock(mutex_);
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error("cannot write " + path);
  std::fprintf(file,
               "{\n  \"device\": %s,\n  \"seed\": %llu,\n  \"first_kernel\": %lld,\n  \"next_kernel\": %lld,\n  \"shard\": %lld,\n  \"shards\": %lld,\n"
               "  \"seconds\": %.1f,\n  \"compiled\": %d,\n  \"by_engine\": %d,\n  \"spilled\": %d,\n  \"compile_seconds\": %.1f,\n  \"failed\": %zu,\n  \"rows\": [",
               quoted(run.device).c_str(), static_cast<unsigned long long>(options.seed), ll(options.first_kernel), ll(run.next_kernel), ll(options.shard),
               ll(options.shards), run.seconds, run.compiled, run.by_engine, run.spilled, run.compile_seconds, failures_.size());
  const char* separator = "\n";
  for (const auto& [key, row] : rows_) {
    std::fprintf(file,
                 "%s    {\"family\": %s, \"dtype\": %s, \"form\": \"%s\", \"kernels\": %lld, \"exact\": %lld, \"real\": %lld, \"degenerate\": %lld, \"refused\": "
                 "%lld, \"unfit\": %lld, \"failed\": %lld}",
                 separator, quoted(key.family).c_str(), quoted(key.dtype).c_str(), key.grouped ? "grouped" : "plain", ll(row.kernels), ll(row.passed[0]),
                 ll(row.passed[1]), ll(row.passed[2]), ll(row.refused), ll(row.unfit), ll(row.failed));
    separator = ",\n";
  }
  std::fprintf(file, "\n  ],\n  \"mode_seconds\": {");
  separator = "";
  for (const auto& [mode, spent] : seconds_) {
    std::fprintf(file, "%s%s: %.1f", separator, quoted(mode).c_str(), spent);
    separator = ", ";
  }
  std::fprintf(file, "},\n  \"forms\": {");
  separator = "";
  for (const auto& [form, passed] : forms_) {
    std::fprintf(file, "%s%s: %lld", separator, quoted(form).c_str(), ll(passed));
    separator = ", ";
  }
  // By name, so that runs can be joined.
  std::fprintf(file, "},\n  \"configurations_legal\": %zu,\n  \"configurations\": [", legal_.size());
  separator = "\n";
  for (const std::string& name : used_) {
    std::fprintf(file, "%s    %s", separator, quoted(name).c_str());
    separator = ",\n";
  }
  std::fprintf(file, "\n  ],\n  \"failures\": [");
  separator = "\n";
  for (std::size_t i = 0; i < failures_.size() && i < 100; ++i) {
    const Failure& f = failures_[i];
    std::fprintf(file, "%s    {\"config\": %s, \"what\": %s, \"case\": %s, \"repeat\": %s}", separator, quoted(f.config).c_str(), quoted(f.what).c_str(),
                 quoted(f.input).c_str(), quoted(f.repeat).c_str());
    separator = ",\n";
  }
  std::fprintf(file, "\n  ]\n}\n");
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

}  // namespace ggemm::tests
