// SPDX-License-Identifier: Apache-2.0
// Barriers, warps' meetings, shared memory addresses.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

#include "emulation.hpp"

namespace emulator {
namespace {

template <class... Values>
Wait waiting(const char* format, Values... values) {
  return {format, {static_cast<long long>(values)...}, nullptr};
}

constexpr int64_t most_bytes = (1 << 20) - 1;   // a barrier's tx-count (PTX ISA, "mbarrier")
constexpr uint32_t most_arrivals = (1 << 20) - 1;
constexpr uint32_t cta_shift = 24;

}  // namespace

bool Emulation::expected_elsewhere(const Fiber& fiber) { return fiber.warp->meeting.open && (fiber.warp->meeting.lanes >> fiber.lane & 1); }

// ------------------------------------------------------------------------------------------------------------------ warps

Meeting& Emulation::meet(const char* what, uint64_t key, uint32_t lanes, void* out, const void* a, const void* b, uint64_t value) {
  Fiber& fiber = *running_;
  Meeting& m = fiber.warp->meeting;
  const uint32_t bit = 1u << fiber.lane;
  if (!(lanes & bit)) fail(illegal_instruction, "%s with lanes %08x, which its own is not among", what, lanes);
  if (!m.open) {
    m.open = true, m.warp = fiber.warp, m.what = what, m.key = key, m.lanes = lanes, m.arrived = 0;
    for (int lane = 0; lane < 32; ++lane)
      if ((lanes >> lane & 1) && (!fiber.warp->lanes[static_cast<std::size_t>(lane)] || fiber.warp->lanes[static_cast<std::size_t>(lane)]->exited))
        fail(illegal_instruction, "%s by lanes %08x, of which lane %d has ended or was never there", what, lanes, lane);
  } else if (m.what != what && std::strcmp(m.what, what) != 0) {
    fail(illegal_instruction, "%s, while other lanes of the warp are at %s", what, m.what);
  } else if (m.key != key || m.lanes != lanes) {
    fail(illegal_instruction, "%s with other arguments than other lanes of the warp", what);
  }
  const auto lane = static_cast<std::size_t>(fiber.lane);
  m.arrived |= bit;
  m.out[lane] = out, m.a[lane] = a, m.b[lane] = b, m.value[lane] = value;
  return m;
}

// All lanes go on; what they brought stays readable until the next meeting is opened.
void Emulation::leave(Meeting& m) {
  m.open = false;
  Warp& warp = *running_->warp;
  for (std::size_t lane = 0; lane < 32; ++lane)
    if ((m.lanes >> lane & 1) && warp.lanes[lane] != running_) release(*warp.lanes[lane]);
}

// The last lane to arrive does the work for all: all(meeting). Results go where each lane said.
void Emulation::together(const char* what, uint64_t key, uint32_t lanes, void* out, const void* a, const void* b, uint64_t value, void (*all)(Meeting&)) {
  Meeting& m = meet(what, key, lanes, out, a, b, value);
  if (m.arrived == m.lanes) {
    all(m);
    return leave(m);
  }
  wait_for_release(waiting("the other lanes of its warp at an instruction of all (%#llx of %#llx are there)", m.arrived, m.lanes));
}

void Emulation::warp_barrier(uint32_t lanes) {
  together("__syncwarp", 0, lanes, this, nullptr, nullptr, 0, [](Meeting& m) {
    std::vector<Fiber*> fibers;
    for (std::size_t lane = 0; lane < 32; ++lane)
      if (m.lanes >> lane & 1) fibers.push_back(m.warp->lanes[lane]);
    static_cast<Emulation*>(m.out[static_cast<std::size_t>(fibers[0]->lane)])->publish_all(fibers);
  });
}

uint64_t Emulation::shuffle(Shuffle how, uint32_t lanes, uint64_t value, int argument) {
  uint64_t out = 0;
  // `from` may differ from lane to lane, the others' steps may not.
  const bool free = how == Shuffle::from;
  const uint64_t packed = value;
  const int own = running_->lane;
  int source = how == Shuffle::from ? argument & 31 : how == Shuffle::up ? own - argument : how == Shuffle::down ? own + argument : own ^ argument;
  if (source < 0 || source > 31) source = own;
  const int wanted = source;
  together("shfl.sync", static_cast<uint64_t>(how) << 32 | static_cast<uint32_t>(free ? 0 : argument), lanes, &out, reinterpret_cast<const void*>(static_cast<uintptr_t>(wanted)), nullptr, packed, [](Meeting& m) {
    for (std::size_t lane = 0; lane < 32; ++lane)
      if (m.lanes >> lane & 1) *static_cast<uint64_t*>(m.out[lane]) = m.value[reinterpret_cast<uintptr_t>(m.a[lane])];
  });
  return out;
}

uint32_t Emulation::ballot(uint32_t lanes, bool vote) {
  uint32_t out = 0;
  together("vote.sync", 0, lanes, &out, nullptr, nullptr, vote, [](Meeting& m) {
    uint32_t votes = 0;
    for (std::size_t lane = 0; lane < 32; ++lane)
      if ((m.lanes >> lane & 1) && m.value[lane]) votes |= 1u << lane;
    for (std::size_t lane = 0; lane < 32; ++lane)
      if (m.lanes >> lane & 1) *static_cast<uint32_t*>(m.out[lane]) = votes;
  });
  return out;
}

// Element i (0, 1) of what a lane holds of an 8x8 matrix: calls each(lane that holds it, i, row of the matrix, byte in the row).
template <class Each>
static void each_element(bool transposed, Each each) {
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t row = transposed ? lane % 4 * 2 + i : lane / 4, column = transposed ? lane / 4 : lane % 4 * 2 + i;
      each(lane, i, row, column * 2);
    }
}

