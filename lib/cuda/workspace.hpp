// SPDX-License-Identifier: Apache-2.0
// A context's workspace: memory for each stream, which the calls on that stream use one after the other.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/device.hpp"

namespace ggemm::cuda {

// Thread-safe.
class Workspace {
 public:
  // Memory that is one call's until it has launched all that uses it: another thread's call on the same stream waits so long.
  struct Lease {
    void* data = nullptr;
    std::size_t bytes = 0;
    std::uint32_t* arrivals = nullptr;  // most_arrivals counters that are 0, and must be 0 again when the work is done
    std::uint32_t* copied = nullptr;    // likewise, four for copies of groups
    kernels::TermsMark* terms = nullptr;  // all 0 at first, and what the launches before have left since
    std::unique_lock<std::mutex> lock;
  };

  static constexpr std::size_t most_arrivals = 4096;
  // Of a block, and of each thing in it: bytes.
  static constexpr std::size_t alignment = 256;
  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

  ~Workspace();
  // At least `bytes` (aligned to 256) for work that is launched on `stream`, and as many as `wished` if they are to be had; if none are needed and those are not, the lease may be empty. It grows outside capture only: a captured stream that has too little gets
  // what was reserved, for good, or GGEMM_ERROR_NOT_PREPARED. What a capture was given stays until the end, because a graph may use it at any time.
  Lease get(const Device& device, void* stream, std::size_t bytes, std::size_t wished = 0);

  // Numbers in the host's memory that kernels may write to, 0 at first, for what has this hash. There are so many: some serve several, which must do no harm. nullptr where the driver has no such memory.
  static constexpr std::size_t most_notes = 4096;
  kernels::GroupNote* note(const Device& device, std::size_t hash);

  // Sees to memory for streams that are captured with too little of their own: blocks of so many bytes, or of the most that was ever reserved, for `most_spares` streams,
  // for fewer where those would take more than `most_spare_bytes`, but for one at least.
  void reserve(const Device& device, std::size_t bytes);
  // Frees what a stream has, whose work is done, and which was never captured; before the stream is destroyed.
  void forget(void* stream);
  // Calls on a stream between two tries to have what was wished for where memory had run out.
  static constexpr unsigned calls_between_wishes = 64;
  static constexpr std::size_t most_spares = 8, most_spare_bytes = std::size_t(64) << 20;

 private:
  struct Entry {
    std::mutex mutex;
    unsigned long long stream_id = 0;
    Buffer buffer;
    bool captured = false;
    std::size_t refused = SIZE_MAX;  // so many bytes, that were wished only, there were not; for as many is not asked again for some calls
    unsigned passed_over = 0;        // such calls
  };
  // A stream's handle; the default stream of each thread is one handle for many streams.
  using Key = std::pair<void*, std::thread::id>;
  static Key key_of(void* stream);
  Entry& entry(void* stream);
  static Buffer allocate(const Device& device, std::size_t bytes, void* stream);
  static Buffer allocate_if_there_is(const Device& device, std::size_t bytes, void* stream);
  Buffer spare(std::size_t bytes);
  void retire(Entry& entry);

  std::mutex reserving_;  // held while blocks are made
  std::mutex mutex_;      // of those below, not of the entries
  std::map<Key, Entry> entries_;
  std::list<Buffer> retired_;  // that a graph, or work of a stream that is gone, may still use
  std::vector<Buffer> spares_;  // of reserved_ bytes each, in no stream's order
  std::size_t reserved_ = 0;
  std::unique_ptr<kernels::GroupNote, std::function<void(kernels::GroupNote*)>> notes_;
};

}  // namespace ggemm::cuda
