// SPDX-License-Identifier: Apache-2.0
// What ggemm_compile_all makes of ptxas's words.
#pragma once
#include <sstream>
#include <string>

namespace ggemm::tests {

// Whether a complaint, a line or several, speaks of spilled registers alone: the library passes over a kernel for that, and for nothing else.
inline bool only_spills(const std::string& complaint) {
  bool any = false;
  std::string line;
  for (std::istringstream lines(complaint); std::getline(lines, line); any = true)
    if (line.find(" bytes spill stores") == std::string::npos || line.find("(C75") != std::string::npos) return false;
  return any;
}

}  // namespace ggemm::tests
