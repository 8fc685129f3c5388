// SPDX-License-Identifier: Apache-2.0
// A cache in which each value is made once, however many threads ask for it at the same time.
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace ggemm::core {

// No lock is held while a value is made, so making one key never holds up another; `make` may ask for other keys, but not for its own.
template <class Key, class Value, class Hash = std::hash<Key>>
class SingleFlight {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // The value if it is ready, else NULL. Never waits for a maker.
  Pointer find(const Key& key) const {
    std::shared_lock lock(mutex_);
    const auto found = ready_.find(key);
    return found == ready_.end() ? nullptr : found->second;
  }

  // `make` returns a Value or a std::shared_ptr to one (not NULL). If it throws, every caller that waited for it gets the error, and the next call
  // tries again.
  template <class Make>
  Pointer get(const Key& key, Make&& make) {
    if (Pointer value = find(key)) return value;
    std::shared_ptr<Flight> flight;
    {
      std::unique_lock lock(mutex_);
      if (const auto found = ready_.find(key); found != ready_.end()) return found->second;
      const auto [place, first] = flights_.try_emplace(key);
      if (!first) {
        flight = place->second;
        lock.unlock();
        return flight->wait();
      }
      try {
        flight = place->second = std::make_shared<Flight>();
      } catch (...) {
        flights_.erase(place);
        throw;
      }
    }
    try {
      Pointer value = pointer(std::forward<Make>(make)());
      {
        std::unique_lock lock(mutex_);
        // Whoever called clear() meanwhile does not want this value kept; its callers still get it.
        if (forget(key, flight)) ready_.emplace(key, value);
      }
      flight->land(value, nullptr);
      return value;
    } catch (...) {
      {
        std::unique_lock lock(mutex_);
        forget(key, flight);
      }
      flight->land(nullptr, std::current_exception());
      throw;
    }
  }

  // Values that callers hold stay valid; those being made now reach their callers but are not kept.
  void clear() {
    std::unordered_map<Key, Pointer, Hash> values;  // destroyed after the lock is gone: a destructor may be slow
    std::unique_lock lock(mutex_);
    values.swap(ready_);
    flights_.clear();
    lock.unlock();
  }

  std::size_t size() const {
    std::shared_lock lock(mutex_);
    return ready_.size();
  }

 private:
  // One value being made, and those who wait for it.
  class Flight {
   public:
    Pointer wait() {
      std::unique_lock lock(mutex_);
      landed_.wait(lock, [this] { return done_; });
      if (error_) std::rethrow_exception(error_);
      return value_;
    }
    void land(Pointer value, std::exception_ptr error) {
      std::lock_guard lock(mutex_);
      value_ = std::move(value);
      error_ = std::move(error);
      done_ = true;
      landed_.notify_all();
    }

   private:
    std::mutex mutex_;
    std::condition_variable landed_;
    bool done_ = false;
    Pointer value_;
    std::exception_ptr error_;
  };

  static Pointer pointer(Value&& value) { return std::make_shared<const Value>(std::move(value)); }
  static Pointer pointer(Pointer&& value) { return std::move(value); }

  // Takes this flight off the list; false if clear() did so already. The list may hold a later flight of the same key by then.
  bool forget(const Key& key, const std::shared_ptr<Flight>& flight) {
    const auto found = flights_.find(key);
    if (found == flights_.end() || found->second != flight) return false;
    flights_.erase(found);
    return true;
  }

  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, Pointer, Hash> ready_;
  std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights_;
};

}  // namespace ggemm::core
