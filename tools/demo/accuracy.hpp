// SPDX-License-Identifier: Apache-2.0
// The layer's products against float64: each on the very input that it had, and all of them from the text to the end.
#pragma once
#include <array>

#include "common/reference.hpp"
#include "demo/products.hpp"

namespace ggemm::tools {

struct Accuracy {
  std::array<ErrorReport, stage_count> product;  // on a sample of rows, against the bound of common/reference.hpp
  double end_to_end = 0;                         // root mean square error of those rows of the layer's output, relative to float64 all the way
  std::int64_t rows = 0;                         // of the experts, in the sample

  bool passed() const;
};

Accuracy check_accuracy(const LayerShape& shape, const LayerData& data, const Products& products, std::int64_t sample);

}  // namespace ggemm::tools
