// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ggemm::bench {

// `git describe` of the source tree when this was built; "unknown" outside a repository.
const char* built_commit();

}  // namespace ggemm::bench
