// SPDX-License-Identifier: Apache-2.0
// The inner loops for x86-64 with AVX2, FMA and F16C.
#if defined(__x86_64__)
#include <immintrin.h>

#include "host/isa.hpp"
#include "tile/numeric.cuh"

#define GG_TARGET __attribute__((target("avx2,fma,f16c")))
#define GG_MM(name) _mm256_##name
namespace ggemm::host {
namespace {

using Words = __m256i;
constexpr int vector_bytes = 32;
constexpr int tile_rows = 6, tile_vectors = 2;  // 12 of 16 registers are sums

#include "host/isa_x86.inc"

}  // namespace
}  // namespace ggemm::host
#include "host/isa_body.hpp"

namespace ggemm::host {
constinit const Isa isa_avx2 = make_isa("avx2");
}
#endif
