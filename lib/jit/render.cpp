// SPDX-License-Identifier: Apache-2.0
#include "jit/render.hpp"

#include "core/error.hpp"

namespace ggemm::jit {

Request render(const core::ProblemType& problem_type, const core::Config& named, int min_ctas, int tile_notes, const std::string& arch) {
  const bool sm90 = named.family == core::Family::sm90;
  const core::ProblemType type = sm90 ? core::kernel_type(problem_type, named) : problem_type;  // sm90 alone swaps
  const core::Config config = core::upright(named);
  Request request;
  // The symbol says what a profiler's reader wants to know: configuration, output, epilogue, form.
  request.name = "ggemm_" + core::kernel_name(problem_type, named) + "_" + core::dtype_name(type.d);
  if (type.activation) request.name += std::string("_") + core::activation_name(type.activation);
  if (problem_type.bias) request.name += problem_type.bias == GGEMM_BIAS_PER_COLUMN ? "_bias_column" : "_bias_row";
  const bool gather = type.grouped & core::gathered_rows, scatter = type.grouped & core::scattered_rows;
  if (gather) request.name += "_gather";
  if (scatter) request.name += "_scatter";
  if (type.compute == GGEMM_COMPUTE_FP8_FAST) request.name += "_fast";
  if (problem_type.scale_a) request.name += std::string("_a_") + core::scale_name(problem_type.scale_a);
  if (problem_type.scale_b) request.name += std::string("_b_") + core::scale_name(problem_type.scale_b);
  if (type.gate) request.name += std::string("_") + core::gate_name(type.gate);
  if (type.grouped) request.name += type.grouped & core::batch_groups ? "_batch" : "_grouped";
  if (sm90 && problem_type.major_d == core::Major::mn) request.name += "_columns";
  const bool by_engine = sm90 && type.by_engine && config.slices <= core::tail_slices;  // of slices another kernel stores D
  if (by_engine) request.name += "_by_engine";
  // Of a plain product lines of D are known to be none for the engine, or it is stored by the kernel of that name. Of groups few have such, and others would have code that they do not need between what they do.
  const bool lines = core::lines_may_wait(type, config) && (!type.grouped || type.lines_wait);
  if (type.grouped && lines) request.name += "_lines";
  const std::uint8_t unaligned = core::unaligned_operands(type, config);
  if (unaligned) request.name += unaligned == core::operand_a ? "_unaligned_a" : unaligned == core::operand_b ? "_unaligned_b" : "_unaligned";
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
  define("GG_GROUPED", type.grouped & core::grouped_call);
  define("GG_BATCH", (type.grouped & core::batch_groups) != 0);
  define("GG_GATHER", gather);
  define("GG_SCATTER", scatter);
  define("GG_INDEX_COLUMNS", named.swap);
  define("GG_SCALE_A", type.scale_a);
  define("GG_SCALE_B", type.scale_b);
  define("GG_GATE", type.gate);
  define("GG_BM", config.tile_m);
  define("GG_BN", config.tile_n);
  define("GG_BK", config.tile_k);
  define("GG_WARPS_M", config.warps_m);
  define("GG_WARPS_N", config.warps_n);
  define("GG_STAGES", config.stages);
  define("GG_MIN_CTAS", min_ctas);
  define("GG_TILE_NOTES", tile_notes);
  // The others serve every D, and know no clusters.
  define("GG_MAJOR_D", sm90 ? static_cast<int>(type.major_d) : 0);
  define("GG_CLUSTER_M", sm90 ? config.cluster_m : 1);
  define("GG_CLUSTER_N", sm90 ? config.cluster_n : 1);
  define("GG_CLUSTER_K", sm90 ? config.cluster_k : 1);
  define("GG_SLICED", config.slices == 0 ? 0 : config.slices == core::tail_slices ? 1 : 2);
  define("GG_TEAMS", std::max<int>(1, config.teams));
  define("GG_BY_ENGINE", by_engine);
  define("GG_UNALIGNED", unaligned);
  define("GG_LINES_WAIT", lines);
  return request;
}

Request render_sum_pieces(const core::ProblemType& type, const core::Config& config, const std::string& arch) {
  Request request = render(type, config, 1, 0, arch);
  request.name += "_sum_pieces";
  request.root = "sum_pieces.cu";
  return request;
}

Request render_prepare(const std::string& arch) { return {"ggemm_prepare", "prepare.cu", {}, arch}; }

Request render_repack(int element_size, const std::string& arch) { return {core::text("ggemm_repack_%d", element_size), "repack.cu", {{"GG_SIZE", std::to_string(element_size)}}, arch}; }

Request render_repack_groups(int element_size, const std::string& arch) {
  return {core::text("ggemm_repack_groups_%d", element_size), "repack_groups.cu", {{"GG_SIZE", std::to_string(element_size)}}, arch};
}

Request render_split(const std::string& arch) { return {"ggemm_split", "split.cu", {}, arch}; }

Request render_check(const std::string& arch) { return {"ggemm_check", "check.cu", {}, arch}; }

Request render_flush(const std::string& arch) { return {"ggemm_flush", "flush.cu", {}, arch}; }

Request render_sum(int value, int d, const std::string& arch) {
  return {core::text("ggemm_sum_rows_%s_%s", core::dtype_name(value), core::dtype_name(d)), "sum_rows.cu", {{"GG_VALUE", std::to_string(value)}, {"GG_D", std::to_string(d)}}, arch};
}

}  // namespace ggemm::jit
