// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most: copy bandwidth, and products a second by the length of a launch. Measured when first asked for.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bench/gpu.hpp"
#include "bench/stats.hpp"

namespace ggemm::bench {

// A kernel that multiplies and loads nothing.
struct CeilingKernel {
  std::string file;
  std::vector<std::pair<std::string, std::string>> defines;
  int threads, shared_bytes, ctas_per_multiprocessor;
  double flops;  // of one iteration of one CTA
};
// For a dtype of types() on this architecture ("sm_90a"). No file where it has no unit for it.
CeilingKernel ceiling_kernel(const std::string& dtype, const std::string& arch);

class Ceilings {
 public:
  explicit Ceilings(Gpu& gpu) : gpu_(gpu) {}
  double bytes_per_second();                    // read and written, both counted
  const Ceiling& of(const std::string& dtype);  // not known() where there is no unit
  // One line for each that was measured.
  std::string describe() const;

 private:
  Ceiling measure(const CeilingKernel& plan);
  Gpu& gpu_;
  double bytes_per_second_ = 0;
  std::map<std::string, Ceiling> by_dtype_;
  std::map<std::string, std::string> words_;
};

}  // namespace ggemm::bench
