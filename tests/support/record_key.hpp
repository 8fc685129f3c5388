// SPDX-License-Identifier: Apache-2.0
// The text that a tuning record is kept under, read back.
#pragma once
#include <optional>
#include <string>

#include "core/config.hpp"
#include "core/key.hpp"

namespace ggemm::tests {

struct RecordKey {
  core::ProblemKey problem;
  std::string device, arch;
  int multiprocessors = 0;
};
// Nothing for what select::record_key does not write, and for a caller's own key, which has no sizes.
std::optional<RecordKey> read_record_key(const std::string& text);

}  // namespace ggemm::tests
