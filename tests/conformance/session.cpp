// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <cstring>
#include <stdexcept>

namespace ggemm::tests {

std::vector<Configuration> legal_configurations(ggemm_context* context, const Call& call) {
  const ggemm_problem problem = call.problem();
  std::size_t count = 0;
  if (ggemm_config_count(context, &problem, &count)) throw std::runtime_error(std::string("ggemm_config_count: ") + ggemm_last_error());
  std::vector<Configuration> out;
  for (std::size_t i = 0; i < count; ++i) {
    ggemm_config config = GGEMM_CONFIG_INIT;
    if (ggemm_config_get(context, &problem, i, &config)) throw std::runtime_error(std::string("ggemm_config_get: ") + ggemm_last_error());
    out.push_back({config.name, config.family, {config.tile_m, config.tile_n, config.tile_k}});
  }
  return out;
}

bool promotes(const std::string& family, const CaseType& type) { return family == "sm90" && type.both_fp8() && type.compute == GGEMM_COMPUTE_DEFAULT; }

CheckOptions check_options(const std::string& family, const CaseType& type, double work) {
  CheckOptions options;
  const bool wide = type.a == GGEMM_F64 || (type.a == GGEMM_F32 && type.compute != GGEMM_COMPUTE_TF32);
  options.tensor_cores = family != "host" && family != "simt" && !(family == "gemv" && wide);
  options.short_sums = options.tensor_cores && type.both_fp8() && family != "gemv";  // which multiplies them as f16
  options.promoted = promotes(family, type);
  options.work = std::max(work * 2, 1e6);
  return options;
}

Session::Session(ggemm_context* context, std::unique_ptr<Memory> memory, bool host) : context_(context), memory_(std::move(memory)), host_(host) {
  for (int i = 0; i < slot_count; ++i) slots_.emplace_back(*memory_);
}

Outcome Session::launch(const Case& c, Call& call) {
  const auto said = [&](const char* function, ggemm_status status) -> Outcome {
    if (status == GGEMM_OK) return {};
    const bool refused = status == GGEMM_ERROR_UNSUPPORTED && !call.config.empty();
    return {refused ? Verdict::refused : Verdict::wrong, std::string(function) + " returned " + ggemm_status_string(status) + ": " + ggemm_last_error()};
  };
  void* const stream = memory_->stream();
  if (!c.through_plan)
    return call.is_grouped ? said("ggemm_grouped_gemm", ggemm_grouped_gemm(context_, &call.grouped, &call.grouped_args, stream))
                           : said("ggemm_gemm", ggemm_gemm(context_, &call.gemm, &call.gemm_args, stream));
  ggemm_plan* raw = nullptr;
  const ggemm_status created =
      call.is_grouped ? ggemm_plan_create_grouped(context_, &call.grouped, &raw) : ggemm_plan_create(context_, &call.gemm, &raw);
  if (created) return said("creating a plan", created);
  const std::unique_ptr<ggemm_plan, void (*)(ggemm_plan*)> plan(raw, ggemm_plan_destroy);
  const Outcome ran = said("running a plan", call.is_grouped ? ggemm_plan_run_grouped(raw, &call.grouped_args, stream)
                                                             : ggemm_plan_run(raw, &call.gemm_args, stream));
  memory_->wait();
  return ran;
}

Bytes Session::read_back(const Images& images, const Addresses& at) {
  Bytes d(images[slot_d].size());
  if (!d.empty()) memory_->read(d.data(), at[slot_d], d.size());
  return d;
}

Outcome Session::compare(const Case& c, const Images& images, const Addresses& at, const CheckOptions& options) {
  if (auto wrong = check_result(c, images, read_back(images, at), options)) return {Verdict::wrong, *wrong};
  std::int32_t status[4] = {};
  if (c.checked) memory_->read(status, at[slot_status], sizeof status);
  if (status[0] || status[1] || status[2] || status[3])
    return {Verdict::wrong, "the check found fault " + std::to_string(status[0]) + " in field " + std::to_string(status[2]) + " of group " + std::to_string(status[1])};
  // What is only read must be as it was. On the GPU that costs more copies than it is worth: a stray write there lands in a guard page or in D's
  // padding.
  for (int i = 0; host_ && i < slot_count; ++i)
    if (i != slot_d && i != slot_status && !images[i].empty() && std::memcmp(images[i].data(), at[i], images[i].size()) != 0)
      return {Verdict::wrong, "an input was changed (buffer " + std::to_string(i) + ")"};
  return {};
}

Outcome Session::run(const Case& c, const std::string& config, const CheckOptions& options) {
  try {
    Images images = make_images(c);
    Addresses at{};
    const auto put = [&](int first, int last) {
      for (int i = first; i <= last; ++i) {
        at[i] = slots_[i].place(images[i].size(), c.placement);
        if (at[i]) memory_->write(at[i], images[i].data(), images[i].size());
      }
    };
    put(slot_a, slot_scale_b);
    add_metadata(c, at, images);
    put(slot_alpha, slot_count - 1);
    Call call;
    bind_call(c, at, call);
    call.force(config);
    const Outcome launched = launch(c, call);
    if (launched.verdict == Verdict::wrong) return launched;
    memory_->wait();
    if (launched.verdict == Verdict::right) return compare(c, images, at, options);
    return read_back(images, at) == images[slot_d] ? launched : Outcome{Verdict::wrong, "D was written, and yet " + launched.what};
  } catch (const std::exception& e) {
    broken_ = true;
    return {Verdict::wrong, std::string(e.what()) + " (the device is not usable after this)"};
  }
}

}  // namespace ggemm::tests
