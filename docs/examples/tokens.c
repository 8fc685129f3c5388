/* SPDX-License-Identifier: Apache-2.0
 * Tokens sorted by expert, each expert's rows times its own matrix: the ends of the groups are all that is said of their sizes, and are
 * read when the product runs. Then the same without sorted tokens: an index says which token each row is.
 *
 *   cc tokens.c $(pkg-config --cflags --libs ggemm) -o tokens && ./tokens
 *
 * Output:
 *   sorted:  1 2  3 4  50 60  70 80
 *   by index:  3 4  1 2  50 60  10 20
 */
#include <stdio.h>

#include "ggemm.h"

enum { TOKENS = 4, EXPERTS = 3, K = 2, N = 2 };

static void print(const char* title, const float* d) {
  printf("%s:", title);
  for (int i = 0; i < TOKENS; i++) printf("  %g %g", d[N * i], d[N * i + 1]);
  printf("\n");
}

int main(void) {
  const float tokens[TOKENS][K] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const float experts[EXPERTS][K][N] = {{{1, 0}, {0, 1}}, {{0, 0}, {0, 0}}, {{10, 0}, {0, 10}}};
  const int32_t ends[EXPERTS] = {2, 2, 4}; /* expert 0 has two rows, 1 none, 2 the other two; torch calls them offs */
  const int32_t index[TOKENS] = {1, 0, 2, 0}; /* row 3 is token 0 again, for another expert */
  float d[TOKENS * N];

  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  ggemm_context* context;
  if (ggemm_context_create(&options, &context)) goto failed;

  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.form = GGEMM_GROUPS_RAGGED_M;
  desc.groups = EXPERTS;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.m = ggemm_const(TOKENS), desc.n = ggemm_const(N), desc.k = ggemm_const(K); /* of A and D in all, and of each B */
  desc.ends = ggemm_i32_at(ends, sizeof ends[0]);

  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = tokens, args.b = experts, args.d = d;
  if (ggemm_grouped_gemm(context, &desc, &args, NULL)) goto failed;
  print("sorted", d);

  desc.a_index = ggemm_i32_at(index, sizeof index[0]);
  desc.a_rows = TOKENS; /* A may have other than m rows then */
  if (ggemm_grouped_gemm(context, &desc, &args, NULL)) goto failed;
  print("by index", d);
  ggemm_context_destroy(context);
  return 0;

failed:
  fprintf(stderr, "%s\n", ggemm_last_error());
  return 1;
}
