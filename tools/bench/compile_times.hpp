// SPDX-License-Identifier: Apache-2.0
// The suite `compile`: what a kernel costs that no call has had yet.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/results.hpp"
#include "common/context.hpp"

namespace ggemm::bench {

// Microseconds, medians over the configurations that are chosen for the cases: what one kernel takes from source to loaded, of those that serve calls that read no C, all of it aligned, which is what the first
// such call waits for, and of those that serve any; and what a fresh context takes for one that it finds in the disk cache. One is compiled at a time. Folders and caches of the options are left alone. note: is
// told of each kernel.
std::vector<Row> compile_times(const tools::DeviceOptions& options, const std::vector<Case>& cases, const std::function<void(const std::string&)>& note);

}  // namespace ggemm::bench
