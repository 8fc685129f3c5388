// SPDX-License-Identifier: Apache-2.0
// The copy engine, and cp.async.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "emulation.hpp"
#include "operand.hpp"

namespace emulator {
namespace {

void do_copy(AsyncCopy& copy) {
  if (copy.done) return;
  copy.done = true;
  if (copy.on) std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.bytes));
  else std::memset(copy.to, 0, static_cast<std::size_t>(copy.bytes));
}

constexpr int64_t piece = 16;  // bytes that the copy engine writes at a time

}  // namespace

// -------------------------------------------------------------------------------------------------------------- cp.async

void Emulation::copy_async(uint32_t shared, const void* global, int bytes, bool on) {
  Fiber& fiber = *running_;
  char* const to = window_at(*fiber.cta, shared, static_cast<std::size_t>(bytes), static_cast<std::size_t>(bytes), "cp.async");
  if (on) check_global(global, static_cast<std::size_t>(bytes), "cp.async");
  note(*fiber.cta, fiber, shared, static_cast<std::size_t>(bytes), true, copy_access(fiber), "cp.async");
  fiber.copies.push_back({to, global, bytes, on, false});
  // Any that is under way may be done now.
  if (random_.chance(pace_.at_once[static_cast<std::size_t>(Unit::copy)])) do_copy(fiber.copies[random_.below(fiber.copies.size())]);
}

void Emulation::copy_commit() {
  running_->copy_groups.push_back(running_->copies.size());
  ++running_->copy_steps;
}

void Emulation::copy_wait(int pending) {
  Fiber& fiber = *running_;
  maybe_yield();
  if (telling() && fiber.copy_actor && fiber.copy_steps > static_cast<uint32_t>(pending))
    fiber.knowledge.known.learn(fiber.copy_actor, fiber.copy_steps - static_cast<uint32_t>(pending));
  if (fiber.copy_groups.size() <= static_cast<std::size_t>(pending)) return;
  const std::size_t groups = fiber.copy_groups.size() - static_cast<std::size_t>(pending), count = fiber.copy_groups[groups - 1];
  for (std::size_t i = 0; i < count; ++i) do_copy(fiber.copies[i]);
  fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + static_cast<std::ptrdiff_t>(count));
  fiber.copy_groups.erase(fiber.copy_groups.begin(), fiber.copy_groups.begin() + static_cast<std::ptrdiff_t>(groups));
  for (std::size_t& end : fiber.copy_groups) end -= count;
}

// ------------------------------------------------------------------------------------------------------ the copy engine

namespace {

// What the copy engine keeps of maps in global memory from launch to launch, and goes on using until a thread acquires the map anew.
class KeptMaps {
 public:
  static KeptMaps& all() {
    static auto* const made = new KeptMaps;
    return *made;
  }
  // The map as it is kept; as it is now if it is not kept yet or must be looked at anew.
  TensorMap get(const void* address, bool anew) {
    std::lock_guard lock(mutex_);
    const TensorMap& now = *static_cast<const TensorMap*>(address);
    const auto [found, fresh] = maps_.try_emplace(address, now);
    if (anew) found->second = now;
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, TensorMap> maps_;
};

}  // namespace

TensorMap Emulation::map_at(const void* address, const char* what) {
  if (reinterpret_cast<uintptr_t>(address) % 64 != 0) fail(misaligned_address, "%s: the tensor map at %p is no multiple of 64", what, address);
  TensorMap map;
  if (stacks_.hold(address)) {  // a parameter of the kernel, of which each thread has a copy; the address may be another thread's
    map = *static_cast<const TensorMap*>(address);
  } else {
    auto& seen = running_->cta->maps;
    auto found = seen.find(address);
    if (found == seen.end()) found = seen.emplace(address, KeptMaps::all().get(address, false)).first;
    map = found->second;
  }
  if (map.mark != TensorMap::right_mark) fail(illegal_instruction, "%s: there is no tensor map at %p", what, address);
  if (map.base % 16 != 0 || map.stride % 16 != 0 || map.middle_stride % 16 != 0)
    fail(misaligned_address, "%s: the matrix at %llx with lines %llu bytes apart is not aligned to 16 bytes", what, static_cast<unsigned long long>(map.base),
         static_cast<unsigned long long>(map.stride));
  return map;
}

void Emulation::tensor_prefetch(const void* map) {
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0) fail(misaligned_address, "prefetch.tensormap: the tensor map at %p is no multiple of 64", map);
}

TensorMap& Emulation::map_to_replace(void* address) {
  if (reinterpret_cast<uintptr_t>(address) % 128 != 0) fail(misaligned_address, "tensormap.replace: the tensor map at %p is no multiple of 128", address);
  TensorMap& map = *static_cast<TensorMap*>(address);
  if (map.mark != TensorMap::right_mark) fail(illegal_instruction, "tensormap.replace: there is no tensor map at %p", address);
  return map;
}

