// SPDX-License-Identifier: Apache-2.0
// A case in device memory, and ggemm's description of it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/data.hpp"
#include "bench/description.hpp"
#include "common/context.hpp"
#include "common/device_memory.hpp"

namespace ggemm::bench {

// Writes `elements` elements of the block, repeated, from `destination` on.
using Filler = std::function<void(void* destination, std::int64_t elements, const Block& block)>;

// The operands, filled; two memories for D, ours and the peers'.
class Operands {
 public:
  Operands(const Case& one, tools::DeviceMemory& memory, const Filler& fill);

  const Layout& layout() const { return layout_; }
  void* a(size_t group = 0) const { return a_.data() + layout_.a[group].base * in_size_; }
  void* b(size_t group = 0) const { return b_.data() + layout_.b[group].base * in_size_; }
  void* d(size_t group = 0) const { return d_.data() + layout_.d[group].base * out_size_; }
  void* d_peer(size_t group = 0) const { return d_peer_.data() + layout_.d[group].base * out_size_; }
  // Makes D what it is to be before a product that is checked: every byte 0xff, which is NaN in floating point, or what is accumulated to.
  void reset(bool peer);
  // "" if sampled elements are right.
  std::string check(bool peer) const;

  const float* scale_a() const { return reinterpret_cast<const float*>(scale_a_.data()); }  // of all groups; NULL where nothing is scaled
  const float* scale_b() const { return reinterpret_cast<const float*>(scale_b_.data()); }
  const float* weights() const { return reinterpret_cast<const float*>(weights_.data()); }  // scattered: of each row; else NULL

  // Grouped: arrays in device memory, an entry a group.
  const void* pointers(char operand) const;  // 'a', 'b', 'd', or 'p' for the peers' D
  GroupArrays arrays() const;

 private:
  void place_groups();
  const Case case_;
  tools::DeviceMemory& memory_;
  const Filler fill_;
  Layout layout_;
  size_t in_size_, out_size_;
  tools::DeviceBlock a_, b_, d_, d_peer_;
  tools::DeviceBlock scale_a_, scale_b_, weights_;
  tools::DeviceBlock pointers_, sizes_, lds_, ends_, index_;
};

// The case as ggemm computes it: a plan, and the one call.
class Product {
 public:
  // Compiles or loads the kernel. config "": chosen, by the model alone if that is asked for.
  Product(ggemm_context* context, const Case& one, const Operands& operands, const std::string& config, bool model = false);
  void run(void* stream) const;
  void one_call(void* stream) const;
  std::string config() const { return tools::config_of(plan_.get()); }
  double prepare_seconds() const { return prepare_seconds_; }
  // Measures candidates and takes the best from then on; gives the seconds that it took.
  double tune(double budget_seconds);

 private:
  void make_plan();
  ggemm_context* context_;
  Description description_;
  ggemm_gemm_args gemm_args_ = GGEMM_GEMM_ARGS_INIT;
  ggemm_grouped_args grouped_args_ = GGEMM_GROUPED_ARGS_INIT;
  tools::Plan plan_;
  double prepare_seconds_ = 0;
};

}  // namespace ggemm::bench
