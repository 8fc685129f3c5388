// SPDX-License-Identifier: Apache-2.0
// Random numbers of which any can be made without those before it.
#pragma once
#include <cstdint>

namespace ggemm::bench {

// splitmix64 of a counter.
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Of (0, 1).
inline double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

}  // namespace ggemm::bench
