// SPDX-License-Identifier: Apache-2.0
// The operands' numbers, and the check of sampled elements against float64.
//
// A matrix takes its elements from a block of about a million random numbers, repeated: element number i of its memory is block[i mod period]. The
// period is a prime, so that no row falls together with another of the same matrix. Any element is then known on the host without a copy of the
// matrix.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "ggemm.h"

namespace ggemm::bench {

// Normal(0, 1) numbers of a dtype; int8: uniform over all its values.
class Block {
 public:
  Block(ggemm_dtype dtype, std::uint64_t seed, std::int64_t period);
  const std::vector<char>& bytes() const { return bytes_; }  // period() elements
  std::int64_t period() const { return static_cast<std::int64_t>(values_.size()); }
  double operator[](std::int64_t index) const { return values_[static_cast<size_t>(index % period())]; }

 private:
  std::vector<char> bytes_;
  std::vector<double> values_;  // what the elements are after rounding
};

// One for A and another for B, made once for each dtype.
const Block& block_a(ggemm_dtype dtype);
const Block& block_b(ggemm_dtype dtype);

// Where one matrix of a case lies in its operand's memory; all are row-major.
struct View {
  std::int64_t base = 0;  // elements from the start of the memory
  std::int64_t rows = 0, cols = 0, ld = 0;
  std::int64_t at(std::int64_t row, std::int64_t col) const { return base + row * ld + col; }
};

// A case laid out in memory: one entry a group, or a single one.
struct Layout {
  std::vector<View> a, b, d;
  std::int64_t elements_a = 0, elements_b = 0, elements_d = 0;  // of each operand's memory
};
Layout lay_out(const Case& one);

// Row `row` of D as it came back: `cols` elements of the output dtype.
using RowReader = std::vector<char> (*)(void* user, const View& d, std::int64_t row);

// Compares sampled rows and columns with float64, and looks for poison (all bits set) in whole rows. "" if all is right, else a sentence with the
// worst element.
std::string check_sample(const Case& one, const Layout& layout, RowReader read, void* user);

// |D - ref| may be at most this, for sums of `k` products whose absolute values add up to `magnitude`.
double error_bound(const Type& type, std::int64_t k, double magnitude, double reference);

}  // namespace ggemm::bench
