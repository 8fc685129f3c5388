// SPDX-License-Identifier: Apache-2.0
// f32 as three terms of bf16, whose products tensor cores sum as accurately as f32's own: x = high + middle + low, each rounded from what those before it leave. For host and GPU.
#pragma once
#include "tile/numeric.cuh"

namespace ggemm::kernels {

struct Terms {
  Bf16 high, middle, low;
};
// Exact, but for bits below 2^-133, where bf16 ends. What is not finite is `high` alone, and nothing finite becomes infinite.
GG_HD Terms split_terms(float x) {
  const auto upper = [](float value) {
    const u32 bits = bit_cast<u32>(value), rounded = bits + 0x8000u;
    return Bf16{static_cast<u16>(((rounded & 0x7f800000u) == 0x7f800000u ? bits : rounded) >> 16)};
  };
  if ((bit_cast<u32>(x) & 0x7f800000u) == 0x7f800000u) return {Store<Bf16>::from(x), {0}, {0}};
  const Bf16 high = upper(x);
  const float rest = x - to_sum<float>(high);
  const Bf16 middle = upper(rest);
  return {high, middle, upper(rest - to_sum<float>(middle))};
}

// The products of terms that count, the smallest first: high is 0, middle 1, low 2. What is left out is below 2^-24 of the product.
constexpr int term_count = 3, term_products = 6;
GG_HD constexpr int term_of_a(int product) { return 0x001102 >> 4 * product & 15; }
GG_HD constexpr int term_of_b(int product) { return 0x010120 >> 4 * product & 15; }
// Of these, those before the last are corrections: where an operand is not finite they mean nothing. The first two are the only ones with a low term, the next three the others with a
// middle one.
constexpr int term_corrections = term_products - 1;
// An element whose products with others may be above all f32, or which is not finite itself: corrections may then be infinite with a sign of their own.
GG_HD bool unusual_for_terms(float x) { return (bit_cast<u32>(x) & 0x7fffffffu) >= 0x5d800000u; }  // 2^60

// Elements along k from one term's first to the next one's in the copies of A and B: whole tiles of any depth that is used.
GG_HD constexpr i64 term_depth(i64 k, int tile_k) { return ceil_div(k, tile_k) * tile_k; }

}  // namespace ggemm::kernels
