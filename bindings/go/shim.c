/* SPDX-License-Identifier: Apache-2.0 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"

/* Go may move a goroutine to another thread between two calls, and ggemm keeps one text a thread: so it is fetched here. */
static ggo_result result_of(ggemm_status status) {
  ggo_result result = {status, 0};
  if (status != GGEMM_OK) result.text = (uintptr_t)strdup(ggemm_last_error());
  return result;
}

static ggemm_context* context_of(uintptr_t object) { return (ggemm_context*)object; }
static ggemm_plan* plan_of(uintptr_t object) { return (ggemm_plan*)object; }
static const void* either(const char* host, uintptr_t address) { return host ? host : (const void*)address; }
static const void* at(ggo_memory memory) { return either(memory.host, memory.address); }

/* -------------------------------------------------------------------------------------------------------- arguments */

typedef union scalar {
  float f32;
  double f64;
  int32_t i32;
} scalar;

static const void* set_scalar(scalar* place, double value, double usual, ggemm_dtype dtype) {
  if (value == usual) return NULL;
  switch (dtype) {
    case GGEMM_F64: place->f64 = value; break;
    case GGEMM_I32: place->i32 = (int32_t)value; break;
    default: place->f32 = (float)value;
  }
  return place;
}

typedef struct scalars {
  scalar alpha_value, beta_value;
  const void *alpha, *beta;
} scalars;

static void set_scalars(scalars* s, const ggo_scalars* given) {
  if (given->on_device) {
    s->alpha = (const void*)given->alpha_address;
    s->beta = (const void*)given->beta_address;
  } else {
    s->alpha = set_scalar(&s->alpha_value, given->alpha, 1, given->type);
    s->beta = set_scalar(&s->beta_value, given->beta, 0, given->type);
  }
}

static ggemm_gemm_args plain_args(const ggo_args* args, GGO_OPERANDS, scalars* s) {
  ggemm_gemm_args out = GGEMM_GEMM_ARGS_INIT;
  set_scalars(s, &args->scalars);
  out.a = either(a, args->a), out.b = either(b, args->b), out.c = either(c, args->c), out.d = (void*)either(d, args->d);
  out.bias = either(bias, args->bias), out.scale_a = either(scale_a, args->scale_a), out.scale_b = either(scale_b, args->scale_b);
  out.alpha = s->alpha, out.beta = s->beta;
  out.m = args->m, out.n = args->n, out.k = args->k;
  return out;
}

static ggemm_grouped_args grouped_args(const ggo_grouped_args* args, scalars* s) {
  ggemm_grouped_args out = GGEMM_GROUPED_ARGS_INIT;
  set_scalars(s, &args->scalars);
  out.a = at(args->a), out.b = at(args->b), out.c = at(args->c), out.d = at(args->d), out.bias = at(args->bias);
  out.scale_a = at(args->scale_a), out.scale_b = at(args->scale_b);
  out.row_weights = at(args->row_weights), out.status = (void*)at(args->status);
  out.alpha = s->alpha, out.beta = s->beta;
  out.alpha_byte_stride = args->alpha_byte_stride, out.beta_byte_stride = args->beta_byte_stride;
  return out;
}

/* --------------------------------------------------------------------------------------------------------- problems */

static void set_source(ggemm_source* source, ggo_source given) {
  switch (given.kind) {
    case GGO_SOURCE_CONST: *source = ggemm_const(given.value); break;
    case GGO_SOURCE_I32: *source = ggemm_i32_at(at(given.data), given.byte_stride); break;
    case GGO_SOURCE_I64: *source = ggemm_i64_at(at(given.data), given.byte_stride); break;
    default: break;
  }
}

static void set_distance(uint32_t* pointers, int64_t* group_stride, ggo_distance given) {
  *pointers = given.kind == GGO_POINTERS;
  if (given.kind == GGO_DISTANCE) *group_stride = given.elements;
}

static void set_matrix(ggemm_grouped_matrix* matrix, const ggo_grouped_matrix* given) {
  matrix->dtype = (ggemm_dtype)given->type;
  set_source(&matrix->row_stride, given->row_stride);
  set_source(&matrix->col_stride, given->col_stride);
  set_distance(&matrix->pointers, &matrix->group_stride, given->groups);
}

static void set_scale(ggemm_grouped_scale* scale, const ggo_grouped_matrix* given) {
  scale->kind = (ggemm_scale_kind)given->type;
  set_source(&scale->row_stride, given->row_stride);
  set_source(&scale->col_stride, given->col_stride);
  set_distance(&scale->pointers, &scale->group_stride, given->groups);
}

