// SPDX-License-Identifier: Apache-2.0
#include "common/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/failure.hpp"

namespace ggemm::tools {

void check_output(const std::string& path, std::string_view begin) {
  if (path.empty()) return;
  const auto refuse_if = [&](bool failed, int reason) {
    if (failed) fail_file("cannot write %s: %s", path.c_str(), std::strerror(reason));
  };
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    refuse_if(errno != ENOENT, errno);
    std::filesystem::path target = path;  // of a link to what is not there yet
    std::error_code none;
    for (int links = 0; links < 40 && std::filesystem::is_symlink(target, none); ++links) target = target.parent_path() / std::filesystem::read_symlink(target, none);
    const std::string folder = target.parent_path().string();
    refuse_if(access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0, errno);
    return;
  }
  refuse_if(S_ISDIR(found.st_mode), EISDIR);
  refuse_if(access(path.c_str(), W_OK) != 0, errno);
  if (!S_ISREG(found.st_mode)) return;
  std::ifstream file(path, std::ios::binary);
  refuse_if(!file, errno);  // what it holds cannot be known
  std::string head(begin.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  if (head != begin.substr(0, head.size())) fail_file("%s is a file of another kind, which would be lost: name another", path.c_str());
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (a.empty() || b.empty()) return false;
  const auto place = [&](const std::string& path) { return std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none); };
  return std::filesystem::equivalent(a, b, none) || place(a) == place(b);
}

}  // namespace ggemm::tools
