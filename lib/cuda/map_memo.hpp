// SPDX-License-Identifier: Apache-2.0
// The tensor maps that calls have encoded last, as operands come again from call to call. A map tells where an operand lies and its shape, whatever is there: it stays right when memory is
// given back and taken again.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cuda/device.hpp"

namespace ggemm::cuda {

// Of one device; any threads. Nobody waits: a set that another thread looks at is passed over, as if it had nothing. It allocates nothing, and is no thread's own, so that no thread's first call
// needs memory.
class MapMemo {
 public:
  // Whether the map of this key is there; then `map` is it.
  bool find(const TensorLayout& key, kernels::TensorMap& map) {
    Set& set = sets_[set_of(key)];
    const Turn turn(set);
    if (!turn.own) return false;
    for (const Entry& entry : set.entries)
      if (entry.key == key) return map = entry.map, true;
    return false;
  }
  // The oldest of its set goes.
  void keep(const TensorLayout& key, const kernels::TensorMap& map) {
    Set& set = sets_[set_of(key)];
    const Turn turn(set);
    if (turn.own) set.entries[set.oldest++ % ways] = {map, key};
  }

 private:
  static constexpr int bits = 6;
  static constexpr unsigned ways = 4;
  struct Entry {
    kernels::TensorMap map;
    TensorLayout key;  // at first of no lines, as no operand's is
  };
  struct Set {
    std::array<Entry, ways> entries{};
    unsigned oldest = 0;
    std::atomic<bool> taken = false;
  };
  struct Turn {
    Set& set;
    const bool own;
    explicit Turn(Set& set) : set(set), own(!set.taken.exchange(true, std::memory_order_acquire)) {}
    ~Turn() {
      if (own) set.taken.store(false, std::memory_order_release);
    }
  };
  static std::size_t set_of(const TensorLayout& key) {
    std::uint64_t mixed = 0;
    for (const std::uint64_t word : {reinterpret_cast<std::uint64_t>(key.data), static_cast<std::uint64_t>(key.length), static_cast<std::uint64_t>(key.lines), static_cast<std::uint64_t>(key.box_lines)})
      mixed = (mixed ^ word) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(mixed >> (64 - bits));
  }

  std::array<Set, 1 << bits> sets_;
};

}  // namespace ggemm::cuda
