// SPDX-License-Identifier: Apache-2.0
// Rows for people and for programs.
#pragma once
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/results.hpp"

namespace ggemm::bench {

// A row and what it is of. Rows of the suite `host` have no flops.
struct Entry {
  Row row;
  double flops = 0;
};

enum class Format { table, csv, json, markdown };
// A head and its rows in each format but JSON, which has names for them.
std::string table_text(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows, Format format);
std::string report(const std::vector<Entry>& entries, Format format);

// TFLOP/s over the size of the problem, one line a provider. The size is the edge of the cube that has as many multiply-adds.
std::string plot_svg(const std::vector<Entry>& entries, const std::string& title);

}  // namespace ggemm::bench
