// SPDX-License-Identifier: Apache-2.0
// A private folder that is gone at the end of its scope.
#pragma once
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace ggemm::tests {

// In memory where there is such a file system: for tests that write thousands of files and would wait for the disk.
enum class Where { disk, memory };

class TempFolder {
 public:
  explicit TempFolder(Where where = Where::disk) : path_(parent(where) + "/ggemm-test-XXXXXX") {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("no temporary folder can be made at " + path_);
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }

 private:
  static std::string parent(Where where) {
    return where == Where::memory && ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path().string();
  }
  std::string path_;
};

}  // namespace ggemm::tests
