// SPDX-License-Identifier: Apache-2.0
// The tensor ceiling where there is no wgmma, and for f64: mma.sync on registers that hold random numbers. And the ceiling of f32 on CUDA cores.
// One kernel a type, made by the defines:
//   CEILING_UNIT         0 mma.sync with 32-bit fragments (4 of A, 2 of B, 4 sums); 1 f64 m16n8k16; 2 f64 m8n8k4; 3 f32 fused multiply-add
//   CEILING_INSTRUCTION  for unit 0, the instruction's name with shape and types
//   CEILING_INTEGER      for unit 0, 1: the sums are int32
//   CEILING_DATA         for unit 0, as in ceiling_wgmma.cu

__device__ unsigned hashed(unsigned index) {
  unsigned h = index * 2654435761u + 0x7f4a7c15u;
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

__device__ float normal(unsigned index) {
  const unsigned h = hashed(index);
  const float radius_uniform = ((h & 0xffffu) + 0.5f) * (1.0f / 65536), angle_uniform = (h >> 16) * (1.0f / 65536);
  return sqrtf(-2 * __logf(radius_uniform)) * __cosf(6.2831853f * angle_uniform);
}

#if CEILING_UNIT != 3
constexpr int chains = 8;  // independent sums a warp, to hide the latency
#endif

#if CEILING_UNIT == 0

#if CEILING_INTEGER
typedef int Sum;
#define SUM(x) "+r"(x)
#else
typedef float Sum;
#define SUM(x) "+f"(x)
#endif

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
  return hashed(index);
#else
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(normal(2 * index)), "f"(normal(2 * index + 1)));
  return both;
#endif
}

extern "C" __global__ void __launch_bounds__(256, 2) ceiling(int iterations, unsigned* sink) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned a[2][4], b[chains / 2][2];
  for (int i = 0; i < 8; i++) a[i / 4][i % 4] = word(thread * 16 + i);
  for (int i = 0; i < chains; i++) b[i / 2][i % 2] = word(thread * 16 + 8 + i);
  Sum d[chains][4] = {};
  for (int i = 0; i < iterations; i++) {
#pragma unroll
    for (int c = 0; c < chains; c++) {
      const unsigned(&x)[4] = a[c % 2];
      const unsigned(&y)[2] = b[c / 2];
      asm volatile(CEILING_INSTRUCTION " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : SUM(d[c][0]), SUM(d[c][1]), SUM(d[c][2]), SUM(d[c][3])
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    }
  }
  Sum total = 0;
  for (int c = 0; c < chains; c++) total += d[c][0] + d[c][1] + d[c][2] + d[c][3];
  if (total == (Sum)123456789) *sink = 1;
}

#elif CEILING_UNIT == 3

extern "C" __global__ void __launch_bounds__(256, 4) ceiling(int iterations, unsigned* sink) {
  constexpr int sums = 16;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  float d[sums], x[4], y[4];
  for (int i = 0; i < sums; i++) d[i] = normal(thread * 32 + i);
  for (int i = 0; i < 4; i++) {
    x[i] = normal(thread * 32 + sums + i);
    y[i] = normal(thread * 32 + sums + 4 + i);
  }
  for (int i = 0; i < iterations; i++) {
#pragma unroll
    for (int repeat = 0; repeat < 4; repeat++)
#pragma unroll
      for (int c = 0; c < sums; c++) asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(d[c]) : "f"(x[c % 4]), "f"(y[c / 4]));
  }
  float total = 0;
  for (int c = 0; c < sums; c++) total += d[c];
  if (total == 1.2345678f) *sink = 1;
}

#else

#if CEILING_UNIT == 1
constexpr int fragment_a = 8, fragment_b = 4, fragment_d = 4;
#else
constexpr int fragment_a = 1, fragment_b = 1, fragment_d = 2;
#endif

__device__ void multiply(double (&d)[fragment_d], const double (&a)[fragment_a], const double (&b)[fragment_b]) {
#if CEILING_UNIT == 1
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
               : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a[0]), "d"(b[0]));
#endif
}

extern "C" __global__ void __launch_bounds__(256, 2) ceiling(int iterations, unsigned* sink) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  double a[fragment_a], b[2][fragment_b], d[chains][fragment_d];
  for (int i = 0; i < fragment_a; i++) a[i] = normal(thread * 64 + i);
  for (int i = 0; i < 2 * fragment_b; i++) b[i / fragment_b][i % fragment_b] = normal(thread * 64 + 16 + i);
  for (int c = 0; c < chains; c++)
    for (int i = 0; i < fragment_d; i++) d[c][i] = 0;
  for (int i = 0; i < iterations; i++) {
#pragma unroll
    for (int c = 0; c < chains; c++) multiply(d[c], a, b[c % 2]);
  }
  double total = 0;
  for (int c = 0; c < chains; c++)
    for (int i = 0; i < fragment_d; i++) total += d[c][i];
  if (total == 1.2345678) *sink = 1;
}

#endif
