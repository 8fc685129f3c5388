// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "core/problem_checks.hpp"

namespace ggemm::core {
namespace {

struct Step {
  std::uint64_t stride, reach;
  std::uint64_t count() const { return reach ? reach / stride + 1 : 1; }
};

Step step(const checks::Repeats& repeats) {
  const std::uint64_t magnitude = repeats.stride < 0 ? 0 - static_cast<std::uint64_t>(repeats.stride) : static_cast<std::uint64_t>(repeats.stride);
  return {magnitude, magnitude * static_cast<std::uint64_t>(repeats.count - 1)};
}

}  // namespace

// Nearly always each group lies behind the one before, or they take turns: then each of the three strides is longer than all that the shorter ones reach. Else the places are looked at where
// two groups' rows might meet, if a row's elements lie within its stride.
bool checks::groups_meet(const Repeats& groups, const Repeats& rows, const Repeats& cols) {
  Step steps[] = {step(rows), step(cols), step(groups)};
  if (steps[2].stride > steps[0].reach + steps[1].reach) return false;
  const Step group = steps[2];
  Step shorter = steps[0], longer = steps[1];
  const auto by_stride = [](const Step& x, const Step& y) { return x.stride < y.stride; };
  std::sort(std::begin(steps), std::end(steps), by_stride);
  std::uint64_t reached = 0;
  bool nest = true;
  for (const Step& s : steps) {
    nest = nest && (!s.reach || s.stride > reached);
    reached += s.reach;
  }
  if (nest) return false;
  // A single row or column has no stride that matters.
  if (longer.reach == 0 || (shorter.reach && by_stride(longer, shorter))) std::swap(shorter, longer);
  if (longer.reach && shorter.reach >= longer.stride) return false;  // not told
  const auto within = [&shorter](std::uint64_t distance) { return distance <= shorter.reach && (distance == 0 || distance % shorter.stride == 0); };
  constexpr std::uint64_t most = 1 << 16;  // that are worth the time
  for (std::uint64_t g = 1; g < std::min(group.count(), most) && g * group.stride <= longer.reach + shorter.reach; ++g) {
    const std::uint64_t distance = g * group.stride;
    if (!longer.reach) {
      if (within(distance)) return true;
      continue;
    }
    const std::uint64_t row = distance / longer.stride, rest = distance % longer.stride;
    if (row < longer.count() && within(rest)) return true;
    if (row + 1 < longer.count() && within(longer.stride - rest)) return true;
  }
  return false;
}

}  // namespace ggemm::core
