// SPDX-License-Identifier: Apache-2.0
#include "host/pool.hpp"

#include <pthread.h>
#include <signal.h>

#include <cfenv>
#include <cstdlib>
#include <new>
#include <system_error>

#include "core/error.hpp"

namespace ggemm::host {
namespace {

constexpr std::size_t scratch_alignment = 64;  // a cache line, and the widest vector

std::atomic<unsigned> fork_generation{0};

// Counted by the child after each fork.
void watch_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
  if (registered != 0) core::fail(GGEMM_ERROR_OUT_OF_MEMORY, "pthread_atfork failed with code %d", registered);
}

// While it lives, new threads start with every signal blocked: handlers belong on the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Scratch::Scratch(std::size_t bytes) {
  const std::size_t rounded = (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
  data_ = static_cast<char*>(std::aligned_alloc(scratch_alignment, rounded));
  if (!data_) core::fail(GGEMM_ERROR_OUT_OF_MEMORY, "no %zu bytes of memory for packed panels", rounded);
}

Scratch::~Scratch() { std::free(data_); }

void ScratchStack::push(std::unique_ptr<Scratch> scratch) {
  scratch->next_ = std::move(top_);
  top_ = std::move(scratch);
  ++size_;
}

std::unique_ptr<Scratch> ScratchStack::pop() {
  std::unique_ptr<Scratch> out = std::move(top_);
  top_ = std::move(out->next_);
  --size_;
  return out;
}

Pool::Pool(int threads, std::size_t scratch_bytes) : threads_(threads), scratch_bytes_(scratch_bytes) {}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// With the mutex held. Where the system gives fewer threads than wanted, or no memory for more, those it gave do the work, or the caller alone does.
void Pool::offer(Job& job) {
  const int most = wanted_ < threads_ ? wanted_ : threads_ - 1;
  try {
    jobs_.push_back(&job);
    if (!more_ || static_cast<int>(workers_.size()) >= most) return;
    const SignalsBlocked blocked;
    while (static_cast<int>(workers_.size()) < most) workers_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    more_ = false;
  } catch (const std::bad_alloc&) {
  }
}

void Pool::serve() {
  std::fesetenv(FE_DFL_ENV);
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    Job& job = *jobs_.front();
    std::unique_ptr<Scratch> scratch = job.waiting.pop();
    ++job.working;
    if (job.waiting.size() == 0) jobs_.erase(jobs_.begin());
    lock.unlock();
    std::exception_ptr error;
    try {
      job.work(*scratch);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !job.error) job.error = error;
    job.used.push(std::move(scratch));
    if (--job.working == 0) job.done.notify_one();  // under the lock: the job lives on its caller's stack
  }
}

Pool::Taken::Taken(Pool& pool, int participants) : pool_(pool) {
  if (participants > pool.threads_) participants = pool.threads_;
  {
    std::lock_guard lock(pool.mutex_);
    while (stack_.size() < participants && pool.free_scratch_.size() > 0) stack_.push(pool.free_scratch_.pop());
  }
  while (stack_.size() < participants) stack_.push(std::make_unique<Scratch>(pool.scratch_bytes_));
}

// What is more than the threads can use at once is freed.
Pool::Taken::~Taken() {
  std::lock_guard lock(pool_.mutex_);
  while (stack_.size() > 0 && pool_.free_scratch_.size() < pool_.threads_) pool_.free_scratch_.push(stack_.pop());
}

void Pool::Taken::run(int participants, Work work) {
  Job job{work, {}, {}, 0, {}, {}};
  std::unique_ptr<Scratch> own = stack_.pop();
  while (job.waiting.size() < participants - 1 && stack_.size() > 0) job.waiting.push(stack_.pop());
  const int others = job.waiting.size();
  if (others > 0) {
    std::lock_guard lock(pool_.mutex_);
    pool_.wanted_ += others;
    pool_.offer(job);
  }
  for (int i = 0; i < others; ++i) pool_.wake_.notify_one();
  std::exception_ptr error;
  try {
    work(*own);
  } catch (...) {
    error = std::current_exception();
  }
  std::unique_lock lock(pool_.mutex_);
  pool_.wanted_ -= others;
  std::erase(pool_.jobs_, &job);
  job.done.wait(lock, [&job] { return job.working == 0; });
  lock.unlock();
  if (!error) error = job.error;
  for (ScratchStack* stack : {&job.used, &job.waiting})
    while (stack->size() > 0) stack_.push(stack->pop());
  stack_.push(std::move(own));
  if (error) std::rethrow_exception(error);
}

PoolHolder::PoolHolder(int threads, std::size_t scratch_bytes) : threads_(threads), scratch_bytes_(scratch_bytes) { watch_forks(); }

PoolHolder::~PoolHolder() {
  Owned* owned = owned_.load();
  if (owned && owned->generation == fork_generation.load()) delete owned;
}

Pool& PoolHolder::get() {
  Owned* owned = owned_.load(std::memory_order_acquire);
  for (;;) {
    const unsigned generation = fork_generation.load(std::memory_order_relaxed);
    if (owned && owned->generation == generation) return owned->pool;
    std::unique_ptr<Owned> fresh(new Owned{generation, {threads_, scratch_bytes_}});
    if (owned_.compare_exchange_strong(owned, fresh.get(), std::memory_order_acq_rel)) return fresh.release()->pool;
  }
}

}  // namespace ggemm::host
