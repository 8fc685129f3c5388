// SPDX-License-Identifier: Apache-2.0
// The system calls of the disk cache: interruptions and short transfers are dealt with here, and tests can make any of them fail.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ggemm::core::io {

// A file descriptor that is closed at the end of its scope.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File();
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  // Closes now, because a network file system may report a full disk only here. False with errno set on failure.
  bool close();
  // Another owner closes it from now on.
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

// Called before each system call with its name; for read and write with the number of bytes asked for, which it may lower. Returns the errno to
// fail with, or 0.
using Fault = int (*)(const char* call, std::size_t* bytes);
// Set by tests only.
void set_fault(Fault fault);

// All set errno on failure. Descriptors are opened with O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, so that a link, a pipe or a device in the
// place of a file is harmless.
File open_at(int folder, const char* name, int flags, mode_t mode = 0);
bool status(int descriptor, struct stat& out);
bool status_at(int folder, const char* name, struct stat& out);  // of a link itself
bool read_all(int descriptor, std::string& out);                 // fills `out`; a file that ends sooner is an error, EIO
bool write_all(int descriptor, std::string_view bytes);
bool sync(int descriptor);
bool set_mode(int descriptor, mode_t mode);
bool touch(int descriptor);  // sets the time of the last change to now
bool rename_at(int folder, const char* from, const char* to);
bool unlink_at(int folder, const char* name);
bool make_folder(const char* path);  // 0700; true if it exists already
bool names_in(int folder, std::vector<std::string>& out);

// The text of errno: "No space left on device".
std::string reason();

}  // namespace ggemm::core::io
