// SPDX-License-Identifier: Apache-2.0
// The command line of ggemm_conformance.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "support/case.hpp"

namespace ggemm::tests {

struct Options {
  bool cuda = false;
  int ordinal = 0;
  std::vector<std::string> modes = {"exact", "real", "guard", "configs", "degenerate"};
  std::int64_t cases = 500, grouped_cases = 200;  // for each of the modes exact, real and guard
  bool plain = true, grouped = true;
  std::uint64_t seed = 1;
  std::int64_t only_case = -1;  // -1: all
  std::string family = "any", config, dtype;
  int per_class = 0;      // 0: 1 on the host, 8 on CUDA
  double work = 1 << 20;  // multiply-adds a case
  int workers = 0;        // 0: as many as cores, at most 16
  double time_limit = 0;  // seconds; 0: none
  std::string json;
  bool exact_memory = false;
  bool big = false;  // operands of more than 2^31 elements too
  int failures_shown = 20;
};

// Prints the help or what is wrong and ends the program where that is all there is to do.
Options parse_options(int argc, char** argv);
// The command that repeats one case of a mode.
std::string repeat_command(const Options& options, const std::string& mode, bool grouped, std::int64_t number);

}  // namespace ggemm::tests
