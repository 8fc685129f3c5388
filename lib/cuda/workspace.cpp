// SPDX-License-Identifier: Apache-2.0
#include "cuda/workspace.hpp"

#include <algorithm>
#include <cstdint>

namespace ggemm::cuda {
namespace {

constexpr std::size_t head_bytes = Workspace::most_arrivals * sizeof(std::uint32_t);  // of every block: the counters

}  // namespace

Workspace::~Workspace() {
  // All work is complete by now, and the streams may be gone.
  for (auto& [key, entry] : entries_) entry.buffer.forget_stream();
  for (Buffer& buffer : retired_) buffer.forget_stream();
}

Workspace::Entry& Workspace::entry(void* stream) {
  constexpr std::uintptr_t stream_per_thread = 2;  // CU_STREAM_PER_THREAD
  const bool of_thread = reinterpret_cast<std::uintptr_t>(stream) == stream_per_thread;
  const std::lock_guard lock(mutex_);
  return entries_[{stream, of_thread ? std::this_thread::get_id() : std::thread::id()}];
}

Workspace::Lease Workspace::get(const Device& device, void* stream, std::size_t bytes) {
  Entry& mine = entry(stream);
  Lease lease{nullptr, nullptr, std::unique_lock(mine.mutex)};
  const bool capturing = device.capturing(stream);
  if (!capturing) {
    // Another stream has got the handle of one that was destroyed, perhaps before its work was done.
    const unsigned long long id = device.stream_id(stream);
    if (mine.stream_id != id) retire(mine);
    mine.stream_id = id;
  }
  if (mine.buffer.size() < head_bytes + bytes) {
    // By half as much again, so that rising sizes do not allocate each time.
    Buffer larger = allocate(device, std::max(bytes, mine.buffer.size() / 2 * 3), stream);
    if (mine.captured) retire(mine);
    mine.buffer = std::move(larger);
  }
  mine.captured = mine.captured || capturing;
  lease.arrivals = static_cast<std::uint32_t*>(mine.buffer.data());
  lease.data = lease.arrivals + most_arrivals;
  return lease;
}

// A block for so many bytes besides its counters.
Buffer Workspace::allocate(const Device& device, std::size_t bytes, void* stream) {
  Buffer block(device, head_bytes + bytes, stream);
  device.fill(block.data(), 0, head_bytes, stream);
  return block;
}

void Workspace::retire(Entry& entry) {
  if (entry.buffer.data()) {
    const std::lock_guard lock(mutex_);
    retired_.push_back(std::move(entry.buffer));
  }
  entry.buffer = Buffer();
  entry.captured = false;
}

}  // namespace ggemm::cuda
