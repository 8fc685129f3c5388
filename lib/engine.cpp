// SPDX-License-Identifier: Apache-2.0
//   desc -> Problem (validated, core) -> ProblemKey -> Config (caller's override > store > cost model; measured when asked)
//        -> cubin key -> Kernel (memory > disk > NVRTC) -> launch on the caller's stream
// A warm call makes a key, looks it up and launches: it formats no text, touches no file and allocates nothing.
#include "engine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <system_error>
#include <thread>

#include "core/error.hpp"
#include "core/library.hpp"
#include "cuda/kernel_params.hpp"
#include "jit/render.hpp"
#include "scheduler/group_params.cuh"
#include "select/space.hpp"

namespace ggemm {
namespace {

using core::fail;

std::string or_environment(const char* given, const char* variable) { return given ? given : core::environment(variable); }

core::DiskOptions disk_options(const ggemm_context_options& o) {
  core::DiskOptions options;
  options.folder = o.cache_dir ? o.cache_dir : core::default_cache_folder();
  options.shared_folder = or_environment(o.shared_cache_dir, "GGEMM_SHARED_CACHE_DIR");
  if (o.cache_limit_bytes) options.limit_bytes = o.cache_limit_bytes;
  return options;
}

// Runs on the GPU only what differs from nothing: an empty D needs no kernel.
bool empty(const kernels::GemmParams& p) { return p.m == 0 || p.n == 0; }

constexpr std::int64_t most_tiles = INT32_MAX;  // kernels count tiles in 32 bits

// A compiler or driver refuses a kernel, where another may serve.
bool of_kernel(const core::Error& error) { return error.status() == GGEMM_ERROR_COMPILE || error.status() == GGEMM_ERROR_LAUNCH; }

}  // namespace

Request request_for(const core::Problem& p, const char* config, const char* tune_key) {
  Request r{core::problem_key(p), {}, config, tune_key};
  r.key.config = core::text_hash(config);
  r.key.tune_key = core::text_hash(tune_key);
  r.sizes = {1, r.key.m, r.key.n, r.key.k};
  return r;
}

Request request_for(const core::GroupedProblem& p, const char* config, const char* tune_key) {
  Request r{core::problem_key(p), {}, config, tune_key};
  r.key.config = core::text_hash(config);
  r.key.tune_key = core::text_hash(tune_key);
  r.sizes = {r.key.groups, r.key.m, r.key.n, r.key.k, static_cast<int>(r.key.skew)};
  r.groups = core::bucket(p.groups);
  r.sum_bytes = core::sum_bytes(p.type, p.stored_m.value, p.n.value);
  return r;
}

Request Request::by_engine() const {
  Request out = *this;
  out.key.type.by_engine = 1;
  return out;
}

Engine::Engine(const ggemm_context_options& o)
    : log_(o.log, o.log_user, o.log_level), disk_(std::make_shared<core::Disk>(disk_options(o), log_)), store_(*disk_), threads_(o.threads > 0 ? o.threads : core::allowed_threads()) {
  if ((o.allocate == nullptr) != (o.deallocate == nullptr)) fail(GGEMM_ERROR_ARGUMENT, "allocate=%p, deallocate=%p: give both or none", reinterpret_cast<void*>(o.allocate), reinterpret_cast<void*>(o.deallocate));
  if (o.device != GGEMM_DEVICE_HOST) {
    try {
      device_.emplace(o.ordinal, o.cuda_context, cuda::Allocator{o.allocate, o.deallocate, o.allocator_user});
      jit_.emplace(jit::Options{or_environment(o.nvrtc_path, "GGEMM_NVRTC"), facts().driver_version, false, facts().compute_capability}, disk_, log_);
    } catch (const core::Error& error) {
      if (o.device == GGEMM_DEVICE_CUDA || o.cuda_context || error.status() != GGEMM_ERROR_DEVICE) throw;
      log_.write(GGEMM_LOG_INFO, "no CUDA device, so the host is used: %s", error.what());
    }
  }
  if (device_) return;
  const std::string cblas = or_environment(o.cblas_path, "GGEMM_CBLAS");
  host_.emplace(threads_, o.cblas_path || !cblas.empty() ? cblas.c_str() : nullptr, &log_);
}

Engine::~Engine() = default;

int Engine::multiprocessors(std::int64_t max_ctas) const {
  const int all = facts().multiprocessors;
  return device_ && max_ctas ? static_cast<int>(std::min<std::int64_t>(all, max_ctas)) : all;
}

core::DeviceFacts Engine::facts_for(const Request& request) const {
  core::DeviceFacts out = facts();
  out.multiprocessors = multiprocessors(request.key.max_ctas);
  return out;
}

core::Config Engine::forced_config(const Request& request, const char* name) const {
  const core::ProblemType& type = request.key.type;
  const core::Config config = core::parse_config(name).config;
  const std::string expected = core::config_name(type, config);
  if (expected != name) fail(GGEMM_ERROR_ARGUMENT, "config=\"%s\" is for another problem: for this one the tile's name is %s%s", name, expected.c_str(), core::which_product(type));
  if (const auto reason = select::illegal(type, config, facts_for(request))) fail(GGEMM_ERROR_UNSUPPORTED, "config=\"%s\" on %s: %s%s", name, facts().name.c_str(), reason->c_str(), core::which_product(type));
  return config;
}

std::shared_ptr<const cuda::Kernel> Engine::load(const jit::Request& request, int threads, int shared_bytes, int cluster, bool may_load) {
  const std::string key = jit::cubin_key(request);
  if (!may_load) {
    auto found = kernels_.find(key);
    if (!found) fail(GGEMM_ERROR_NOT_PREPARED, "%s is not loaded, and nothing may be compiled while the stream is captured: call ggemm_prepare or run it once before", request.name.c_str());
    return found;
  }
  return kernels_.get(key, [&] {
    const auto start = std::chrono::steady_clock::now();
    jit::Cubin cubin = jit_->get(request);
    const auto kernel_of = [&](const jit::Cubin& binary) { return device_->load({binary.bytes.data(), binary.bytes.size()}, request.name, threads, shared_bytes, cluster); };
    cuda::Kernel loaded = [&] {
      try {
        return kernel_of(cubin);
      } catch (const cuda::RefusedBinary& refused) {
        if (!cubin.from_disk) throw;
        // The folder may be that of a machine with a newer driver, and so a newer NVRTC.
        log_.write(GGEMM_LOG_INFO, "the disk cache's binary is refused, and compiled anew: %s", refused.what());
        try {
          cubin = jit_->get(request, true);
        } catch (const core::Error&) {
          throw refused;  // which is what would have to be mended
        }
      }
      return kernel_of(cubin);
    }();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    log_.write(GGEMM_LOG_INFO, "%s %s in %.2f ms%s%s: %d registers, %d bytes of shared memory, %d CTAs a multiprocessor", cubin.from_disk ? "loaded" : "compiled", request.name.c_str(), seconds * 1e3,
               cubin.from_disk ? "" : " by NVRTC ", cubin.from_disk ? "" : cubin.nvrtc.c_str(), loaded.registers, loaded.dynamic_shared, loaded.ctas_per_multiprocessor);
    if (!cubin.complaint.empty()) loaded.complaint = core::text("NVRTC %s made it slow: %s", cubin.nvrtc.c_str(), cubin.complaint.c_str());
    if (loaded.local_bytes) log_.write(GGEMM_LOG_WARNING, "%s uses %d bytes of local memory a thread", request.name.c_str(), loaded.local_bytes);
    if (!loaded.complaint.empty()) log_.write(GGEMM_LOG_WARNING, "%s: %s", request.name.c_str(), loaded.complaint.c_str());
    return loaded;
  });
}

std::shared_ptr<const cuda::Kernel> Engine::load_product(const core::ProblemType& type, const core::Config& config, bool may_load) {
  return load(jit::render(core::compiled(type, config.family), config, select::min_ctas(type, config), select::tile_notes(type, config), facts().arch), select::threads(config), static_cast<int>(select::shared_bytes(type, config)), select::cluster(config), may_load);
}

Choice Engine::load(const Request& request, const core::Config& config, const char* origin, bool may_load) {
  const core::ProblemType& type = request.key.type;
  Choice choice;
  choice.config = config, choice.origin = origin;
  if (config.family == core::Family::host) return choice;
  choice.upright_type = core::kernel_type(core::compiled(type, config.family), config), choice.upright = core::upright(config);
  choice.copied = select::copied_operands(type, config, request.sizes, facts());
  // The copies are aligned, of other families too, and so is what their kernel is compiled for.
  core::ProblemType read = type;
  if (config.family != core::Family::sm90) read.unreachable &= static_cast<std::uint8_t>(~choice.copied);
  try {
    choice.kernel = load_product(read, config, may_load);
  } catch (const core::Error& error) {
    // What a capture finds loaded may be the kernel for aligned operands, which computes any.
    const std::uint8_t unaligned = core::unaligned_operands(read, config);
    if (error.status() != GGEMM_ERROR_NOT_PREPARED || !unaligned) throw;
    read.unreachable &= static_cast<std::uint8_t>(~unaligned);
    choice.kernel = load_product(read, config, may_load);
  }
  if (!type.grouped && config.slices == core::tail_slices) choice.tail = tail_for(choice, request);
  if (type.grouped & core::checked_groups) choice.check = load(jit::render_check(facts().arch), kernels::check_threads, 0, 1, may_load);
  if (type.grouped & core::summed_rows) choice.sum = load(jit::render_sum(core::before_sums(type).d, type.d, facts().arch), kernels::sum_threads, 0, 1, may_load);
  // Copies that the kernel can do without.
  const auto load_copies = [&](const jit::Request& kernel, int threads, const char* without) {
    try {
      choice.copy = load(kernel, threads, 0, 1, may_load);
    } catch (const core::Error& error) {
      if (!of_kernel(error) && (may_load || error.status() != GGEMM_ERROR_NOT_PREPARED)) throw;
      log_.write(GGEMM_LOG_INFO, "operands are not copied, but %s: %s", without, error.what());
    }
  };
  const int copied_size = std::min(static_cast<int>(core::dtype_size(type.a)), jit::most_repacked_size);
  if (config.family != core::Family::sm90 && choice.copied) {
    load_copies(jit::render_repack(copied_size, facts().arch), kernels::repack_threads, "read as they lie");
    if (!choice.copy) choice.copied = 0;
  }
  if (config.family != core::Family::sm90 || choice.batch()) return choice;
  if (type.grouped) {
    choice.prepare = load(jit::render_prepare(facts().arch), kernels::prepare_threads, 0, 1, may_load);
    load_copies(jit::render_repack_groups(copied_size, facts().arch), kernels::repack_groups_threads, "gathered");
    if (!config.large_above) return choice;
    choice.large_config = *select::large_tiles(type, request.sizes, facts_for(request));
    choice.large = load_product(type, choice.large_config, may_load);
    return choice;
  }
  if (config.slices > core::tail_slices) choice.sum_pieces = load(jit::render_sum_pieces(core::compiled(type, config.family), config, facts().arch), kernels::sum_pieces_threads, 0, 1, may_load);
  if (choice.copied)
    choice.copy = load(core::by_terms(type, config.family) ? jit::render_split(facts().arch) : jit::render_repack(copied_size, facts().arch), kernels::repack_threads, 0, 1, may_load);
  return choice;
}

void Engine::refuse_unfit(const Choice& choice) {
  for (const auto& kernel : {choice.kernel, choice.large, choice.sum_pieces}) {
    if (kernel && kernel->local_bytes) fail(GGEMM_ERROR_COMPILE, "this NVRTC keeps %d bytes a thread of it in memory, for want of registers", kernel->local_bytes);
    if (kernel && !kernel->complaint.empty()) fail(GGEMM_ERROR_COMPILE, "%s", kernel->complaint.c_str());
  }
}

select::Ranking Engine::fitting(const Request& request) const {
  select::Ranking ranking = rank(request);
  if (!ranking.legal.empty()) return ranking;
  const core::ProblemType& type = request.key.type;
  std::string reasons;
  for (const auto& r : ranking.rejected) reasons += "\n  " + core::config_name(type, r.config) + ": " + r.reason;
  fail(GGEMM_ERROR_UNSUPPORTED, "no configuration fits this problem on %s%s:%s", facts().name.c_str(), core::which_product(type), reasons.c_str());
}

std::shared_ptr<const std::vector<select::Candidate>> Engine::list(const Request& request) {
  {
    const std::lock_guard lock(listing_);
    if (listed_ && listed_key_ == request.key) return listed_;
  }
  const auto list = std::make_shared<const std::vector<select::Candidate>>(rank(request).legal);
  const std::lock_guard lock(listing_);
  listed_key_ = request.key;
  return listed_ = list;
}

ChoicePointer Engine::make_choice(const Request& request, bool may_load) {
  const core::ProblemType& type = request.key.type;
  const auto chosen = [&](const core::Config& config, const char* origin) {
    Choice choice = load(request, config, origin, may_load);
    if (choice.prepare && may_load) choice.note = note_for(request);
    return std::make_shared<const Choice>(std::move(choice));
  };
  if (request.config) return chosen(forced_config(request, request.config), "forced");
  const auto recorded = [&](core::ProblemKey key) { return store_.find(select::record_key(key, request.tune_key, facts_for(request))); };
  auto record = recorded(request.key);
  if (!record && request.key.skew) {
    core::ProblemKey unknown = request.key;
    unknown.skew = 0;
    record = recorded(unknown);
  }
  if (record) {
    try {
      auto choice = chosen(forced_config(request, record->best.c_str()), record->shipped ? "shipped record" : "tuned");
      refuse_unfit(*choice);  // the record may be of another NVRTC's kernel
      return choice;
    } catch (const core::Error& error) {
      if (error.status() == GGEMM_ERROR_NOT_PREPARED) throw;
      // A shipped one was not made by whoever reads this.
      log_.write(record->shipped ? GGEMM_LOG_INFO : GGEMM_LOG_WARNING, "a tuning record is passed over: %s", error.what());
    }
  }
  const select::Ranking ranking = fitting(request);
  // A kernel that a compiler or driver refuses must not stop a problem that another one serves.
  // After so many the best of another family is next.
  constexpr std::size_t tries = 8;
  for (std::size_t i = 0, refused = 0;;) {
    try {
      auto choice = chosen(ranking.legal[i].config, "model");
      refuse_unfit(*choice);
      return choice;
    } catch (const core::Error& error) {
      if (!of_kernel(error)) throw;
      log_.write(GGEMM_LOG_WARNING, "%s is passed over: %s", core::config_name(type, ranking.legal[i].config).c_str(), error.what());
      const core::Family family = ranking.legal[i++].config.family;
      if (++refused >= tries)
        while (i < ranking.legal.size() && ranking.legal[i].config.family == family) ++i;
      if (i == ranking.legal.size()) throw;
    }
  }
}

ChoicePointer Engine::choose(const Request& request, bool may_load) {
  constexpr std::size_t most_choices = 32768;  // two or three a problem, of up to 312 numbers of rows below 32768: a caller whose sizes never repeat must not fill memory
  if (!may_load) {
    if (auto found = choices_.find(request.key)) return found;
    return make_choice(request, false);  // not kept: a later call may load a better one
  }
  if (choices_.size() > most_choices) choices_.clear();
  return choices_.get(request.key, [&] { return make_choice(request, true); });
}

Prepared Engine::choose_ahead(const Request& request, bool beside) {
  Prepared out;
  if (request.config) out.config = request.config;
  if (request.tune_key) out.tune_key = request.tune_key;
  const bool both = device_ && request.may_be_by_engine;
  const Request by_engine = request.by_engine();
  const auto load_other = [&] {
    try {
      out.by_engine = choose(by_engine, true);
    } catch (const core::Error& error) {
      log_.write(GGEMM_LOG_WARNING, "there is no kernel for calls by the copy engine alone, so that all have the same one: %s", error.what());
    } catch (const std::exception&) {
      // Nor where memory is lacking.
    }
  };
  {
    std::jthread other;
    try {
      if (both && beside && !choices_.find(by_engine.key)) other = std::jthread(load_other);
    } catch (const std::system_error&) {
      // No thread is to be had: one after the other.
    }
    out.any = choose(request, true);
  }
  if (both && !out.by_engine) load_other();
  if (device_ && request.may_have_lines) out.lines = choose_lines(*out.any, request, std::nullopt);
  // Of two that differ, as one of them was refused, a plan would not be what it says that it is.
  if (out.by_engine && out.by_engine->config != out.any->config) out.by_engine = nullptr;
  if (device_) workspace_.reserve(*device_, std::max(workspace_bytes(*out.any, request), out.by_engine ? workspace_bytes(*out.by_engine, request) : 0));
  return out;
}

ChoicePointer Engine::choose_for_call(const Request& request, void* stream) {
  if (auto found = choices_.find(request.key)) return found;
  const bool may_load = !(device_ && device_->capturing(stream));
  try {
    return choose(request, may_load);
  } catch (const core::Error& error) {
    if (may_load || error.status() != GGEMM_ERROR_NOT_PREPARED || !request.key.type.by_engine) throw;
  }
  // The other kernel serves this call too.
  Request any = request;
  any.key.type.by_engine = 0;
  return choose(any, false);
}

// Nothing is compiled for an empty D, but a wrong name is wrong all the same.
void Engine::check_name(const Request& request) const {
  if (request.config) forced_config(request, request.config);
}

void Engine::call(const Request& request, const kernels::GemmParams& params, void* stream) {
  if (empty(params)) return check_name(request);
  run(*choose_for_call(request, stream), request.key.type, params, stream);
}

void Engine::run_plan(const Prepared& plan, const core::Problem& problem, const kernels::GemmParams& params, void* stream) {
  core::Problem met = problem;
  met.type.unreachable = core::unreachable_operands(problem.type, params), met.type.by_engine = core::by_engine(problem.type, params);
  const Choice& choice = plan(met.type);
  if (choice.config.family != core::Family::sm90 || !(met.type.unreachable & ~problem.type.unreachable)) return run(choice, problem.type, params, stream);
  met.m = params.m, met.n = params.n, met.k = params.k;
  const auto given = [](const std::optional<std::string>& text) { return text ? text->c_str() : nullptr; };
  call(request_for(met, given(plan.config), given(plan.tune_key)), params, stream);
}

void Engine::run(const Choice& choice, const core::ProblemType& type, kernels::GemmParams params, void* stream) const {
  if (empty(params)) return;
  if (host_) return host_->run(type, params);
  const core::Config& c = choice.config;
  const std::int64_t most = type.limited ? most_tiles - (1 << 17) : most_tiles;  // a persistent CTA counts on past the last tile
  const bool sides = params.m <= most_tiles * c.tile_m && params.n <= most_tiles * c.tile_n && params.k <= most_tiles * c.tile_k;
  const std::int64_t tiles_m = sides ? kernels::ceil_div(params.m, c.tile_m) : 0, tiles_n = sides ? kernels::ceil_div(params.n, c.tile_n) : 0;
  if (!sides || tiles_m > most / tiles_n)
    fail(GGEMM_ERROR_UNSUPPORTED, "m=%lld, n=%lld, k=%lld has more than 2^31 tiles of %dx%dx%d%s", params.m, params.n, params.k, c.tile_m, c.tile_n, c.tile_k, core::which_product(type));
  params.raster = c.raster;
  if (c.family == core::Family::sm90) return run_tensor(choice, type, params, stream);
  if (c.slices || choice.copied) return run_cut(choice, type, params, stream);
  const unsigned tiles = static_cast<unsigned>(tiles_m * tiles_n);
  if (!type.limited) {
    kernels::PlainParams plain = cuda::plain_params(c, params);
    void* arguments[] = {&plain};
    return device_->launch(*choice.kernel, tiles, stream, arguments, {.overlap = choice.waits()});
  }
  kernels::GroupedParams group = kernels::one_group(params);
  void* arguments[] = {&group};
  device_->launch(*choice.kernel, std::min(tiles, choice.kernel->ctas(params.max_ctas)), stream, arguments, {.overlap = choice.waits()});
}

// What any call of the request's class takes at most that has no more groups: its sizes are the largest of the class.
std::size_t Engine::workspace_bytes(const Choice& choice, const Request& request) const {
  if (choice.config.family != core::Family::sm90 && !choice.config.slices) return request.sum_bytes;
  return request.key.type.grouped ? group_workspace_bytes(choice, request) : tensor_workspace_bytes(choice, request);
}

void Engine::prepare(const std::vector<Request>& requests, const std::function<bool(std::size_t, std::size_t, const std::string&)>& progress) {
  struct Outcome {
    std::string what;
    std::exception_ptr error;
  };
  // Memory for what the workers report is taken here, where running out of it can be told.
  std::vector<Outcome> outcomes(requests.size());
  std::vector<std::size_t> finished;  // indices, in the order of time
  finished.reserve(requests.size());
  std::mutex mutex;
  std::condition_variable ready;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  const auto work = [&] {
    for (std::size_t i; !stop && (i = next++) < requests.size();) {
      try {
        outcomes[i].what = core::config_name(requests[i].key.type, choose_ahead(requests[i], 2 * requests.size() <= static_cast<std::size_t>(threads_)).any->config);
      } catch (...) {
        outcomes[i].error = std::current_exception();
      }
      std::lock_guard lock(mutex);
      finished.push_back(i);
      ready.notify_one();
    }
  };
  std::vector<std::jthread> pool;
  const std::size_t workers = std::min<std::size_t>(static_cast<std::size_t>(threads_), requests.size());
  try {
    for (std::size_t i = 0; i < workers; ++i) pool.emplace_back(work);
  } catch (const std::system_error&) {
    if (pool.empty()) throw;  // else those that could be started do it all
  }
  std::exception_ptr first;
  for (std::size_t done = 1; done <= requests.size() && !stop; ++done) {
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return finished.size() >= done; });
    const Outcome& one = outcomes[finished[done - 1]];
    lock.unlock();
    if (one.error && !first) first = one.error;
    if (progress && !progress(done, requests.size(), one.what) && done < requests.size()) stop = true;
  }
  pool.clear();
  if (stop) fail(GGEMM_ERROR_CANCELLED, "the progress function asked to stop");
  if (first) std::rethrow_exception(first);
}

std::size_t Engine::clear_cache(const char* nvrtc) {
  const std::size_t removed = disk_->clear(nvrtc ? std::optional<std::string_view>(nvrtc) : std::nullopt);
  if (!nvrtc) {
    store_.clear();
    choices_.clear();
  }
  return removed;
}

}  // namespace ggemm
