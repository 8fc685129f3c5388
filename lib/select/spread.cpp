// SPDX-License-Identifier: Apache-2.0
#include "select/spread.hpp"

#include <algorithm>
#include <cmath>

#include "core/key.hpp"
#include "select/deal.hpp"

namespace ggemm::select {

void Spread::add(double groups, double rows) {
  if (groups <= 0 || rows <= 0 || count == most_parts) return;
  parts[static_cast<std::size_t>(count++)] = {groups * std::min(1.0, rows), std::max(1.0, rows)};
}

double Spread::groups() const {
  return sum([](const Part& part) { return part.groups; });
}
double Spread::rows() const {
  return sum([](const Part& part) { return part.groups * part.rows; });
}
double Spread::tile_rows(double tile) const {
  return sum([tile](const Part& part) { return part.groups * ceil_div(part.rows, tile); });
}

Spread Spread::of(double least, double most) const {
  Spread out;
  for (const Part& part : *this)
    if (least < part.rows && part.rows <= most) out.parts[static_cast<std::size_t>(out.count++)] = part;
  return out;
}

Spread spread_of(double groups, double mean, int skew) {
  constexpr int even = 8;
  Spread out;
  // From none to twice the mean, evenly.
  const auto evenly = [&out](double count, double each) {
    for (int i = 0; i < even; ++i) out.add(count / even, (i + 0.5) / even * 2 * each);
  };
  switch (groups > 1 ? skew : core::skew_alike) {
    case core::skew_alike: out.add(groups, mean), out.alike = true; break;
    case core::skew_little: evenly(groups, mean); break;
    case core::skew_little + 1:
    case core::skew_little + 2: {
      // As Zipf has it: the i-th has the i-th part of what the first has.
      const auto harmonic = [](double i) { return i < 1 ? 0 : std::log(i) + 0.5772 + 1 / (2 * i); };
      const double all = groups * mean, sum = harmonic(groups);
      for (double first = 0, many = 1; first < groups; first += many, many = std::max(1.0, first)) {
        const double last = out.count == Spread::most_parts - 1 ? groups : std::min(groups, first + many);
        out.add(last - first, all / sum * (harmonic(last) - harmonic(first)) / (last - first));
        if (last == groups) break;
      }
      break;
    }
    default: {
      // One has so much of what the others could leave it.
      const double part = (skew - core::skew_little - 1) / 4.0, most = mean * (1 + part * (groups - 1));
      out.add(1, most);
      evenly(groups - 1, (groups * mean - most) / (groups - 1));
    }
  }
  return out;
}

}  // namespace ggemm::select
