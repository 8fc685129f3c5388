// SPDX-License-Identifier: Apache-2.0
// The tensor ceiling of Hopper: wgmma 64 x 256 from shared memory that is filled once with random numbers, two warpgroups a CTA, nothing loaded after.
// One kernel a type, made by the defines:
//   CEILING_INSTRUCTION  the instruction's name with shape and types
//   CEILING_TAIL         what follows its scale-d predicate
//   CEILING_INTEGER      1: the sums are int32
//   CEILING_DATA         what a 32-bit word of shared memory holds: 0 two bf16, 1 four e4m3, 2 one f32, 3 four int8, 4 two f16
// PTX ISA 8.0, 9.7.15 (asynchronous warpgroup matrix instructions).

#if CEILING_INTEGER
typedef int Sum;
#define SUM(x) "+r"(x)
#else
typedef float Sum;
#define SUM(x) "+f"(x)
#endif

constexpr int slice_bytes = 128;                       // of a row: one swizzle span, four instructions deep
constexpr int a_bytes = 64 * slice_bytes, b_bytes = 256 * slice_bytes;
constexpr int stage_bytes = 2 * a_bytes + b_bytes;     // two warpgroups' A, one B
constexpr int stages = 4;

__device__ float normal(unsigned index) {
  unsigned h = index * 2654435761u + 0x7f4a7c15u;
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  h ^= h >> 16;
  const float radius_uniform = ((h & 0xffffu) + 0.5f) * (1.0f / 65536), angle_uniform = (h >> 16) * (1.0f / 65536);
  return sqrtf(-2 * __logf(radius_uniform)) * __cosf(6.2831853f * angle_uniform);
}

__device__ unsigned word(unsigned index) {
#if CEILING_DATA == 0
  return (__float_as_uint(normal(2 * index)) >> 16) | (__float_as_uint(normal(2 * index + 1)) & 0xffff0000u);
#elif CEILING_DATA == 1
  unsigned short low, high;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(normal(4 * index)), "f"(normal(4 * index + 1)));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(normal(4 * index + 2)), "f"(normal(4 * index + 3)));
  return low | (unsigned)high << 16;
#elif CEILING_DATA == 2
  return __float_as_uint(normal(index));
#elif CEILING_DATA == 3
  unsigned h = (index + 1) * 2654435761u;
  h = (h ^ (h >> 15)) * 2246822519u;
  return h ^ (h >> 13);
#else
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(normal(2 * index)), "f"(normal(2 * index + 1)));
  return both;
#endif
}

// A matrix descriptor: K-major, 128-byte swizzle, 8 rows 1024 bytes apart.
__device__ unsigned long long descriptor(unsigned shared_address) {
  const unsigned long long start = (shared_address & 0x3ffffu) >> 4, row_group = 1024 >> 4, swizzle_128 = 1;
  return start | 1ull << 16 | row_group << 32 | swizzle_128 << 62;
}

#define SUMS4(i) SUM(d[i]), SUM(d[i + 1]), SUM(d[i + 2]), SUM(d[i + 3])
#define SUMS16(i) SUMS4(i), SUMS4(i + 4), SUMS4(i + 8), SUMS4(i + 12)
#define SUMS64(i) SUMS16(i), SUMS16(i + 16), SUMS16(i + 32), SUMS16(i + 48)

// All 128 threads of a warpgroup.
__device__ void multiply(Sum (&d)[128], unsigned long long a, unsigned long long b) {
  asm volatile(
    "{ .reg .pred p; setp.ne.b32 p, 1, 0; " CEILING_INSTRUCTION " {"
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
    "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"
    "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
    "}, %128, %129, p" CEILING_TAIL "; }"
    : SUMS64(0), SUMS64(64)
    : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(256, 1) ceiling(int iterations, unsigned* sink) {
  extern __shared__ __align__(1024) unsigned memory[];
  for (int i = threadIdx.x; i < stages * stage_bytes / 4; i += 256) memory[i] = word(i + blockIdx.x * 65537u);
  __syncthreads();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");

  Sum d[128];
#pragma unroll
  for (int i = 0; i < 128; i++) d[i] = 0;
  const unsigned base = (unsigned)__cvta_generic_to_shared(memory), warpgroup = threadIdx.x / 128;
  for (int i = 0; i < iterations; i++) {
    const unsigned stage = base + i % stages * stage_bytes;
    const unsigned long long a = descriptor(stage + warpgroup * a_bytes), b = descriptor(stage + 2 * a_bytes);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < 4; step++) multiply(d, a + 2 * step, b + 2 * step);  // 32 bytes along K
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  Sum total = 0;
#pragma unroll
  for (int i = 0; i < 128; i++) total += d[i];
  if (total == (Sum)123456789) *sink = 1;
}
