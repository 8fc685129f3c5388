// SPDX-License-Identifier: Apache-2.0
// System calls of the disk cache that fail, or move fewer bytes than asked for.
#pragma once
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "core/io.hpp"

namespace ggemm::tests {

// What a disk can answer.
constexpr int disk_errors[] = {ENOSPC, EIO, EACCES, EROFS, ESTALE, EMFILE, EINTR};

// As long as it lives, calls from number `first` on fail, `count` of them. transfer: most bytes that a read or write moves; 0: any number. One at a
// time.
class DiskFaults {
 public:
  DiskFaults(int first, int count, int error, std::size_t transfer = 0) {
    calls_ = 0, first_ = first, count_ = count, error_ = error, transfer_ = transfer;
    core::io::set_fault(planned);
  }
  ~DiskFaults() { core::io::set_fault(nullptr); }
  DiskFaults(const DiskFaults&) = delete;
  // Calls since the last one was made.
  static int calls() { return calls_; }

 private:
  static int planned(const char*, std::size_t* bytes) {
    const int number = calls_++;
    if (transfer_ && *bytes > transfer_) *bytes = transfer_;
    return number >= first_ && number - first_ < count_ ? error_ : 0;
  }
  static inline std::atomic<int> calls_ = 0;
  static inline int first_, count_, error_;
  static inline std::size_t transfer_;
};

}  // namespace ggemm::tests
