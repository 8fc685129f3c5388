// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include <cstring>

namespace ggemm::tests {
namespace {

ggemm_context* create(int ordinal, ggemm_log_fn log, void* user) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_CUDA;
  options.ordinal = ordinal;
  options.log = log;
  options.log_user = user;
  options.log_level = GGEMM_LOG_INFO;
  ggemm_context* context = nullptr;
  expect_ok(ggemm_context_create(&options, &context), "ggemm_context_create");
  return context;
}

}  // namespace

GpuContext::GpuContext(int ordinal) : context_(create(ordinal, log, this), ggemm_context_destroy) {}

void GpuContext::log(void* user, ggemm_log_level, const char* message) {
  if (!std::strncmp(message, "compiled ", 9) || !std::strncmp(message, "loaded ", 7)) ++static_cast<GpuContext*>(user)->compiled_;
}

Loaded::Loaded(int ordinal) : memory_(cuda_memory(ordinal, false)) {
  for (int i = 0; i < slot_count; ++i) slots_.emplace_back(*memory_);
}

void Loaded::load(const Case& c) {
  case_ = c;
  images_ = make_images(c);
  at_ = {};
  const auto put = [&](int first, int last) {
    for (int i = first; i <= last; ++i) {
      at_[i] = slots_[i].place(images_[i].size(), c.placement);
      if (at_[i]) memory_->write(at_[i], images_[i].data(), images_[i].size());
    }
  };
  put(slot_a, slot_scale_b);
  add_metadata(c, at_, images_);
  put(slot_alpha, slot_count - 1);
  call_ = std::make_unique<Call>();
  bind_call(case_, at_, *call_);
}

Bytes Loaded::result() {
  Bytes d(images_[slot_d].size());
  if (!d.empty()) memory_->read(d.data(), at_[slot_d], d.size());
  return d;
}

void Loaded::verify() {
  if (only_filling) return;
  CheckOptions options;
  options.tensor_cores = true;  // or not: the bound is no tighter for it
  options.short_sums = case_.type.a == GGEMM_E4M3 && case_.type.b == GGEMM_E4M3;
  if (const auto found = check_result(case_, images_, result(), options)) wrong(*found + " in " + case_.text());
}

void Loaded::run(ggemm_context* context) {
  if (call_->is_grouped)
    expect_ok(ggemm_grouped_gemm(context, &call_->grouped, &call_->grouped_args, stream()), "ggemm_grouped_gemm");
  else
    expect_ok(ggemm_gemm(context, &call_->gemm, &call_->gemm_args, stream()), "ggemm_gemm");
}

std::vector<Kind> kinds(bool grouped) {
  const struct {
    const char* name;
    ggemm_dtype in, out;
    ggemm_compute compute;
  } rows[] = {{"bf16", GGEMM_BF16, GGEMM_BF16, GGEMM_COMPUTE_DEFAULT}, {"f16", GGEMM_F16, GGEMM_F32, GGEMM_COMPUTE_DEFAULT},
              {"tf32", GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_TF32},      {"i8", GGEMM_I8, GGEMM_I32, GGEMM_COMPUTE_DEFAULT},
              {"f64", GGEMM_F64, GGEMM_F64, GGEMM_COMPUTE_DEFAULT},    {"f32", GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_DEFAULT},
              {"e4m3", GGEMM_E4M3, GGEMM_BF16, GGEMM_COMPUTE_DEFAULT}, {"f32x3", GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_F32_ACCURATE}};
  std::vector<Kind> out;
  for (const auto& row : rows) {
    CaseType t;
    t.grouped = grouped;
    t.a = t.b = row.in;
    t.d = row.out;
    t.compute = row.compute;
    t.layout_b = 1;
    out.push_back({std::string(row.name) + (grouped ? ", grouped" : ""), t});
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> families(ggemm_context* context, const ggemm_problem& problem, const std::string& besides) {
  std::size_t count = 0;
  expect_ok(ggemm_config_count(context, &problem, &count), "ggemm_config_count");
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t i = 0; i < count; ++i) {
    ggemm_config config = GGEMM_CONFIG_INIT;
    expect_ok(ggemm_config_get(context, &problem, i, &config), "ggemm_config_get");
    const std::string kind = std::string(config.family) + (config.slices == 1 ? ", k of tiles left over" : config.slices ? ", slices of k" : config.cluster_k > 1 ? ", k by clusters" : "");
    bool known = false, more = !besides.empty() && std::strstr(config.name, besides.c_str());
    for (const auto& [one, name] : out) known |= one == kind, more &= one != besides;
    if (!known || more) out.emplace_back(more ? besides : kind, config.name);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> families(ggemm_context* context, const Case& c, const std::string& besides) {
  Call call;
  describe(c, call);
  auto out = families(context, call.problem(), besides);
  expect(!out.empty(), "no configuration is legal for " + c.text());
  return out;
}

Case repeatable_case(const CaseType& type, const std::vector<Size>& sizes) {
  Drawing drawing;
  drawing.seed = 5;
  drawing.mode = Mode::real;
  drawing.grouped = type.grouped;
  Case c = draw_sized_case(drawing, type, sizes, 3);
  if (c.values == Values::special) c.values = Values::normal;
  if (c.use_of_c == UseOfC::same_as_d) c.use_of_c = UseOfC::apart;
  c.through_plan = false;
  return c;
}

Case uniform_case(const CaseType& type, const std::vector<Size>& sizes, std::optional<ggemm_grouped_form> form) {
  Drawing drawing;
  drawing.mode = Mode::real;
  drawing.grouped = drawing.aligned = drawing.forms = true;
  for (drawing.seed = 1; drawing.seed < 1000; ++drawing.seed) {
    Case c = draw_sized_case(drawing, type, sizes, 0);
    if (!c.uniform || c.form == GGEMM_GROUPS_POINTERS || c.use_of_c == UseOfC::same_as_d || (form && c.form != *form)) continue;
    if (c.values == Values::special) c.values = Values::normal;
    c.through_plan = false, c.max_ctas = 0;
    return c;
  }
  wrong("no groups that differ in m alone");
}

}  // namespace ggemm::tests
