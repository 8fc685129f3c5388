// SPDX-License-Identifier: Apache-2.0
// Problems given by their sizes on the command line or in a suite file, for the commands that look at configurations.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ggemm.h"

namespace CLI {
class App;
}

namespace ggemm::tools {

struct ProblemSize {
  std::int64_t m, n, k;
};

// One problem and the description that the library takes. Not copied or moved after desc() was asked for.
class ProblemSpec {
 public:
  bool grouped = false;
  std::vector<ProblemSize> sizes;  // one, or one a group
  ggemm_dtype dtype = GGEMM_BF16, out_dtype = GGEMM_DTYPE_NONE;
  std::string layout = "nt";  // how A and B are stored: n as [m,k] and [k,n], t transposed
  ggemm_compute compute = GGEMM_COMPUTE_DEFAULT;

  // Points into this object.
  ggemm_problem problem();
  const std::vector<std::int64_t>& sample_sizes() const { return samples_; }  // m, n, k of each group
  std::string text() const;

 private:
  void fill_grouped();
  ggemm_gemm_desc gemm_ = GGEMM_GEMM_DESC_INIT;
  ggemm_grouped_desc grouped_ = GGEMM_GROUPED_DESC_INIT;
  std::vector<std::int64_t> samples_;
};

// --gemm, --grouped, --suite, --dtype, --layout ...
struct ProblemOptions {
  std::vector<std::string> gemm, grouped;
  std::string suite;
  ggemm_dtype dtype = GGEMM_BF16, out_dtype = GGEMM_DTYPE_NONE;
  std::string layout = "nt";
  ggemm_compute compute = GGEMM_COMPUTE_DEFAULT;

  void add_to(CLI::App& command);
  std::vector<ProblemSpec> specs() const;
};

// Those of `ggemm bench` that have problems.
bool is_named_suite(const std::string& suite);

extern const char* const suite_help;

}  // namespace ggemm::tools
