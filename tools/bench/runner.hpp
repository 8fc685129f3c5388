// SPDX-License-Identifier: Apache-2.0
// Runs cases on a device and makes rows of them.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/protocol.hpp"
#include "bench/results.hpp"
#include "common/context.hpp"

namespace ggemm::bench {

struct RunOptions {
  Protocol protocol;
  std::string config;  // forced; "": chosen
  bool model = false;  // the model's first choice is forced, whatever records there are
  bool tune = false;
  double tune_budget_s = 10;
  bool graph = false;  // back to back in a CUDA graph instead of cold
  bool peers = true;
  std::string cublaslt;                          // its file; "": searched for
  std::string nvrtc;                             // likewise
  std::function<void(const std::string&)> note;  // what is said beside the rows
};

// A row with all that is known before its case runs. How it is measured is a part of the suite's name.
Row row_for(const Case& one, const RunOptions& options);

class Runner {
 public:
  virtual ~Runner() = default;
  // A row without device, date and commit. Throws tools::Failure: the case cannot be computed, or came out wrong.
  virtual Row run(const Case& one) = 0;
  // What calls cost the host: the suite `host`.
  virtual std::vector<Row> host_costs() = 0;
  // What was measured of the machine itself.
  virtual std::string machine() const = 0;
};

std::unique_ptr<Runner> make_cuda_runner(ggemm_context* context, const ggemm_device_info& info, const RunOptions& options);
std::unique_ptr<Runner> make_host_runner(ggemm_context* context, const ggemm_device_info& info, const RunOptions& options);

// The small product whose calls the suite `host` times.
Case host_cost_case();
Row host_cost_row(const std::string& name, double us);

}  // namespace ggemm::bench
