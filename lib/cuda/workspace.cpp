// SPDX-License-Identifier: Apache-2.0
#include "cuda/workspace.hpp"

#include <algorithm>
#include <utility>

namespace ggemm::cuda {

Workspace::~Workspace() {
  // All work is complete by now, and the streams may be gone.
  for (auto& [id, entry] : entries_) entry.buffer.forget_stream();
  for (Buffer& buffer : retired_) buffer.forget_stream();
}

void* Workspace::get(const Device& device, void* stream, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[stream];
  const bool capturing = device.capturing(stream);
  if (!capturing) {
    // Another stream has got the handle of one that was destroyed, perhaps before its work was done.
    const unsigned long long id = device.stream_id(stream);
    if (entry.stream_id != id) retire(entry);
    entry.stream_id = id;
  }
  if (entry.buffer.size() < bytes) {
    // By half as much again, so that rising sizes do not allocate each time.
    Buffer larger(device, std::max(bytes, entry.buffer.size() / 2 * 3), stream);
    if (entry.captured) retire(entry);
    entry.buffer = std::move(larger);
  }
  entry.captured = entry.captured || capturing;
  return entry.buffer.data();
}

void Workspace::retire(Entry& entry) {
  if (entry.buffer.data()) retired_.push_back(std::move(entry.buffer));
  entry.buffer = Buffer();
  entry.captured = false;
}

}  // namespace ggemm::cuda
