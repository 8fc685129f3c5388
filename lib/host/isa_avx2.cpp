// SPDX-License-Identifier: Apache-2.0
// The inner loops for x86-64 with AVX2, FMA and F16C.
#if defined(__x86_64__)
#include <immintrin.h>

#include "host/isa.hpp"
#include "tile/numeric.cuh"

#define GG_TARGET __attribute__((target("avx2,fma,f16c")))
#define GG_INLINE GG_TARGET __attribute__((always_inline)) inline
namespace ggemm::host {
namespace {

constexpr int vector_bytes = 32;
constexpr int tile_rows = 6, tile_vectors = 2;  // 12 of 16 registers are sums

using VectorF = __m256;
using VectorD = __m256d;
typedef u32 VectorI __attribute__((vector_size(32), may_alias));

GG_INLINE VectorF splat(float x) { return _mm256_set1_ps(x); }
GG_INLINE VectorD splat(double x) { return _mm256_set1_pd(x); }
GG_INLINE VectorI splat(u32 x) { return reinterpret_cast<VectorI>(_mm256_set1_epi32(static_cast<int>(x))); }
GG_INLINE VectorF multiply_add(VectorF a, VectorF b, VectorF c) { return _mm256_fmadd_ps(a, b, c); }
GG_INLINE VectorD multiply_add(VectorD a, VectorD b, VectorD c) { return _mm256_fmadd_pd(a, b, c); }
GG_INLINE VectorI multiply_add(VectorI a, VectorI b, VectorI c) { return a * b + c; }

#include "host/isa_f16c.inc"

}  // namespace
}  // namespace ggemm::host
#include "host/isa_body.hpp"

namespace ggemm::host {
constinit const Isa isa_avx2 = make_isa("avx2");
}
#endif