/* Part by part, for it is a part of every call: of a whole struct the compiler makes a string instruction, which takes as long to start as the rest. */
static void set_plain_desc(ggemm_gemm_desc* out, const ggo_product* given, int64_t m, int64_t n, int64_t k, const char* config,
                           const char* tune_key) {
  _Static_assert(sizeof *out == 288, "every field must be set here");
  out->struct_size = sizeof *out, out->m = m, out->n = n, out->k = k;
  out->a = given->a, out->b = given->b, out->c = given->c, out->d = given->d;
  out->epilogue = given->epilogue, out->scale_a = given->scale_a, out->scale_b = given->scale_b;
  out->compute = given->compute, out->max_ctas = given->max_ctas, out->reserved0 = 0, out->reserved1 = 0;
  out->config = config, out->tune_key = tune_key;
}

static ggemm_grouped_desc grouped_desc(const ggo_grouped* given) {
  ggemm_grouped_desc out = GGEMM_GROUPED_DESC_INIT;
  out.groups = given->groups;
  out.compute = given->compute;
  set_source(&out.m, given->m), set_source(&out.n, given->n), set_source(&out.k, given->k);
  set_matrix(&out.a, &given->a), set_matrix(&out.b, &given->b), set_matrix(&out.c, &given->c), set_matrix(&out.d, &given->d);
  set_scale(&out.scale_a, &given->scale_a), set_scale(&out.scale_b, &given->scale_b);
  out.form = given->form;
  set_source(&out.ends, given->ends), set_source(&out.counts, given->counts);
  set_source(&out.a_index, given->a_index), set_source(&out.d_index, given->d_index);
  out.a_rows = given->a_rows, out.d_rows = given->d_rows, out.d_index_unique = given->d_index_unique;
  out.checked = given->checked, out.max_ctas = given->max_ctas;
  set_distance(&out.bias_pointers, &out.bias_group_stride, given->bias);
  out.epilogue = given->epilogue;
  out.expected_m = given->expected_m, out.expected_n = given->expected_n, out.expected_k = given->expected_k, out.expected_largest_m = given->expected_largest_m;
  out.config = given->config, out.tune_key = given->tune_key;
  return out;
}

typedef union description {
  ggemm_gemm_desc plain;
  ggemm_grouped_desc grouped;
} description;

/* `room` is where the description is, and must live as long as what is returned. */
static ggemm_problem problem_of(const ggo_problem* given, description* room) {
  ggemm_problem out = {NULL, NULL};
  if (given->is_grouped) {
    room->grouped = grouped_desc(&given->grouped);
    out.grouped = &room->grouped;
  } else {
    set_plain_desc(&room->plain, &given->plain, given->m, given->n, given->k, given->config, given->tune_key);
    out.gemm = &room->plain;
  }
  return out;
}

/* -------------------------------------------------------------------------------------------------------- callbacks */
/* Go's exported functions know neither const nor ggemm's function types. */

static void on_log(void* user, ggemm_log_level level, const char* message) { ggoLog((uintptr_t)user, level, (char*)message); }
static int32_t on_allocate(void* user, size_t bytes, void* stream, void** out_pointer) {
  *out_pointer = (void*)ggoAllocate((uintptr_t)user, bytes, (uintptr_t)stream);
  return *out_pointer ? 0 : 1;
}
static void on_deallocate(void* user, void* pointer, size_t bytes, void* stream) {
  ggoDeallocate((uintptr_t)user, (uintptr_t)pointer, bytes, (uintptr_t)stream);
}
static void on_finding(void* user, const ggemm_finding* finding) { ggoFinding((uintptr_t)user, (ggemm_finding*)finding); }
static void on_entry(void* user, const ggemm_cache_entry* entry) { ggoCacheEntry((uintptr_t)user, (ggemm_cache_entry*)entry); }
static int32_t on_progress(void* user, size_t done, size_t total, const char* what) { return ggoProgress((uintptr_t)user, done, total, (char*)what); }
static int32_t on_row(void* user, const ggemm_tune_row* row) { return ggoTuneRow((uintptr_t)user, (ggemm_tune_row*)row); }

/* ---------------------------------------------------------------------------------------------------------- context */

