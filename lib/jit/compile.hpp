// SPDX-License-Identifier: Apache-2.0
// One compile, and one kernel by way of the disk cache, over any set of sources: what class Jit does with the embedded ones.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "jit/jit.hpp"
#include "jit/nvrtc.hpp"

namespace ggemm::jit {

struct Sources {
  std::vector<EmbeddedFile> files;
  std::string hash;
};

// XXH3-128 over all names and texts, in hexadecimal.
std::string hash_of(const std::vector<EmbeddedFile>& files);
std::string cubin_key(const Request& request, const std::string& sources_hash);
// Throws GGEMM_ERROR_COMPILE with NVRTC's log.
Cubin compile(const Nvrtc& nvrtc, const Request& request, const std::vector<EmbeddedFile>& files, bool verbose);
// `disk` may be NULL. anew: as Jit::get has it.
Cubin cached_or_compiled(const Options& options, const core::Disk* disk, const core::Log& log, const Sources& sources, const Request& request, bool anew = false);

}  // namespace ggemm::jit
