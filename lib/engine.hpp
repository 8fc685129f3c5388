// SPDX-License-Identifier: Apache-2.0
// From a description to a launch. See engine.cpp for the whole on one page.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "core/disk.hpp"
#include "core/key.hpp"
#include "core/log.hpp"
#include "core/problem.hpp"
#include "core/single_flight.hpp"
#include "cuda/device.hpp"
#include "cuda/workspace.hpp"
#include "host/host_device.hpp"
#include "jit/jit.hpp"
#include "select/deal.hpp"
#include "select/model.hpp"
#include "select/store.hpp"
#include "select/tuner.hpp"

namespace ggemm {

// How the tiles left over are dealt out, where so many tiles, of so many steps of k each, go to that many places (clusters, or multiprocessors) at once.
struct TailDeal {
  std::int64_t tiles = 0, steps = 0, places = 0;
  select::PieceDeal dealt{};
};

// What was chosen for a key: immutable, shared by all calls of it.
struct Choice {
  core::Config config{};
  core::ProblemType upright_type{};            // what the kernel computes, which may be the transposed product
  core::Config upright{};                      // its configuration so
  std::uint8_t copied = 0;                     // of a plain product: operands that are copied to workspace first
  const char* origin = "";                     // "forced", "tuned", "shipped record", "model"
  std::shared_ptr<const cuda::Kernel> kernel;  // NULL on the host
  std::shared_ptr<const cuda::Kernel> copy;     // of operands that are copied to workspace first
  kernels::GroupNote* note = nullptr;           // of groups, where they may be copied: what kernels have met in calls of this kind
  std::shared_ptr<const cuda::Kernel> sum_pieces;  // of slices of k
  std::shared_ptr<const cuda::Kernel> prepare;  // of a grouped product by tensor maps
  core::Config large_config{};                  // of the kernel that computes larger groups beside,
  std::shared_ptr<const cuda::Kernel> large;    // where config.large_above says that there is one
  std::shared_ptr<const cuda::Kernel> check;    // of groups that are checked first
  std::shared_ptr<const cuda::Kernel> sum;      // of rows of D that may meet
  TailDeal tail;                                // of a plain product that cuts these tiles: for the sizes of its key, so that calls that have as many need not find it anew
  // The kernel is one for batches (core::compiled).
  bool batch() const { return upright_type.grouped & core::batch_groups; }
  // The kernel waits for the launch ahead of it by itself, so that it may begin before that has ended (kernels/ptx/launch.cuh).
  bool waits() const { return config.family == core::Family::gemv; }
  // Of the kernel, that the device holds at once.
  std::int64_t clusters(std::int64_t max_ctas) const { return kernel->ctas(static_cast<unsigned>(max_ctas)) / static_cast<unsigned>(kernel->cluster); }
};
using ChoicePointer = std::shared_ptr<const Choice>;

// What all calls of a description need.
struct Prepared {
  std::optional<std::string> config, tune_key;  // as the description has them
  ChoicePointer any;
  ChoicePointer by_engine;  // for those of which core::by_engine is true, of the same configuration; NULL if none may be so, or none is to be had. Of families that have no such kernels it has the same one
  ChoicePointer lines;      // of groups that may have lines of D which wait to be stored, of the same configuration; NULL if they have none, or there is no such kernel
  const Choice& operator()(const core::ProblemType& type) const { return type.by_engine && by_engine ? *by_engine : *any; }
};

// What a description asks for besides the problem.
struct Request {
  core::ProblemKey key;      // with the hashes of the two texts
  select::Sizes sizes;       // that the choice is made for; those of the key
  const char* config = nullptr;
  const char* tune_key = nullptr;
  std::int64_t groups = 0;    // all of them, as a bucket: sizes are of those that have rows
  std::size_t sum_bytes = 0;  // of workspace, for rows of D that may meet
  bool may_be_by_engine = false, may_have_lines = false;  // of a description: core::may_be_by_engine, core::may_have_lines
  Request by_engine() const;
};
Request request_for(const core::Problem& problem, const char* config, const char* tune_key);
Request request_for(const core::GroupedProblem& problem, const char* config, const char* tune_key);

struct TuneRequest {
  double budget_seconds;
  std::vector<core::Config> candidates;       // empty: the ranked table
  std::vector<select::Sizes> sample;          // grouped: the groups' sizes
  select::TuneProgress progress;
};
struct TuneReport {
  select::TuneOutcome outcome;
  double seconds = 0;
};

class Engine {
 public:
  explicit Engine(const ggemm_context_options& options);
  ~Engine();

  const core::DeviceFacts& facts() const { return device_ ? device_->facts() : host_->facts(); }
  const cuda::Device* device() const { return device_ ? &*device_ : nullptr; }
  const host::HostDevice* host() const { return host_ ? &*host_ : nullptr; }
  core::Log& log() { return log_; }
  core::Disk& disk() { return *disk_; }
  const core::Disk& disk() const { return *disk_; }
  int threads() const { return threads_; }

  // The configuration and kernel for a request. may_load false: only what is in memory, else GGEMM_ERROR_NOT_PREPARED.
  ChoicePointer choose(const Request& request, bool may_load);
  // All that calls of a description need, ahead of them, and the workspace that a stream needs which is captured first. beside: another thread may compile.
  Prepared choose_ahead(const Request& request, bool beside);
  // One call on `stream`: loads unless that stream is being captured. Warm, it is one look-up and one launch, and one more where
  // operands are copied first; with an empty D it is nothing.
  void call(const Request& request, const kernels::GemmParams& params, void* stream);
  void call(const Request& request, const kernels::GroupedParams& params, void* stream);
  void run(const Choice& choice, const core::ProblemType& type, kernels::GemmParams params, void* stream) const;
  void run(const Choice& choice, const core::ProblemType& type, kernels::GroupedParams params, void* stream) const;

