// SPDX-License-Identifier: Apache-2.0
// What was run and what came of it, for the table and the JSON. Thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "options.hpp"

namespace ggemm::tests {

struct Failure {
  std::string mode, config, what, input, repeat;
};

class Tally {
 public:
  explicit Tally(int shown) : shown_(shown) {}
  void passed(const std::string& family, const std::string& dtype, const std::string& mode, const std::string& config);
  void failed(const std::string& family, const std::string& dtype, const std::string& mode, Failure failure);  // prints it
  void legal(const std::vector<std::string>& configs);                                                         // some that cases could have used
  void add_seconds(const std::string& mode, double seconds);
  std::int64_t total() const;
  std::int64_t failures() const;
  void print() const;
  void write_json(const std::string& path, const std::string& device, const Options& options, double seconds) const;

 private:
  struct Count {
    std::int64_t passed = 0, failed = 0;
  };
  struct Key {
    std::string family, dtype, mode;
    auto operator<=>(const Key&) const = default;
  };
  mutable std::mutex mutex_;
  int shown_;
  std::map<Key, Count> counts_;
  std::map<std::string, double> seconds_;
  std::set<std::string> legal_, used_;
  std::vector<Failure> failures_;
};

}  // namespace ggemm::tests
