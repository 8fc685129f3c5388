/* SPDX-License-Identifier: Apache-2.0
 * One product on the CPU: D = relu(A B + bias), with B given transposed.
 *
 *   cc plain.c $(pkg-config --cflags --libs ggemm) -o plain && ./plain
 *
 * Output:
 *   runs on the host device
 *   6.5 0.0
 *   15.5 1.5
 */
#include <stdio.h>

#include "ggemm.h"

int main(void) {
  const float A[2][3] = {{1, 2, 3}, {4, 5, 6}};  /* m x k */
  const float Bt[2][3] = {{1, 1, 1}, {1, 0, 0}}; /* n x k */
  const float bias[2] = {0.5f, -2.5f};
  float D[2][2];

  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST; /* GGEMM_DEVICE_BEST takes a GPU if there is one; operands are then in its memory */
  ggemm_context* context;
  if (ggemm_context_create(&options, &context)) goto failed;
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  if (ggemm_context_device(context, &info)) goto failed;
  printf("runs on %s\n", info.kind == GGEMM_DEVICE_HOST ? "the host device" : info.name);

  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT; /* packed row-major, alpha 1, beta 0 */
  desc.m = 2, desc.n = 2, desc.k = 3;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.b.row_stride = 1, desc.b.col_stride = 3; /* B [k, n] is a transposed view of Bt */
  desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN;
  desc.epilogue.activation = GGEMM_ACTIVATION_RELU;

  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = A, args.b = Bt, args.d = D, args.bias = bias;
  if (ggemm_gemm(context, &desc, &args, NULL)) goto failed;

  for (int i = 0; i < 2; i++) printf("%.1f %.1f\n", D[i][0], D[i][1]);
  ggemm_context_destroy(context);
  return 0;

failed:
  fprintf(stderr, "ggemm: %s\n", ggemm_last_error());
  return 1;
}
