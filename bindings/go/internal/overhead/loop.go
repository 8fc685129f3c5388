// SPDX-License-Identifier: Apache-2.0

// Package overhead holds what a call from Go costs against the same call from C, on a problem so small that the call is all there is.
package overhead

// #cgo pkg-config: ggemm
// #include <ggemm.h>
// #include <stdlib.h>
// #include <time.h>
//
// static double seconds(void) {
//   struct timespec now;
//   clock_gettime(CLOCK_MONOTONIC, &now);
//   return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
// }
//
// /* Seconds for so many products of 2x2 matrices; below 0 if a call fails. With a plan, or by the one-call form. */
// static double loop(long calls, int planned) {
//   const float a[4] = {1, 2, 3, 4};
//   float d[4];
//   ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
//   options.device = GGEMM_DEVICE_HOST;
//   options.cache_dir = "";
//   ggemm_context* context;
//   if (ggemm_context_create(&options, &context)) return -1;
//   ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
//   desc.m = desc.n = desc.k = 2;
//   desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
//   ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
//   args.a = a, args.b = a, args.d = d;
//   ggemm_plan* plan = NULL;
//   int failed = ggemm_plan_create(context, &desc, &plan) || ggemm_gemm(context, &desc, &args, NULL);
//   const double start = seconds();
//   for (long i = 0; i < calls && !failed; i++) failed = planned ? ggemm_plan_run(plan, &args, NULL) : ggemm_gemm(context, &desc, &args, NULL);
//   const double took = seconds() - start;
//   ggemm_plan_destroy(plan);
//   ggemm_context_destroy(context);
//   return failed ? -1 : took;
// }
import "C"

import "time"

// InC returns how long C takes for so many calls.
func InC(calls int, planned bool) time.Duration {
	form := C.int(0)
	if planned {
		form = 1
	}
	return time.Duration(float64(C.loop(C.long(calls), form)) * float64(time.Second))
}
