// SPDX-License-Identifier: Apache-2.0
// The engine's side of tuning: candidates compile in parallel while they are measured one after the other on scratch memory.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

#include "core/error.hpp"
#include "engine_scratch.hpp"
#include "jit/render.hpp"

namespace ggemm {
namespace {

// Configurations as calls of the scratch problem run them.
class EngineRunner final : public select::Runner {
 public:
  EngineRunner(Engine& engine, const Request& request, kernels::GroupNote* note, ScratchProblem& scratch) : engine_(engine), request_(request), note_(note), scratch_(scratch) {}
  void load(const core::Config& config) override { choice(config); }
  // From any thread. Throws for one that is unfit.
  Choice choice(const core::Config& config) const {
    Choice any = engine_.load(request_, config, "tuning", true);
    any.note = note_;
    Engine::refuse_unfit(any);
    if (scratch_.has_lines() && Engine::lines_may_wait(any)) try {
        return engine_.load_lines(any, request_);
      } catch (const std::exception&) {
        // Such calls have no other kernel, either (Engine::choose_lines).
      }
    return any;
  }
  std::string verify(const core::Config& config) override {
    // Operands of groups that are copied first are so from the third call on (engine_groups.cpp).
    for (; config.family == core::Family::sm90 && request_.key.type.grouped && warm_ < 2; ++warm_)
      if (std::string wrong = scratch_.verify(choice(config)); !wrong.empty()) return wrong;
    return scratch_.verify(choice(config));
  }
  double time(const core::Config& config) override { return scratch_.time(choice(config)); }

 private:
  Engine& engine_;
  const Request& request_;
  kernels::GroupNote* note_;
  ScratchProblem& scratch_;
  int warm_ = 0;
};

}  // namespace

TuneReport Engine::tune(const Request& request, const core::Problem* plain, const core::GroupedProblem* grouped, const TuneRequest& tuning) {
  const auto start = std::chrono::steady_clock::now();
  const core::ProblemType& type = request.key.type;
  const std::vector<core::Config> candidates = tuning.candidates.empty() ? select::candidates(fitting(request), request.sizes) : tuning.candidates;
  // Of captures only those show that the default stream would break; tuning has no stream of the caller's to ask about.
  if (device_ && device_->capturing(nullptr)) core::fail(GGEMM_ERROR_NOT_PREPARED, "tuning allocates and synchronises, which is not allowed while a stream is captured");
  TuneReport report;
  {
    const std::shared_ptr<const cuda::Kernel> flush = device_ ? load(jit::render_flush(facts().arch), kernels::flush_threads, 0, 1, true) : nullptr;
    ScratchProblem scratch(*this, flush, plain, grouped, tuning.sample);
    const Request run = scratch.by_engine() ? request.by_engine() : request;
    EngineRunner runner(*this, run, device_ && grouped ? note_for(request) : nullptr, scratch);
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> compilers;
    const auto compile = [&](std::stop_token stop) {
      for (std::size_t i; !stop.stop_requested() && (i = next++) < candidates.size();) try {
          runner.choice(candidates[i]);
        } catch (...) {
          // The tuner meets the same error when it comes to this candidate.
        }
    };
    try {
      for (int i = 0; device_ && i < std::min(threads_, 16); ++i) compilers.emplace_back(compile);
    } catch (const std::system_error&) {
      // No more threads to be had: the tuner compiles what none of these has.
    }
    report.outcome = select::tune(candidates, runner, tuning.budget_seconds, tuning.progress);
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (report.outcome.best < 0) {
    if (report.outcome.stopped) core::fail(GGEMM_ERROR_CANCELLED, "the tuning's function asked to stop before any candidate was right");
    std::string reasons;
    for (const auto& row : report.outcome.rows) reasons += "\n  " + core::config_name(type, row.config) + ": " + row.rejected;
    core::fail(GGEMM_ERROR_UNSUPPORTED, "no candidate is legal and right on %s%s:%s", facts().name.c_str(), core::which_product(type), reasons.c_str());
  }
  select::Record record;
  record.best = core::config_name(type, report.outcome.rows[static_cast<std::size_t>(report.outcome.best)].config);
  for (const auto& row : report.outcome.rows)
    if (row.microseconds > 0) record.measured.push_back({core::config_name(type, row.config), row.microseconds});
  store_.keep(select::record_key(request.key, request.tune_key, facts_for(request)), record);
  choices_.clear();  // choices made before the record stay valid for plans that hold them
  log_.write(GGEMM_LOG_INFO, "tuned in %.2f s: %s", report.seconds, record.best.c_str());
  return report;
}

}  // namespace ggemm
