// SPDX-License-Identifier: Apache-2.0
// The order in which things happen: clusters, turns of threads, asynchronous work between them.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "emulation.hpp"

namespace emulator {
namespace {

constexpr std::size_t page = 4096;
constexpr unsigned char canary = 0xc5;  // behind a CTA's shared memory, to the end of its last page

Pace draw_pace(Random& random) {
  constexpr double chances[] = {0, 0, 0.3, 1};
  Pace pace;
  for (double& at_once : pace.at_once) at_once = chances[random.below(4)];
  constexpr double between[] = {0, 0.01, 0.2};
  pace.between = between[random.below(3)];
  constexpr double yields[] = {0, 0, 0.05};
  pace.yield = yields[random.below(3)];
  constexpr int candidates[] = {1, 4, 16};
  pace.candidates = candidates[random.below(3)];
  constexpr unsigned char poisons[] = {0xff, 0xff, 0x7b, 0x3c};
  pace.poison = poisons[random.below(4)];
  return pace;
}

// Unmapped addresses of the region where shared memory lies.
char* reserve_in_region(std::size_t bytes) {
  static std::atomic<std::size_t> next = 0;
  constexpr std::size_t all = std::size_t(1) << shared_region_shift, step = std::size_t(16) << 20;
  for (int tries = 0; tries < 1000; ++tries) {
    const std::size_t at = next.fetch_add((bytes + step - 1) / step * step) % (all - (std::size_t(1) << 32));
    void* const wanted = reinterpret_cast<void*>((shared_region << shared_region_shift) + at / step * step);
    void* const mapped = mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped == wanted) return static_cast<char*>(mapped);
    if (mapped != MAP_FAILED) munmap(mapped, bytes);
  }
  throw std::bad_alloc();
}

std::size_t count_of(const Index& index) { return static_cast<std::size_t>(index.x) * index.y * index.z; }

unsigned cluster_size_of(const Kernel& kernel) { return static_cast<unsigned>(kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2]); }

}  // namespace

int registers_of(const Kernel& kernel) {
  constexpr int all = 65536, most = 255;
  if (kernel.most_threads <= 0) return 64;
  const int share = all / (std::max(1, kernel.least_ctas) * kernel.most_threads);
  return share > most ? most : share / 8 * 8;
}

Emulation::Emulation(const Launch& launch)
    : launch_(launch),
      kernel_(*launch.kernel),
      random_(launch.seed),
      pace_(draw_pace(random_)),
      stacks_(count_of(launch.block) * cluster_size_of(*launch.kernel)),
      registers_(registers_of(*launch.kernel)),
      ahead_let_go_early_(std::exchange(let_go_early_, false)) {
  dynamic_offset_ = (reserved_shared + kernel_.static_shared + 1023) / 1024 * 1024;
  window_bytes_ = dynamic_offset_ + launch.dynamic_shared;
  window_pitch_ = (window_bytes_ + page - 1) / page * page + page;
  const std::size_t all = window_pitch_ * cluster_size_of(kernel_) + page;
  windows_ = reserve_in_region(all);
  for (unsigned i = 0; i < cluster_size_of(kernel_); ++i) mprotect(windows_ + page + i * window_pitch_, window_pitch_ - page, PROT_READ | PROT_WRITE);
}

Failure Emulation::run() {
  if (launch_.kernel->most_threads && count_of(launch_.block) > static_cast<std::size_t>(kernel_.most_threads)) {
    failure_ = Failure{launch_failed, "more threads than __launch_bounds__ allows"};
  } else if (launch_.grid.x % static_cast<unsigned>(kernel_.cluster[0]) || launch_.grid.y % static_cast<unsigned>(kernel_.cluster[1])) {
    failure_ = Failure{launch_failed, "the grid is not whole clusters"};
  } else {
    std::vector<unsigned> order(count_of(launch_.grid) / cluster_size_of(kernel_));
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (const unsigned cluster : order) {
      run_cluster(cluster * cluster_size_of(kernel_));
      if (failure_) break;
    }
    if (!failure_) finish_work();
  }
  munmap(windows_, window_pitch_ * cluster_size_of(kernel_) + page);
  return failure_ ? *failure_ : Failure{};
}

void Emulation::run_cluster(unsigned first) {
  ctas_ = std::vector<Cta>(cluster_size_of(kernel_));
  runnable_.clear();
  cluster_waiting_.clear();
  cluster_tokens_.clear();
  cluster_arrived_ = 0, cluster_phase_ = 0;
  live_ = 0;
  ordinary_ = ctas_.size() * count_of(launch_.block);
  unit_names_.clear();
  cluster_gathered_ = cluster_completed_ = {};
  for (unsigned rank = 0; rank < ctas_.size(); ++rank) set_up(ctas_[rank], rank, first + rank, rank * count_of(launch_.block));
  schedule();
}

