/* SPDX-License-Identifier: Apache-2.0
 * Column-major matrices with leading dimensions, as a BLAS has them: DGEMM on the CPU.
 *
 *   cc blas.c $(pkg-config --cflags --libs ggemm) -o blas && ./blas
 *
 * Output:
 *   8.0 16.0
 *   13.0 27.0
 *   -1.0 -1.0
 */
#include <stdio.h>

#include "ggemm.h"

/* C = alpha op(A) op(B) + beta C, op(X) being X for 'N' and its transpose for 'T'. */
static ggemm_status dgemm(ggemm_context* context, char trans_a, char trans_b, int m, int n, int k, double alpha, const double* A, int lda,
                          const double* B, int ldb, double beta, double* C, int ldc) {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = m, desc.n = n, desc.k = k;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F64;
  desc.a.row_stride = trans_a == 'N' ? 1 : lda; /* one row down is the next element, one column on is lda elements further */
  desc.a.col_stride = trans_a == 'N' ? lda : 1; /* and the other way round where it is transposed */
  desc.b.row_stride = trans_b == 'N' ? 1 : ldb;
  desc.b.col_stride = trans_b == 'N' ? ldb : 1;
  desc.d.row_stride = 1, desc.d.col_stride = ldc;
  desc.c = desc.d;

  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = A, args.b = B, args.c = args.d = C; /* added to in place; not read where beta is 0 */
  args.alpha = &alpha, args.beta = &beta;
  return ggemm_gemm(context, &desc, &args, NULL);
}

int main(void) {
  const double A[3 * 2] = {1, 2, 7, 3, 4, 7}; /* 2 x 2 in columns of 3 */
  const double B[2 * 2] = {1, 3, 2, 4};       /* 2 x 2 */
  double C[3 * 2] = {1, 3, -1, 1, 5, -1};     /* 2 x 2 in columns of 3, of which the last element is not C's */

  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  ggemm_context* context;
  if (ggemm_context_create(&options, &context)) goto failed;
  if (dgemm(context, 'N', 'T', 2, 2, 2, 1, A, 3, B, 2, 1, C, 3)) goto failed;
  for (int i = 0; i < 3; i++) printf("%.1f %.1f\n", C[i], C[i + 3]);
  ggemm_context_destroy(context);
  return 0;

failed:
  fprintf(stderr, "ggemm: %s\n", ggemm_last_error());
  return 1;
}
