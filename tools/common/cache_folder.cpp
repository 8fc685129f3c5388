// SPDX-License-Identifier: Apache-2.0
#include "common/cache_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/cache_folder.hpp"
#include "core/disk.hpp"

namespace ggemm::tools {

CacheFolder look_at_cache(const DeviceOptions& options) {
  CacheFolder out;
  out.path = options.cache_dir.empty() ? core::default_cache_folder() : options.cache_dir;
  if (out.path.empty()) return out;
  std::filesystem::path existing = out.path;
  struct stat about {};
  if (lstat(out.path.c_str(), &about) != 0 && errno == ENOENT) {
    // It will be made, with its parents.
    while (!existing.empty() && lstat(existing.c_str(), &about) != 0 && errno == ENOENT && existing != existing.parent_path()) existing = existing.parent_path();
    if (access(existing.empty() ? "." : existing.c_str(), W_OK | X_OK) != 0) out.problem = out.path + ": cannot be created: " + std::strerror(errno);
    return out;
  }
  const core::CacheFolder opened = core::open_shared_folder(out.path);
  out.is_there = true;
  out.problem = opened.problem;
  if (out.problem.empty() && opened.owner != geteuid()) out.problem = out.path + ": belongs to user " + std::to_string(opened.owner) + ", not to user " + std::to_string(geteuid());
  return out;
}

}  // namespace ggemm::tools
