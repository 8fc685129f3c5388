/* SPDX-License-Identifier: Apache-2.0
 * A program of the first day: built with first/ggemm.h, run with the library of today. It uses what there was then, in every struct of then, and sees that
 * nothing is written behind them.
 *
 * Output:
 *   0.1 on the host
 *   plain: 6.5 0.0 15.5 1.5
 *   plan: 6.5 0.0 15.5 1.5
 *   grouped: 3 0 11
 *   tuned: host
 *   tile 5: row 1, column 2
 *   refused: GGEMM_ERROR_ARGUMENT
 */
#include <stdio.h>
#include <string.h>

#include "first/ggemm.h"

#define CHECK(x) \
  do { \
    if (!(x)) return fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, ggemm_last_error()), 1; \
  } while (0)

/* A struct with bytes behind it that are nobody's but this program's. */
#define GUARDED(type, name, init) \
  struct { \
    type known; \
    unsigned char behind[64]; \
  } name = {init, {0}}; \
  memset(name.behind, 0xab, sizeof name.behind)

static int intact(const unsigned char* behind) {
  for (int i = 0; i < 64; i++)
    if (behind[i] != 0xab) return 0;
  return 1;
}

static void count(void* user, const ggemm_finding* finding) { *(int*)user += finding->struct_size >= sizeof *finding && finding->component[0]; }

static int contexts(ggemm_context** context) {
  GUARDED(ggemm_context_options, options, GGEMM_CONTEXT_OPTIONS_INIT);
  GUARDED(ggemm_device_info, info, GGEMM_DEVICE_INFO_INIT);
  int findings = 0;
  options.known.device = GGEMM_DEVICE_HOST;
  options.known.threads = 1;
  options.known.cache_dir = options.known.shared_cache_dir = options.known.cblas_path = "";
  CHECK(ggemm_context_create(&options.known, context) == GGEMM_OK);
  CHECK(ggemm_context_device(*context, &info.known) == GGEMM_OK && info.known.kind == GGEMM_DEVICE_HOST && intact(info.behind));
  CHECK(ggemm_diagnose(&options.known, count, &findings) == GGEMM_OK && findings >= 4);
  printf("%d.%d on %s\n", GGEMM_VERSION_MAJOR, GGEMM_VERSION_MINOR, info.known.name[0] ? "the host" : "nothing");
  return 0;
}

static int plain(ggemm_context* context) {
  const float a[6] = {1, 2, 3, 4, 5, 6}, bt[6] = {1, 1, 1, 1, 0, 0}, bias[2] = {0.5f, -2.5f};
  float d[4] = {0};
  GUARDED(ggemm_gemm_desc, desc, GGEMM_GEMM_DESC_INIT);
  GUARDED(ggemm_gemm_args, args, GGEMM_GEMM_ARGS_INIT);
  GUARDED(ggemm_config, config, GGEMM_CONFIG_INIT);
  ggemm_plan* plan;
  desc.known.m = desc.known.n = 2, desc.known.k = 3;
  desc.known.a.dtype = desc.known.b.dtype = desc.known.d.dtype = GGEMM_F32;
  desc.known.b.row_stride = 1, desc.known.b.col_stride = 3;
  desc.known.epilogue.bias = GGEMM_BIAS_PER_COLUMN, desc.known.epilogue.activation = GGEMM_ACTIVATION_RELU;
  args.known.a = a, args.known.b = bt, args.known.d = d, args.known.bias = bias;
  CHECK(ggemm_gemm(context, &desc.known, &args.known, NULL) == GGEMM_OK);
  printf("plain: %.1f %.1f %.1f %.1f\n", d[0], d[1], d[2], d[3]);
  memset(d, 0, sizeof d);
  CHECK(ggemm_plan_create(context, &desc.known, &plan) == GGEMM_OK && ggemm_plan_run(plan, &args.known, NULL) == GGEMM_OK);
  printf("plan: %.1f %.1f %.1f %.1f\n", d[0], d[1], d[2], d[3]);
  CHECK(ggemm_plan_config(plan, &config.known) == GGEMM_OK && strcmp(config.known.family, "host") == 0 && intact(config.behind));
  ggemm_plan_destroy(plan);
  CHECK(ggemm_gemm_desc_init(&desc.known, sizeof desc.known) == GGEMM_OK && intact(desc.behind) && desc.known.a.row_stride == GGEMM_PACKED);
  CHECK(ggemm_gemm_args_init(&args.known, sizeof args.known) == GGEMM_OK && intact(args.behind) && args.known.m == GGEMM_AS_DESCRIBED);
  return 0;
}

