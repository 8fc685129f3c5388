// SPDX-License-Identifier: Apache-2.0
#include "common/failure.hpp"

#include <cstdarg>
#include <cstdio>

namespace ggemm::tools {
namespace {

[[noreturn]] void throw_failure(ExitCode code, const char* format, va_list list) {
  char text[2048];
  std::vsnprintf(text, sizeof text, format, list);
  throw Failure(code, text);
}

}  // namespace

void fail_usage(const char* format, ...) {
  va_list list;
  va_start(list, format);
  throw_failure(exit_usage, format, list);
}

void fail_file(const char* format, ...) {
  va_list list;
  va_start(list, format);
  throw_failure(exit_file, format, list);
}

void fail(const char* format, ...) {
  va_list list;
  va_start(list, format);
  throw_failure(exit_failure, format, list);
}

void check(ggemm_status status) {
  if (status == GGEMM_OK) return;
  const std::string text = ggemm_last_error();
  throw Failure(status == GGEMM_ERROR_ARGUMENT ? exit_usage : exit_failure, text.empty() ? ggemm_status_string(status) : text);
}

}  // namespace ggemm::tools
