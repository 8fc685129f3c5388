// SPDX-License-Identifier: Apache-2.0
// What the programs of the GPU suite share: a context that counts its log lines, operands that can be written again in place, a list of named checks.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/cuda.hpp"

namespace ggemm::tests {

// Ends a check with what is wrong.
[[noreturn]] inline void wrong(const std::string& text) { throw std::runtime_error(text); }
// True: nothing is held against what it should be (main.cpp, --fill).
inline bool only_filling = false;
// What the check under way has to tell, right or wrong, for the report.
inline std::string figures;
inline void expect(bool holds, const std::string& text) {
  if (!holds && !only_filling) wrong(text);
}
inline void expect_ok(ggemm_status status, const std::string& what) {
  expect(status == GGEMM_OK, what + " returned " + ggemm_status_string(status) + ": " + ggemm_last_error());
}

// A CUDA context of the library. Kernels may come from the disk cache.
class GpuContext {
 public:
  explicit GpuContext(int ordinal);
  ggemm_context* get() const { return context_.get(); }
  int compiled() const { return compiled_; }  // kernels, by the log; or loaded from the disk cache

 private:
  static void log(void* user, ggemm_log_level level, const char* message);
  std::atomic<int> compiled_ = 0;
  std::unique_ptr<ggemm_context, void (*)(ggemm_context*)> context_;
};

// The operands of a case. Loading another case of the same shape of metadata keeps the addresses of its arrays, as a replay needs.
class Loaded {
 public:
  explicit Loaded(int ordinal);
  void load(const Case& c);
  // Throws unless D is right.
  void verify();
  void run(ggemm_context* context);  // the one-call form, on stream()
  Call& call() { return *call_; }
  void* stream() const { return memory_->stream(); }
  Memory& memory() { return *memory_; }
  Bytes result();
  const Addresses& addresses() const { return at_; }
  const Images& images() const { return images_; }

 private:
  std::unique_ptr<Memory> memory_;
  std::vector<Slot> slots_;
  Case case_;
  Images images_;
  Addresses at_{};
  std::unique_ptr<Call> call_;
};

struct Kind {
  std::string name;
  CaseType type;
};
// The types that the checks go through; layouts as most callers have them.
std::vector<Kind> kinds(bool grouped);
// A configuration of each family that takes the case, by name; of those whose CTAs add up sums one of each way.
// `besides`: and the first whose name contains this.
std::vector<std::pair<std::string, std::string>> families(ggemm_context* context, const ggemm_problem& problem, const std::string& besides = "");
std::vector<std::pair<std::string, std::string>> families(ggemm_context* context, const Case& c, const std::string& besides = "");

// Of real numbers, to be run again and again from the same C: no D is one, and no NaN is in it.
Case repeatable_case(const CaseType& type, const std::vector<Size>& sizes);
// Of groups that differ in m alone, in that form if one is given.
Case uniform_case(const CaseType& type, const std::vector<Size>& sizes, std::optional<ggemm_grouped_form> form = {});

struct Check {
  std::string name;
  std::function<void()> run;  // throws if something is wrong
  bool alone = false;         // it looks at the whole device: no other process may use it meanwhile
};
std::vector<Check> capture_checks(int ordinal);
std::vector<Check> chain_checks(int ordinal);
std::vector<Check> group_checks(int ordinal);
std::vector<Check> concurrency_checks(int ordinal, int threads, int streams, int repeats, int small_repeats);
std::vector<Check> soak_checks(int ordinal, int threads, int seconds);

}  // namespace ggemm::tests
