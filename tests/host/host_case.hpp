// SPDX-License-Identifier: Apache-2.0
// A random product with its operands in memory, and the judgement of its result by a plain triple loop.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "host/isa.hpp"
#include "support/rng.hpp"

namespace ggemm::tests {

// Its buffer spans the first to the last element and not a byte more, so that AddressSanitizer sees any step outside.
struct HostMatrix {
  ggemm_dtype dtype = GGEMM_F32;
  std::int64_t rows = 0, cols = 0, row_stride = 0, col_stride = 1;
  std::int64_t origin = 0;  // offset of element (0, 0): not 0 where strides are negative
  std::vector<unsigned char> bytes;

  void allocate();
  unsigned char* at(std::int64_t i, std::int64_t j);
  const unsigned char* at(std::int64_t i, std::int64_t j) const;
  double value(std::int64_t i, std::int64_t j) const;
  void set(std::int64_t i, std::int64_t j, double value);
  kernels::Matrix view() const;
};

HostMatrix row_major(ggemm_dtype dtype, std::int64_t rows, std::int64_t cols);

struct HostCase {
  ggemm_dtype a_dtype = GGEMM_F32, b_dtype = GGEMM_F32, d_dtype = GGEMM_F32;
  ggemm_compute compute = GGEMM_COMPUTE_DEFAULT;
  ggemm_activation activation = GGEMM_ACTIVATION_NONE;
  ggemm_bias bias_kind = GGEMM_BIAS_NONE;
  double p0 = 0, p1 = 0, alpha = 1, beta = 0;
  bool exact = false;      // the operands are such that nothing but the store rounds
  bool c_is_d = false;
  std::int64_t m = 0, n = 0, k = 0;
  HostMatrix a, b, c, d, bias;  // bias: one row
  std::vector<unsigned char> d_before;

  // Fills unset matrices: packed, row-major. Then type() and params() can be used.
  void allocate();
  core::ProblemType type() const;
  kernels::GemmParams params() const;
  bool sums_f64() const { return a_dtype == GGEMM_F64 || b_dtype == GGEMM_F64; }
  bool sums_i32() const { return a_dtype == GGEMM_I8 && b_dtype == GGEMM_I8; }
  bool epilogue_i32() const { return sums_i32() && d_dtype == GGEMM_I32; }
  std::string text() const;

  void remember() { d_before = d.bytes; }
  void restore() { d.bytes = d_before; }
  // "" if every element is within its bound and no byte beside them was touched; else the first that is wrong.
  std::string judge() const;

 private:
  // Operands as numbers: rows of A and columns of B, each along k.
  struct Numbers {
    std::vector<double> a, b;
    HostMatrix c;  // as it was before the run
  };
  void expect(std::int64_t i, std::int64_t j, const Numbers& numbers, double& low, double& high) const;
};

// exact: small integers, so that D must be right to the last bit. else: real numbers within the element-wise bound.
HostCase random_case(Rng& random, bool exact, std::int64_t largest);

// The whole product by one instruction set's loops, in this thread.
void run_by(const host::Isa& isa, const core::ProblemType& type, const kernels::GemmParams& params);

std::uint64_t seed_of_run();  // $GGEMM_SEED, else 1
// What to type to see it again.
std::string again(const char* test, std::uint64_t number);

}  // namespace ggemm::tests
