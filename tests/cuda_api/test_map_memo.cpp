// SPDX-License-Identifier: Apache-2.0
// The maps that a device keeps: of a key, the one that was kept for just that, or none.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "cuda/map_memo.hpp"

namespace ggemm::cuda {
namespace {

// A map that says which key it is of.
kernels::TensorMap map_of(const TensorLayout& key) {
  kernels::TensorMap map{};
  static_assert(sizeof key <= sizeof map);
  std::memcpy(&map, &key, sizeof key);
  return map;
}
bool is_of(const kernels::TensorMap& map, const TensorLayout& key) {
  const kernels::TensorMap expected = map_of(key);
  return std::memcmp(&map, &expected, sizeof key) == 0;
}
TensorLayout key_of(std::uintptr_t data, std::int64_t length, std::int64_t lines, std::int64_t line_bytes, int box_length, int box_lines, int dtype) {
  TensorLayout key;
  std::memset(static_cast<void*>(&key), 0, sizeof key);  // what lies between its members is compared too
  key.data = reinterpret_cast<const void*>(data), key.length = length, key.lines = lines, key.line_bytes = line_bytes;
  key.box_length = box_length, key.box_lines = box_lines, key.dtype = dtype;
  return key;
}

}  // namespace

TEST_CASE("map memo: a key that differs in any of its members has another map") {
  const auto memo = std::make_unique<MapMemo>();
  const TensorLayout first = key_of(0x10000, 512, 70, 512, 128, 64, GGEMM_I8);
  kernels::TensorMap map;
  CHECK_FALSE(memo->find(first, map));
  memo->keep(first, map_of(first));
  REQUIRE(memo->find(first, map));
  CHECK(is_of(map, first));
  TensorLayout in_pairs = first, as_tf32 = first, two = first, two_apart = first;
  in_pairs.half = 70, as_tf32.tf32 = true, two.products = 2, two_apart.products = 2, two_apart.product_bytes = 70 * 512;
  for (const TensorLayout& other : {in_pairs, as_tf32, two, two_apart, key_of(0x10000, 512, 70, 512, 0, 64, GGEMM_I8), key_of(0x10010, 512, 70, 512, 128, 64, GGEMM_I8), key_of(0x10000, 496, 70, 512, 128, 64, GGEMM_I8), key_of(0x10000, 512, 71, 512, 128, 64, GGEMM_I8),
                              key_of(0x10000, 512, 70, 528, 128, 64, GGEMM_I8), key_of(0x10000, 512, 70, 512, 64, 64, GGEMM_I8), key_of(0x10000, 512, 70, 512, 128, 32, GGEMM_I8),
                              key_of(0x10000, 512, 70, 512, 128, 64, GGEMM_BF16)}) {
    CHECK_FALSE(memo->find(other, map));
    memo->keep(other, map_of(other));
    REQUIRE(memo->find(other, map));
    CHECK(is_of(map, other));
  }
}

TEST_CASE("map memo: of more keys than it holds, and from several threads, it never gives another's map, and mostly the newest ones") {
  const auto memo = std::make_unique<MapMemo>();
  const auto key = [](unsigned i) { return key_of(0x100000 + 16 * std::uintptr_t(i), 64 * (1 + i % 3), 1 + i % 5, 512, 64, 64, GGEMM_F16); };
  int wrong = 0, newest = 0;
  kernels::TensorMap map;
  for (unsigned i = 0; i < 4000; ++i) {
    memo->keep(key(i), map_of(key(i)));
    newest += memo->find(key(i), map) && is_of(map, key(i));
    for (unsigned back = 0; back <= i && back < 400; back += 37)
      if (memo->find(key(i - back), map)) wrong += !is_of(map, key(i - back));
  }
  CHECK(wrong == 0);
  CHECK(newest == 4000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong_there = 0, found = 0;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      kernels::TensorMap own;
      for (int i = 0; i < 50000; ++i) {
        const TensorLayout k = key(random() % 100);
        if (memo->find(k, own)) ++found, wrong_there += !is_of(own, k);
        else memo->keep(k, map_of(k));
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong_there == 0);
  CHECK(found > 50000);
}

}  // namespace ggemm::cuda
