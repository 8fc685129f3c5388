// SPDX-License-Identifier: Apache-2.0
#include "tally.hpp"

#include <algorithm>
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

}  // namespace

void Tally::passed(const std::string& family, const std::string& dtype, const std::string& mode, const std::string& config) {
  std::lock_guard lock(mutex_);
  ++counts_[{family, dtype, mode}].passed;
  if (!config.empty()) used_.insert(config);
}

void Tally::failed(const std::string& family, const std::string& dtype, const std::string& mode, Failure failure) {
  std::lock_guard lock(mutex_);
  ++counts_[{family, dtype, mode}].failed;
  if (!failure.config.empty()) used_.insert(failure.config);
  if (static_cast<int>(failures_.size()) < shown_) {
    std::printf("FAILED %s, %s: %s\n  case:   %s\n  repeat: %s\n", mode.c_str(),
                failure.config.empty() ? "the library's choice" : failure.config.c_str(), failure.what.c_str(), failure.input.c_str(),
                failure.repeat.c_str());
    std::fflush(stdout);
  }
  failures_.push_back(std::move(failure));
}

void Tally::legal(const std::vector<std::string>& configs) {
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
  for (const auto& [key, count] : counts_) sum += count.passed + count.failed;
  return sum;
}

std::int64_t Tally::failures() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(failures_.size());
}

void Tally::print() const {
  std::lock_guard lock(mutex_);
  std::printf("%-8s %-8s %-20s %9s %9s\n", "family", "A and B", "mode", "passed", "failed");
  for (const auto& [key, count] : counts_)
    std::printf("%-8s %-8s %-20s %9lld %9lld\n", key.family.c_str(), key.dtype.c_str(), key.mode.c_str(), static_cast<long long>(count.passed),
                static_cast<long long>(count.failed));
  std::printf("configurations: %zu used of %zu that were legal for some case\n", used_.size(), std::max(legal_.size(), used_.size()));
}

void Tally::write_json(const std::string& path, const std::string& device, const Options& options, double seconds) const {
  std::lock_guard lock(mutex_);
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error("cannot write " + path);
  std::fprintf(file,
               "{\n  \"device\": %s,\n  \"seed\": %llu,\n  \"seconds\": %.1f,\n  \"failed\": %zu,\n  \"configurations_used\": %zu,\n  "
               "\"configurations_legal\": %zu,\n  \"counts\": [",
               quoted(device).c_str(), static_cast<unsigned long long>(options.seed), seconds, failures_.size(), used_.size(),
               std::max(legal_.size(), used_.size()));
  const char* separator = "\n";
  for (const auto& [key, count] : counts_) {
    std::fprintf(file, "%s    {\"family\": %s, \"dtype\": %s, \"mode\": %s, \"passed\": %lld, \"failed\": %lld}", separator,
                 quoted(key.family).c_str(), quoted(key.dtype).c_str(), quoted(key.mode).c_str(), static_cast<long long>(count.passed),
                 static_cast<long long>(count.failed));
    separator = ",\n";
  }
  std::fprintf(file, "\n  ],\n  \"mode_seconds\": {");
  separator = "";
  for (const auto& [mode, spent] : seconds_) {
    std::fprintf(file, "%s%s: %.1f", separator, quoted(mode).c_str(), spent);
    separator = ", ";
  }
  std::fprintf(file, "},\n  \"failures\": [");
  separator = "\n";
  for (std::size_t i = 0; i < failures_.size() && i < 100; ++i) {
    const Failure& f = failures_[i];
    std::fprintf(file, "%s    {\"mode\": %s, \"config\": %s, \"what\": %s, \"case\": %s, \"repeat\": %s}", separator, quoted(f.mode).c_str(),
                 quoted(f.config).c_str(), quoted(f.what).c_str(), quoted(f.input).c_str(), quoted(f.repeat).c_str());
    separator = ",\n";
  }
  std::fprintf(file, "\n  ]\n}\n");
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

}  // namespace ggemm::tests
