// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "bench/description.hpp"

namespace ggemm::bench {

// A case, with what its description points at.
struct Problem {
  explicit Problem(const Case& given)
      : one(reachable(given)), layout(lay_out(one)), sizes(group_sizes(one)), lds(group_lds(layout)), ends(group_ends(one)),
        description(one, layout, {sizes.data(), lds.data(), ends.data(), layout.index.data()}, "") {}

  // A description has no addresses. Where they lie off what tensor maps take, such a leading dimension gives the same key.
  static Case reachable(Case one) {
    if (one.offset && !one.padding) one.padding = one.offset;
    return one;
  }

  Case one;
  Layout layout;
  std::vector<std::int32_t> sizes, lds, ends;
  Description description;
};

}  // namespace ggemm::bench
