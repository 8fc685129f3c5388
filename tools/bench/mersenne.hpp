// SPDX-License-Identifier: Apache-2.0
// Random numbers as Python's `random` module makes them: the public lists of grouped problems are defined by its seeds.
#pragma once
#include <array>
#include <cstdint>

namespace ggemm::bench {

class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed);
  // random.random(): 53 bits in [0, 1).
  double random();
  // random.randrange(begin, end), end > begin.
  int randrange(int begin, int end);

 private:
  std::uint32_t next();
  static constexpr int size_ = 624;
  std::array<std::uint32_t, size_> state_{};
  int position_ = size_;
};

}  // namespace ggemm::bench
