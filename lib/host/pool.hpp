// SPDX-License-Identifier: Apache-2.0
// Persistent worker threads and the scratch memory of those who compute. Threads start at the first product that is worth them.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ggemm::host {

// 64-byte aligned memory for one thread's packed panels and sums.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);  // throws GGEMM_ERROR_OUT_OF_MEMORY
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  char* data() const { return data_; }

 private:
  char* data_;
};

class Pool {
 public:
  // threads: with the caller's. scratch_bytes: of each Scratch.
  Pool(int threads, std::size_t scratch_bytes);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls work(scratch) in the calling thread and in up to participants - 1 workers, at once; returns when all that began have ended. `work` must
  // share the task among those who turn up. All scratch memory is taken before work begins, so a lack of it leaves everything as it was.
  void run(int participants, const std::function<void(Scratch&)>& work);

 private:
  struct Job {
    const std::function<void(Scratch&)>* work;
    std::vector<std::unique_ptr<Scratch>> scratch;  // one a participant; the caller's is the first
    std::size_t joined = 1;                         // participants that have begun
    int working = 0;                                // workers in it now
    std::exception_ptr error;
    std::condition_variable done;
  };
  void start_workers();
  void serve();
  void take_scratch(Job& job, int count);

  const int threads_;
  const std::size_t scratch_bytes_;
  std::mutex mutex_;  // guards all below, and jobs' fields
  std::condition_variable wake_;
  std::deque<Job*> jobs_;  // that still want workers
  std::vector<std::unique_ptr<Scratch>> free_scratch_;
  std::vector<std::thread> workers_;
  bool started_ = false, stop_ = false;
};

// The pool of a device. A forked child has its parent's memory but not its threads: it gets a pool of its own, and leaves the parent's, whose locks
// may be held for ever, untouched.
class PoolHolder {
 public:
  PoolHolder(int threads, std::size_t scratch_bytes);
  ~PoolHolder();
  Pool& get();

 private:
  struct Owned {
    unsigned generation;
    Pool pool;
  };
  const int threads_;
  const std::size_t scratch_bytes_;
  std::atomic<Owned*> owned_{nullptr};
};

}  // namespace ggemm::host
