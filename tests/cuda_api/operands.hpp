// SPDX-License-Identifier: Apache-2.0
// Products of i8 that kernels with tensor maps serve.
#pragma once
#include <algorithm>
#include <vector>

#include "machine.hpp"

namespace ggemm::tests {

// i8 times i8 into i32: A row-major, B given as [n, k], both at multiples of 16 bytes unless `off` shifts them.
struct Bytes {
  static constexpr std::int64_t m = 70, n = 100, k = 512;
  alignas(16) std::int8_t a[m * k + 16], b[n * k + 16];
  alignas(16) std::int32_t d[m * n];
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;

  explicit Bytes(const char* config = nullptr, int off = 0) {
    for (std::size_t i = 0; i < sizeof a; ++i) a[i] = static_cast<std::int8_t>(i % 7 - 3);
    for (std::size_t i = 0; i < sizeof b; ++i) b[i] = static_cast<std::int8_t>(i % 5 - 2);
    std::fill_n(d, m * n, 77);
    driver().add_memory(a, sizeof a);
    driver().add_memory(b, sizeof b);
    driver().add_memory(d, sizeof d);
    desc.m = m, desc.n = n, desc.k = k;
    desc.a.dtype = desc.b.dtype = GGEMM_I8, desc.d.dtype = GGEMM_I32;
    desc.b.row_stride = 1, desc.b.col_stride = k;
    desc.config = config;
    args.a = a + off, args.b = b, args.d = d;
  }
  ~Bytes() {
    driver().wait();  // for what a test launched and did not look at
    driver().remove_memory(a);
    driver().remove_memory(b);
    driver().remove_memory(d);
  }
  bool right() const {
    driver().wait();
    const auto* x = static_cast<const std::int8_t*>(args.a);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::int32_t sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += x[i * k + l] * b[j * k + l];
        if (d[i * n + j] != sum) return false;
      }
    return true;
  }
};

// Ones of i8, ragged along m: two groups of 20 and 100 rows, n = 96, k = 64, whose products are 64 everywhere. gap: between the groups' parts of B; if it is no whole line, one map cannot tell both.
struct Ones {
  static constexpr std::int64_t rows = 120, n = 96, k = 64, no_line = 16;
  std::vector<std::int8_t> a = std::vector<std::int8_t>(rows * k, 1), b;
  std::vector<std::int32_t> d = std::vector<std::int32_t>(rows * n, -7), ends{20, 120};
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  explicit Ones(const char* config, std::int64_t gap = 0) : b(static_cast<std::size_t>(2 * n * k + gap), 1) {
    desc.groups = 2, desc.form = GGEMM_GROUPS_RAGGED_M, desc.ends = ggemm_i32_at(ends.data(), 4);
    desc.m = ggemm_const(rows), desc.n = ggemm_const(n), desc.k = ggemm_const(k);
    desc.a.dtype = desc.b.dtype = GGEMM_I8, desc.d.dtype = GGEMM_I32;
    desc.b.row_stride = ggemm_const(1), desc.b.col_stride = ggemm_const(k), desc.b.group_stride = n * k + gap;
    desc.config = config;
    args.a = a.data(), args.b = b.data(), args.d = d.data();
  }
  void run(const ContextPointer& context, void* stream = nullptr) {
    const ggemm_status status = ggemm_grouped_gemm(context.get(), &desc, &args, stream);
    INFO(ggemm_last_error());
    REQUIRE(status == GGEMM_OK);
    driver().wait();
    CHECK(d == std::vector<std::int32_t>(d.size(), 64));
  }
};

}  // namespace ggemm::tests