// An element is read, or written, by the lane that holds it: what that lane did before is ordered before by the data themselves.
void Emulation::note_matrices(const Meeting& m, bool transposed, bool write, const char* what) {
  if (!telling()) return;
  Cta& cta = *m.warp->cta;
  for (std::size_t matrix = 0; matrix < 4; ++matrix)
    each_element(transposed, [&](std::size_t lane, std::size_t, std::size_t row, std::size_t byte) {
      const Fiber& fiber = *m.warp->lanes[lane];
      note(cta, fiber, static_cast<uint32_t>(m.value[matrix * 8 + row] + byte), 2, write, own_access(fiber), what);
    });
}

void Emulation::load_matrices(uint32_t (&out)[4], uint32_t shared, bool transposed) {
  const char* const row = window_at(*running_->cta, shared, 16, 16, "ldmatrix");
  together("ldmatrix", transposed, 0xffffffffu, out, row, this, shared, [](Meeting& m) {
    const bool turned = m.key != 0;
    static_cast<Emulation*>(const_cast<void*>(m.b[0]))->note_matrices(m, turned, false, "ldmatrix");
    for (std::size_t matrix = 0; matrix < 4; ++matrix)
      each_element(turned, [&](std::size_t lane, std::size_t i, std::size_t row, std::size_t byte) {
        std::memcpy(static_cast<char*>(m.out[lane]) + matrix * 4 + i * 2, static_cast<const char*>(m.a[matrix * 8 + row]) + byte, 2);
      });
  });
}

void Emulation::store_matrices(uint32_t shared, const uint32_t (&in)[4], bool transposed) {
  char* const row = window_at(*running_->cta, shared, 16, 16, "stmatrix");
  together("stmatrix", transposed, 0xffffffffu, row, in, this, shared, [](Meeting& m) {
    const bool turned = m.key != 0;
    static_cast<Emulation*>(const_cast<void*>(m.b[0]))->note_matrices(m, turned, true, "stmatrix");
    for (std::size_t matrix = 0; matrix < 4; ++matrix)
      each_element(turned, [&](std::size_t lane, std::size_t i, std::size_t row, std::size_t byte) {
        std::memcpy(static_cast<char*>(m.out[matrix * 8 + row]) + byte, static_cast<const char*>(m.a[lane]) + matrix * 4 + i * 2, 2);
      });
  });
}

