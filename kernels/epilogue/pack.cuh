// SPDX-License-Identifier: Apache-2.0
// Two neighbouring elements of D at once, by the converting instructions that take two; the same bits as Store<D> gives, but for a NaN's payload.
#pragma once
#include "epilogue/value.cuh"
#include "ptx/convert.cuh"

namespace ggemm::kernels {

template <class D>
struct alignas(2 * sizeof(D)) Pair {
  D element[2];
  template <class V>
  GG_DEVICE static Pair from(V x, V y) { return {{Store<D>::from(x), Store<D>::from(y)}}; }
  GG_DEVICE D first() const { return element[0]; }
  GG_DEVICE D second() const { return element[1]; }
};

#define GG_PAIR_BY_INSTRUCTION(D, WORD, CONVERT, SHIFT)                                            \
  template <>                                                                                       \
  struct Pair<D> {                                                                                  \
    WORD bits;                                                                                      \
    GG_DEVICE static Pair from(float x, float y) { return {ptx::CONVERT(x, y)}; }                     \
    GG_DEVICE D first() const { return bit_cast<D>(static_cast<decltype(D::bits)>(bits)); }           \
    GG_DEVICE D second() const { return bit_cast<D>(static_cast<decltype(D::bits)>(bits >> SHIFT)); } \
  }
GG_PAIR_BY_INSTRUCTION(F16, u32, to_f16_pair, 16);
GG_PAIR_BY_INSTRUCTION(Bf16, u32, to_bf16_pair, 16);
GG_PAIR_BY_INSTRUCTION(E4m3, u16, to_e4m3_pair, 8);
GG_PAIR_BY_INSTRUCTION(E5m2, u16, to_e5m2_pair, 8);
#undef GG_PAIR_BY_INSTRUCTION

}  // namespace ggemm::kernels
