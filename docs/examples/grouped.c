/* SPDX-License-Identifier: Apache-2.0
 * Three products of different sizes in one call, one of them empty. On a GPU the arrays are device memory, it is one launch, and a
 * captured graph may be replayed after the sizes have changed.
 *
 *   cc grouped.c $(pkg-config --cflags --libs ggemm) -o grouped && ./grouped
 *
 * Output:
 *   group 0: 1x2
 *     4 6
 *   group 1: 0x2
 *   group 2: 2x1
 *     5
 *     11
 */
#include <stdio.h>

#include "ggemm.h"

enum { GROUPS = 3 };

int main(void) {
  /* m, n, k of each group, as [G, 3] */
  const int32_t sizes[GROUPS][3] = {{1, 2, 2}, {0, 2, 2}, {2, 1, 2}};
  const float a0[] = {1, 1}, b0[] = {1, 2, 3, 4};
  const float a2[] = {1, 2, 3, 4}, b2[] = {1, 2};
  float d0[2], d2[2];
  const void* const a[GROUPS] = {a0, NULL, a2};
  const void* const b[GROUPS] = {b0, NULL, b2};
  float* const results[GROUPS] = {d0, NULL, d2};
  void* const d[GROUPS] = {d0, NULL, d2};

  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  ggemm_context* context;
  if (ggemm_context_create(&options, &context)) goto failed;

  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT; /* packed row-major, each group by its own sizes */
  desc.groups = GROUPS;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.m = ggemm_i32_at(&sizes[0][0], sizeof sizes[0]); /* where group 0's m is, and how many bytes on the next one is */
  desc.n = ggemm_i32_at(&sizes[0][1], sizeof sizes[0]);
  desc.k = ggemm_i32_at(&sizes[0][2], sizeof sizes[0]);

  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = a, args.b = b, args.d = d;
  if (ggemm_grouped_gemm(context, &desc, &args, NULL)) goto failed;

  for (int g = 0; g < GROUPS; g++) {
    const int m = sizes[g][0], n = sizes[g][1];
    printf("group %d: %dx%d\n", g, m, n);
    for (int i = 0; i < m; i++) {
      printf(" ");
      for (int j = 0; j < n; j++) printf(" %g", results[g][i * n + j]);
      printf("\n");
    }
  }
  ggemm_context_destroy(context);
  return 0;

failed:
  fprintf(stderr, "ggemm: %s\n", ggemm_last_error());
  return 1;
}
