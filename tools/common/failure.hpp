// SPDX-License-Identifier: Apache-2.0
// How a command fails: one sentence for stderr and the exit code that the manual page names.
#pragma once
#include <stdexcept>
#include <string>

#include "ggemm.h"

namespace ggemm::tools {

enum ExitCode : int { exit_ok = 0, exit_failure = 1, exit_usage = 2, exit_file = 3 };

class Failure : public std::runtime_error {
 public:
  // An empty text ends the program silently: the command has said all already.
  Failure(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

// printf-style. A wrong command line or wrong contents of an input, and a file that cannot be read or written.
[[noreturn]] void fail_usage(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void fail_file(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Throws ggemm's own sentence unless the status is GGEMM_OK. What ggemm finds wrong with its arguments came from the command line or an input.
void check(ggemm_status status);

}  // namespace ggemm::tools
