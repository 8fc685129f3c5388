// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace ggemm::tools {

// The mean size of a grouped problem's groups, for expected_m, expected_n and expected_k. Rounded up: 0 would say that it is not known.
constexpr std::int64_t mean_size(std::int64_t sum, std::int64_t groups) { return groups > 0 ? (sum + groups - 1) / groups : 0; }

}  // namespace ggemm::tools
