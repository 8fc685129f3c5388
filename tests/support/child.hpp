// SPDX-License-Identifier: Apache-2.0
// Parts of a test that need a process of their own.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ggemm::tests {

// The exit status, or 128 + the signal that ended it.
inline int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::runtime_error("waitpid fails");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Runs `work` in a forked child, which ends with what it returns. The child uses no Catch2 macro.
template <class Work>
pid_t start_child(Work work) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork fails");
  if (child == 0) {
    int result = 99;
    try {
      result = work();
    } catch (...) {
    }
    ::_exit(result);
  }
  return child;
}

// Runs one test of this program, usually a hidden one, in a new process. `program`: "" for this program's file. `user`: whom to become first, if not
// -1. Returns the exit status: 0 passed, 4 skipped, anything else failed.
inline int run_test(const std::string& test, const std::vector<std::pair<std::string, std::string>>& environment, const std::string& program = "",
                    long user = -1) {
  return wait_for(start_child([&] {
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (user >= 0 && (::setgid(static_cast<gid_t>(user)) != 0 || ::setuid(static_cast<uid_t>(user)) != 0)) return 98;
    const std::string file = program.empty() ? "/proc/self/exe" : program;
    ::execl(file.c_str(), file.c_str(), test.c_str(), static_cast<char*>(nullptr));
    return 97;
  }));
}

}  // namespace ggemm::tests
