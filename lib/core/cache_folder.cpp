// SPDX-License-Identifier: Apache-2.0
#include "core/cache_folder.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "core/disk.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/library.hpp"

namespace ggemm::core {
namespace {

constexpr std::int64_t stale_seconds = 3600;  // no write of one file takes an hour
constexpr std::string_view temporary_start = ".tmp-", temporary_end = ".ggemm";

// "a/b/" and "a/b/." name what b links to even with O_NOFOLLOW, so such tails go.
std::string without_tail(std::string path) {
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) path.pop_back();
  return path;
}

bool make_with_parents(const std::string& path) {
  if (io::make_folder(path.c_str())) return true;
  const std::size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == 0 || slash == std::string::npos) return false;
  return make_with_parents(path.substr(0, slash)) && io::make_folder(path.c_str());
}

CacheFolder open_folder(const std::string& path, bool create) {
  CacheFolder out;
  const auto refuse = [&](const std::string& why) {
    out.problem = path + ": " + why;
    out.file = io::File();
  };
  const auto open = [&] { return io::open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY); };
  out.file = open();
  if (!out.file && errno == ENOENT && create) {
    if (make_with_parents(path)) {
      out.file = open();
    } else {
      refuse("cannot be created: " + io::reason());
      return out;
    }
  }
  struct stat about{};
  if (!out.file) {
    const std::string why = io::reason();
    const bool link = io::status_at(AT_FDCWD, path.c_str(), about) && S_ISLNK(about.st_mode);
    refuse(link ? "is a symbolic link" : "cannot be opened: " + why);
  } else if (!io::status(out.file.get(), about)) {
    refuse("cannot be examined: " + io::reason());
  } else if (create && about.st_uid != ::geteuid()) {
    refuse(text("belongs to user %u, not to user %u", static_cast<unsigned>(about.st_uid), static_cast<unsigned>(::geteuid())));
  } else if (about.st_mode & 022) {
    refuse(text("can be written by others (mode %03o)", static_cast<unsigned>(about.st_mode & 0777)));
  }
  out.owner = about.st_uid;
  return out;
}

// Process ids mean something within one boot of one machine, and within one container.
const std::string& machine() {
  static const std::string name = [] {
    std::string boot(36, '\0');  // the length of a UUID's text
    const io::File file = io::open_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY);
    if (!file || !io::read_all(file.get(), boot)) boot.clear();
    struct stat ids{};
    if (::stat("/proc/self/ns/pid", &ids) != 0) ids.st_ino = 0;
    return hexadecimal(hash128({boot, std::to_string(ids.st_ino)})).substr(0, 16);
  }();
  return name;
}

}  // namespace

CacheFolder open_own_folder(const std::string& path) { return open_folder(without_tail(path), true); }

CacheFolder open_shared_folder(const std::string& path) { return open_folder(without_tail(path), false); }

std::string temporary_name() {
  // Starts at the time, so that a process that gets the id of a dead one does not find the other's names taken.
  static std::atomic<std::uint64_t> number{[] {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
  }()};
  return std::string(temporary_start) + machine() + '-' + std::to_string(::getpid()) + '-' + std::to_string(number++) + std::string(temporary_end);
}

bool is_stale_temporary(std::string_view name, std::int64_t changed_seconds, std::int64_t now_seconds) {
  if (!name.starts_with(temporary_start) || !name.ends_with(temporary_end)) return false;
  if (now_seconds - changed_seconds > stale_seconds) return true;
  name.remove_prefix(temporary_start.size());
  const std::string& here = machine();
  if (!name.starts_with(here + '-')) return false;
  name.remove_prefix(here.size() + 1);
  pid_t process = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), process);
  if (parsed.ec != std::errc() || parsed.ptr == name.data() + name.size() || *parsed.ptr != '-' || process <= 0) return false;
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

std::string default_cache_folder() {
  if (const std::string own = environment("GGEMM_CACHE_DIR"); !own.empty()) return own;
  // The XDG specification says that a relative path is to be ignored.
  if (const std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/ggemm";
  const std::string home = environment("HOME");
  if (!home.starts_with('/')) return "";
  // Under sudo it may be another user's, who could not use what root would leave there.
  struct stat about{};
  if (::stat(home.c_str(), &about) != 0 || about.st_uid != ::geteuid()) return "";
  // Anybody may put things there, so only who names such a place gets it.
  const std::string folder = (std::filesystem::path(home) / ".cache/ggemm").lexically_normal().string();
  for (const char* open_to_all : {"/tmp/", "/var/tmp/", "/dev/shm/"})
    if (folder.starts_with(open_to_all)) return "";
  return folder;
}

}  // namespace ggemm::core
