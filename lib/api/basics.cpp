// SPDX-License-Identifier: Apache-2.0
// Status, version, dtypes, the init functions, conversion.
#include <string_view>

#include "api/guard.hpp"
#include "core/element.hpp"
#include "core/float_environment.hpp"

namespace ggemm::api {
namespace {

// One buffer a thread: its text lives until the thread's next failure.
thread_local std::string last_error;
thread_local bool no_room = false;  // for that text

}  // namespace

ggemm_status set_error(ggemm_status status, const char* text) noexcept {
  try {
    last_error = text;
    no_room = false;
  } catch (...) {
    no_room = true;
  }
  return status;
}

}  // namespace ggemm::api

using namespace ggemm;

extern "C" {

const char* ggemm_status_string(ggemm_status status) {
  switch (status) {
    case GGEMM_OK: return "GGEMM_OK";
    case GGEMM_ERROR_ARGUMENT: return "GGEMM_ERROR_ARGUMENT";
    case GGEMM_ERROR_UNSUPPORTED: return "GGEMM_ERROR_UNSUPPORTED";
    case GGEMM_ERROR_NOT_PREPARED: return "GGEMM_ERROR_NOT_PREPARED";
    case GGEMM_ERROR_OUT_OF_MEMORY: return "GGEMM_ERROR_OUT_OF_MEMORY";
    case GGEMM_ERROR_COMPILE: return "GGEMM_ERROR_COMPILE";
    case GGEMM_ERROR_LAUNCH: return "GGEMM_ERROR_LAUNCH";
    case GGEMM_ERROR_DEVICE: return "GGEMM_ERROR_DEVICE";
    case GGEMM_ERROR_VERSION: return "GGEMM_ERROR_VERSION";
    case GGEMM_ERROR_CANCELLED: return "GGEMM_ERROR_CANCELLED";
    case GGEMM_ERROR_INTERNAL: return "GGEMM_ERROR_INTERNAL";
    default: return "unknown status";
  }
}

const char* ggemm_last_error(void) { return api::no_room ? "host memory is used up, so that there is none to say what for" : api::last_error.c_str(); }

int32_t ggemm_version(void) { return GGEMM_VERSION; }

#define GGEMM_TEXT_(x) #x
#define GGEMM_TEXT(x) GGEMM_TEXT_(x)
const char* ggemm_version_string(void) { return GGEMM_TEXT(GGEMM_VERSION_MAJOR) "." GGEMM_TEXT(GGEMM_VERSION_MINOR) "." GGEMM_TEXT(GGEMM_VERSION_PATCH); }

int32_t ggemm_has_feature(const char* name) {
  if (!name) return 0;
  for (const std::string_view feature : {"host", "cuda", "plain", "grouped", "grouped-forms", "row-index", "checked", "tune", "prepare", "tile-order", "disk-cache", "activations",
                                         "bias", "scales", "gated-pairs", "max-ctas"})
    if (feature == name) return 1;
  return 0;
}

const char* ggemm_dtype_name(ggemm_dtype dtype) { return core::dtype_name(dtype); }
size_t ggemm_dtype_size(ggemm_dtype dtype) { return core::dtype_size(dtype); }

ggemm_status ggemm_convert(ggemm_dtype destination_dtype, void* destination, ggemm_dtype source_dtype, const void* source, size_t count) {
  return api::guard([&] {
    core::with_element(destination_dtype, "destination_dtype", [&](auto to) {
      core::with_element(source_dtype, "source_dtype", [&](auto from) {
        if (count == 0) return;
        auto* out = static_cast<decltype(to)*>(&api::required(static_cast<decltype(to)*>(destination), "destination"));
        const auto* in = &api::required(static_cast<const decltype(from)*>(source), "source");
        const core::DefaultFloatEnvironment environment;
        // Every element type is exact in f64, so one rounding is made.
        for (size_t i = 0; i < count; ++i) out[i] = kernels::Store<decltype(to)>::from(kernels::to_sum<double>(in[i]));
      });
    });
  });
}

ggemm_status ggemm_context_options_init(ggemm_context_options* options, size_t struct_size) { return api::init(options, struct_size, ggemm_context_options GGEMM_CONTEXT_OPTIONS_INIT, "options"); }
ggemm_status ggemm_device_info_init(ggemm_device_info* info, size_t struct_size) { return api::init(info, struct_size, ggemm_device_info GGEMM_DEVICE_INFO_INIT, "info"); }
ggemm_status ggemm_gemm_desc_init(ggemm_gemm_desc* desc, size_t struct_size) { return api::init(desc, struct_size, ggemm_gemm_desc GGEMM_GEMM_DESC_INIT, "desc"); }
ggemm_status ggemm_gemm_args_init(ggemm_gemm_args* args, size_t struct_size) { return api::init(args, struct_size, ggemm_gemm_args GGEMM_GEMM_ARGS_INIT, "args"); }
ggemm_status ggemm_grouped_desc_init(ggemm_grouped_desc* desc, size_t struct_size) { return api::init(desc, struct_size, ggemm_grouped_desc GGEMM_GROUPED_DESC_INIT, "desc"); }
ggemm_status ggemm_grouped_args_init(ggemm_grouped_args* args, size_t struct_size) { return api::init(args, struct_size, ggemm_grouped_args GGEMM_GROUPED_ARGS_INIT, "args"); }
ggemm_status ggemm_config_init(ggemm_config* config, size_t struct_size) { return api::init(config, struct_size, ggemm_config GGEMM_CONFIG_INIT, "config"); }
ggemm_status ggemm_tune_options_init(ggemm_tune_options* options, size_t struct_size) { return api::init(options, struct_size, ggemm_tune_options GGEMM_TUNE_OPTIONS_INIT, "options"); }
ggemm_status ggemm_tune_result_init(ggemm_tune_result* result, size_t struct_size) { return api::init(result, struct_size, ggemm_tune_result GGEMM_TUNE_RESULT_INIT, "result"); }
ggemm_status ggemm_tile_grid_init(ggemm_tile_grid* grid, size_t struct_size) { return api::init(grid, struct_size, ggemm_tile_grid GGEMM_TILE_GRID_INIT, "grid"); }
ggemm_status ggemm_tile_init(ggemm_tile* tile, size_t struct_size) { return api::init(tile, struct_size, ggemm_tile GGEMM_TILE_INIT, "tile"); }

ggemm_source ggemm_const(int64_t value) { return {nullptr, 0, value, GGEMM_SOURCE_CONST, 0}; }
ggemm_source ggemm_i32_at(const void* data, int64_t byte_stride) { return {data, byte_stride, 0, GGEMM_SOURCE_I32, 0}; }
ggemm_source ggemm_i64_at(const void* data, int64_t byte_stride) { return {data, byte_stride, 0, GGEMM_SOURCE_I64, 0}; }

}  // extern "C"
