// SPDX-License-Identifier: Apache-2.0
// The rules that say which configurations a problem and a device allow.
#pragma once
#include <optional>
#include <string>

#include "select/footprint.hpp"

namespace ggemm::select {

// The first rule that the configuration breaks for this problem on this device, as a sentence; nothing if it is legal.
std::optional<std::string> illegal(const core::ProblemType& type, const core::Config& config, const core::DeviceFacts& facts);

// Whether a configuration may compute the larger groups of a configuration that leaves them to another one (Config::large_above): without clusters where CTAs are limited, to however few.
bool for_large_groups(const core::ProblemType& type, const core::Config& config, const core::DeviceFacts& facts);

}  // namespace ggemm::select
