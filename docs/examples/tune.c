/* SPDX-License-Identifier: Apache-2.0
 * Measures the configurations for a problem, and forces one.
 *
 *   cc tune.c $(pkg-config --cflags --libs ggemm) -o tune && ./tune
 *
 * Output:
 *   candidate 1 of 1 is right
 *   the best is of the family host
 *   forced: 3
 */
#include <stdio.h>
#include <string.h>

#include "ggemm.h"

static int32_t on_row(void* user, const ggemm_tune_row* row) {
  (void)user;
  printf("candidate %zu of %zu %s\n", row->index + 1, row->total, row->rejected ? row->rejected : "is right");
  fprintf(stderr, "%s: %.1f us, %.3f TFLOP/s\n", row->config, row->microseconds, row->tflops);
  return 0; /* anything else: stop with what is known */
}

int main(void) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  options.cache_dir = ""; /* keeps nothing: without this line the record is there for later processes too */
  ggemm_context* context;
  if (ggemm_context_create(&options, &context)) goto failed;

  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.n = desc.k = 64;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  const ggemm_problem problem = {&desc, NULL};
  ggemm_tune_options tune = GGEMM_TUNE_OPTIONS_INIT;
  tune.budget_seconds = 5;
  tune.function = on_row;
  ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
  if (ggemm_tune(context, &problem, &tune, &result)) goto failed; /* later calls of the class take the best by themselves */
  ggemm_config config = GGEMM_CONFIG_INIT;
  if (ggemm_config_parse(result.best, &config)) goto failed;
  printf("the best is of the family %s\n", config.family);

  desc.m = desc.n = desc.k = 1;
  desc.config = result.best; /* this one and no other */
  const float A = 1, B = 3;
  float D;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = &A, args.b = &B, args.d = &D;
  if (ggemm_gemm(context, &desc, &args, NULL)) goto failed;
  printf("forced: %g\n", D);
  ggemm_context_destroy(context);
  return 0;

failed:
  fprintf(stderr, "ggemm: %s\n", ggemm_last_error());
  return 1;
}