// ---------------------------------------------------------------------------------------------------- barriers of a CTA

void Emulation::barrier(int number, int threads) { arrive_at_named(number, threads, false, false); }

bool Emulation::barrier_any(int number, int threads, bool vote) {
  arrive_at_named(number, threads, true, vote);
  return running_->any;
}

void Emulation::arrive_at_named(int number, int threads, bool votes, bool vote) {
  Fiber& fiber = *running_;
  Cta& cta = *fiber.cta;
  if (number < 0 || number > 15 || threads % 32 != 0) fail(illegal_instruction, "bar.sync %d, %d: numbers are 0 to 15, threads whole warps", number, threads);
  NamedBarrier& barrier = cta.named[static_cast<std::size_t>(number)];
  if (barrier.arrived.empty()) barrier.expected = threads, barrier.votes = votes, barrier.any = false;
  if (barrier.expected != threads) fail(illegal_instruction, "bar.sync %d for %d threads, where others wait for %d", number, threads, barrier.expected);
  if (barrier.votes != votes) fail(illegal_instruction, "bar.sync and bar.red meet at barrier %d", number);
  barrier.any |= vote;
  if (expected_elsewhere(fiber)) fail(illegal_instruction, "bar.sync %d, while other lanes of the warp are at %s", number, fiber.warp->meeting.what);
  barrier.arrived.push_back(&fiber);
  if (threads == 0) {
    release_syncthreads(cta);
  } else if (barrier.arrived.size() == static_cast<std::size_t>(threads)) {
    check_named(barrier, number);
    release_all(barrier);
  }
  if (fiber.released) block();  // the last to come has no precedence
  wait_for_release(threads ? waiting("bar.sync %lld, of %lld threads", number, threads) : waiting("__syncthreads"));
}

void Emulation::release_all(NamedBarrier& barrier) {
  publish_all(barrier.arrived);
  for (Fiber* fiber : barrier.arrived) fiber->any = barrier.any, release(*fiber);
  barrier.arrived.clear();
}

void Emulation::check_named(NamedBarrier& barrier, int number) {
  std::vector<int> warps;
  for (const Fiber* fiber : barrier.arrived) warps.push_back(fiber->warp->number);
  std::sort(warps.begin(), warps.end());
  for (std::size_t i = 0; i < warps.size(); ++i)
    if (warps[i] != warps[i / 32 * 32]) fail(illegal_instruction, "bar.sync %d was reached by a part of warp %d only", number, warps[i]);
}

// __syncthreads: of all threads that have not ended.
void Emulation::release_syncthreads(Cta& cta) {
  NamedBarrier& barrier = cta.named[0];
  if (barrier.expected != 0 || barrier.arrived.empty()) return;
  if (barrier.arrived.size() == cta.fibers.size() - static_cast<std::size_t>(cta.exited)) release_all(barrier);
}

// --------------------------------------------------------------------------------------------------------------- clusters

void Emulation::cluster_arrive(bool release) {
  Fiber& fiber = *running_;
  if (cluster_tokens_.contains(&fiber)) fail(launch_failed, "barrier.cluster.arrive twice without a wait between");
  cluster_tokens_[&fiber] = cluster_phase_;
  ++cluster_arrived_;
  publish(fiber, cluster_gathered_, !release);
  release_cluster_barrier();
  maybe_yield();
}

void Emulation::cluster_wait() {
  Fiber& fiber = *running_;
  const auto token = cluster_tokens_.find(&fiber);
  if (token == cluster_tokens_.end()) fail(launch_failed, "barrier.cluster.wait without an arrive before");
  const uint64_t phase = token->second;
  wait_until(
      [&] {
        if (cluster_phase_ > phase) return true;
        cluster_waiting_.push_back(&fiber);
        return false;
      },
      [&] { return waiting("barrier.cluster (%lld of %lld threads are there)", cluster_arrived_, live_); });
  cluster_tokens_.erase(&fiber);
  if (telling()) fiber.knowledge.learn(cluster_completed_);
}