void Emulation::set_up(Cta& cta, unsigned rank, unsigned number, std::size_t stack) {
  const Index& grid = launch_.grid;
  cta.block = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
  cta.rank = rank;
  cta.window = windows_ + page + rank * window_pitch_;
  cta.window_bytes = window_bytes_;
  std::memset(cta.window, pace_.poison, window_bytes_);
  std::memset(cta.window + window_bytes_, canary, window_pitch_ - page - window_bytes_);
  if (telling()) cta.shadow = std::make_unique<Shadow>(window_bytes_);
  const std::size_t threads = count_of(launch_.block);
  cta.fibers = std::vector<Fiber>(threads);
  cta.warps = std::vector<Warp>((threads + 31) / 32);
  cta.warpgroups = std::vector<Warpgroup>((threads + 127) / 128);
  for (Warp& warp : cta.warps) {
    warp.cta = &cta, warp.number = static_cast<int>(&warp - cta.warps.data());
    warp.priority = static_cast<double>(random_.below(1000));
  }
  for (Warpgroup& group : cta.warpgroups) group.cta = &cta, group.number = static_cast<int>(&group - cta.warpgroups.data()), group.registers = registers_;
  for (std::size_t i = 0; i < threads; ++i) {
    Fiber& fiber = cta.fibers[i];
    fiber.cta = &cta;
    fiber.number = static_cast<int>(i), fiber.lane = static_cast<int>(i % 32);
    fiber.warp = &cta.warps[i / 32], fiber.warpgroup = &cta.warpgroups[i / 128];
    fiber.warp->lanes[i % 32] = &fiber;
    char* const end = stacks_.begin(stack + i) + stack_bytes;
    const auto at = static_cast<unsigned>(i);
    const Index& block = launch_.block;
    const Index thread{at % block.x, at / block.x % block.y, at / block.x / block.y};
    fiber.view = new (end - thread_room) Thread{this, cta.window, dynamic_offset_, thread, cta.block, block, launch_.grid};
    fiber.stack = prepare_stack(end - thread_room, enter);
    fiber.actor = rank * threads + i;
    if (telling()) next_step(fiber);
    wake(fiber);
    ++live_;
  }
}

void Emulation::schedule() {
  while (!failure_) {
    if (!work_.empty() && (runnable_.empty() || random_.chance(pace_.between))) {
      do_some_work();
    } else if (!runnable_.empty()) {
      resume(next_fiber());
    } else if (live_ == 0) {
      return;
    } else {
      failure_ = Failure{launch_failed, "deadlock in kernel " + std::string(kernel_.name) + ": no thread can run and nothing is under way\n" + stuck()};
    }
  }
}

Fiber& Emulation::next_fiber() {
  std::size_t best = random_.below(runnable_.size());
  for (int i = 1; i < pace_.candidates; ++i) {
    const std::size_t other = random_.below(runnable_.size());
    if (runnable_[other]->warp->priority > runnable_[best]->warp->priority) best = other;
  }
  Fiber& fiber = *runnable_[best];
  runnable_[best] = runnable_.back();
  runnable_.pop_back();
  // Now and then another warp is the one that is in a hurry.
  if (pace_.candidates > 1 && random_.chance(0.001)) fiber.warp->priority = static_cast<double>(random_.below(1000));
  return fiber;
}

void Emulation::resume(Fiber& fiber) {
  fiber.queued = false;
  fiber.waits.format = nullptr;
  running_ = &fiber;
  emulator_switch(&scheduler_stack_, fiber.stack);
  running_ = nullptr;
}

void Emulation::enter() {
  auto& me = static_cast<Emulation&>(machine());
  me.kernel_.run(me.launch_.parameters);
  me.thread_ends();
}

void Emulation::thread_ends() {
  Fiber& fiber = *running_;
  if (!fiber.sums_in_flight.empty()) fail(launch_failed, "ends while products (wgmma) that write its registers are under way");
  if (fiber.open_stores->unread || !fiber.store_groups.empty())
    fail(launch_failed, "ends without having waited (cp.async.bulk.wait_group) for its bulk stores: shared memory may go to another CTA while they read it");
  fiber.exited = true;
  --live_;
  Cta& cta = *fiber.cta;
  if (++cta.exited == static_cast<int>(cta.fibers.size())) tear_down(cta);
  release_syncthreads(cta);
  release_cluster_barrier();
  emulator_switch(&fiber.stack, scheduler_stack_);
  __builtin_unreachable();
}

