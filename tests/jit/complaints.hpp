// SPDX-License-Identifier: Apache-2.0
// What ggemm_compile_all makes of ptxas's words.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "jit/jit.hpp"

namespace ggemm::tests {

// The number before `words` in ptxas's report, the largest of all lines; 0 if there is none.
inline int number_before(const std::string& log, const char* words) {
  int most = 0;
  for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1)) {
    std::size_t start = at;
    while (start > 0 && log[start - 1] >= '0' && log[start - 1] <= '9') --start;
    most = std::max(most, std::atoi(log.c_str() + start));
  }
  return most;
}

// All that is wrong with a kernel by its log, line by line: spills, what ptxas serialised or ignored, local memory that is no spill, and every line that is none of ptxas's
// ordinary ones. "" if all is well.
inline std::string complaints(const std::string& log) {
  std::string out, line;
  const auto add = [&](const std::string& what) { out += (what.empty() || out.empty() ? "" : "\n") + what; };
  for (std::istringstream lines(log); std::getline(lines, line);) {
    const bool ordinary = line.empty() || line.rfind("ptxas info ", 0) == 0 || line.find("bytes stack frame") != std::string::npos;
    const std::string said = jit::ptxas_complaint(line);
    if (said.empty() && (!ordinary || line.find("warning") != std::string::npos)) add(line);
    add(said);
    // What is spilled is stored at least once, and a frame is rounded up. The rest are arrays that are indexed at run time; the library passes over such kernels too.
    const int frame = number_before(line, " bytes stack frame"), spilled = (number_before(line, " bytes spill stores") + 15) / 16 * 16;
    if (frame > spilled) add("local memory that is no spill: a frame of " + std::to_string(frame) + " bytes");
  }
  if (log.find("bytes spill stores") == std::string::npos) add("the log says nothing of spills:\n" + log);
  return out;
}

// Whether complaints are of spilled registers alone. Only for that may a kernel be let pass: the library takes another in its place, and the next NVRTC may not spill.
inline bool only_spills(const std::string& complaint) {
  bool any = false;
  std::string line;
  for (std::istringstream lines(complaint); std::getline(lines, line); any = true)
    if (line.find(" bytes spill stores") == std::string::npos || line.find("(C75") != std::string::npos) return false;
  return any;
}

}  // namespace ggemm::tests