void Emulation::release_cluster_barrier() {
  if (cluster_arrived_ == 0 || cluster_arrived_ < live_) return;
  cluster_arrived_ = 0;
  ++cluster_phase_;
  cluster_completed_ = std::exchange(cluster_gathered_, {});
  wake(cluster_waiting_);
}

// ------------------------------------------------------------------------------------------------------------- addresses

uint32_t Emulation::shared_address(const void* pointer) {
  const Cta& cta = *running_->cta;
  const auto* p = static_cast<const char*>(pointer);
  if (p < cta.window || p > cta.window + cta.window_bytes) fail(illegal_address, "%p is not in the CTA's shared memory", pointer);
  return static_cast<uint32_t>(p - cta.window);
}

Cta& Emulation::cta_of(uint32_t address, const char* what) {
  const uint32_t number = address >> cta_shift;
  if (number == 0) return *running_->cta;
  if (number > ctas_.size()) fail(illegal_address, "%s at shared address %08x: the cluster has no CTA %u", what, address, number - 1);
  return ctas_[number - 1];
}

char* Emulation::window_at(Cta& cta, uint32_t offset, std::size_t bytes, std::size_t alignment, const char* what) {
  offset &= (1u << cta_shift) - 1;
  if (offset < reserved_shared || offset + bytes > cta.window_bytes) fail(illegal_address, "%s of %zu bytes at %u of %zu bytes of shared memory", what, bytes, offset, cta.window_bytes);
  if (offset % alignment != 0) fail(misaligned_address, "%s at %u of shared memory, which is no multiple of %zu", what, offset, alignment);
  return cta.window + offset;
}

void* Emulation::shared_pointer(uint32_t address, std::size_t bytes, std::size_t alignment, const char* what) {
  Cta& cta = cta_of(address, what);
  if (cta.exited == static_cast<int>(cta.fibers.size())) fail(illegal_address, "%s in CTA %u of the cluster, which has ended", what, cta.rank);
  char* const at = window_at(cta, address, bytes, alignment, what);
  note(cta, *running_, static_cast<uint32_t>(at - cta.window), bytes, false, own_access(*running_), what);
  return at;
}

uint32_t Emulation::map_to(uint32_t address, uint32_t cta) {
  if (cta >= ctas_.size()) fail(illegal_address, "mapa: the cluster has no CTA %u", cta);
  return (address & ((1u << cta_shift) - 1)) | (cta + 1) << cta_shift;
}

void Emulation::check_launch_waited(const char* what) {
  if (launch_.overlaps && !running_->launch_waited && !running_->launch_beside) fail(launch_failed, "%s before griddepcontrol.wait, in a launch that may begin before the one ahead has ended", what);
}

void Emulation::launch_beside() {
  if (ahead_let_go_early_) fail(launch_failed, "does not wait for the launch ahead, which let it begin before it had waited itself");
  running_->launch_beside = true;
}

void Emulation::check_global(const void* pointer, std::size_t alignment, const char* what) {
  check_launch_waited(what);
  if (alignment == 0) fail(illegal_instruction, "%s", what);
  if (reinterpret_cast<uintptr_t>(pointer) % alignment != 0) fail(misaligned_address, "%s at %p, which is no multiple of %zu", what, pointer, alignment);
}

// -------------------------------------------------------------------------------------------------- barriers in memory

// A barrier's state lies beside shared memory, with an image of it where the barrier is: what overwrites it is found out.
SharedBarrier& Emulation::barrier_at(Cta& cta, uint32_t offset, const char* what) {
  const char* const at = window_at(cta, offset, 8, 8, what);
  const auto found = cta.barriers.find(offset & ((1u << cta_shift) - 1));
  if (found == cta.barriers.end()) fail(launch_failed, "%s: there is no barrier at %u", what, offset);
  uint64_t image = 0;
  std::memcpy(&image, at, sizeof image);
  if (image != found->second.image()) fail(launch_failed, "%s: the barrier at %u was overwritten", what, offset);
  return found->second;
}

void Emulation::keep_image(Cta& cta, uint32_t offset, const SharedBarrier& barrier) {
  const uint64_t image = barrier.image();
  std::memcpy(cta.window + (offset & ((1u << cta_shift) - 1)), &image, sizeof image);
}

