// SPDX-License-Identifier: Apache-2.0
// The benchmark's own kernels, embedded at build time from tools/bench/kernels.
#pragma once
#include <vector>

#include "jit/jit.hpp"

namespace ggemm::bench {

const std::vector<jit::EmbeddedFile>& kernel_files();

}  // namespace ggemm::bench
