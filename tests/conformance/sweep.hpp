// SPDX-License-Identifier: Apache-2.0
// Draws many cases, prepares their kernels together, and runs them on several host threads.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "session.hpp"
#include "tally.hpp"

namespace ggemm::tests {

// One case to run.
struct Job {
  Case input;
  std::string config;  // "": the library's choice
  std::string family;  // for the tally
  std::string mode;
  std::int64_t number = 0;
  std::string refused;  // asking for the legal configurations failed with this
};

class Sweep {
 public:
  Sweep(const Options& options, ggemm_context* context, Tally& tally);
  // Cases 0 .. count-1 of a mode (exact, real, guard), until `deadline` (seconds on the steady clock; 0: none).
  void random(Mode mode, bool grouped, std::int64_t count, double deadline);
  // Every configuration of the common types and layouts.
  void configurations(bool grouped, double deadline);
  // The fixed list of corner cases.
  void degenerate(double deadline);
  bool broken() const { return broken_; }

 private:
  std::optional<Job> choose(Case input, const std::string& mode, std::int64_t number);
  void run(std::vector<Job>& jobs, double deadline);
  void prepare(const std::vector<Job>& jobs);
  void run_one(Session& session, const Job& job);
  void parallel(std::size_t count, double deadline, const std::function<void(std::size_t worker, std::size_t index)>& work);
  Drawing drawing(Mode mode, bool grouped) const;

  const Options& options_;
  ggemm_context* context_;
  Tally& tally_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::atomic<bool> broken_ = false;
};

// Seconds on the steady clock.
double now();
// "bf16", "tf32", or "mixed" where A's and B's types differ.
std::string dtype_label(const CaseType& type);
// A crash of this thread prints `line` before the program ends.
void set_crash_line(const std::string& line);
void install_crash_handler();

}  // namespace ggemm::tests
