// SPDX-License-Identifier: Apache-2.0
// What was run and what came of it, for the table and the JSON. Thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "options.hpp"

namespace ggemm::tests {

// A row of the table: a kernel family ("chosen": whichever the library takes), A's and B's type, plain or grouped.
struct RowKey {
  std::string family, dtype;
  bool grouped = false;
  auto operator<=>(const RowKey&) const = default;
};

// How a product is judged: random integers, bit for bit; random real numbers, under the bound; a corner case.
enum class Kind { exact, real, degenerate };

struct Failure {
  std::string config, what, input, repeat;
};

class Tally {
 public:
  explicit Tally(int shown) : shown_(shown) {}
  void kernel(const RowKey& row, const std::string& config);  // is ready; config without its raster group
  void passed(const RowKey& row, Kind kind, const Case& input);
  void refused(const RowKey& row);  // a forced configuration that says it does not serve this product
  void unfit(const RowKey& row);    // a drawn product that its kernel is not legal for; it was not run
  void failed(const RowKey& row, Kind kind, Failure failure);  // prints it
  void legal(const std::set<std::string>& configs);            // those that kernels are drawn from
  void add_seconds(const std::string& mode, double seconds);
  std::int64_t total() const;
  std::int64_t failures() const;
  void print() const;

  struct Run {
    std::string device;
    double seconds = 0;
    std::int64_t next_kernel = 0;  // where to go on
    int compiled = 0, by_engine = 0, spilled = 0;  // kernels; of them, for calls by the copy engine alone
    double compile_seconds = 0;  // of all threads
  };
  void write_json(const std::string& path, const Options& options, const Run& run) const;

 private:
  struct Row {
    std::int64_t kernels = 0, refused = 0, unfit = 0, failed = 0;
    std::array<std::int64_t, 3> passed{};  // by Kind
  };
  mutable std::mutex mutex_;
  int shown_;
  std::map<RowKey, Row> rows_;
  std::map<std::string, std::int64_t> forms_;  // of grouped products that passed: their form, and what else is of some of them
  std::map<std::string, double> seconds_;
  std::set<std::string> legal_, used_;
  std::vector<Failure> failures_;
};

}  // namespace ggemm::tests
