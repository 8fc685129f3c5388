// SPDX-License-Identifier: Apache-2.0
// Which calls of a library that stands in for one of CUDA's are to fail. The caller keeps threads apart.
#pragma once
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fake {

inline std::vector<std::string> split(const char* text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text ? text : "");
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

class Failures {
 public:
  // Calls number nth .. nth + count - 1 of a function ("": any) are to return `result`; count < 0: all from the nth on.
  void add(const std::string& function, long nth, int result, long count) { rules_.push_back({function, nth, count < 0 ? -1 : nth + count, result}); }
  // Rules "function:nth:result:count", separated by commas; "*" stands for any function. False if one of them is none.
  bool read(const char* text) {
    bool understood = true;
    for (const std::string& part : split(text, ',')) {
      const std::vector<std::string> rule = split(part.c_str(), ':');
      if (rule.size() == 4) add(rule[0] == "*" ? "" : rule[0], std::atol(rule[1].c_str()), std::atoi(rule[2].c_str()), std::atol(rule[3].c_str()));
      else understood = false;
    }
    return understood;
  }
  // Ends all rules; answers how many calls they failed.
  long clear() {
    rules_.clear();
    return std::exchange(failed_, 0);
  }
  // What this call is to return, 0 if it need not fail. Each rule counts the calls that it looks at; the first that fits counts.
  int wanted(const std::string& function, bool any_may) {
    int result = 0;
    for (Rule& rule : rules_) {
      if (rule.function.empty() ? !any_may : rule.function != function) continue;
      ++rule.seen;
      if (result == 0 && rule.seen >= rule.from && (rule.until < 0 || rule.seen < rule.until)) result = rule.result;
    }
    if (result != 0) ++failed_;
    return result;
  }

 private:
  struct Rule {
    std::string function;
    long from, until;  // of the calls that it looks at; until < 0: for ever
    int result;
    long seen = 0;
  };
  std::vector<Rule> rules_;
  long failed_ = 0;
};

}  // namespace fake
