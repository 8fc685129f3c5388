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
  bool kernels = true, degenerate = true;  // modes
  bool exact = true, real = true;          // values of random products
  bool plain = true, grouped = true;
  bool by_index = false;  // only grouped kernels with an index of rows
  bool gathered = false, scattered = false;  // only those with one of A's rows, of D's
  bool bare = false;      // no epilogue but alpha, beta and C
  bool gated = false;     // only gated pairs of columns
  bool halves = false;    // only those of both halves
  std::vector<ggemm_scale_kind> scales;  // of A and of B; empty: any
  bool no_blocks = false;  // no scales by blocks
  std::uint64_t seed = 1;
  std::int64_t kernel_count = 0;           // 0: 100 on the host, as many as the budget allows on CUDA
  std::int64_t per_kernel = 40;            // products
  std::int64_t first_kernel = 0, only_kernel = -1, only_case = -1;  // -1: all
  std::int64_t shard = 0, shards = 1;      // kernels, and corner cases, whose number is `shard` modulo `shards`
  std::string family, config, dtype;       // "": any
  std::vector<Size> sizes;  // of random products, where given: of one group each
  int repeats = 1;          // runs of each product
  double work = 0;    // multiply-adds a case; 0: 2^18 on the host, 2^22 on CUDA
  int workers = 0;    // 0: as many as cores, at most 32
  double budget = 0;  // seconds; 0: none
  std::string json;
  bool exact_memory = false;
  bool until_wrong = false;
  bool big = false;  // operands of more than 2^31 elements too
  bool list_families = false;
  int failures_shown = 20;
};

// Prints the help or what is wrong and ends the program where that is all there is to do.
Options parse_options(int argc, char** argv);
// The command that repeats one random product, or one of the degenerate ones.
std::string repeat_kernel_case(const Options& options, std::int64_t kernel, std::int64_t number);
std::string repeat_degenerate_case(const Options& options, std::int64_t number);

}  // namespace ggemm::tests