  // A plan's call: as run, unless its operands' addresses or strides keep them from the plan's kernel; then as a call of their own class.
  void run_plan(const Prepared& plan, const core::Problem& problem, const kernels::GemmParams& params, void* stream);
  void run_plan(const Prepared& plan, const core::GroupedProblem& problem, const kernels::GroupedParams& params, void* stream);

  // progress(done, total, name of what was finished) returns false to cancel.
  void prepare(const std::vector<Request>& requests, const std::function<bool(std::size_t, std::size_t, const std::string&)>& progress);
  // rank(); throws GGEMM_ERROR_UNSUPPORTED with each configuration's reason if none fits.
  select::Ranking fitting(const Request& request) const;
  select::Ranking rank(const Request& request) const { return select::rank(request.key.type, request.sizes, facts_for(request)); }
  // The legal ones of rank(). Those of the last request are kept, as they are asked for one by one.
  std::shared_ptr<const std::vector<select::Candidate>> list(const Request& request);
  // Multiprocessors that a call may use under max_ctas (0: no limit).
  int multiprocessors(std::int64_t max_ctas) const;
  // The device, with no more of them than the request may use.
  core::DeviceFacts facts_for(const Request& request) const;
  // A configuration by name, checked against the problem and the device.
  core::Config forced_config(const Request& request, const char* name) const;
  // Exactly one of the problems is given.
  TuneReport tune(const Request& request, const core::Problem* plain, const core::GroupedProblem* grouped, const TuneRequest& tuning);
  std::size_t clear_cache(const char* nvrtc);
  // Workspace::forget, of a stream of the engine's own.
  void forget(void* stream) const { workspace_.forget(stream); }

  // Throws GGEMM_ERROR_COMPILE for a kernel that spills, or of which ptxas says that it runs products one after the other: how well the largest tiles fit the registers, and what ptxas makes of them, differs
  // between NVRTC's versions. Such a kernel runs only when it is forced by name.
  static void refuse_unfit(const Choice& choice);
  // A configuration with all the kernels that it needs.
  Choice load(const Request& request, const core::Config& config, const char* origin, bool may_load);
  // Of groups: whether calls with lines of D that threads store may have another kernel; and the same configuration with that kernel, of which a spill is an error.
  static bool lines_may_wait(const Choice& any) { return any.note && core::lines_may_wait(any.upright_type, any.upright); }
  Choice load_lines(const Choice& any, Request request);

 private:
  struct GroupMemory;
  kernels::GroupNote* note_for(const Request& request);
  static bool meets_lines(const Choice& choice, const core::ProblemType& type, const kernels::GroupedParams& params);
  ChoicePointer choose_lines(const Choice& any, Request request, std::optional<void*> stream);
  void run_tensor(const Choice& choice, const core::ProblemType& type, const kernels::GemmParams& params, void* stream) const;
  TailDeal tail_for(const Choice& choice, const Request& request) const;
  void run_cut(const Choice& choice, const core::ProblemType& type, const kernels::GemmParams& params, void* stream) const;
  void run_groups(const Choice& choice, core::ProblemType type, const kernels::GroupedParams& params, const GroupMemory& memory, void* stream) const;
  void run_batch(const Choice& choice, const core::ProblemType& type, const kernels::GroupedParams& params, void* stream) const;
  void prepare_groups(const Choice& choice, const core::ProblemType& type, const kernels::GroupedParams& given, const GroupMemory& memory, kernels::GroupedTensorParams& params, kernels::GroupedTensorParams& large, void* stream) const;
  void check_groups(const Choice& choice, const core::ProblemType& type, const kernels::GroupedParams& params, void* stream) const;
  std::size_t workspace_bytes(const Choice& choice, const Request& request) const;
  std::size_t tensor_workspace_bytes(const Choice& choice, const Request& request) const;
  std::size_t group_workspace_bytes(const Choice& choice, const Request& request) const;
  std::shared_ptr<const cuda::Kernel> load_product(const core::ProblemType& type, const core::Config& config, bool may_load);
  // The kernel of a binary, from memory, disk or NVRTC.
  std::shared_ptr<const cuda::Kernel> load(const jit::Request& request, int threads, int shared_bytes, int cluster, bool may_load);
  ChoicePointer choose_for_call(const Request& request, void* stream);
  ChoicePointer make_choice(const Request& request, bool may_load);
  void check_name(const Request& request) const;

  core::Log log_;
  std::shared_ptr<core::Disk> disk_;
  std::optional<cuda::Device> device_;
  std::optional<host::HostDevice> host_;
  std::optional<jit::Jit> jit_;
  select::Store store_;
  int threads_ = 1;
  core::SingleFlight<std::string, cuda::Kernel> kernels_;  // by cubin key
  mutable cuda::Workspace workspace_;
  core::SingleFlight<core::ProblemKey, Choice, core::ProblemKeyHash> choices_;
  std::mutex listing_;  // of the two below it
  core::ProblemKey listed_key_;
  std::shared_ptr<const std::vector<select::Candidate>> listed_;
};

}  // namespace ggemm
