// SPDX-License-Identifier: Apache-2.0
// XXH3-128. It finds damage and names files; it is no signature.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ggemm::core {

// In the canonical (big-endian) order, so that it is the same on every machine.
using Hash128 = std::array<unsigned char, 16>;

// Of the parts joined; where one ends and the next begins is not part of it.
Hash128 hash128(std::initializer_list<std::string_view> parts, std::uint64_t seed = 0);
// 32 lower-case hexadecimal digits.
std::string hexadecimal(const Hash128& hash);

}  // namespace ggemm::core