static ggemm_context_options context_options(const ggo_options* given) {
  ggemm_context_options out = GGEMM_CONTEXT_OPTIONS_INIT;
  out.device = given->device, out.ordinal = given->ordinal;
  out.cuda_context = (void*)given->cuda_context;
  out.threads = given->threads;
  if (given->log) out.log = on_log, out.log_user = (void*)given->log, out.log_level = given->log_level;
  if (given->allocator) out.allocate = on_allocate, out.deallocate = on_deallocate, out.allocator_user = (void*)given->allocator;
  out.cache_dir = given->cache_dir, out.shared_cache_dir = given->shared_cache_dir;
  out.nvrtc_path = given->nvrtc_path, out.cblas_path = given->cblas_path;
  out.cache_limit_bytes = given->cache_limit_bytes;
  return out;
}

ggo_result ggo_open(ggo_options given, uintptr_t* out_context) {
  const ggemm_context_options options = context_options(&given);
  ggemm_context* context;
  const ggo_result result = result_of(ggemm_context_create(&options, &context));
  *out_context = (uintptr_t)context;
  return result;
}

ggo_result ggo_device(uintptr_t context, ggemm_device_info* out_info) {
  out_info->struct_size = sizeof *out_info;
  return result_of(ggemm_context_device(context_of(context), out_info));
}

ggo_result ggo_set_log(uintptr_t context, uintptr_t log, ggemm_log_level level) {
  return result_of(ggemm_context_set_log(context_of(context), log ? on_log : NULL, (void*)log, level));
}

ggo_result ggo_diagnose(ggo_options given, uintptr_t findings) {
  const ggemm_context_options options = context_options(&given);
  return result_of(ggemm_diagnose(&options, on_finding, (void*)findings));
}

ggo_result ggo_convert(ggemm_dtype to, char* destination, ggemm_dtype from, const char* source, size_t count) {
  return result_of(ggemm_convert(to, destination, from, source, count));
}

/* --------------------------------------------------------------------------------------------------------- products */

void ggo_gemm(uintptr_t context, const ggo_product* product, ggo_args* args, GGO_OPERANDS, const char* config, const char* tune_key) {
  ggemm_gemm_desc desc;
  scalars s;
  set_plain_desc(&desc, product, args->m, args->n, args->k, config, tune_key);
  const ggemm_gemm_args call = plain_args(args, a, b, c, d, bias, scale_a, scale_b, &s);
  args->result = result_of(ggemm_gemm(context_of(context), &desc, &call, (void*)args->stream));
}

ggo_result ggo_grouped_gemm(uintptr_t context, ggo_grouped given, ggo_grouped_args args, const void* const* pointers) {
  scalars s;
  const ggemm_grouped_desc desc = grouped_desc(&given);
  ggemm_grouped_args call = grouped_args(&args, &s);
  if (pointers) {
    const int64_t groups = given.groups;
    call.a = pointers, call.b = pointers + groups, call.d = pointers + 2 * groups, call.c = pointers + 3 * groups, call.bias = pointers + 4 * groups;
    call.scale_a = pointers + 5 * groups, call.scale_b = pointers + 6 * groups;
  }
  return result_of(ggemm_grouped_gemm(context_of(context), &desc, &call, (void*)args.stream));
}

ggo_result ggo_plan(uintptr_t context, ggo_problem given, uintptr_t* out_plan) {
  description room;
  const ggemm_problem problem = problem_of(&given, &room);
  ggemm_plan* plan = NULL;
  const ggemm_status status = problem.grouped ? ggemm_plan_create_grouped(context_of(context), problem.grouped, &plan)
                                              : ggemm_plan_create(context_of(context), problem.gemm, &plan);
  *out_plan = (uintptr_t)plan;
  return result_of(status);
}

void ggo_close(uintptr_t context) { ggemm_context_destroy(context_of(context)); }
void ggo_plan_close(uintptr_t plan) { ggemm_plan_destroy(plan_of(plan)); }

void ggo_plan_run(uintptr_t plan, ggo_args* args, GGO_OPERANDS) {
  scalars s;
  const ggemm_gemm_args call = plain_args(args, a, b, c, d, bias, scale_a, scale_b, &s);
  args->result = result_of(ggemm_plan_run(plan_of(plan), &call, (void*)args->stream));
}

ggo_result ggo_plan_run_grouped(uintptr_t plan, ggo_grouped_args args) {
  scalars s;
  const ggemm_grouped_args call = grouped_args(&args, &s);
  return result_of(ggemm_plan_run_grouped(plan_of(plan), &call, (void*)args.stream));
}