void Emulation::tensor_map_replace(void* address, const void* data, uint32_t inner) {
  TensorMap& map = map_to_replace(address);
  map.base = reinterpret_cast<uintptr_t>(data), map.inner = inner;
}

void Emulation::tensor_map_replace(void* address, uint32_t dimension, uint32_t count, uint64_t stride) {
  TensorMap& map = map_to_replace(address);
  if (dimension < 1 || dimension >= map.rank) fail(illegal_instruction, "tensormap.replace: dimension %u of a tensor map of %u", dimension, map.rank);
  if (dimension + 1 == map.rank) map.outer = count, map.stride = stride;
  else map.middle = count, map.middle_stride = stride;
}

void Emulation::tensor_map_acquire(const void* address) {
  check_global(address, 128, "fence.proxy.tensormap");
  running_->cta->maps.insert_or_assign(address, KeptMaps::all().get(address, true));
  maybe_yield();
}

void Emulation::check_box(const TensorMap& map, uint32_t shared, int32_t rank, int32_t inner, const char* what) {
  if (static_cast<int32_t>(map.rank) != rank) fail(illegal_instruction, "%s: %d coordinates for a tensor map of %u dimensions", what, rank, map.rank);
  // Seen on an H200; no documentation of the instruction's says so.
  if (int64_t(inner) * map.element_bytes % 16 != 0) fail(illegal_instruction, "%s: element %d of a line of elements of %u bytes is off 16 bytes", what, inner, map.element_bytes);
  window_at(*running_->cta, shared, map.box_bytes(), map.swizzle_bytes == 128 ? 1024 : 128, what);
}

namespace {

// f32 to nearest even in tf32's 10 bits of mantissa, as an H200's copy engine did. Infinity passes, and NaN stays NaN in these bits, as an H100's did.
void round_tf32(char* line, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += 4) {
    uint32_t bits;
    std::memcpy(&bits, line + at, 4);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
    else if (bits & 0x7fffffu) bits |= 0x400000u;
    std::memcpy(line + at, &bits, 4);
  }
}

}  // namespace

// Fills a box in a CTA's window. What lies outside the matrix is zero.
void Emulation::load_box(Cta& cta, uint32_t shared, const TensorMap& map, const BoxPlace& at) {
  const int32_t inner = at.inner;
  const int64_t size = map.element_bytes, width = map.box_inner * size;
  // Bytes of a line of the box that the matrix has: from `begin` to `end`.
  const int64_t begin = std::clamp<int64_t>(-int64_t(inner) * size, 0, width);
  const int64_t end = std::clamp<int64_t>((static_cast<int64_t>(map.inner) - inner) * size, begin, width);
  alignas(16) char line[2048];
  for (uint32_t row = 0; row < map.box_lines(); ++row) {
    const int64_t from = int64_t(at.outer) + row / map.box_middle, middle = int64_t(at.middle) + row % map.box_middle;
    std::memset(line, 0, static_cast<std::size_t>(width));
    if (from >= 0 && from < static_cast<int64_t>(map.outer) && middle >= 0 && middle < static_cast<int64_t>(map.middle) && end > begin)
      std::memcpy(line + begin, reinterpret_cast<const char*>(map.base) + from * static_cast<int64_t>(map.stride) + middle * static_cast<int64_t>(map.middle_stride) + inner * size + begin,
                  static_cast<std::size_t>(end - begin));
    if (map.tf32) round_tf32(line, width);
    const uint32_t to = shared + row * static_cast<uint32_t>(width);
    for (uint32_t byte = 0; byte < width; byte += piece)
      std::memcpy(cta.window + (map.swizzle_bytes == 128 ? swizzled(to + byte) : to + byte), line + byte, std::min<std::size_t>(piece, static_cast<std::size_t>(width) - byte));
  }
}

void Emulation::tensor_load(uint32_t shared, const void* address, uint32_t barrier, const BoxPlace& at, bool multicast, uint16_t ctas) {
  const char* const what = multicast ? "cp.async.bulk.tensor (multicast load)" : "cp.async.bulk.tensor (load)";
  check_launch_waited(what);
  const TensorMap map = map_at(address, what);
  check_box(map, shared, at.rank, at.inner, what);
  const uint32_t bytes = map.box_bytes();
  if (multicast && (ctas == 0 || ctas >> ctas_.size())) fail(illegal_instruction, "%s to CTAs %04x of a cluster of %zu", what, ctas, ctas_.size());
  const uint32_t to = multicast ? ctas : 1u << running_->cta->rank;
  for (uint32_t rank = 0; rank < ctas_.size(); ++rank) {
    if (!(to >> rank & 1)) continue;
    Cta& cta = ctas_[rank];
    if (cta.exited == static_cast<int>(cta.fibers.size())) fail(illegal_address, "%s to CTA %u of the cluster, which has ended", what, rank);
    const Access access = load_access(barrier_at(cta, barrier, what), barrier);
    note(cta, *running_, shared, bytes, true, access, what);
    submit(Unit::load, [this, &cta, shared, map, at, barrier, bytes, access] {
      load_box(cta, shared, map, at);
      if (telling()) cta.barriers.at(barrier).gathered.known.learn(access.actor, access.step);
      complete_bytes(cta, barrier, bytes);
    });
  }
  maybe_yield();
}

