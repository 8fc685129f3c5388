// SPDX-License-Identifier: Apache-2.0
// A host context and small problems that are right, for tests that then spoil one thing.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ggemm.h"

namespace ggemm::tests {

using ContextPointer = std::unique_ptr<ggemm_context, void (*)(ggemm_context*)>;
using PlanPointer = std::unique_ptr<ggemm_plan, void (*)(ggemm_plan*)>;

// Options of a host context that reads and writes no file and uses no CBLAS.
inline ggemm_context_options host_options() {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  options.threads = 2;
  options.cache_dir = "";
  options.shared_cache_dir = "";
  options.cblas_path = "";
  return options;
}

inline ContextPointer make_context(const ggemm_context_options& options) {
  ggemm_context* context = nullptr;
  const ggemm_status status = ggemm_context_create(&options, &context);
  INFO(ggemm_last_error());
  REQUIRE(status == GGEMM_OK);
  REQUIRE(context != nullptr);
  return {context, ggemm_context_destroy};
}
inline ContextPointer host_context() { return make_context(host_options()); }

// D[5,7] = A[5,6] B[6,7] + C in one type, row-major, filled so that any write to D shows.
template <class T>
struct PlainProblem {
  static constexpr std::int64_t m = 5, n = 7, k = 6;
  explicit PlainProblem(ggemm_dtype dtype) : a(m * k, T(1)), b(k * n, T(2)), c(m * n, T(3)), bias(64, T(4)), d(m * n) {
    std::memset(d.data(), 0x5a, d.size() * sizeof(T));
    desc.m = m, desc.n = n, desc.k = k;
    desc.a.dtype = desc.b.dtype = desc.d.dtype = dtype;
    args.a = a.data(), args.b = b.data(), args.d = d.data();
  }
  PlainProblem(const PlainProblem&) = delete;
  bool d_untouched() const {
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(d.data());
    for (std::size_t i = 0; i < d.size() * sizeof(T); ++i)
      if (bytes[i] != 0x5a) return false;
    return true;
  }
  std::vector<T> a, b, c, bias, d;
  T alpha = T(1), beta = T(1);
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
};

// Three groups of the same f32 problem, sizes in an int32 array [3,3], leading dimensions in an int64 array.
struct GroupedProblem {
  static constexpr std::int64_t groups = 3, m = 4, n = 3, k = 5;
  GroupedProblem() : a(groups * m * k, 1.0f), b(groups * k * n, 2.0f), c(groups * m * n, 3.0f), d(groups * m * n) {
    std::memset(d.data(), 0x5a, d.size() * sizeof(float));
    for (int g = 0; g < groups; ++g) {
      for (const std::int64_t size : {m, n, k}) sizes.push_back(static_cast<std::int32_t>(size));
      a_pointers[g] = &a[static_cast<std::size_t>(g * m * k)];
      b_pointers[g] = &b[static_cast<std::size_t>(g * k * n)];
      c_pointers[g] = &c[static_cast<std::size_t>(g * m * n)];
      d_pointers[g] = &d[static_cast<std::size_t>(g * m * n)];
      lds.push_back(k);
    }
    desc.groups = groups;
    desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
    desc.m = ggemm_i32_at(&sizes[0], 12);
    desc.n = ggemm_i32_at(&sizes[1], 12);
    desc.k = ggemm_i32_at(&sizes[2], 12);
    desc.a.row_stride = ggemm_i64_at(lds.data(), 8);
    desc.a.col_stride = ggemm_const(1);
    args.a = a_pointers, args.b = b_pointers, args.d = d_pointers;
  }
  GroupedProblem(const GroupedProblem&) = delete;
  bool d_untouched() const {
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(d.data());
    for (std::size_t i = 0; i < d.size() * sizeof(float); ++i)
      if (bytes[i] != 0x5a) return false;
    return true;
  }
  std::vector<float> a, b, c, d;
  std::vector<std::int32_t> sizes;
  std::vector<std::int64_t> lds;
  const float *a_pointers[groups], *b_pointers[groups], *c_pointers[groups];
  float* d_pointers[groups];
  float alpha = 1, beta = 1;
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
};

// Fails unless the last error holds each part.
inline void check_sentence(const std::vector<std::string>& parts) {
  const std::string sentence = ggemm_last_error();
  CHECK_FALSE(sentence.empty());
  for (const std::string& part : parts) {
    INFO("the sentence is: " << sentence << "\nand must hold: " << part);
    CHECK(sentence.find(part) != std::string::npos);
  }
}

}  // namespace ggemm::tests
