// SPDX-License-Identifier: Apache-2.0
// A thread that does pieces of work in order: one stream.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "inside.hpp"

namespace fake {

class Worker {
 public:
  using Work = std::function<void(Worker&)>;
  // A point in a worker's order of work.
  struct Point {
    std::shared_ptr<Worker> worker;
    std::uint64_t ticket = 0;
    void wait() const {
      if (worker) worker->wait(ticket);
    }
    bool reached() const { return !worker || worker->done() >= ticket; }
  };

  Worker() = default;
  ~Worker() { stop(); }

  // The thread starts with the first work. `after`: what must be done before.
  std::uint64_t submit(std::vector<Point> after, Work work) {
    std::lock_guard lock(mutex_);
    queue_.push_back({std::move(after), std::move(work)});
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_all();
    return ++submitted_;
  }
  void wait(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= ticket; });
  }
  std::uint64_t submitted() const {
    std::lock_guard lock(mutex_);
    return submitted_;
  }
  std::uint64_t done() const {
    std::lock_guard lock(mutex_);
    return done_;
  }
  // Does what is left, then ends the thread.
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  double clock_ms = 0;  // that its work claims to have taken; emulated kernels, what they took. Touched by this worker's own thread only

 private:
  struct Item {
    std::vector<Point> after;
    Work work;
  };
  void run() {
    const Inside inside;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Item item = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      for (const Point& point : item.after) point.wait();
      item.work(*this);
      item = {};
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::thread thread_;
  std::uint64_t submitted_ = 0, done_ = 0;
  bool stopping_ = false;
};

}  // namespace fake