namespace {

// Writes what of a box lies in the matrix.
void store_box(const TensorMap& map, const std::vector<char>& box, const BoxPlace& at) {
  const int32_t inner = at.inner;
  const int64_t size = map.element_bytes, width = map.box_inner * size;
  const int64_t begin = std::clamp<int64_t>(-int64_t(inner) * size, 0, width);
  const int64_t cut = std::clamp<int64_t>((static_cast<int64_t>(map.inner) - inner) * size, begin, width);
  // The engine writes whole pieces: one that the line's end cuts is written past it.
  const int64_t end = std::min((cut + piece - 1) / piece * piece, width);
  if (cut <= begin) return;
  for (uint32_t row = 0; row < map.box_lines(); ++row) {
    const int64_t to = int64_t(at.outer) + row / map.box_middle, middle = int64_t(at.middle) + row % map.box_middle;
    if (to < 0 || to >= static_cast<int64_t>(map.outer) || middle < 0 || middle >= static_cast<int64_t>(map.middle)) continue;
    char* const line = reinterpret_cast<char*>(map.base) + to * static_cast<int64_t>(map.stride) + middle * static_cast<int64_t>(map.middle_stride) + inner * size;
    std::memcpy(line + begin, box.data() + row * width + begin, static_cast<std::size_t>(end - begin));
  }
}

}  // namespace

void Emulation::tensor_store(const void* address, uint32_t shared, const BoxPlace& at) {
  const char* const what = "cp.async.bulk.tensor (store)";
  const TensorMap map = map_at(address, what);
  check_box(map, shared, at.rank, at.inner, what);
  store_later(shared, map.box_bytes(), what, [this, map, shared, &cta = *running_->cta] {
    std::vector<char> box(map.box_bytes());
    for (std::size_t byte = 0; byte < box.size(); byte += piece) {
      const auto from = static_cast<uint32_t>(shared + byte);
      std::memcpy(box.data() + byte, cta.window + (map.swizzle_bytes == 128 ? swizzled(from) : from), std::min<std::size_t>(piece, box.size() - byte));
    }
    return box;
  }, [map, at](const std::vector<char>& box) { store_box(map, box, at); });
}

void Emulation::bulk_store(void* global, uint32_t shared, uint32_t bytes) {
  const char* const what = "cp.async.bulk (store)";
  if (bytes == 0 || bytes % 16 != 0) fail(illegal_instruction, "%s of %u bytes", what, bytes);
  check_global(global, 16, what);
  const char* const from = window_at(*running_->cta, shared, bytes, 16, what);
  store_later(shared, bytes, what, [from, bytes] { return std::vector<char>(from, from + bytes); }, [global](const std::vector<char>& line) { std::memcpy(global, line.data(), line.size()); });
}

// A store of the copy engine, in the running thread's open group: reads shared memory some time, and writes what it read some time after.
void Emulation::store_later(uint32_t shared, uint32_t bytes, const char* what, std::function<std::vector<char>()> read, std::function<void(const std::vector<char>&)> write) {
  Fiber& fiber = *running_;
  const std::shared_ptr<StoreGroup> group = fiber.open_stores;
  note(*fiber.cta, fiber, shared, bytes, false, store_access(fiber), what);
  ++group->unread, ++group->unwritten;
  submit(Unit::store, [this, group, read = std::move(read), write = std::move(write)] {
    std::vector<char> data = read();
    --group->unread;
    if (group->waiter) wake(*group->waiter);
    // The thread and its CTA may have ended when this comes.
    submit(Unit::store, [this, group, write, data = std::move(data)] {
      write(data);
      --group->unwritten;
      if (group->waiter) wake(*group->waiter);
    });
  });
  maybe_yield();
}

void Emulation::store_commit() {
  running_->store_groups.push_back(running_->open_stores);
  running_->open_stores = std::make_shared<StoreGroup>();
  ++running_->store_steps;
}

void Emulation::store_wait(int pending, bool read_only) {
  Fiber& fiber = *running_;
  maybe_yield();
  while (fiber.store_groups.size() > static_cast<std::size_t>(pending)) {
    const std::shared_ptr<StoreGroup> group = fiber.store_groups.front();
    group->waiter = &fiber;
    wait_until([&] { return group->unread == 0 && (read_only || group->unwritten == 0); }, [&] { return Wait{"cp.async.bulk.wait_group %lld", {pending}, nullptr}; });
    group->waiter = nullptr;
    fiber.store_groups.pop_front();
  }
  if (telling() && fiber.store_actor && fiber.store_steps > static_cast<uint32_t>(pending))
    fiber.knowledge.known.learn(fiber.store_actor, fiber.store_steps - static_cast<uint32_t>(pending));
}

}  // namespace emulator
