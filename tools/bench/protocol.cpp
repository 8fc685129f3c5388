// SPDX-License-Identifier: Apache-2.0
#include "bench/protocol.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "bench/stats.hpp"
#include "common/failure.hpp"

namespace ggemm::bench {

Comparison compare(const Protocol& protocol, const Arm& ours, const Arm* peer) {
  const int each = (protocol.samples + protocol.turns - 1) / protocol.turns;
  Comparison out;
  const auto turn = [&](const Arm& arm, std::vector<double>& samples) {
    if (protocol.sleep)
      protocol.sleep(protocol.rest_s);
    else
      std::this_thread::sleep_for(std::chrono::duration<double>(protocol.rest_s));
    const std::vector<double> taken = arm.run(each);
    samples.insert(samples.end(), taken.begin(), taken.end());
  };
  for (int i = 0; i < protocol.turns; i++) {
    const bool ours_first = i % 2 == 0;  // A B, B A, A B, B A
    if (peer && !ours_first) turn(*peer, out.peer);
    turn(ours, out.ours);
    if (peer && ours_first) turn(*peer, out.peer);
  }
  return out;
}

int fastest(const std::vector<Arm>& arms, int samples, std::vector<double>* medians) {
  int best = -1;
  double best_us = std::numeric_limits<double>::infinity();
  if (medians) medians->assign(arms.size(), std::numeric_limits<double>::quiet_NaN());
  for (size_t i = 0; i < arms.size(); i++) {
    double us;
    try {
      us = median(arms[i].run(samples));
    } catch (const tools::Failure&) {
      continue;
    }
    if (medians) (*medians)[i] = us;
    if (us < best_us) {
      best_us = us;
      best = static_cast<int>(i);
    }
  }
  return best;
}

}  // namespace ggemm::bench
