// SPDX-License-Identifier: Apache-2.0
// The folder of the disk cache, looked at without being made.
#pragma once
#include <string>

#include "common/context.hpp"

namespace ggemm::tools {

struct CacheFolder {
  std::string path;      // "": memory only
  bool is_there = false;
  std::string problem;   // why it is not used, or cannot be made; "" if it is or can
};
CacheFolder look_at_cache(const DeviceOptions& options);

}  // namespace ggemm::tools
