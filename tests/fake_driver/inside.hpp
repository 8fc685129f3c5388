// SPDX-License-Identifier: Apache-2.0
// Whether the calling thread is at work for the fake, and not for the library under test.
#pragma once

namespace fake {

class Inside {
 public:
  Inside() { ++depth(); }
  ~Inside() { --depth(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool now() { return depth() > 0; }

 private:
  static int& depth() {
    // Of the threads' first memory: where a library's usual kind cannot be had at a thread's first use of it, the C library ends the process.
    [[gnu::tls_model("initial-exec")]] static thread_local int value = 0;
    return value;
  }
};

}  // namespace fake
