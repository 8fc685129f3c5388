// SPDX-License-Identifier: Apache-2.0
// MT19937 (Matsumoto and Nishimura, 1998). std::mt19937 is the same generator, but has no seeding by an array, which is the one that Python uses.
#include "bench/mersenne.hpp"

namespace ggemm::bench {

PythonRandom::PythonRandom(std::uint32_t seed) {
  state_[0] = 19650218u;
  for (int i = 1; i < size_; i++) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<std::uint32_t>(i);
  // Seeding by the array {seed}: with one element, its index is always 0.
  int i = 1;
  const auto step = [&](std::uint32_t factor, std::uint32_t add) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * factor)) + add;
    if (++i == size_) {
      state_[0] = state_[size_ - 1];
      i = 1;
    }
  };
  for (int round = 0; round < size_; round++) step(1664525u, seed);
  for (int round = 0; round < size_ - 1; round++) step(1566083941u, 0u - static_cast<std::uint32_t>(i));
  state_[0] = 0x80000000u;
}

std::uint32_t PythonRandom::next() {
  if (position_ == size_) {
    for (int i = 0; i < size_; i++) {
      const std::uint32_t joined = (state_[i] & 0x80000000u) | (state_[(i + 1) % size_] & 0x7fffffffu);
      state_[i] = state_[(i + 397) % size_] ^ (joined >> 1) ^ (joined & 1 ? 0x9908b0dfu : 0u);
    }
    position_ = 0;
  }
  std::uint32_t value = state_[position_++];
  value ^= value >> 11;
  value ^= (value << 7) & 0x9d2c5680u;
  value ^= (value << 15) & 0xefc60000u;
  return value ^ (value >> 18);
}

double PythonRandom::random() {
  const std::uint32_t high = next() >> 5, low = next() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

int PythonRandom::randrange(int begin, int end) {
  const std::uint32_t count = static_cast<std::uint32_t>(end - begin);
  int bits = 0;
  while (count >> bits) bits++;  // of count itself, so that a power of two takes one bit more, as in Python
  std::uint32_t value;
  do value = next() >> (32 - bits);
  while (value >= count);
  return begin + static_cast<int>(value);
}

}  // namespace ggemm::bench