static int grouped(ggemm_context* context, ggemm_grouped_desc* desc) {
  const double a[4] = {1, 2, 3, 4}, b[4] = {1, 1, 2, 0};
  double d[3] = {0, 0, 0};
  const int32_t depths[3] = {2, 0, 2};
  const void *as[3], *bs[3], *ds[3];
  GUARDED(ggemm_grouped_args, args, GGEMM_GROUPED_ARGS_INIT);
  for (int g = 0; g < 3; g++) as[g] = g == 2 ? a + 2 : a, bs[g] = g == 2 ? b + 1 : b, ds[g] = d + g;
  desc->groups = 3;
  desc->a.dtype = desc->b.dtype = desc->d.dtype = GGEMM_F64;
  desc->m = desc->n = ggemm_const(1), desc->k = ggemm_i32_at(depths, 4);
  args.known.a = as, args.known.b = bs, args.known.d = ds;
  CHECK(ggemm_grouped_gemm(context, desc, &args.known, NULL) == GGEMM_OK);
  printf("grouped: %.0f %.0f %.0f\n", d[0], d[1], d[2]);
  CHECK(ggemm_grouped_args_init(&args.known, sizeof args.known) == GGEMM_OK && intact(args.behind));
  return 0;
}

static int tune(ggemm_context* context, const ggemm_grouped_desc* desc) {
  const ggemm_problem problem = {NULL, desc};
  const int64_t sizes[6] = {1, 1, 2, 1, 1, 2};
  GUARDED(ggemm_tune_options, options, GGEMM_TUNE_OPTIONS_INIT);
  GUARDED(ggemm_tune_result, result, GGEMM_TUNE_RESULT_INIT);
  options.known.budget_seconds = 0.001, options.known.sample_sizes = sizes, options.known.sample_groups = 2;
  CHECK(ggemm_tune(context, &problem, &options.known, &result.known) == GGEMM_OK && intact(result.behind));
  printf("tuned: %.4s\n", result.known.best);
  return 0;
}

static int tiles(void) {
  GUARDED(ggemm_tile_grid, grid, GGEMM_TILE_GRID_INIT);
  GUARDED(ggemm_tile, tile, GGEMM_TILE_INIT);
  int64_t all = 0;
  grid.known.m = ggemm_const(200), grid.known.n = ggemm_const(300);
  grid.known.tile_m = grid.known.tile_n = 100;
  CHECK(ggemm_tile_count(&grid.known, &all) == GGEMM_OK && all == 6);
  CHECK(ggemm_tile_at(&grid.known, 5, &tile.known) == GGEMM_OK && intact(tile.behind));
  printf("tile 5: row %d, column %d\n", (int)tile.known.tile_row, (int)tile.known.tile_col);
  CHECK(ggemm_tile_grid_init(&grid.known, sizeof grid.known) == GGEMM_OK && intact(grid.behind));
  return 0;
}

int main(void) {
  ggemm_context* context;
  GUARDED(ggemm_grouped_desc, desc, GGEMM_GROUPED_DESC_INIT);
  if (contexts(&context) || plain(context) || grouped(context, &desc.known) || tune(context, &desc.known) || tiles()) return 1;
  CHECK(intact(desc.behind));
  desc.known.groups = -1;
  printf("refused: %s\n", ggemm_status_string(ggemm_grouped_gemm(context, &desc.known, &(ggemm_grouped_args)GGEMM_GROUPED_ARGS_INIT, NULL)));
  ggemm_context_destroy(context);
  return 0;
}
