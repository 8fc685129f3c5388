// SPDX-License-Identifier: Apache-2.0
// What the tests of the disk cache share.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "core/disk.hpp"
#include "core/entry.hpp"
#include "support/temp_folder.hpp"

namespace ggemm::tests {

// Keeps the warnings.
class Warnings {
 public:
  Warnings() {
    log_.set(
        [](void* user, ggemm_log_level, const char* line) {
          auto& self = *static_cast<Warnings*>(user);
          std::lock_guard lock(self.mutex_);
          self.lines_.push_back(line);
        },
        this, GGEMM_LOG_WARNING);
  }
  const core::Log& log() const { return log_; }
  std::size_t count() const { return lines_.size(); }
  bool mention(const std::string& words) const {
    for (const std::string& line : lines_)
      if (line.find(words) != std::string::npos) return true;
    return false;
  }

 private:
  core::Log log_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// A cache in a folder of its own.
struct Cache {
  TempFolder parent{Where::memory};
  Warnings warnings;
  core::DiskOptions options{parent / "cache", "", std::uint64_t(1) << 30};
  core::Disk disk{options, warnings.log()};

  std::string file(const std::string& key) const { return options.folder + '/' + core::entry_file_name("cubin", key); }
};

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void replace(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  ::chmod(path.c_str(), 0600);
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path().filename().string());
  return out;
}

}  // namespace ggemm::tests