ggo_result ggo_plan_explain(uintptr_t plan, char** out_text) {
  size_t size = 0;
  ggemm_status status = ggemm_plan_explain(plan_of(plan), NULL, 0, &size);
  if (status == GGEMM_OK) {
    *out_text = malloc(size);
    if (!*out_text) return (ggo_result){GGEMM_ERROR_OUT_OF_MEMORY, 0};
    status = ggemm_plan_explain(plan_of(plan), *out_text, size, NULL);
  }
  return result_of(status);
}

ggo_result ggo_plan_config(uintptr_t plan, ggemm_config* out_config) {
  out_config->struct_size = sizeof *out_config;
  return result_of(ggemm_plan_config(plan_of(plan), out_config));
}

/* --------------------------------------------------------------------------------------------------- configurations */

ggo_result ggo_config_count(uintptr_t context, ggo_problem given, size_t* out_count) {
  description room;
  const ggemm_problem problem = problem_of(&given, &room);
  return result_of(ggemm_config_count(context_of(context), &problem, out_count));
}

ggo_result ggo_config_get(uintptr_t context, ggo_problem given, size_t index, ggemm_config* out_config) {
  description room;
  const ggemm_problem problem = problem_of(&given, &room);
  out_config->struct_size = sizeof *out_config;
  return result_of(ggemm_config_get(context_of(context), &problem, index, out_config));
}

ggo_result ggo_config_parse(const char* name, ggemm_config* out_config) {
  out_config->struct_size = sizeof *out_config;
  return result_of(ggemm_config_parse(name, out_config));
}

/* ------------------------------------------------------------------------------------------------- prepare and tune */

ggo_result ggo_prepare(uintptr_t context, const ggo_problem* given, size_t count, uintptr_t watcher) {
  ggemm_problem* problems = calloc(count, sizeof *problems);
  description* rooms = calloc(count, sizeof *rooms);
  ggo_result result = {GGEMM_ERROR_OUT_OF_MEMORY, 0};
  if (count == 0 || (problems && rooms)) {
    for (size_t i = 0; i < count; i++) problems[i] = problem_of(&given[i], &rooms[i]);
    result = result_of(ggemm_prepare(context_of(context), problems, count, on_progress, (void*)watcher));
  }
  free(problems);
  free(rooms);
  return result;
}

ggo_result ggo_tune(uintptr_t context, ggo_problem given, ggo_tune_options wanted, uintptr_t watcher, ggemm_tune_result* out_result) {
  description room;
  const ggemm_problem problem = problem_of(&given, &room);
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.budget_seconds = wanted.budget_seconds;
  options.configs = wanted.configs, options.config_count = wanted.config_count;
  options.sample_sizes = wanted.sample_sizes, options.sample_groups = wanted.sample_groups;
  options.function = on_row, options.user = (void*)watcher;
  out_result->struct_size = sizeof *out_result;
  return result_of(ggemm_tune(context_of(context), &problem, &options, out_result));
}

/* ---------------------------------------------------------------------------------------------------- tiles, caches */

static ggemm_tile_grid tile_grid(const ggo_tile_grid* given) {
  ggemm_tile_grid out = GGEMM_TILE_GRID_INIT;
  out.groups = given->groups;
  set_source(&out.m, given->m), set_source(&out.n, given->n);
  out.tile_m = given->tile_m, out.tile_n = given->tile_n, out.raster = given->raster;
  out.cluster_m = given->cluster_m, out.cluster_n = given->cluster_n, out.swapped = given->swapped;
  return out;
}

ggo_result ggo_tile_count(ggo_tile_grid given, int64_t* out_count) {
  const ggemm_tile_grid grid = tile_grid(&given);
  return result_of(ggemm_tile_count(&grid, out_count));
}

ggo_result ggo_tile_at(ggo_tile_grid given, int64_t pid, ggemm_tile* out_tile) {
  const ggemm_tile_grid grid = tile_grid(&given);
  out_tile->struct_size = sizeof *out_tile;
  return result_of(ggemm_tile_at(&grid, pid, out_tile));
}

ggo_result ggo_cache_visit(uintptr_t context, uintptr_t entries) {
  return result_of(ggemm_cache_visit(context_of(context), on_entry, (void*)entries));
}

ggo_result ggo_cache_clear(uintptr_t context, const char* nvrtc, size_t* out_removed) {
  return result_of(ggemm_cache_clear(context_of(context), nvrtc, out_removed));
}
