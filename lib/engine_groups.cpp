// SPDX-License-Identifier: Apache-2.0
// Launches of grouped products, with what they need besides: the records of the groups, copies of operands, checks, sums of rows.
#include <algorithm>
#include <atomic>
#include <bit>

#include "cuda/kernel_params.hpp"
#include "engine.hpp"
#include "select/footprint.hpp"
#include "scheduler/group_params.cuh"

namespace ggemm {
namespace {

constexpr std::int64_t most_blocks = INT32_MAX;

bool empty(const kernels::GroupedParams& p) {
  const auto none = [](const kernels::Source& size) { return size.kind == GGEMM_SOURCE_CONST && size.value == 0; };
  return (p.groups == 0 || none(p.m) || none(p.n)) && !p.status;
}

constexpr auto aligned = cuda::Workspace::aligned;
constexpr std::size_t alignment = cuda::Workspace::alignment;

// What kernels may write meanwhile.
std::uint64_t read(kernels::u64& number) { return std::atomic_ref(number).load(std::memory_order_relaxed); }

// Of a list of what is copied.
std::size_t list_bytes(std::int64_t groups) { return aligned(2 * static_cast<std::size_t>(groups) * (sizeof(kernels::CopyParams) + sizeof(kernels::i32))); }

// What copies of operands of groups take of workspace. Which they are, and how large, lies on the device: calls of the class before have noted what they would have taken, and a
// quarter more spares growing with each. The first call that meets such operands gathers them, and the second counts their bytes.
std::size_t copy_bytes(const Choice& choice, std::int64_t groups) {
  if (!choice.note || !choice.copy || groups > most_blocks / 2) return 0;
  const std::uint64_t bytes = read(choice.note->bytes);
  return bytes || read(choice.note->met) ? alignment + list_bytes(groups) + aligned(bytes + bytes / 4) : 0;
}

// Of tiles that are left over, each of the launch's clusters has one piece at most.
std::size_t left_over_bytes(const Choice& choice, std::int64_t max_ctas) {
  return choice.config.slices == core::tail_slices ? aligned(static_cast<std::size_t>(choice.clusters(max_ctas) * select::piece_bytes(choice.upright_type, choice.config))) : 0;
}

// The rest of what was leased: a list of copies, and room for them.
kernels::GroupCopies copies_in(const Choice& choice, const cuda::Workspace::Lease& lease, std::size_t used, std::size_t wished, std::int64_t groups) {
  kernels::GroupCopies out{};
  out.note = choice.note;
  const std::size_t first = aligned(used), list = list_bytes(groups);
  if (used == wished || lease.bytes < first + list) return out;
  out.copies = reinterpret_cast<kernels::CopyParams*>(static_cast<char*>(lease.data) + first);
  out.blocks = reinterpret_cast<kernels::i32*>(out.copies + 2 * groups);
  out.room = static_cast<char*>(lease.data) + first + list;
  out.room_bytes = static_cast<kernels::i64>((lease.bytes - first - list) / alignment * alignment);
  out.used = reinterpret_cast<kernels::u64*>(lease.copied);
  out.done = lease.copied + 2;
  return out;
}

}  // namespace

// Of workspace, for one call.
struct Engine::GroupMemory {
  void* pieces;
  kernels::u32* arrivals;
  void* records;
  kernels::GroupCopies copies;
};

// One for calls of a type whose groups are about as large, so that a call takes no memory for copies as large as another's.
kernels::GroupNote* Engine::note_for(const Request& request) {
  const auto& [groups, m, n, k, skew] = request.sizes;
  const auto octave = [](std::int64_t size) { return std::bit_width(static_cast<std::uint64_t>(size)); };
  core::ProblemKey kind{request.key.type};
  kind.type.lines_wait = 0;
  kind.groups = octave(groups) + octave(k) + octave(std::max(m, n));
  return workspace_.note(*device_, core::ProblemKeyHash{}(kind));
}

std::size_t Engine::group_workspace_bytes(const Choice& choice, const Request& request) const {
  return request.sum_bytes + left_over_bytes(choice, request.key.max_ctas) + cuda::prepare_bytes(request.groups);
}

void Engine::call(const Request& request, const kernels::GroupedParams& params, void* stream) {
  if (empty(params)) return check_name(request);
  const ChoicePointer choice = choose_for_call(request, stream), lines = meets_lines(*choice, request.key.type, params) ? choose_lines(*choice, request, stream) : nullptr;
  run(lines ? *lines : *choice, request.key.type, params, stream);
}

void Engine::run_plan(const Prepared& plan, const core::GroupedProblem& problem, const kernels::GroupedParams& params, void* stream) {
  core::ProblemType met = problem.type;
  met.by_engine = core::by_engine(met, params);
  const Choice& choice = plan(met);
  run(plan.lines && meets_lines(choice, met, params) ? *plan.lines : choice, met, params, stream);
}

// Whether threads store lines of D, as the host knows or calls before have met it, and there may be another kernel for that.
bool Engine::meets_lines(const Choice& choice, const core::ProblemType& type, const kernels::GroupedParams& params) {
  return choice.note && core::has_lines(type, params, read(choice.note->lines)) && lines_may_wait(choice);
}

Choice Engine::load_lines(const Choice& any, Request request) {
  request.key.type.lines_wait = 1;
  Choice choice = load(request, any.config, any.origin, true);
  choice.note = any.note;
  refuse_unfit(choice);
  return choice;
}

// load_lines() for a call on a stream or ahead of all. NULL: there is no such kernel, or none that is loaded while the stream is captured.
ChoicePointer Engine::choose_lines(const Choice& any, Request request, std::optional<void*> stream) {
  if (!lines_may_wait(any)) return nullptr;
  request.key.type.lines_wait = 1;
  if (auto found = choices_.find(request.key)) return found->kernel && found->config == any.config ? found : nullptr;
  if (stream && device_->capturing(*stream)) return nullptr;
  try {
    const auto found = choices_.get(request.key, [&] {
      try {
        return std::make_shared<const Choice>(load_lines(any, request));
      } catch (const core::Error& error) {
        if (error.status() != GGEMM_ERROR_COMPILE && !dynamic_cast<const cuda::RefusedBinary*>(&error)) throw;
        log_.write(GGEMM_LOG_INFO, "there is no kernel for lines of D that wait to be stored, so that all calls have the same one: %s", error.what());
        return std::make_shared<const Choice>();  // kept, so that it is found out once
      }
    });
    return found->kernel && found->config == any.config ? found : nullptr;
  } catch (const std::exception& error) {
    log_.write(GGEMM_LOG_INFO, "the kernel for lines of D that wait to be stored is not to be had now: %s", error.what());
    return nullptr;
  }
}

void Engine::run(const Choice& choice, const core::ProblemType& type, kernels::GroupedParams params, void* stream) const {
  if (empty(params)) return;
  if (host_) return host_->run(type, params);
  params.raster = choice.config.raster;
  const std::size_t sum_bytes = core::sum_bytes(type, params.m.value, params.n.value), record_bytes = choice.prepare ? cuda::prepare_bytes(params.groups) : 0;
  const std::size_t pieces = left_over_bytes(choice, params.max_ctas), bytes = sum_bytes + pieces + record_bytes, wished = bytes + copy_bytes(choice, params.groups);
  cuda::Workspace::Lease lease;
  if (params.groups > 0 && bytes > 0) lease = workspace_.get(*device_, stream, bytes, wished);
  check_groups(choice, type, params, stream);
  if (params.groups == 0) return;
  char* const behind_sums = static_cast<char*>(lease.data) + sum_bytes;
  const GroupMemory memory{behind_sums, lease.arrivals, behind_sums + pieces, copies_in(choice, lease, bytes, wished, params.groups)};
  if (!(type.grouped & core::summed_rows)) return run_groups(choice, type, params, memory, stream);
  // The groups in their order, and then, in another launch, each row of D.
  const std::int64_t columns = core::columns_of_d(type, params.n.value);
  kernels::SumParams sum{lease.data, columns, params.groups, 0, 0, 0, params.m, params.rows, kernels::group_matrix(params.d, 0, 0, columns), params.status};
  // Few rows of D are cut, so that all of the device has a part of them; each CTA looks through the index for itself.
  const std::int64_t down = kernels::ceil_div(sum.rows.d_index.value, kernels::sum_rows), parts = down > 0 ? kernels::ceil_div(choice.sum->resident_ctas, down) : 1;
  if (down > most_blocks) core::fail(GGEMM_ERROR_UNSUPPORTED, "d_rows=%lld: rows that may meet go to %lld rows of D at most on a CUDA device", static_cast<long long>(sum.rows.d_index.value), static_cast<long long>(most_blocks * kernels::sum_rows));
  sum.block_columns = std::max<std::int64_t>(1, kernels::ceil_div(kernels::ceil_div(columns, parts), kernels::sum_columns_at_once)) * kernels::sum_columns_at_once;
  sum.blocks_across = static_cast<kernels::u32>(kernels::ceil_div(columns, sum.block_columns));
  const core::ProblemType before = core::before_sums(type);
  const auto constant = [](std::int64_t value) { return kernels::Source{nullptr, 0, value, 0, kernels::source_itself}; };
  params.d = {lease.data, 0, columns * static_cast<std::int64_t>(core::dtype_size(before.d)), 0, 0, constant(columns), constant(1)};
  params.rows.d_index = {}, params.rows.weights = nullptr;
  run_groups(choice, before, params, memory, stream);
  const std::int64_t blocks = std::min<std::int64_t>(down * sum.blocks_across, params.max_ctas ? std::int64_t(params.max_ctas) : most_blocks);
  void* arguments[] = {&sum};
  if (blocks > 0) device_->launch(*choice.sum, static_cast<unsigned>(blocks), stream, arguments);
}

// Checked mode: the kernels after it look at the status that it writes.
void Engine::check_groups(const Choice& choice, const core::ProblemType& type, const kernels::GroupedParams& params, void* stream) const {
  if (!params.status) return;
  kernels::CheckParams check{params, core::group_checks(type, true), const_cast<kernels::i32*>(params.status)};
  check.groups.status = nullptr;  // of an earlier call
  void* arguments[] = {&check};
  device_->launch(*choice.check, 1, stream, arguments);
}

// By tensor maps this is one launch where maps of all groups tell their operands; else there are two, whatever the number of groups: the first writes each group's maps to its record. Operands that
// are copied take one more, and so do larger groups that have a kernel of their own.
void Engine::run_groups(const Choice& choice, core::ProblemType type, const kernels::GroupedParams& given, const GroupMemory& memory, void* stream) const {
  if (choice.batch()) return run_batch(choice, type, given, stream);
  const unsigned most = choice.kernel->ctas(given.max_ctas);
  if (!choice.prepare) {
    kernels::GroupedParams params = given;
    void* arguments[] = {&params};
    return device_->launch(*choice.kernel, most, stream, arguments, {.overlap = choice.waits()});
  }
  type.by_engine = choice.upright_type.by_engine;
  kernels::GroupedTensorParams params{}, large{};
  const kernels::i32 above = choice.large ? choice.config.large_above : INT32_MAX;
  params.groups = large.groups = static_cast<kernels::i32>(given.groups), params.rows = large.rows = given.rows;
  params.raster = given.raster, large.raster = choice.large_config.raster;
  const bool uniform = cuda::uniform_groups(*device_, type, choice.config, given, params.uniform) && (!choice.large || cuda::uniform_groups(*device_, type, choice.large_config, given, large.uniform));
  if (choice.config.slices) params.sums = memory.pieces, params.arrivals = memory.arrivals;
  kernels::u32* const taken = cuda::taken_of(memory.records, given.groups);
  if (uniform) {
    params.uniform.above = 0, params.uniform.most = large.uniform.above = above, large.uniform.most = INT32_MAX;
    large.cleared = taken;
  } else {
    params.uniform.scales = large.uniform.scales = {};  // one kernel's groups may be uniform, and not the other's; kernels read nothing else of them beside records
    prepare_groups(choice, type, given, memory, params, large, stream);
  }
  if (choice.large) {
    void* arguments[] = {&large};
    device_->launch(*choice.large, choice.large->ctas(given.max_ctas), stream, arguments, {.overlap = !uniform, .by_turns = true});
    // What is left of the device takes the other groups, tile by tile; under max_ctas all of it waits.
    params.taken = taken, params.beside = !given.max_ctas;
  }
  void* arguments[] = {&params};
  // Where k is cut, tiles are counted before the launch ahead is waited for.
  device_->launch(*choice.kernel, most, stream, arguments, {.overlap = choice.large ? params.beside == 1 : !uniform || !choice.config.slices, .by_turns = true});
}

// As plain products: a CTA for each tile of all, or, of the sm90 family, as many as the device holds.
void Engine::run_batch(const Choice& choice, const core::ProblemType& type, const kernels::GroupedParams& given, void* stream) const {
  const core::Config& c = choice.config;
  const bool sides = given.m.value <= most_blocks * c.tile_m && given.n.value <= most_blocks * c.tile_n && given.k.value <= most_blocks * c.tile_k;
  const std::int64_t tiles_m = sides ? kernels::ceil_div(given.m.value, c.tile_m) : 0, tiles_n = sides ? kernels::ceil_div(given.n.value, c.tile_n) : 0;
  if (!sides || tiles_m > most_blocks / tiles_n || tiles_m * tiles_n > most_blocks / given.groups)
    core::fail(GGEMM_ERROR_UNSUPPORTED, "groups=%lld, m=%lld, n=%lld, k=%lld has more than 2^31 tiles of %dx%dx%d%s", static_cast<long long>(given.groups), given.m.value, given.n.value, given.k.value, c.tile_m, c.tile_n, c.tile_k, core::which_product(type));
  if (c.family != core::Family::sm90) {
    kernels::BatchedParams params = cuda::batched_params(type, c, given);
    void* arguments[] = {&params};
    return device_->launch(*choice.kernel, static_cast<unsigned>(tiles_m * tiles_n * given.groups), stream, arguments, {.overlap = choice.waits()});
  }
  core::ProblemType served = type;
  served.by_engine = 1;
  kernels::TensorParams params = cuda::batch_params(*device_, core::compiled(served, c.family), c, given);
  const std::int64_t clusters = std::min<std::int64_t>(params.walk.tiles, choice.clusters(given.max_ctas));
  void* arguments[] = {&params};
  device_->launch(*choice.kernel, static_cast<unsigned>(clusters * choice.kernel->cluster), stream, arguments, {.overlap = true, .by_turns = true});
}

// Each group's record, and copies of operands.
void Engine::prepare_groups(const Choice& choice, const core::ProblemType& type, const kernels::GroupedParams& given, const GroupMemory& memory, kernels::GroupedTensorParams& params, kernels::GroupedTensorParams& large, void* stream) const {
  const core::Config configs[] = {choice.config, choice.large_config};
  kernels::PrepareParams prepare = cuda::prepare_params(*device_, type, std::span(configs, choice.large ? 2 : 1), given, memory.records);
  prepare.copies = memory.copies;
  void* to_prepare[] = {&prepare};
  const kernels::i64 ordering = prepare.order ? kernels::ceil_div(given.groups, kernels::prepare_threads) : 0;
  device_->launch(*choice.prepare, prepare.blocks + static_cast<unsigned>(ordering), stream, to_prepare, {.overlap = true});
  if (memory.copies.copies) {
    kernels::RepackGroupsParams repack{memory.copies, static_cast<kernels::i32>(2 * given.groups), 0};
    void* to_copy[] = {&repack};
    device_->launch(*choice.copy, choice.copy->ctas(given.max_ctas), stream, to_copy, {.overlap = true});
  }
  params.records = large.records = prepare.records, params.order = large.order = prepare.order;
  params.sizes = {given.m, given.n, given.k, given.status};
  params.early = given.groups <= kernels::most_early && !prepare.order && !choice.large;
  params.tiles = prepare.kernels[0].tiles, large.tiles = prepare.kernels[1].tiles;
}

}  // namespace ggemm
