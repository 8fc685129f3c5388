// SPDX-License-Identifier: Apache-2.0
// A loop over all cores that this process may use, for the tool's own work on ordinary memory.
#pragma once
#include <cstdint>
#include <functional>

namespace ggemm::tools {

// Calls body(0) ... body(count - 1), in any order and in parallel. The first exception is thrown on after all threads have stopped.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body);

}  // namespace ggemm::tools
