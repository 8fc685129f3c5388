/* SPDX-License-Identifier: Apache-2.0
 * The blocks of C in README.md, with what they take for granted around them.
 *
 * Output:
 *   6 1
 *   15 4
 *   4 6
 *   5
 *   11
 */
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>

#include "ggemm.h"

static void halves(ggemm_dtype dtype, uint16_t* out, const float* numbers, size_t count) {
  if (ggemm_convert(dtype, out, GGEMM_F32, numbers, count)) fprintf(stderr, "%s\n", ggemm_last_error());
}
static void print(ggemm_dtype dtype, const uint16_t* numbers, int rows, int columns) {
  for (int i = 0; i < rows * columns; i++) {
    float number = 0;
    if (ggemm_convert(GGEMM_F32, &number, dtype, numbers + i, 1)) fprintf(stderr, "%s\n", ggemm_last_error());
    printf("%g%c", (double)number, (i + 1) % columns ? ' ' : '\n');
  }
}

static int plain(void) {
  enum { m = 2, n = 2, k = 3 };
  void* const stream = NULL;
  uint16_t A[m * k], B[n * k], D[m * n] = {0};
  halves(GGEMM_BF16, A, (const float[]){1, 2, 3, 4, 5, 6}, m * k);
  halves(GGEMM_BF16, B, (const float[]){1, 1, 1, 1, 0, 0}, n * k);

  ggemm_context* ctx;                                   /* NULL: the GPU if there is one, else the CPU */
  if (ggemm_context_create(NULL, &ctx)) { fprintf(stderr, "%s\n", ggemm_last_error()); return 1; }
  ggemm_gemm_desc d = GGEMM_GEMM_DESC_INIT;             /* packed row-major, alpha 1, beta 0 */
  d.m = m; d.n = n; d.k = k;
  d.a.dtype = d.b.dtype = d.d.dtype = GGEMM_BF16;
  d.b.row_stride = 1; d.b.col_stride = k;
  ggemm_gemm_args x = GGEMM_GEMM_ARGS_INIT;
  x.a = A; x.b = B; x.d = D;                            /* memory of the context's device */
  if (ggemm_gemm(ctx, &d, &x, stream)) fprintf(stderr, "%s\n", ggemm_last_error());
  ggemm_context_destroy(ctx);

  print(GGEMM_BF16, D, m, n);
  return 0;
}

static int grouped(void) {
  enum { G = 3 };
  void* const stream = NULL;
  const int32_t table[G][3] = {{1, 2, 2}, {0, 2, 2}, {2, 1, 2}}, *const sizes = table[0];
  uint16_t a0[2], b0[4], d0[2] = {0}, a2[4], b2[2], d2[2] = {0};
  const void *const a_pointers[G] = {a0, NULL, a2}, *const b_pointers[G] = {b0, NULL, b2};
  void* const d_pointers[G] = {d0, NULL, d2};
  halves(GGEMM_F16, a0, (const float[]){1, 1}, 2);
  halves(GGEMM_F16, b0, (const float[]){1, 2, 3, 4}, 4);
  halves(GGEMM_F16, a2, (const float[]){1, 2, 3, 4}, 4);
  halves(GGEMM_F16, b2, (const float[]){1, 2}, 2);
  ggemm_context* ctx;
  if (ggemm_context_create(NULL, &ctx)) { fprintf(stderr, "%s\n", ggemm_last_error()); return 1; }

  ggemm_grouped_desc g = GGEMM_GROUPED_DESC_INIT;
  g.groups = G;
  g.a.dtype = g.b.dtype = g.d.dtype = GGEMM_F16;
  g.m = ggemm_i32_at(sizes + 0, 12);                    /* sizes is int32 [G, 3]: address of the first, bytes to the next */
  g.n = ggemm_i32_at(sizes + 1, 12);
  g.k = ggemm_i32_at(sizes + 2, 12);
  ggemm_grouped_args y = GGEMM_GROUPED_ARGS_INIT;
  y.a = a_pointers; y.b = b_pointers; y.d = d_pointers; /* arrays of G pointers */
  if (ggemm_grouped_gemm(ctx, &g, &y, stream)) fprintf(stderr, "%s\n", ggemm_last_error());

  ggemm_context_destroy(ctx);
  print(GGEMM_F16, d0, 1, 2);
  print(GGEMM_F16, d2, 2, 1);
  return 0;
}

int main(void) {
  if (setenv("CUDA_VISIBLE_DEVICES", "", 1)) return 1; /* the operands are in the CPU's memory */
  return plain() || grouped();
}
