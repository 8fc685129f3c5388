// SPDX-License-Identifier: Apache-2.0
// A small product with tokens in the order of their groups, right as it stands, to be turned into other forms or spoilt.
#pragma once
#include "fixture.hpp"

namespace ggemm::tests::ragged {

constexpr std::int64_t groups = 3, rows = 7, n = 2, k = 2;

// Seven rows in three groups of 3, 0 and 2 rows; two rows behind the last end. Group g multiplies by g + 1.
struct Ragged {
  Ragged() : d(rows * n, -7.0f), c(rows * n, 100.0f) {
    for (std::int64_t i = 0; i < rows; ++i) a.insert(a.end(), {static_cast<float>(i), 1.0f});
    for (int g = 0; g < groups; ++g) b.insert(b.end(), {g + 1.0f, 0.0f, 0.0f, g + 1.0f});
    desc.form = GGEMM_GROUPS_RAGGED_M;
    desc.groups = groups;
    desc.m = ggemm_const(rows), desc.n = ggemm_const(n), desc.k = ggemm_const(k);
    desc.ends = ggemm_i32_at(ends, 4);
    desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
    args.a = a.data(), args.b = b.data(), args.d = d.data();
  }
  Ragged(const Ragged&) = delete;
  ggemm_status run() { return ggemm_grouped_gemm(context.get(), &desc, &args, nullptr); }
  ContextPointer context = host_context();
  std::int32_t ends[groups] = {3, 3, 5};
  std::vector<float> a, b, d, c, bias = {10, 20, 30, 40, 50, 60, 70};
  float scalars[2 * groups] = {1, 0, 2, 0, -1, 0};
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
};

inline void to_ragged_k(Ragged& p) {
  p.desc.form = GGEMM_GROUPS_RAGGED_K;
  p.desc.m = ggemm_const(2), p.desc.k = ggemm_const(rows);
  p.desc.a.row_stride = ggemm_const(1), p.desc.a.col_stride = ggemm_const(2);
}
inline void to_masked(Ragged& p) {
  p.desc.form = GGEMM_GROUPS_MASKED;
  p.desc.ends = ggemm_const(0);
  p.desc.m = ggemm_const(2);
  p.desc.counts = ggemm_i32_at(p.ends, 4);
}
inline void to_batch(Ragged& p) {
  to_masked(p);
  p.desc.form = GGEMM_GROUPS_BATCH;
  p.desc.counts = ggemm_const(0);
}

}  // namespace ggemm::tests::ragged
