// SPDX-License-Identifier: Apache-2.0
// Where log lines go: the caller's function, if there is one. No lock of ours is held while it runs.
#pragma once
#include <mutex>
#include <new>
#include <string>

#include "core/error.hpp"

namespace ggemm::core {

class Log {
 public:
  Log() = default;
  Log(ggemm_log_fn function, void* user, ggemm_log_level level) { set(function, user, level); }
  void set(ggemm_log_fn function, void* user, ggemm_log_level level) {
    std::lock_guard lock(mutex_);
    function_ = function;
    user_ = user;
    level_ = function ? (level ? level : GGEMM_LOG_INFO) : static_cast<ggemm_log_level>(0);
  }
  template <class... Args>
  void write(ggemm_log_level level, const char* format, Args... args) const {
    std::unique_lock lock(mutex_);
    if (!function_ || level > level_) return;
    const ggemm_log_fn function = function_;
    void* user = user_;
    lock.unlock();
    std::string line;
    try {
      line = text(format, args...);
    } catch (const std::bad_alloc&) {
      return;  // what is told of a call must not fail it, nor end a thread that has nobody to tell
    }
    function(user, level, line.c_str());
  }

 private:
  mutable std::mutex mutex_;
  ggemm_log_fn function_ = nullptr;
  void* user_ = nullptr;
  ggemm_log_level level_ = static_cast<ggemm_log_level>(0);
};

}  // namespace ggemm::core
