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
    out.push_back({config.name, config.family, config.tile_m, config.tile_n, config.tile_k, config.stages});
  }
  return out;
}

Session::Session(ggemm_context* context, std::unique_ptr<Memory> memory, bool host) : context_(context), memory_(std::move(memory)), host_(host) {
  for (int i = 0; i < slot_count; ++i) slots_.emplace_back(*memory_);
}

std::optional<std::string> Session::launch(const Case& c, Call& call) {
  const auto said = [](const char* function, ggemm_status status) {
    return std::string(function) + " returned " + ggemm_status_string(status) + ": " + ggemm_last_error();
  };
  if (!c.through_plan) {
    const ggemm_status status = call.is_grouped ? ggemm_grouped_gemm(context_, &call.grouped, &call.grouped_args, memory_->stream())
                                                : ggemm_gemm(context_, &call.gemm, &call.gemm_args, memory_->stream());
    if (status) return said(call.is_grouped ? "ggemm_grouped_gemm" : "ggemm_gemm", status);
    return std::nullopt;
  }
  ggemm_plan* raw = nullptr;
  ggemm_status status = call.is_grouped ? ggemm_plan_create_grouped(context_, &call.grouped, &raw) : ggemm_plan_create(context_, &call.gemm, &raw);
  if (status) return said("creating a plan", status);
  const std::unique_ptr<ggemm_plan, void (*)(ggemm_plan*)> plan(raw, ggemm_plan_destroy);
  status =
      call.is_grouped ? ggemm_plan_run_grouped(raw, &call.grouped_args, memory_->stream()) : ggemm_plan_run(raw, &call.gemm_args, memory_->stream());
  if (status) return said("running a plan", status);
  memory_->wait();
  return std::nullopt;
}

std::optional<std::string> Session::compare(const Case& c, const Images& images, const Addresses& at, const CheckOptions& options) {
  Bytes d(images[slot_d].size());
  if (!d.empty()) memory_->read(d.data(), at[slot_d], d.size());
  if (auto wrong = check_result(c, images, d, options)) return wrong;
  // What is only read must be as it was. On the GPU that costs more copies than it is worth: a stray write there lands in a guard page or in D's
  // padding.
  for (int i = 0; host_ && i < slot_count; ++i)
    if (i != slot_d && !images[i].empty() && std::memcmp(images[i].data(), at[i], images[i].size()) != 0)
      return "an input was changed (buffer " + std::to_string(i) + ")";
  return std::nullopt;
}

std::optional<std::string> Session::run(const Case& c, const std::string& config, const CheckOptions& options) {
  try {
    Images images = make_images(c);
    Addresses at{};
    const auto put = [&](int first, int last) {
      for (int i = first; i <= last; ++i) {
        at[i] = slots_[i].place(images[i].size(), c.placement);
        if (at[i]) memory_->write(at[i], images[i].data(), images[i].size());
      }
    };
    put(slot_a, slot_bias);
    add_metadata(c, at, images);
    put(slot_alpha, slot_count - 1);
    Call call;
    bind_call(c, at, call);
    call.force(config);
    if (auto wrong = launch(c, call)) return wrong;
    memory_->wait();
    return compare(c, images, at, options);
  } catch (const std::exception& e) {
    broken_ = true;
    return std::string(e.what()) + " (the device is not usable after this)";
  }
}

}  // namespace ggemm::tests
