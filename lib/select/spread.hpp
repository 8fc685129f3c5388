// SPDX-License-Identifier: Apache-2.0
// How rows are spread over groups, as far as a choice knows it: by how many groups there are, their mean and their skew.
#pragma once
#include <array>

namespace ggemm::select {

// Groups that have rows, as parts of so many groups of so many rows each.
struct Spread {
  struct Part {
    double groups, rows;  // rows: 1 or more
  };
  static constexpr int most_parts = 12;
  std::array<Part, most_parts> parts{};
  int count = 0;
  bool alike = false;  // all groups have as many

  const Part* begin() const { return parts.data(); }
  const Part* end() const { return parts.data() + count; }
  void add(double groups, double rows);  // of fewer rows than one each so many groups have one
  double groups() const;
  double rows() const;  // of all
  double mean() const { return rows() / groups(); }
  double tile_rows(double tile) const;  // of all, rows of tiles of so many rows
  // The parts of more rows than `least`, and no more than `most`.
  Spread of(double least, double most) const;

 private:
  template <class Function>
  double sum(Function of) const {
    double out = 0;
    for (const Part& part : *this) out += of(part);
    return out;
  }
};

// skew: core::skew_of's, from core::skew_alike to core::skew_most.
Spread spread_of(double groups, double mean, int skew);

}  // namespace ggemm::select
