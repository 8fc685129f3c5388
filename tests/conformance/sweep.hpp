// SPDX-License-Identifier: Apache-2.0
// Prepares kernels and runs products on several host threads.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel_pool.hpp"

namespace ggemm::tests {

// One degenerate case to run.
struct Job {
  Case input;
  std::string config;  // "": the library's choice
  std::string family;  // for the tally
  std::int64_t number = 0;
};

class Sweep {
 public:
  Sweep(const Options& options, ggemm_context* context, Tally& tally);
  // Kernels of the pool, each with its products, until `deadline` (seconds on the steady clock; 0: none) or as many as the options say.
  void kernels(const KernelPool& pool, double deadline);
  // The fixed list of corner cases.
  void degenerate(double deadline);
  bool broken() const { return broken_; }
  std::int64_t next_kernel() const { return next_kernel_; }  // the first that was not begun

 private:
  void run_kernel(Session& session, const KernelPool& pool, std::int64_t number);
  bool prepare(const KernelClass& kernel, const KernelCase& first);
  void run_degenerate(std::vector<Job>& jobs, double deadline);
  void judge(Session& session, const RowKey& row, Kind kind, const Case& input, const std::string& config, const std::string& repeat);
  std::unique_ptr<Session> make_session() const;
  void parallel(std::int64_t count, double deadline, const std::function<void(Session&, std::int64_t)>& work);

  const Options& options_;
  ggemm_context* context_;
  Tally& tally_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::atomic<bool> broken_ = false;
  std::int64_t next_kernel_ = 0;
};

// Seconds on the steady clock.
double now();
// What this thread is at ("": nothing), printed if the program crashes or is ended from outside.
void set_line(const std::string& text);
void install_handlers();

}  // namespace ggemm::tests
