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
#include "bench/layout.hpp"
#include "ggemm.h"

namespace ggemm::bench {

class Block {
 public:
  // The values are rounded to the dtype.
  Block(ggemm_dtype dtype, std::vector<double> values);
  const std::vector<char>& bytes() const { return bytes_; }  // period() elements
  std::int64_t period() const { return static_cast<std::int64_t>(values_.size()); }
  double operator[](std::int64_t index) const { return values_[static_cast<size_t>(index % period())]; }

 private:
  std::vector<char> bytes_;
  std::vector<double> values_;  // what the elements are after rounding
};

// One for A and another for B, made once for each dtype: normal(0, 1) numbers; int8: uniform over all its values.
const Block& block_a(ggemm_dtype dtype);
const Block& block_b(ggemm_dtype dtype);
// Scales of A and of B, f32: between 1/4 and 4, as evenly below 1 as above. Those of A are the weights of rows too.
const Block& scales_a();
const Block& scales_b();
// What is accumulated to.
const Block& block_c();

// Row `row` of D as it came back: `cols` elements of the output dtype.
using RowReader = std::vector<char> (*)(void* user, const View& d, std::int64_t row);

// Compares sampled rows and columns with float64, and looks for poison (all bits set) in whole rows. "" if all is right, else a sentence with the
// worst element.
std::string check_sample(const Case& one, const Layout& layout, RowReader read, void* user);

// |D - ref| may be at most this, for sums of `k` products whose absolute values add up to `magnitude`, `whole` of which are summed at once (less than k: and then
// promoted), in an output of this dtype.
double error_bound(const Type& type, ggemm_dtype output, std::int64_t k, std::int64_t whole, double magnitude, double reference);

}  // namespace ggemm::bench
