// SPDX-License-Identifier: Apache-2.0
// The suite `compile`: what a kernel costs that no call has had yet.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/results.hpp"
#include "common/context.hpp"

namespace ggemm::bench {

// Microseconds in which a plan is made, medians over the configurations that are chosen for the cases: a row for kernels that are compiled and loaded, and one for kernels that a fresh context
// finds in the disk cache. Folders and caches of the options are left alone. note: is told of each kernel.
std::vector<Row> compile_times(const tools::DeviceOptions& options, const std::vector<Case>& cases, const std::function<void(const std::string&)>& note);

}  // namespace ggemm::bench
