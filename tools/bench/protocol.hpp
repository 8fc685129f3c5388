// SPDX-License-Identifier: Apache-2.0
// How two providers are compared: in turns, A B B A, with a rest before each turn, so that drift of the clock falls on both alike.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace ggemm::bench {

// Something that computes the problem. run(n) gives the microseconds of each of n launches.
struct Arm {
  std::string name;
  std::function<std::vector<double>(int)> run;
};

struct Protocol {
  int samples = 32;                   // of each provider at least
  int turns = 4;                      // of each provider; even, so that A B B A comes out whole
  double rest_s = 0.1;                // before each turn
  int screen = 6;                     // samples by which one of many algorithms or peers is chosen
  std::function<void(double)> sleep;  // seconds; empty: the thread sleeps
};

struct Comparison {
  std::vector<double> ours, peer;  // us, in the order of the turns, so that [i] and [i] are neighbours in time
};

// peer may be NULL.
Comparison compare(const Protocol& protocol, const Arm& ours, const Arm* peer);

// The index of the arm with the least median over `samples` launches, or -1. Arms that throw tools::Failure are passed over; `medians` gets each
// one's median in microseconds, NaN for those.
int fastest(const std::vector<Arm>& arms, int samples, std::vector<double>* medians = nullptr);

// Stops a run before a case that would end after the limit, going by the longest so far. 0: no limit.
class Deadline {
 public:
  explicit Deadline(double limit_s) : limit_s_(limit_s) {}
  bool allows_another(double elapsed_s) const { return limit_s_ <= 0 || elapsed_s + longest_s_ <= limit_s_; }
  void finished(double took_s) { longest_s_ = took_s > longest_s_ ? took_s : longest_s_; }

 private:
  double limit_s_, longest_s_ = 0;
};

}  // namespace ggemm::bench
