/* SPDX-License-Identifier: Apache-2.0
 * A server: kernels are compiled before the first request, requests of any size run through a plan, on the stream of the caller.
 *
 *   cc server.c $(pkg-config --cflags --libs ggemm) -o server && ./server
 *
 * Output:
 *   prepared 1 of 3
 *   prepared 2 of 3
 *   prepared 3 of 3
 *   1 row: 2 4
 *   2 rows: 2 4 0 0
 */
#include <stdio.h>

#include "ggemm.h"

enum { N = 2, K = 2 };

/* Y [m, N] = relu(X [m, K] W), for any m. */
static ggemm_gemm_desc layer(int64_t m) {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = m, desc.n = N, desc.k = K;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.epilogue.activation = GGEMM_ACTIVATION_RELU;
  return desc;
}

/* Return other than 0 to cancel: what is finished by then stays. */
static int32_t on_progress(void* user, size_t done, size_t total, const char* what) {
  (void)user, (void)what;
  printf("prepared %zu of %zu\n", done, total);
  return 0;
}

/* Queues the work on a CUstream (or cudaStream_t) and returns; X, W and Y are in device memory and stay until it is complete. On the host it is
 * complete on return, and the stream is ignored. */
static ggemm_status answer(const ggemm_plan* plan, int64_t m, const float* X, const float* W, float* Y, void* stream) {
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = X, args.b = W, args.d = Y;
  args.m = m; /* n and k as described; packed strides follow */
  return ggemm_plan_run(plan, &args, stream);
}

int main(void) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  ggemm_context* context;
  if (ggemm_context_create(&options, &context)) goto failed;

  ggemm_gemm_desc descs[] = {layer(1), layer(64), layer(4096)};
  ggemm_problem problems[3];
  for (int i = 0; i < 3; i++) problems[i] = (ggemm_problem){.gemm = &descs[i]};
  if (ggemm_prepare(context, problems, 3, on_progress, NULL)) goto failed;

  ggemm_plan* plan;
  if (ggemm_plan_create(context, &descs[1], &plan)) goto failed;
  char why[1024];
  if (ggemm_plan_explain(plan, why, sizeof why, NULL)) goto failed;
  fprintf(stderr, "%s", why);

  const float W[K][N] = {{1, 2}, {3, 4}}, X[2][K] = {{2, 0}, {-3, 1}};
  float Y[2][N];
  if (answer(plan, 1, X[0], W[0], Y[0], NULL)) goto failed;
  printf("1 row: %g %g\n", Y[0][0], Y[0][1]);
  if (answer(plan, 2, X[0], W[0], Y[0], NULL)) goto failed;
  printf("2 rows: %g %g %g %g\n", Y[0][0], Y[0][1], Y[1][0], Y[1][1]);

  ggemm_plan_destroy(plan); /* before its context */
  ggemm_context_destroy(context);
  return 0;

failed:
  fprintf(stderr, "ggemm: %s\n", ggemm_last_error());
  return 1;
}
