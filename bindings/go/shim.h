/* SPDX-License-Identifier: Apache-2.0
 * What Go calls: each function here is one crossing from Go to C. It turns plain values into ggemm's structs, calls ggemm, and brings the text of a
 * failure back from the thread that it belongs to.
 *
 * Pointers to Go memory are `const char*` here, never `void*`: of a typed pointer cgo allows the elements, of an untyped one it would search the
 * whole object that they are a part of, at every call. Arrays of pointers are the exception: that their elements are pinned is to be checked.
 * Contexts and plans are numbers, for cgo would check pointers to what it does not know, and copy all arguments once more to do so.
 */
#ifndef GGEMM_GO_SHIM_H
#define GGEMM_GO_SHIM_H

#include <ggemm.h>
#include <stdint.h>

typedef struct ggo_result {
  ggemm_status status;
  uintptr_t text; /* a string to be freed, or 0; a number, as what holds it is one */
} ggo_result;

/* Memory of Go's, or else an address of the device's memory. */
typedef struct ggo_memory {
  const char* host;
  uintptr_t address;
} ggo_memory;

typedef struct ggo_scalars {
  double alpha, beta;
  uintptr_t alpha_address, beta_address; /* where they are, if on the device */
  ggemm_dtype type;                      /* what they are given in: f32, f64 or i32 */
  uint32_t on_device;
} ggo_scalars;

/* A product but for its sizes and memory. Numbers alone, like ggo_args: cgo has nothing to look for in it, and hands over where it is. */
typedef struct ggo_product {
  ggemm_matrix a, b, c, d;
  ggemm_scale scale_a, scale_b;
  ggemm_epilogue_desc epilogue;
  ggemm_compute compute;
  int32_t max_ctas;
} ggo_product;

/* What goes with one run of a product, beside Go's memory. */
typedef struct ggo_args {
  int64_t m, n, k;
  uintptr_t a, b, c, d, bias, scale_a, scale_b; /* the device's memory, of operands that are none of Go's */
  ggo_scalars scalars;
  uintptr_t stream;
  ggo_result result; /* of the run */
} ggo_args;

typedef struct ggo_grouped_args {
  ggo_memory a, b, c, d, bias, scale_a, scale_b, row_weights, status;
  ggo_scalars scalars;
  int64_t alpha_byte_stride, beta_byte_stride;
  uintptr_t stream;
} ggo_grouped_args;

enum { GGO_SOURCE_DEFAULT = 0, GGO_SOURCE_CONST = 1, GGO_SOURCE_I32 = 2, GGO_SOURCE_I64 = 3 };
typedef struct ggo_source {
  ggo_memory data;
  int64_t byte_stride, value;
  int64_t kind; /* zero is the default of the place */
} ggo_source;

enum { GGO_PACKED = 0, GGO_DISTANCE = 1, GGO_POINTERS = 2 };
typedef struct ggo_distance {
  int64_t kind; /* zero is the default of the place */
  int64_t elements;
} ggo_distance;

/* Of an operand the dtype, of scales the kind. */
typedef struct ggo_grouped_matrix {
  ggo_source row_stride, col_stride;
  ggo_distance groups;
  int64_t type;
} ggo_grouped_matrix;

typedef struct ggo_grouped {
  int64_t groups;
  ggo_source m, n, k;
  ggo_grouped_matrix a, b, c, d, scale_a, scale_b;
  ggo_source ends, counts, a_index, d_index;
  int64_t a_rows, d_rows;
  ggo_distance bias;
  ggemm_grouped_form form;
  uint32_t d_index_unique, checked;
  int32_t max_ctas;
  ggemm_epilogue_desc epilogue;
  int64_t expected_m, expected_n, expected_k, expected_largest_m;
  const char *config, *tune_key;
  ggemm_compute compute;
  uint32_t reserved0;
} ggo_grouped;

typedef struct ggo_problem {
  int64_t is_grouped;
  int64_t m, n, k;
  ggo_product plain;
  const char *config, *tune_key; /* of plain */
  ggo_grouped grouped;
} ggo_problem;

typedef struct ggo_options {
  ggemm_device_kind device;
  int32_t ordinal;
  uintptr_t cuda_context;
  int32_t threads;
  ggemm_log_level log_level;
  uintptr_t log, allocator; /* handles of Go values; 0: none */
  const char *cache_dir, *shared_cache_dir, *nvrtc_path, *cblas_path;
  uint64_t cache_limit_bytes;
} ggo_options;

typedef struct ggo_tune_options {
  double budget_seconds;
  const char* const* configs;
  size_t config_count;
  const int64_t* sample_sizes;
  size_t sample_groups;
} ggo_tune_options;

typedef struct ggo_tile_grid {
  int64_t groups;
  ggo_source m, n;
  int32_t tile_m, tile_n, raster;
  int32_t cluster_m, cluster_n, swapped;
} ggo_tile_grid;

ggo_result ggo_open(ggo_options options, uintptr_t* out_context);
void ggo_close(uintptr_t context);
ggo_result ggo_device(uintptr_t context, ggemm_device_info* out_info);
ggo_result ggo_set_log(uintptr_t context, uintptr_t log, ggemm_log_level level);
ggo_result ggo_diagnose(ggo_options options, uintptr_t findings);
ggo_result ggo_convert(ggemm_dtype to, char* destination, ggemm_dtype from, const char* source, size_t count);

/* A plain product, in what takes least time: numbers by address, nothing returned. */
#define GGO_OPERANDS const char *a, const char *b, const char *c, const char *d, const char *bias, const char *scale_a, const char *scale_b
void ggo_gemm(uintptr_t context, const ggo_product* product, ggo_args* args, GGO_OPERANDS, const char* config, const char* tune_key);
void ggo_plan_run(uintptr_t plan, ggo_args* args, GGO_OPERANDS);
/* `pointers` on the host: groups of a, then of b, d, c and bias, where the latter are in use; else NULL, and args name device arrays. */
ggo_result ggo_grouped_gemm(uintptr_t context, ggo_grouped desc, ggo_grouped_args args, const void* const* pointers);

ggo_result ggo_plan(uintptr_t context, ggo_problem problem, uintptr_t* out_plan);
void ggo_plan_close(uintptr_t plan);
ggo_result ggo_plan_run_grouped(uintptr_t plan, ggo_grouped_args args);
ggo_result ggo_plan_explain(uintptr_t plan, char** out_text); /* to be freed */
ggo_result ggo_plan_config(uintptr_t plan, ggemm_config* out_config);

ggo_result ggo_config_count(uintptr_t context, ggo_problem problem, size_t* out_count);
ggo_result ggo_config_get(uintptr_t context, ggo_problem problem, size_t index, ggemm_config* out_config);
ggo_result ggo_config_parse(const char* name, ggemm_config* out_config);

ggo_result ggo_prepare(uintptr_t context, const ggo_problem* problems, size_t count, uintptr_t watcher);
ggo_result ggo_tune(uintptr_t context, ggo_problem problem, ggo_tune_options options, uintptr_t watcher, ggemm_tune_result* out_result);

ggo_result ggo_tile_count(ggo_tile_grid grid, int64_t* out_count);
ggo_result ggo_tile_at(ggo_tile_grid grid, int64_t pid, ggemm_tile* out_tile);

ggo_result ggo_cache_visit(uintptr_t context, uintptr_t entries);
ggo_result ggo_cache_clear(uintptr_t context, const char* nvrtc, size_t* out_removed);

#endif
