// SPDX-License-Identifier: Apache-2.0
#include "jit/render.hpp"

namespace ggemm::jit {

Request render(const core::ProblemType& type, const core::Config& config, int min_ctas, const std::string& arch) {
  Request request;
  // The symbol says what a profiler's reader wants to know: configuration, output, epilogue, form.
  request.name = "ggemm_" + core::kernel_name(type, config) + "_" + core::dtype_name(type.d);
  if (type.activation) request.name += std::string("_") + core::activation_name(type.activation);
  if (type.bias) request.name += type.bias == GGEMM_BIAS_PER_COLUMN ? "_bias_column" : "_bias_row";
  if (type.grouped) request.name += "_grouped";
  request.root = std::string(core::family_name(config.family)) + ".cu";
  request.arch = arch;
  const auto define = [&](const char* name, int value) { request.defines.emplace_back(name, std::to_string(value)); };
  define("GG_A", type.a);
  define("GG_B", type.b);
  define("GG_C", type.c);
  define("GG_D", type.d);
  define("GG_BIAS_DTYPE", type.bias_dtype);
  define("GG_SUM", static_cast<int>(type.sum));
  define("GG_COMPUTE", type.compute);
  define("GG_MAJOR_A", static_cast<int>(type.major_a));
  define("GG_MAJOR_B", static_cast<int>(type.major_b));
  define("GG_ACTIVATION", type.activation);
  define("GG_BIAS", type.bias);
  define("GG_GROUPED", type.grouped);
  define("GG_BM", config.tile_m);
  define("GG_BN", config.tile_n);
  define("GG_BK", config.tile_k);
  define("GG_WARPS_M", config.warps_m);
  define("GG_WARPS_N", config.warps_n);
  define("GG_STAGES", config.stages);
  define("GG_MIN_CTAS", min_ctas);
  return request;
}

}  // namespace ggemm::jit
