// SPDX-License-Identifier: Apache-2.0
// A plan on a device that the library has records for.
#include "core/key.hpp"
#include "machine.hpp"
#include "select/shipped.hpp"
#include "support/mirrored.hpp"
#include "support/record_key.hpp"

namespace ggemm::tests {
namespace {

// A plain problem of a record for the fake H200, with nothing special to it; the description of it.
struct Known {
  std::string config;
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
};
std::optional<Known> known_problem() {
  for (const auto& [text, config] : select::shipped().records()) {
    const auto key = read_record_key(std::string(text));
    if (!key || key->device != "NVIDIA H200" || key->multiprocessors != 132) continue;
    const core::ProblemType& t = key->problem.type;
    if (t.grouped || t.unreachable || t.scale_a || t.scale_b || t.gate || t.major_d == core::Major::mn) continue;
    Known out{std::string(config)};
    const auto set = [](ggemm_matrix& matrix, int dtype, bool turned, std::int64_t rows) {
      matrix.dtype = static_cast<ggemm_dtype>(dtype);
      if (turned) matrix.row_stride = 1, matrix.col_stride = rows;
    };
    out.desc.m = key->problem.m, out.desc.n = key->problem.n, out.desc.k = key->problem.k;
    out.desc.compute = static_cast<ggemm_compute>(t.compute);
    set(out.desc.a, t.a, t.major_a == core::Major::mn, out.desc.m);
    set(out.desc.b, t.b, t.major_b == core::Major::k, out.desc.k);
    set(out.desc.d, t.d, false, 0);
    return out;
  }
  return std::nullopt;
}

ggemm_status create(ggemm_context* context, const ggemm_gemm_desc& desc, ggemm_plan** plan) { return ggemm_plan_create(context, &desc, plan); }
ggemm_status create(ggemm_context* context, const ggemm_grouped_desc& desc, ggemm_plan** plan) { return ggemm_plan_create_grouped(context, &desc, plan); }

template <class Desc>
std::string explained(const ContextPointer& context, const Desc& desc) {
  ggemm_plan* plan = nullptr;
  const ggemm_status status = create(context.get(), desc, &plan);
  INFO(ggemm_last_error());
  REQUIRE(status == GGEMM_OK);
  std::string text(4096, '\0');
  CHECK(ggemm_plan_explain(plan, text.data(), text.size(), nullptr) == GGEMM_OK);
  ggemm_plan_destroy(plan);
  return text.c_str();
}

}  // namespace

TEST_CASE("A record that came with the library decides, but not over a forced name or a key of the caller's own") {
  nvrtc_or_skip();
  const auto known = known_problem();
  if (!known) SKIP("the library has no plain record for the H200 yet");
  Machine machine;
  const TempFolder folder;
  const ContextPointer context = make_context(cuda_options(folder.path()));
  ggemm_gemm_desc desc = known->desc;
  CHECK(explained(context, desc).find("configuration: " + known->config + " (shipped record)\n") != std::string::npos);
  // Where D lies in columns, too.
  ggemm_gemm_desc columns = desc;
  if (columns.a.row_stride == GGEMM_PACKED) columns.a.row_stride = columns.k, columns.a.col_stride = 1;
  if (columns.b.row_stride == GGEMM_PACKED) columns.b.row_stride = columns.n, columns.b.col_stride = 1;
  columns.d.row_stride = columns.n, columns.d.col_stride = 1;
  columns = mirrored(columns);
  const std::string text = explained(context, columns);
  CHECK(text.find("configuration: " + known->config + " (shipped record)\n") != std::string::npos);
  CHECK(text.find("transposed: ") != std::string::npos);
  // Numbers are of D as it was described, by which tiles are asked for.
  const auto config_of = [&](const ggemm_gemm_desc& of) {
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create(context.get(), &of, &plan) == GGEMM_OK);
    ggemm_config out = GGEMM_CONFIG_INIT;
    CHECK(ggemm_plan_config(plan, &out) == GGEMM_OK);
    ggemm_plan_destroy(plan);
    return out;
  };
  const ggemm_config rows = config_of(desc), turned_rows = config_of(columns);
  CHECK(std::string(rows.name) == turned_rows.name);
  CHECK((turned_rows.tile_m == rows.tile_n && turned_rows.tile_n == rows.tile_m && turned_rows.warps_m == rows.warps_n && turned_rows.cluster_m == rows.cluster_n && turned_rows.swapped == 1 - rows.swapped && turned_rows.raster == rows.raster));
  ggemm_gemm_desc thin = GGEMM_GEMM_DESC_INIT;
  thin.m = 4096, thin.n = 3, thin.k = 512;
  thin.a.dtype = thin.b.dtype = thin.d.dtype = GGEMM_BF16;
  thin.b.row_stride = 1, thin.b.col_stride = thin.k, thin.d.row_stride = 1, thin.d.col_stride = thin.m;
  thin.config = "gemv_bf16_bf16_f32_tn_8x16x256_w1x8_s2_r1";
  const ggemm_config few = config_of(thin);
  CHECK((few.tile_m == 16 && few.tile_n == 8 && few.warps_m == 1 && few.warps_n == 8 && few.swapped == 1));  // (warps share k)
  desc.tune_key = "a key";
  CHECK(explained(context, desc).find(" (model)\n") != std::string::npos);
  desc.tune_key = nullptr;
  const ggemm_problem problem{&desc, nullptr};
  ggemm_config second = GGEMM_CONFIG_INIT;
  for (std::size_t i = 0; i == 0 || known->config == second.name; ++i) REQUIRE(ggemm_config_get(context.get(), &problem, i, &second) == GGEMM_OK);
  desc.config = second.name;
  CHECK(explained(context, desc).find("configuration: " + std::string(second.name) + " (forced)\n") != std::string::npos);
  CHECK(machine.faults() == "");
}

TEST_CASE("A record of groups of which it is not known how rows are spread serves those of which it is, but for one of their own") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  const ContextPointer context = make_context(cuda_options(folder.path()));
  static const std::int32_t sizes[3] = {};
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;  // cubes of 1024 to 128, of which the library has a record
  desc.groups = 4;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_BF16;
  desc.m = ggemm_i32_at(sizes, 12), desc.n = ggemm_i32_at(sizes + 1, 12), desc.k = ggemm_i32_at(sizes + 2, 12);
  desc.b.row_stride = ggemm_const(1), desc.b.col_stride = ggemm_i32_at(sizes + 2, 12);
  desc.expected_m = desc.expected_n = desc.expected_k = 480;
  CHECK(explained(context, desc).find("(shipped record)\n") != std::string::npos);
  desc.expected_largest_m = 1024;
  const std::string text = explained(context, desc);
  CHECK(text.find("(shipped record)\n") != std::string::npos);
  CHECK(text.find("groups 4 m 480 n 480 k 480 spread 2") != std::string::npos);
  CHECK(machine.faults() == "");
}

}  // namespace ggemm::tests
