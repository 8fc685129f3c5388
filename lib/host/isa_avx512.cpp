// SPDX-License-Identifier: Apache-2.0
// The inner loops for x86-64 with AVX-512F and BW.
#if defined(__x86_64__)
#include <immintrin.h>

#include "host/isa.hpp"
#include "tile/numeric.cuh"

#define GG_TARGET __attribute__((target("avx512f,avx512bw,avx2,fma,f16c")))
#define GG_MM(name) _mm512_##name
namespace ggemm::host {
namespace {

using Words = __m512i;
constexpr int vector_bytes = 64;
constexpr int tile_rows = 14, tile_vectors = 2;  // 28 of 32 registers are sums

#include "host/isa_x86.inc"

}  // namespace
}  // namespace ggemm::host
#include "host/isa_body.hpp"

namespace ggemm::host {
constinit const Isa isa_avx512 = make_isa("avx512");
}
#endif
