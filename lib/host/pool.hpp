// SPDX-License-Identifier: Apache-2.0
// Persistent worker threads and the scratch memory of those who compute. Threads start at the first product that is worth so many.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
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
  friend class ScratchStack;
  char* data_;
  std::unique_ptr<Scratch> next_;
};

// Linked through its members, so that moving one from stack to stack allocates nothing.
class ScratchStack {
 public:
  ~ScratchStack() {
    while (size_ > 0) pop();  // one by one: each holds the next, and they may be many
  }
  int size() const { return size_; }
  void push(std::unique_ptr<Scratch> scratch);
  std::unique_ptr<Scratch> pop();  // there must be one

 private:
  std::unique_ptr<Scratch> top_;
  int size_ = 0;
};

class Pool {
 public:
  // What participants call, as work(scratch). It refers to a function object that lives until run returns: std::function would copy it to the heap.
  class Work {
   public:
    template <class Function>
    Work(const Function& function)
        : object_(&function), call_([](const void* object, Scratch& scratch) { (*static_cast<const Function*>(object))(scratch); }) {}
    void operator()(Scratch& scratch) const { call_(object_, scratch); }

   private:
    const void* object_;
    void (*call_)(const void*, Scratch&);
  };

  // Scratch memory of so many participants, held as long as this lives: what is taken ahead cannot be missing in the middle of a task.
  class Taken {
   public:
    Taken(Pool& pool, int participants);  // throws GGEMM_ERROR_OUT_OF_MEMORY
    ~Taken();
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    // As Pool::run, by no more participants than it was taken for. Throws what `work` throws, and nothing else.
    void run(int participants, Work work);

   private:
    Pool& pool_;
    ScratchStack stack_;
  };

  // threads: with the caller's. scratch_bytes: of each Scratch.
  Pool(int threads, std::size_t scratch_bytes);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls work(scratch) in the calling thread and in up to participants - 1 workers, at once; returns when all that began have ended. `work` must
  // share the task among those who turn up. All scratch memory is taken before work begins, so a lack of it leaves everything as it was. Once each
  // thread has its scratch memory, nothing is allocated; only callers beyond that number, at the same time, take more.
  void run(int participants, Work work) { Taken(*this, participants).run(participants, work); }

 private:
  struct Job {
    Work work;
    ScratchStack waiting, used;  // for workers who may still join, and of those who have ended
    int working = 0;             // workers in it now
    std::exception_ptr error;
    std::condition_variable done;
  };
  void offer(Job& job);
  void serve();

  const int threads_;
  const std::size_t scratch_bytes_;
  std::mutex mutex_;  // guards all below, and jobs' fields
  std::condition_variable wake_;
  std::vector<Job*> jobs_;  // that still want workers, the oldest first
  ScratchStack free_scratch_;
  std::vector<std::thread> workers_;
  int wanted_ = 0;  // workers that the jobs under way have use for
  bool more_ = true, stop_ = false;  // more_: the system has not refused a worker yet
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
