// SPDX-License-Identifier: Apache-2.0
// The kernels that random products are drawn for: all that the library lists for the device, whatever families there are.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"
#include "tally.hpp"

namespace ggemm::tests {

// "bf16", "tf32", "f32x3", or "mixed" where A's and B's types differ.
std::string dtype_label(const CaseType& type);

// A kernel, but for what the library may yet choose by a product's strides.
struct KernelClass {
  std::int64_t number = 0;
  RowKey row;
  CaseType type;       // what it is compiled for
  std::string config;  // without the raster group, which is no part of a kernel
  Size tile{0, 0, 0};
};

// One product for a kernel to run, and the name to force.
struct KernelCase {
  Case input;
  std::string config;
};

class KernelPool {
 public:
  KernelPool(const Options& options, ggemm_context* context);
  bool empty() const { return wheel_.empty(); }
  std::vector<std::string> families() const;
  std::set<std::string> configurations() const;  // by name and form
  // Kernel `number` of the seed. Nothing if the library has none such after all, with the output and epilogue that were drawn.
  std::optional<KernelClass> draw(std::int64_t number) const;
  // Product `number` of the kernel. Nothing if none was found that the kernel is legal for.
  std::optional<KernelCase> draw_case(const KernelClass& kernel, std::int64_t number) const;

 private:
  struct Choice {
    CaseType type;
    Size tile;
  };
  struct Configurations {
    std::string name;
    std::vector<Choice> choices;  // in several layouts, where the name says the same
  };
  // All kernels of one row of the table.
  struct Cell {
    RowKey row;
    std::vector<Configurations> names;  // in the order in which they are visited: every tile before any comes again
    std::int64_t weight = 1;            // visits a turn of the wheel
  };
  struct Spoke {
    std::size_t cell;
    std::int64_t visit;
  };
  using Found = std::map<RowKey, std::map<std::string, std::vector<Choice>>>;

  void find(const CaseType& type, Found& found) const;
  std::vector<Size> many_tiles(const KernelClass& kernel, Rng& rng) const;
  std::vector<Size> tiles_left_over(const KernelClass& kernel, int ctas, Rng& rng) const;
  void turn_into_cells(const Found& found);
  std::optional<std::string> legal_name(const Case& c, const std::string& config) const;  // with the raster group of the library's choice
  const Options& options_;
  ggemm_context* context_;
  std::int64_t multiprocessors_ = 0;  // 0: the host
  std::vector<Cell> cells_;
  std::vector<Spoke> wheel_;
};

}  // namespace ggemm::tests
