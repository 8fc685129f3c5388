// SPDX-License-Identifier: Apache-2.0
// The scales of a case as cuBLASLt takes them: those of A by row or by 1x128 in a matrix of each group's own, packed and contiguous along m.
#pragma once
#include <memory>
#include <vector>

#include "bench/gpu.hpp"
#include "bench/product.hpp"

namespace ggemm::bench {

class LtScales {
 public:
  // NULL where cuBLASLt has none for these sizes: by blocks it takes an m and an n that are multiples of 4.
  static std::shared_ptr<const LtScales> make(const Case& one, const Operands& operands, const Gpu& gpu);

  Scaling scaling() const { return scaling_; }
  // Group g's, in device memory; and device arrays of these addresses.
  const void* a(size_t g) const { return a_[g]; }
  const void* b(size_t g) const { return b_[g]; }
  const void* pointers_a() const { return pointers_.data(); }
  const void* pointers_b() const { return static_cast<const void* const*>(pointers_.data()) + a_.size(); }

 private:
  LtScales(const Case& one, const Operands& operands, const Gpu& gpu);
  Scaling scaling_;
  cuda::Buffer numbers_, pointers_;
  std::vector<const void*> a_, b_;
};

}  // namespace ggemm::bench
