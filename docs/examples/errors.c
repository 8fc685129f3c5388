/* SPDX-License-Identifier: Apache-2.0
 * What goes wrong, and what a program does about it; and the library's log.
 *
 *   cc errors.c $(pkg-config --cflags --libs ggemm) -o errors && ./errors
 *
 * Output:
 *   GGEMM_ERROR_ARGUMENT: a.row_stride=2 < k=3 (a is row-major): rows overlap
 *   no such GPU: the CPU instead
 *   D is as it was: 7
 */
#include <stdio.h>

#include "ggemm.h"

/* May be called from any thread of the library's; must not use the context. */
static void on_log(void* user, ggemm_log_level level, const char* message) { fprintf((FILE*)user, "ggemm, level %d: %s\n", (int)level, message); }

/* What to do next is in the status; what was wrong is in the text, which is this thread's. */
static int report(ggemm_status status) {
  switch (status) {
    case GGEMM_OK: return 0;
    case GGEMM_ERROR_OUT_OF_MEMORY:
    case GGEMM_ERROR_NOT_PREPARED: printf("later: %s\n", ggemm_last_error()); return 1;
    default: printf("%s: %s\n", ggemm_status_string(status), ggemm_last_error()); return 1;
  }
}

int main(void) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  options.log = on_log, options.log_user = stderr, options.log_level = GGEMM_LOG_WARNING;
  ggemm_context* context;
  if (report(ggemm_context_create(&options, &context))) return 1;

  const float A[6] = {1, 2, 3, 4, 5, 6}, B[3] = {1, 1, 1};
  float D[2] = {7, 7};
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = 2, desc.n = 1, desc.k = 3;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.a.row_stride = 2; /* wrong: a row has 3 elements */
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = A, args.b = B, args.d = D;
  if (!report(ggemm_gemm(context, &desc, &args, NULL))) return 1;

  /* A device that is demanded and not there is an error; GGEMM_DEVICE_BEST would take the CPU. */
  ggemm_context* gpu;
  options.device = GGEMM_DEVICE_CUDA, options.ordinal = 99;
  if (ggemm_context_create(&options, &gpu) == GGEMM_ERROR_DEVICE) printf("no such GPU: the CPU instead\n"); /* ggemm_last_error() lists what was tried */
  printf("D is as it was: %g\n", D[0]);
  ggemm_context_destroy(context);
  return 0;
}