void Emulation::barrier_init(uint32_t barrier, uint32_t arrivals) {
  Cta& cta = *running_->cta;
  window_at(cta, barrier, 8, 8, "mbarrier.init");
  if (arrivals < 1 || arrivals > most_arrivals) fail(illegal_instruction, "mbarrier.init of %u arrivals", arrivals);
  if (cta.barriers.contains(barrier)) fail(launch_failed, "mbarrier.init at %u, where a barrier is", barrier);
  SharedBarrier& made = cta.barriers[barrier];
  made.arrivals = made.pending = arrivals;
  keep_image(cta, barrier, made);
}

void Emulation::complete_phase(SharedBarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.completed = barrier.gathered;
  barrier.pending = barrier.arrivals;
  wake(barrier.waiting);
}

void Emulation::arrive_at(Cta& cta, uint32_t offset, uint32_t expected_bytes) {
  if (cta.exited == static_cast<int>(cta.fibers.size())) fail(illegal_address, "mbarrier.arrive at CTA %u of the cluster, which has ended", cta.rank);
  SharedBarrier& barrier = barrier_at(cta, offset, "mbarrier.arrive");
  barrier.bytes += expected_bytes;
  if (barrier.bytes > most_bytes) fail(launch_failed, "mbarrier at %u expects %lld bytes, more than it can count", offset, static_cast<long long>(barrier.bytes));
  if (barrier.pending == 0) fail(launch_failed, "mbarrier.arrive at %u beyond the phase's %u arrivals", offset, barrier.arrivals);
  --barrier.pending;
  // Of other CTAs' ordinary accesses an arrival at CTA scope tells nothing.
  publish(*running_, barrier.gathered, &cta != running_->cta);
  complete_phase(barrier);
  keep_image(cta, offset, barrier);
}

void Emulation::barrier_arrive(uint32_t address, uint32_t expected_bytes) {
  arrive_at(cta_of(address, "mbarrier.arrive"), address & ((1u << cta_shift) - 1), expected_bytes);
  maybe_yield();
}

void Emulation::barrier_expect(uint32_t address, uint32_t bytes) {
  Cta& cta = *running_->cta;
  SharedBarrier& barrier = barrier_at(cta, address, "mbarrier.expect_tx");
  barrier.bytes += bytes;
  if (barrier.bytes > most_bytes) fail(launch_failed, "mbarrier at %u expects %lld bytes, more than it can count", address, static_cast<long long>(barrier.bytes));
  keep_image(cta, address, barrier);
  maybe_yield();
}

void Emulation::complete_bytes(Cta& cta, uint32_t offset, uint32_t bytes) {
  SharedBarrier& barrier = barrier_at(cta, offset, "mbarrier.complete_tx");
  barrier.bytes -= bytes;
  if (barrier.bytes < -most_bytes) fail(launch_failed, "mbarrier at %u: more bytes arrive than it can count", offset);
  complete_phase(barrier);
  keep_image(cta, offset, barrier);
}

void Emulation::barrier_wait(uint32_t address, uint32_t parity) {
  Cta& cta = *running_->cta;
  if (parity > 1) fail(illegal_instruction, "mbarrier.try_wait for parity %u", parity);
  maybe_yield();
  // A phase that came and went before this thread had its turn again is missed, as it may be on a GPU.
  wait_until(
      [&] {
        SharedBarrier& barrier = barrier_at(cta, address, "mbarrier.try_wait");
        if ((barrier.phase & 1) != parity) return true;
        barrier.waiting.push_back(running_);
        return false;
      },
      [&] {
        Wait wait = waiting("the mbarrier at %lld, parity %lld", address, parity);
        wait.barrier = &cta.barriers.at(address);
        return wait;
      });
  if (telling()) running_->knowledge.learn(cta.barriers.at(address).completed);
}

void Emulation::fence(Fence which) {
  if (which == Fence::async && telling()) {
    running_->knowledge.fenced.learn(running_->knowledge.known);
    next_step(*running_);
  }
  maybe_yield();
}

}  // namespace emulator
