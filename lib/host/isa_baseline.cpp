// SPDX-License-Identifier: Apache-2.0
// The inner loops in portable vector code of 16 bytes: SSE2 on x86-64, NEON on aarch64.
#include "host/isa.hpp"
#include "tile/numeric.cuh"

#define GG_TARGET
namespace ggemm::host {
namespace {

constexpr int vector_bytes = 16;
#if defined(__aarch64__)
constexpr int tile_rows = 8, tile_vectors = 3;  // of 32 registers
#else
constexpr int tile_rows = 6, tile_vectors = 2;  // of 16 registers, two of which hold a broadcast and a product
#endif

typedef float VectorF __attribute__((vector_size(16), may_alias));
typedef double VectorD __attribute__((vector_size(16), may_alias));
typedef u32 VectorI __attribute__((vector_size(16), may_alias));

inline VectorF splat(float x) { return VectorF{x, x, x, x}; }
inline VectorD splat(double x) { return VectorD{x, x}; }
inline VectorI splat(u32 x) { return VectorI{x, x, x, x}; }
constexpr bool pairs_of_integers = false;
template <class V> inline V multiply_add(V a, V b, V c) { return a * b + c; }

inline void f16_to_f32(float* out, const kernels::F16* in, i64 count) {
  for (i64 i = 0; i < count; ++i) out[i] = kernels::to_sum<float>(in[i]);
}
inline void f32_to_f16(kernels::F16* out, const float* in, i64 count) {
  for (i64 i = 0; i < count; ++i) out[i] = kernels::Store<kernels::F16>::from(in[i]);
}

}  // namespace
}  // namespace ggemm::host
#include "host/isa_body.hpp"

namespace ggemm::host {
constinit const Isa isa_baseline = make_isa("baseline");
}
