// SPDX-License-Identifier: Apache-2.0
// A context's workspace: memory for each stream, which the calls on that stream use one after the other.
#pragma once
#include <list>
#include <mutex>
#include <unordered_map>

#include "cuda/device.hpp"

namespace ggemm::cuda {

// Thread-safe.
class Workspace {
 public:
  ~Workspace();
  // At least `bytes` (aligned to 256), for work that is launched on `stream` before the next call of it there. It grows outside capture only: a captured stream that has too
  // little gets GGEMM_ERROR_NOT_PREPARED. What a capture was given stays until the end, because a graph may use it at any time.
  void* get(const Device& device, void* stream, std::size_t bytes);

 private:
  struct Entry {
    unsigned long long stream_id = 0;
    Buffer buffer;
    bool captured = false;
  };
  void retire(Entry& entry);

  std::mutex mutex_;
  std::unordered_map<void*, Entry> entries_;  // by the stream's handle
  std::list<Buffer> retired_;                 // that a graph, or work of a stream that is gone, may still use
};

}  // namespace ggemm::cuda
