// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers that are the same on every machine (the standard library's distributions are not).
#pragma once
#include <cstdint>
#include <initializer_list>

namespace ggemm::tests {

// SplitMix64's output function: a good 64-bit mixer.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a + 0x9e3779b97f4a7c15ull) ^ (b * 0xd1342543de82ef95ull)); }

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ull); }
  // 0 .. n-1; n above 0. The bias is below n / 2^64.
  std::uint64_t below(std::uint64_t n) { return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }
  // low .. high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  // 0 <= x < 1
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  // Close to a normal distribution: four 16-bit numbers of one draw, summed, with mean 0 and variance 1.
  double normal() {
    const std::uint64_t x = next();
    const double sum = static_cast<double>((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48));
    return (sum - 131070.0) * (1.7320508075688772 / 65536.0);
  }

 private:
  std::uint64_t state_;
};

}  // namespace ggemm::tests
