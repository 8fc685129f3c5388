// SPDX-License-Identifier: Apache-2.0
#include "core/io.hpp"

#include <dirent.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace ggemm::core::io {
namespace {

std::atomic<Fault> fault_hook{nullptr};

bool faulted(const char* call, std::size_t* bytes = nullptr) {
  const Fault fault = fault_hook.load(std::memory_order_relaxed);
  if (!fault) return false;
  std::size_t whole = 0;
  const int error = fault(call, bytes ? bytes : &whole);
  if (error) errno = error;
  return error != 0;
}

// Runs a call that returns -1 on failure until no signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace

void set_fault(Fault fault) { fault_hook = fault; }

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool File::close() {
  // The descriptor is gone even when close fails, so it is never tried twice.
  const int result = ::close(std::exchange(descriptor_, -1));
  if (faulted("close")) return false;
  return result == 0 || errno == EINTR;
}

File open_at(int folder, const char* name, int flags, mode_t mode) {
  if (faulted("openat")) return File();
  return File(uninterrupted([&] { return ::openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode); }));
}

bool status(int descriptor, struct stat& out) { return !faulted("fstat") && ::fstat(descriptor, &out) == 0; }

bool status_at(int folder, const char* name, struct stat& out) {
  return !faulted("fstatat") && ::fstatat(folder, name, &out, AT_SYMLINK_NOFOLLOW) == 0;
}

bool read_all(int descriptor, std::string& out) {
  for (std::size_t done = 0; done < out.size();) {
    std::size_t bytes = out.size() - done;
    if (faulted("read", &bytes)) return false;
    const ssize_t got = uninterrupted([&] { return ::read(descriptor, out.data() + done, bytes); });
    if (got < 0) return false;
    if (got == 0) {
      errno = EIO;
      return false;
    }
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t count = bytes.size();
    if (faulted("write", &count)) return false;
    const ssize_t put = uninterrupted([&] { return ::write(descriptor, bytes.data(), count); });
    if (put < 0) return false;
    if (put == 0) {
      errno = EIO;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool sync(int descriptor) {
  return !faulted("fsync") && uninterrupted([&] { return ::fsync(descriptor); }) == 0;
}

bool set_mode(int descriptor, mode_t mode) { return !faulted("fchmod") && ::fchmod(descriptor, mode) == 0; }

bool touch(int descriptor) {
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  return !faulted("futimens") && ::futimens(descriptor, times) == 0;
}

bool rename_at(int folder, const char* from, const char* to) { return !faulted("renameat") && ::renameat(folder, from, folder, to) == 0; }

bool unlink_at(int folder, const char* name) { return !faulted("unlinkat") && ::unlinkat(folder, name, 0) == 0; }

bool make_folder(const char* path) { return !faulted("mkdir") && (::mkdir(path, 0700) == 0 || errno == EEXIST); }

bool names_in(int folder, std::vector<std::string>& out) {
  // A descriptor of its own: the position in a folder belongs to the open file, which copies of a descriptor share.
  File own = open_at(folder, ".", O_RDONLY | O_DIRECTORY);
  if (!own || faulted("fdopendir")) return false;
  const auto close_stream = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close_stream)> stream(::fdopendir(own.get()), close_stream);
  if (!stream) return false;
  own.release();
  while (true) {
    errno = 0;
    if (faulted("readdir")) return false;
    const dirent* entry = ::readdir(stream.get());
    if (!entry) return errno == 0;
    out.emplace_back(entry->d_name);
  }
}

std::string reason() { return std::generic_category().message(errno); }

}  // namespace ggemm::core::io
