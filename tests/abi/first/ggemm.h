/* SPDX-License-Identifier: Apache-2.0
 * The interface as programs of the first day were built with it: these declarations, sizes and numbers are served for ever. Never to be changed. */
#ifndef GGEMM_H
#define GGEMM_H 
#include <stddef.h>
#include <stdint.h>
#if defined(__GNUC__)
#define GGEMM_API __attribute__((visibility("default")))
#else
#define GGEMM_API 
#endif
#ifdef __cplusplus
extern "C" {
#endif
#define GGEMM_VERSION_MAJOR 0
#define GGEMM_VERSION_MINOR 1
#define GGEMM_VERSION_PATCH 0
#define GGEMM_VERSION (GGEMM_VERSION_MAJOR * 10000 + GGEMM_VERSION_MINOR * 100 + GGEMM_VERSION_PATCH)
typedef enum ggemm_status {
  GGEMM_OK = 0,
  GGEMM_ERROR_ARGUMENT = 1,
  GGEMM_ERROR_UNSUPPORTED = 2,
  GGEMM_ERROR_NOT_PREPARED = 3,
  GGEMM_ERROR_OUT_OF_MEMORY = 4,
  GGEMM_ERROR_COMPILE = 5,
  GGEMM_ERROR_LAUNCH = 6,
  GGEMM_ERROR_DEVICE = 7,
  GGEMM_ERROR_VERSION = 8,
  GGEMM_ERROR_CANCELLED = 9,
  GGEMM_ERROR_INTERNAL = 10,
  GGEMM_STATUS_FORCE32 = 0x7fffffff
} ggemm_status;
GGEMM_API const char* ggemm_status_string(ggemm_status status);
GGEMM_API const char* ggemm_last_error(void);
GGEMM_API int32_t ggemm_version(void);
GGEMM_API const char* ggemm_version_string(void);
GGEMM_API int32_t ggemm_has_feature(const char* name);
typedef enum ggemm_dtype {
  GGEMM_DTYPE_NONE = 0,
  GGEMM_F64 = 1,
  GGEMM_F32 = 2,
  GGEMM_F16 = 3,
  GGEMM_BF16 = 4,
  GGEMM_E4M3 = 5,
  GGEMM_E5M2 = 6,
  GGEMM_I8 = 7,
  GGEMM_I32 = 8,
  GGEMM_DTYPE_FORCE32 = 0x7fffffff
} ggemm_dtype;
GGEMM_API const char* ggemm_dtype_name(ggemm_dtype dtype);
GGEMM_API size_t ggemm_dtype_size(ggemm_dtype dtype);
GGEMM_API ggemm_status ggemm_convert(ggemm_dtype destination_dtype, void* destination, ggemm_dtype source_dtype, const void* source, size_t count);
typedef struct ggemm_context ggemm_context;
typedef struct ggemm_plan ggemm_plan;
typedef enum ggemm_device_kind {
  GGEMM_DEVICE_BEST = 0,
  GGEMM_DEVICE_CUDA = 1,
  GGEMM_DEVICE_HOST = 2,
  GGEMM_DEVICE_FORCE32 = 0x7fffffff
} ggemm_device_kind;
typedef enum ggemm_log_level {
  GGEMM_LOG_ERROR = 1,
  GGEMM_LOG_WARNING = 2,
  GGEMM_LOG_INFO = 3,
  GGEMM_LOG_DEBUG = 4,
  GGEMM_LOG_FORCE32 = 0x7fffffff
} ggemm_log_level;
typedef void (*ggemm_log_fn)(void* user, ggemm_log_level level, const char* message);
typedef int32_t (*ggemm_allocate_fn)(void* user, size_t bytes, void* stream, void** out_pointer);
typedef void (*ggemm_deallocate_fn)(void* user, void* pointer, size_t bytes, void* stream);
typedef struct ggemm_context_options {
  size_t struct_size;
  ggemm_device_kind device;
  int32_t ordinal;
  void* cuda_context;
  int32_t threads;
  ggemm_log_level log_level;
  ggemm_log_fn log;
  void* log_user;
  ggemm_allocate_fn allocate;
  ggemm_deallocate_fn deallocate;
  void* allocator_user;
  const char* cache_dir;
  const char* shared_cache_dir;
  uint64_t cache_limit_bytes;
  const char* nvrtc_path;
  const char* cblas_path;
} ggemm_context_options;
#define GGEMM_CONTEXT_OPTIONS_INIT \
  { sizeof(ggemm_context_options), GGEMM_DEVICE_BEST, 0, NULL, 0, (ggemm_log_level)0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL }
GGEMM_API ggemm_status ggemm_context_options_init(ggemm_context_options* options, size_t struct_size);
GGEMM_API ggemm_status ggemm_context_create(const ggemm_context_options* options, ggemm_context** out_context);
GGEMM_API void ggemm_context_destroy(ggemm_context* context);
typedef struct ggemm_device_info {
  size_t struct_size;
  ggemm_device_kind kind;
  int32_t ordinal;
  char name[128];
  int32_t compute_capability;
  int32_t multiprocessors;
  int32_t threads;
  int32_t driver_version;
  int64_t memory_bytes;
  int64_t l2_bytes;
  int64_t shared_memory_bytes;
  char arch[16];
  char blas[256];
} ggemm_device_info;
#define GGEMM_DEVICE_INFO_INIT { sizeof(ggemm_device_info), GGEMM_DEVICE_BEST, 0, {0}, 0, 0, 0, 0, 0, 0, 0, {0}, {0} }
GGEMM_API ggemm_status ggemm_device_info_init(ggemm_device_info* info, size_t struct_size);
GGEMM_API ggemm_status ggemm_context_device(const ggemm_context* context, ggemm_device_info* out_info);
GGEMM_API ggemm_status ggemm_context_set_log(ggemm_context* context, ggemm_log_fn log, void* user, ggemm_log_level level);
typedef struct ggemm_finding {
  size_t struct_size;
  const char* component;
  int32_t found;
  int32_t needed;
  const char* detail;
  const char* advice;
} ggemm_finding;
typedef void (*ggemm_finding_fn)(void* user, const ggemm_finding* finding);
GGEMM_API ggemm_status ggemm_diagnose(const ggemm_context_options* options, ggemm_finding_fn function, void* user);
#define GGEMM_PACKED INT64_MIN
#define GGEMM_AS_DESCRIBED (-1)
typedef struct ggemm_matrix {
  ggemm_dtype dtype;
  uint32_t reserved0;
  int64_t row_stride;
  int64_t col_stride;
  int64_t reserved1;
} ggemm_matrix;
typedef enum ggemm_compute {
  GGEMM_COMPUTE_DEFAULT = 0,
  GGEMM_COMPUTE_TF32 = 1,
  GGEMM_COMPUTE_FORCE32 = 0x7fffffff
} ggemm_compute;
typedef enum ggemm_activation {
  GGEMM_ACTIVATION_NONE = 0,
  GGEMM_ACTIVATION_RELU = 1,
  GGEMM_ACTIVATION_LEAKY_RELU = 2,
  GGEMM_ACTIVATION_GELU = 3,
  GGEMM_ACTIVATION_GELU_TANH = 4,
  GGEMM_ACTIVATION_SILU = 5,
  GGEMM_ACTIVATION_SIGMOID = 6,
  GGEMM_ACTIVATION_TANH = 7,
  GGEMM_ACTIVATION_CLAMP = 8,
  GGEMM_ACTIVATION_FORCE32 = 0x7fffffff
} ggemm_activation;
typedef enum ggemm_bias {
  GGEMM_BIAS_NONE = 0,
  GGEMM_BIAS_PER_COLUMN = 1,
  GGEMM_BIAS_PER_ROW = 2,
  GGEMM_BIAS_FORCE32 = 0x7fffffff
} ggemm_bias;
typedef struct ggemm_epilogue_desc {
  ggemm_activation activation;
  ggemm_bias bias;
  ggemm_dtype bias_dtype;
  uint32_t scalars_on_device;
  double activation_p0;
  double activation_p1;
  int64_t reserved[2];
} ggemm_epilogue_desc;
typedef struct ggemm_gemm_desc {
  size_t struct_size;
  int64_t m, n, k;
  ggemm_matrix a, b, c, d;
  ggemm_epilogue_desc epilogue;
  ggemm_compute compute;
  uint32_t reserved0;
  const char* config;
  const char* tune_key;
} ggemm_gemm_desc;
#define GGEMM_MATRIX_INIT_ { GGEMM_DTYPE_NONE, 0, GGEMM_PACKED, GGEMM_PACKED, 0 }
#define GGEMM_EPILOGUE_INIT_ { GGEMM_ACTIVATION_NONE, GGEMM_BIAS_NONE, GGEMM_DTYPE_NONE, 0, 0.0, 0.0, {0, 0} }
#define GGEMM_GEMM_DESC_INIT \
  { sizeof(ggemm_gemm_desc), 0, 0, 0, GGEMM_MATRIX_INIT_, GGEMM_MATRIX_INIT_, GGEMM_MATRIX_INIT_, GGEMM_MATRIX_INIT_, GGEMM_EPILOGUE_INIT_, GGEMM_COMPUTE_DEFAULT, 0, NULL, NULL }
GGEMM_API ggemm_status ggemm_gemm_desc_init(ggemm_gemm_desc* desc, size_t struct_size);
typedef struct ggemm_gemm_args {
  size_t struct_size;
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* bias;
  const void* alpha;
  const void* beta;
  int64_t m, n, k;
} ggemm_gemm_args;
#define GGEMM_GEMM_ARGS_INIT { sizeof(ggemm_gemm_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, GGEMM_AS_DESCRIBED, GGEMM_AS_DESCRIBED, GGEMM_AS_DESCRIBED }
GGEMM_API ggemm_status ggemm_gemm_args_init(ggemm_gemm_args* args, size_t struct_size);
typedef enum ggemm_source_kind {
  GGEMM_SOURCE_CONST = 0,
  GGEMM_SOURCE_I32 = 1,
  GGEMM_SOURCE_I64 = 2,
  GGEMM_SOURCE_FORCE32 = 0x7fffffff
} ggemm_source_kind;
typedef struct ggemm_source {
  const void* data;
  int64_t byte_stride;
  int64_t value;
  ggemm_source_kind kind;
  uint32_t reserved0;
} ggemm_source;
GGEMM_API ggemm_source ggemm_const(int64_t value);
GGEMM_API ggemm_source ggemm_i32_at(const void* data, int64_t byte_stride);
GGEMM_API ggemm_source ggemm_i64_at(const void* data, int64_t byte_stride);
typedef struct ggemm_grouped_matrix {
  ggemm_dtype dtype;
  uint32_t reserved0;
  ggemm_source row_stride, col_stride;
  int64_t reserved1;
} ggemm_grouped_matrix;
typedef enum ggemm_grouped_form {
  GGEMM_GROUPS_POINTERS = 0,
  GGEMM_GROUPED_FORM_FORCE32 = 0x7fffffff
} ggemm_grouped_form;
typedef struct ggemm_grouped_desc {
  size_t struct_size;
  int64_t groups;
  ggemm_grouped_form form;
  ggemm_compute compute;
  ggemm_source m, n, k;
  ggemm_grouped_matrix a, b, c, d;
  ggemm_epilogue_desc epilogue;
  int64_t expected_m, expected_n, expected_k;
  const char* config;
  const char* tune_key;
} ggemm_grouped_desc;
#define GGEMM_SOURCE_INIT_(v) { NULL, 0, (v), GGEMM_SOURCE_CONST, 0 }
#define GGEMM_GROUPED_MATRIX_INIT_ { GGEMM_DTYPE_NONE, 0, GGEMM_SOURCE_INIT_(GGEMM_PACKED), GGEMM_SOURCE_INIT_(GGEMM_PACKED), 0 }
#define GGEMM_GROUPED_DESC_INIT \
  { sizeof(ggemm_grouped_desc), 0, GGEMM_GROUPS_POINTERS, GGEMM_COMPUTE_DEFAULT, GGEMM_SOURCE_INIT_(0), GGEMM_SOURCE_INIT_(0), GGEMM_SOURCE_INIT_(0), \
    GGEMM_GROUPED_MATRIX_INIT_, GGEMM_GROUPED_MATRIX_INIT_, GGEMM_GROUPED_MATRIX_INIT_, GGEMM_GROUPED_MATRIX_INIT_, GGEMM_EPILOGUE_INIT_, 0, 0, 0, NULL, NULL }
GGEMM_API ggemm_status ggemm_grouped_desc_init(ggemm_grouped_desc* desc, size_t struct_size);
typedef struct ggemm_grouped_args {
  size_t struct_size;
  const void* a;
  const void* b;
  const void* c;
  const void* d;
  const void* bias;
  const void* alpha;
  const void* beta;
} ggemm_grouped_args;
#define GGEMM_GROUPED_ARGS_INIT { sizeof(ggemm_grouped_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL }
GGEMM_API ggemm_status ggemm_grouped_args_init(ggemm_grouped_args* args, size_t struct_size);
GGEMM_API ggemm_status ggemm_gemm(ggemm_context* context, const ggemm_gemm_desc* desc, const ggemm_gemm_args* args, void* stream);
GGEMM_API ggemm_status ggemm_grouped_gemm(ggemm_context* context, const ggemm_grouped_desc* desc, const ggemm_grouped_args* args, void* stream);
GGEMM_API ggemm_status ggemm_plan_create(ggemm_context* context, const ggemm_gemm_desc* desc, ggemm_plan** out_plan);
GGEMM_API ggemm_status ggemm_plan_create_grouped(ggemm_context* context, const ggemm_grouped_desc* desc, ggemm_plan** out_plan);
GGEMM_API ggemm_status ggemm_plan_run(const ggemm_plan* plan, const ggemm_gemm_args* args, void* stream);
GGEMM_API ggemm_status ggemm_plan_run_grouped(const ggemm_plan* plan, const ggemm_grouped_args* args, void* stream);
GGEMM_API ggemm_status ggemm_plan_explain(const ggemm_plan* plan, char* buffer, size_t size, size_t* out_size);
GGEMM_API void ggemm_plan_destroy(ggemm_plan* plan);
typedef struct ggemm_config {
  size_t struct_size;
  char name[96];
  char family[16];
  int32_t tile_m, tile_n, tile_k;
  int32_t warps_m, warps_n;
  int32_t stages;
  int32_t raster;
  int32_t reserved0;
} ggemm_config;
#define GGEMM_CONFIG_INIT { sizeof(ggemm_config), {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0 }
GGEMM_API ggemm_status ggemm_config_init(ggemm_config* config, size_t struct_size);
typedef struct ggemm_problem {
  const ggemm_gemm_desc* gemm;
  const ggemm_grouped_desc* grouped;
} ggemm_problem;
GGEMM_API ggemm_status ggemm_config_count(ggemm_context* context, const ggemm_problem* problem, size_t* out_count);
GGEMM_API ggemm_status ggemm_config_get(ggemm_context* context, const ggemm_problem* problem, size_t index, ggemm_config* out_config);
GGEMM_API ggemm_status ggemm_config_parse(const char* name, ggemm_config* out_config);
GGEMM_API ggemm_status ggemm_plan_config(const ggemm_plan* plan, ggemm_config* out_config);
typedef int32_t (*ggemm_progress_fn)(void* user, size_t done, size_t total, const char* what);
GGEMM_API ggemm_status ggemm_prepare(ggemm_context* context, const ggemm_problem* problems, size_t count, ggemm_progress_fn progress, void* user);
typedef struct ggemm_tune_row {
  size_t struct_size;
  size_t index, total;
  const char* config;
  double microseconds;
  double tflops;
  const char* rejected;
} ggemm_tune_row;
typedef int32_t (*ggemm_tune_fn)(void* user, const ggemm_tune_row* row);
typedef struct ggemm_tune_options {
  size_t struct_size;
  double budget_seconds;
  const char* const* configs;
  size_t config_count;
  const int64_t* sample_sizes;
  size_t sample_groups;
  ggemm_tune_fn function;
  void* user;
} ggemm_tune_options;
#define GGEMM_TUNE_OPTIONS_INIT { sizeof(ggemm_tune_options), 0.0, NULL, 0, NULL, 0, NULL, NULL }
GGEMM_API ggemm_status ggemm_tune_options_init(ggemm_tune_options* options, size_t struct_size);
typedef struct ggemm_tune_result {
  size_t struct_size;
  char best[96];
  double microseconds;
  double tflops;
  double seconds;
  size_t timed, rejected;
} ggemm_tune_result;
#define GGEMM_TUNE_RESULT_INIT { sizeof(ggemm_tune_result), {0}, 0.0, 0.0, 0.0, 0, 0 }
GGEMM_API ggemm_status ggemm_tune_result_init(ggemm_tune_result* result, size_t struct_size);
GGEMM_API ggemm_status ggemm_tune(ggemm_context* context, const ggemm_problem* problem, const ggemm_tune_options* options, ggemm_tune_result* out_result);
typedef struct ggemm_tile_grid {
  size_t struct_size;
  int64_t groups;
  ggemm_source m, n;
  int32_t tile_m, tile_n;
  int32_t raster;
  int32_t reserved0;
} ggemm_tile_grid;
#define GGEMM_TILE_GRID_INIT { sizeof(ggemm_tile_grid), 1, GGEMM_SOURCE_INIT_(0), GGEMM_SOURCE_INIT_(0), 0, 0, 1, 0 }
GGEMM_API ggemm_status ggemm_tile_grid_init(ggemm_tile_grid* grid, size_t struct_size);
typedef struct ggemm_tile {
  size_t struct_size;
  int64_t group;
  int64_t tile_row, tile_col;
  int64_t row_begin, row_end;
  int64_t col_begin, col_end;
} ggemm_tile;
#define GGEMM_TILE_INIT { sizeof(ggemm_tile), 0, 0, 0, 0, 0, 0, 0 }
GGEMM_API ggemm_status ggemm_tile_init(ggemm_tile* tile, size_t struct_size);
GGEMM_API ggemm_status ggemm_tile_count(const ggemm_tile_grid* grid, int64_t* out_count);
GGEMM_API ggemm_status ggemm_tile_at(const ggemm_tile_grid* grid, int64_t pid, ggemm_tile* out_tile);
typedef struct ggemm_cache_entry {
  size_t struct_size;
  const char* kind;
  const char* name;
  const char* path;
  const char* nvrtc;
  uint64_t bytes;
  int64_t last_used;
} ggemm_cache_entry;
typedef void (*ggemm_cache_fn)(void* user, const ggemm_cache_entry* entry);
GGEMM_API ggemm_status ggemm_cache_visit(ggemm_context* context, ggemm_cache_fn function, void* user);
GGEMM_API ggemm_status ggemm_cache_clear(ggemm_context* context, const char* nvrtc, size_t* out_removed);
#ifdef __cplusplus
}
#endif
#endif