void Emulation::tear_down(Cta& cta) {
  const char* const end = cta.window + window_pitch_ - page;
  if (std::any_of<const char*>(cta.window + window_bytes_, end, [](char c) { return static_cast<unsigned char>(c) != canary; }))
    fail(illegal_address, "the CTA wrote behind its %zu bytes of shared memory", window_bytes_);
  for (const auto& [offset, barrier] : cta.barriers) {
    barrier_at(cta, offset, "the end of the CTA");
    if (barrier.bytes != 0)
      fail(launch_failed, "the CTA ends while copies to it are under way: its barrier at %u waits for %lld bytes", offset, static_cast<long long>(barrier.bytes));
  }
  // Who waits for this launch takes the one ahead for ended.
  if (launch_.overlaps && std::none_of(cta.fibers.begin(), cta.fibers.end(), [](const Fiber& fiber) { return fiber.launch_waited; })) fail(launch_failed, "the CTA ends without griddepcontrol.wait");
  std::memset(cta.window, pace_.poison ^ 0x55, window_bytes_);
}

void Emulation::block() {
  Fiber& fiber = *running_;
  emulator_switch(&fiber.stack, scheduler_stack_);
}

void Emulation::wait_for_release(const Wait& waits) {
  Fiber& fiber = *running_;
  while (!fiber.released) {
    fiber.waits = waits;
    block();
  }
  fiber.released = false;
}

void Emulation::release(Fiber& fiber) {
  fiber.released = true;
  wake(fiber);
}

void Emulation::wake(Fiber& fiber) {
  if (fiber.queued || fiber.exited) return;
  fiber.queued = true;
  runnable_.push_back(&fiber);
}
void Emulation::wake(std::vector<Fiber*>& fibers) {
  for (Fiber* fiber : fibers) wake(*fiber);
  fibers.clear();
}
void Emulation::maybe_yield() {
  if (pace_.yield == 0 || !random_.chance(pace_.yield)) return;
  wake(*running_);
  block();
}

void Emulation::submit(Unit unit, std::function<void()> run) {
  if (random_.chance(pace_.at_once[static_cast<std::size_t>(unit)])) return run();
  work_.push_back({unit, std::move(run)});
}

void Emulation::do_some_work() {
  const std::size_t i = random_.below(work_.size());
  const Work work = std::move(work_[i]);
  work_[i] = std::move(work_.back());
  work_.pop_back();
  if (sigsetjmp(work_end_, 0) != 0) return;  // it failed
  work.run();
}

void Emulation::finish_work() {
  while (!work_.empty() && !failure_) do_some_work();
}

std::string Emulation::name(const Fiber& fiber) const {
  const Index &b = fiber.cta->block, &t = fiber.view->thread;
  char text[200];
  const bool flat = launch_.grid.y == 1 && launch_.grid.z == 1 && launch_.block.y == 1 && launch_.block.z == 1;
  if (flat) std::snprintf(text, sizeof text, "CTA %u, thread %u", b.x, t.x);
  else std::snprintf(text, sizeof text, "CTA (%u, %u, %u), thread (%u, %u, %u)", b.x, b.y, b.z, t.x, t.y, t.z);
  return text;
}

std::string Wait::text() const {
  if (!format) return "its turn";
  char out[300];
  std::snprintf(out, sizeof out, format, values[0], values[1]);
  if (!barrier) return out;
  char more[200];
  std::snprintf(more, sizeof more, " (it is in phase %llu; %u of %u arrivals and %lld bytes are missing)", static_cast<unsigned long long>(barrier->phase),
                barrier->pending, barrier->arrivals, static_cast<long long>(barrier->bytes));
  return std::string(out) + more;
}

// What each thread waits for, neighbours that wait for the same on one line.
std::string Emulation::stuck() const {
  std::string out;
  for (const Cta& cta : ctas_) {
    const auto said = [](const Fiber& fiber) { return fiber.exited ? std::string("has ended") : "waits for " + fiber.waits.text(); };
    for (std::size_t begin = 0, end = 0; begin < cta.fibers.size(); begin = end) {
      const std::string what = said(cta.fibers[begin]);
      while (end < cta.fibers.size() && said(cta.fibers[end]) == what) ++end;
      char text[100];
      if (end - begin > 1) std::snprintf(text, sizeof text, "  CTA %u, threads %zu to %zu: ", cta.block.x, begin, end - 1);
      else std::snprintf(text, sizeof text, "  CTA %u, thread %zu: ", cta.block.x, begin);
      out += text + what + "\n";
    }
  }
  return out;
}

void Emulation::fail(int result, const char* format, ...) {
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (!failure_) failure_ = Failure{result, "kernel " + std::string(kernel_.name) + (running_ ? ", " + name(*running_) : "") + ": " + text};
  if (!running_) siglongjmp(work_end_, 1);
  emulator_switch(&running_->stack, scheduler_stack_);
  __builtin_unreachable();
}

}  // namespace emulator
