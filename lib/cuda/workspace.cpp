// SPDX-License-Identifier: Apache-2.0
#include "cuda/workspace.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/error.hpp"

namespace ggemm::cuda {
namespace {

constexpr std::size_t head_bytes = Workspace::most_arrivals * sizeof(std::uint32_t) + Workspace::alignment;  // of every block: the counters

}  // namespace

Workspace::~Workspace() {
  // All work is complete by now, and the streams may be gone.
  for (auto& [key, entry] : entries_) entry.buffer.forget_stream();
  for (Buffer& buffer : retired_) buffer.forget_stream();
}

Workspace::Key Workspace::key_of(void* stream) {
  constexpr std::uintptr_t stream_per_thread = 2;  // CU_STREAM_PER_THREAD
  const bool of_thread = reinterpret_cast<std::uintptr_t>(stream) == stream_per_thread;
  return {stream, of_thread ? std::this_thread::get_id() : std::thread::id()};
}

Workspace::Entry& Workspace::entry(void* stream) {
  const std::lock_guard lock(mutex_);
  return entries_[key_of(stream)];
}

Workspace::Lease Workspace::get(const Device& device, void* stream, std::size_t bytes, std::size_t wished) {
  wished = std::max(wished, bytes);
  Entry& mine = entry(stream);
  Lease lease{.lock = std::unique_lock(mine.mutex)};
  const bool capturing = device.capturing(stream);
  if (!capturing) {
    // Another stream has got the handle of one that was destroyed, perhaps before its work was done.
    const unsigned long long id = device.stream_id(stream);
    if (mine.stream_id != id) retire(mine);
    mine.stream_id = id;
  }
  const auto has = [&mine](std::size_t some) { return some == 0 || mine.buffer.size() >= head_bytes + some; };
  if (!has(wished)) {
    Buffer larger;
    // A spare is not taken for a wish alone.
    if (capturing && !has(bytes)) larger = spare(wished);
    if (capturing && !has(bytes) && !larger.data()) larger = spare(bytes);
    if (!capturing && wished > bytes && (wished < mine.refused || ++mine.passed_over % calls_between_wishes == 0)) {
      larger = allocate_if_there_is(device, wished, stream);
      if (!larger.data()) mine.refused = std::min(mine.refused, wished);
      else if (wished >= mine.refused) mine.refused = SIZE_MAX;
    }
    // By half as much again, so that rising sizes do not allocate each time.
    if (const std::size_t half_more = mine.buffer.size() / 2 * 3; !larger.data() && !has(bytes) && half_more > bytes) larger = allocate_if_there_is(device, half_more, stream);
    if (!larger.data() && !has(bytes)) larger = allocate(device, bytes, stream);
    // Freeing is stream-ordered too, and so no part of a capture.
    if (larger.data()) {
      if (mine.captured || capturing) retire(mine);
      mine.buffer = std::move(larger);
    }
  }
  mine.captured = mine.captured || capturing;
  if (!mine.buffer.data()) return lease;  // of what was wished for alone
  lease.arrivals = static_cast<std::uint32_t*>(mine.buffer.data());
  lease.copied = lease.arrivals + most_arrivals;
  lease.terms = reinterpret_cast<kernels::TermsMark*>(lease.copied + 4);
  lease.data = reinterpret_cast<char*>(lease.arrivals) + head_bytes;
  lease.bytes = mine.buffer.size() - head_bytes;
  return lease;
}

// A block for so many bytes besides its counters.
Buffer Workspace::allocate(const Device& device, std::size_t bytes, void* stream) {
  Buffer block(device, head_bytes + bytes, stream);
  device.fill(block.data(), 0, head_bytes, stream);
  return block;
}

// Nothing where memory has run out.
Buffer Workspace::allocate_if_there_is(const Device& device, std::size_t bytes, void* stream) {
  try {
    return allocate(device, bytes, stream);
  } catch (const core::Error& error) {
    if (error.status() != GGEMM_ERROR_OUT_OF_MEMORY) throw;
    return {};
  }
}

kernels::GroupNote* Workspace::note(const Device& device, std::size_t hash) {
  const std::lock_guard lock(mutex_);
  if (!notes_) {
    auto* const memory = static_cast<kernels::GroupNote*>(device.allocate_on_host(most_notes * sizeof(kernels::GroupNote)));
    if (!memory) return nullptr;
    notes_ = {memory, [&device](kernels::GroupNote* notes) { device.free_on_host(notes); }};
  }
  return notes_.get() + hash % most_notes;
}

void Workspace::reserve(const Device& device, std::size_t bytes) {
  const std::lock_guard alone(reserving_);
  std::unique_lock lock(mutex_);
  const std::size_t size = std::max(bytes, reserved_), kept = bytes > reserved_ ? 0 : spares_.size();
  lock.unlock();  // launches go on meanwhile
  const std::size_t wanted = bytes == 0 ? 0 : std::clamp<std::size_t>(most_spare_bytes / size, 1, most_spares);
  if (kept >= wanted) return;
  // On a stream of our own, as the caller's may be captured; it is waited for, so that any other may use the memory.
  const std::unique_ptr<void, std::function<void(void*)>> stream(device.create_stream(), [&](void* s) { device.destroy_stream(s); });
  std::vector<Buffer> more;
  for (std::size_t i = kept; i < wanted; ++i) more.push_back(allocate(device, size, stream.get()));
  device.synchronize(stream.get());
  for (Buffer& buffer : more) buffer.forget_stream();
  // Not before: where memory has run out, what there was stays.
  lock.lock();
  if (kept == 0) {
    spares_.swap(more);
  } else {
    spares_.reserve(wanted);
    for (Buffer& buffer : more) spares_.push_back(std::move(buffer));
  }
  reserved_ = size;
  lock.unlock();  // before the smaller ones are freed
}

// One of the reserved blocks, or nothing.
Buffer Workspace::spare(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (spares_.empty() || reserved_ < bytes) return {};
  Buffer taken = std::move(spares_.back());
  spares_.pop_back();
  return taken;
}

void Workspace::forget(void* stream) {
  const std::lock_guard lock(mutex_);
  entries_.erase(key_of(stream));
}

void Workspace::retire(Entry& entry) {
  if (entry.buffer.data()) {
    const std::lock_guard lock(mutex_);
    retired_.push_back(std::move(entry.buffer));
  }
  entry.buffer = Buffer();
  entry.captured = false;
  entry.refused = SIZE_MAX;
}

}  // namespace ggemm::cuda
