// SPDX-License-Identifier: Apache-2.0
#include "core/key.hpp"

#include <functional>
#include <set>
#include <unordered_set>

#include "problem_support.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using core::bucket;

namespace {

// Sizes worth a look: all small ones, and those around multiples of 1/16 of an octave further up. The largest bucket is 2^63 - 2^59.
std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> out;
  for (std::int64_t size = 0; size <= 70000; ++size) out.push_back(size);
  for (int octave = 17; octave < 62; ++octave)
    for (std::int64_t step = 16; step < 32; ++step)
      for (std::int64_t near = -2; near <= 2; ++near) out.push_back((step << (octave - 4)) + near);
  return out;
}

core::ProblemKey key_of(const ggemm_gemm_desc& desc) {
  const core::Problem problem = core::check_problem(desc);
  return core::problem_key(problem);
}

}  // namespace

TEST_CASE("key: a bucket holds its sizes, at most an eighth of an octave, and is its own bucket") {
  int wrong = 0;
  for (const std::int64_t size : sizes()) {
    const std::int64_t up = bucket(size);
    wrong += up < size || bucket(up) != up || (size > 0 && up - size > size / 8);
    if (size <= 16) wrong += up != size;
  }
  CHECK(wrong == 0);
}

TEST_CASE("key: buckets never go down as sizes go up, and there are 8 an octave") {
  const std::vector<std::int64_t> all = sizes();
  int wrong = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i] > all[i - 1]) wrong += bucket(all[i]) < bucket(all[i - 1]);
  CHECK(wrong == 0);
  for (std::int64_t octave = 16; octave <= 32768; octave *= 2) {
    std::set<std::int64_t> found;
    for (std::int64_t size = octave + 1; size <= 2 * octave; ++size) found.insert(bucket(size));
    CHECK(found.size() == 8);
    CHECK(*found.rbegin() == 2 * octave);
  }
  CHECK(bucket(17) == 18);
  CHECK(bucket(100) == 104);
  CHECK(bucket(4096) == 4096);
  CHECK(bucket(4097) == 4608);
  CHECK(bucket((std::int64_t(15) << 59)) == std::int64_t(15) << 59);
}

TEST_CASE("key: many rows of one product are counted by tiles of 128, and by 128 steps an octave where that is more") {
  int wrong = 0;
  for (const std::int64_t size : sizes()) {
    const std::int64_t up = core::rows_bucket(size);
    wrong += up < size || core::rows_bucket(up) != up || up > bucket(size) || (size <= 2048 && up != bucket(size));
    if (size > 2048 && size <= 32768) wrong += up != (size + 127) / 128 * 128;
    if (size > 32768) wrong += up - size > size / 128;
  }
  CHECK(wrong == 0);
  // It is what a key has.
  const auto key = [](std::int64_t rows) { return key_of(plain_desc(GGEMM_BF16, GGEMM_BF16, GGEMM_BF16, rows)); };
  CHECK(key(4097) == key(4224));
  CHECK_FALSE(key(4224) == key(4225));
  CHECK(core::rows_bucket(2049) == 2176);
  CHECK(core::rows_bucket(12608) == 12672);
  CHECK(core::rows_bucket(32769) == 33024);
  CHECK(core::rows_bucket(std::int64_t(255) << 55) == std::int64_t(255) << 55);
}

TEST_CASE("key: what changes the best configuration changes the key") {
  const ggemm_gemm_desc base = plain_desc(GGEMM_F16, GGEMM_F16, GGEMM_F16, 300, 200, 100);
  struct Change {
    const char* title;
    std::function<void(ggemm_gemm_desc&)> make;
  };
  const Change changes[] = {
      {"A's dtype", [](ggemm_gemm_desc& d) { d.a.dtype = GGEMM_BF16; }},
      {"B's dtype", [](ggemm_gemm_desc& d) { d.b.dtype = GGEMM_E4M3; }},
      {"C's dtype", [](ggemm_gemm_desc& d) { d.c.dtype = GGEMM_F32; }},
      {"D's dtype", [](ggemm_gemm_desc& d) { d.d.dtype = GGEMM_F32; }},
      {"the layout of A", [](ggemm_gemm_desc& d) { d.a.row_stride = 1, d.a.col_stride = 300; }},
      {"the layout of B", [](ggemm_gemm_desc& d) { d.b.row_stride = 1, d.b.col_stride = 100; }},
      {"the activation", [](ggemm_gemm_desc& d) { d.epilogue.activation = GGEMM_ACTIVATION_GELU; }},
      {"a bias by column", [](ggemm_gemm_desc& d) { d.epilogue.bias = GGEMM_BIAS_PER_COLUMN; }},
      {"a bias by row", [](ggemm_gemm_desc& d) { d.epilogue.bias = GGEMM_BIAS_PER_ROW; }},
      {"a bias of another dtype", [](ggemm_gemm_desc& d) { d.epilogue.bias = GGEMM_BIAS_PER_ROW, d.epilogue.bias_dtype = GGEMM_F32; }},
      {"m in another bucket", [](ggemm_gemm_desc& d) { d.m = 321; }},
      {"n", [](ggemm_gemm_desc& d) { d.n = 201; }},
      {"k", [](ggemm_gemm_desc& d) { d.k = 101; }},
  };
  std::vector<core::ProblemKey> keys = {key_of(base)};
  for (const Change& change : changes) {
    ggemm_gemm_desc other = base;
    change.make(other);
    const core::ProblemKey key = key_of(other);
    INFO(change.title);
    for (const core::ProblemKey& known : keys) CHECK_FALSE(key == known);
    keys.push_back(key);
  }
  ggemm_gemm_desc tf32 = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32);
  const core::ProblemKey exact = key_of(tf32);
  tf32.compute = GGEMM_COMPUTE_TF32;
  CHECK_FALSE(key_of(tf32) == exact);
  const core::ProblemKey forced = [&] { auto key = exact; return key.config = core::text_hash("simt"), key; }();
  const core::ProblemKey owned = [&] { auto key = exact; return key.tune_key = core::text_hash("simt"), key; }();
  CHECK_FALSE(forced == exact);
  CHECK_FALSE(owned == exact);
  CHECK_FALSE(forced == owned);
}

TEST_CASE("key: what does not change the best configuration leaves the key") {
  const ggemm_gemm_desc base = plain_desc(GGEMM_F16, GGEMM_F16, GGEMM_F16, 300, 200, 96);
  const core::ProblemKey key = key_of(base);
  ggemm_gemm_desc same = base;
  same.m = 289;  // the same bucket: 289 to 320
  CHECK(key_of(same) == key);
  same.m = 320;
  CHECK(key_of(same) == key);
  same = base;
  same.a.row_stride = 104, same.a.col_stride = 1;  // rows further apart
  CHECK(key_of(same) == key);
  same.a.row_stride = 105;  // but not where tensor maps cannot describe them
  CHECK_FALSE(key_of(same) == key);
  same = base;
  same.epilogue.scalars_on_device = 1;
  CHECK(key_of(same) == key);
  same = base;
  same.c.dtype = GGEMM_F16;  // what it is anyway
  CHECK(key_of(same) == key);
  same = base;
  same.epilogue.bias_dtype = GGEMM_F32;  // of no bias
  CHECK(key_of(same) == key);
}

TEST_CASE("key: a grouped problem's key has the expected sizes in buckets and is none of a plain one's") {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_BF16;
  desc.groups = 37;
  desc.n = ggemm_source{nullptr, 0, 1000, GGEMM_SOURCE_CONST, 0};
  desc.expected_m = 100;
  const core::ProblemKey key = core::problem_key(core::check_problem(desc));
  CHECK(key.groups == 40);
  CHECK(key.m == 104);
  CHECK(key.n == 1024);  // a constant is expected to be what it is
  CHECK(key.k == 0);
  ggemm_grouped_desc other = desc;
  other.groups = 41;
  CHECK_FALSE(core::problem_key(core::check_problem(other)) == key);
  other = desc;
  other.expected_m = 105;
  CHECK_FALSE(core::problem_key(core::check_problem(other)) == key);
  other = desc;
  other.expected_k = 7;
  CHECK_FALSE(core::problem_key(core::check_problem(other)) == key);
  other = desc;
  other.groups = 38;
  CHECK(core::problem_key(core::check_problem(other)) == key);
  // How rows are spread is not known, or as the hint says, coarsely; where all groups have as many it is known.
  const std::int32_t sizes[33] = {};
  const auto skew = [&](std::int64_t mean, std::int64_t largest) {
    other = desc;
    other.m = ggemm_source{sizes, 4, 0, GGEMM_SOURCE_I32, 0};
    other.groups = 33, other.expected_m = mean, other.expected_largest_m = largest;
    return core::problem_key(core::check_problem(other)).skew;
  };
  CHECK((skew(0, 100) == 0 && skew(100, 0) == 0));
  CHECK((skew(100, 1) == core::skew_alike && skew(100, 100) == core::skew_alike && skew(100, 125) == core::skew_alike));
  CHECK((skew(100, 126) == core::skew_little && skew(100, 250) == core::skew_little));
  CHECK((skew(100, 251) == core::skew_little + 1 && skew(100, 499) == core::skew_little + 1));  // less than an eighth of 3200 more
  CHECK((skew(100, 501) == core::skew_little + 2 && skew(100, 1299) == core::skew_little + 2 && skew(100, 1301) == core::skew_little + 3 && skew(100, 2500) == core::skew_little + 4));
  CHECK((skew(100, 3000) == core::skew_most && skew(100, 3300) == core::skew_most && skew(100, 1 << 30) == core::skew_most && skew(INT64_MAX, INT64_MAX) == core::skew_alike));
  other.m = ggemm_source{nullptr, 0, 100, GGEMM_SOURCE_CONST, 0}, other.expected_largest_m = 3300;
  CHECK(core::problem_key(core::check_problem(other)).skew == core::skew_alike);
  const core::Problem plain = core::check_problem(plain_desc(GGEMM_BF16, GGEMM_BF16, GGEMM_BF16, 104, 1024, 0));
  CHECK_FALSE(core::problem_key(plain).type == key.type);
}

TEST_CASE("key: equal keys have equal hashes, and the hashes of many like keys differ") {
  const core::ProblemKeyHash hash;
  std::unordered_set<std::size_t> seen;
  std::size_t keys = 0;
  for (const core::ProblemType& type : every_type()) {
    for (std::int64_t m = 64; m <= 512; m += 64) {
      for (std::int64_t k = 1; k <= 16; ++k, ++keys) {
        const core::ProblemKey key{type, 1, m, 512, k}, again{type, 1, m, 512, k};
        if (hash(key) != hash(again) || !(key == again)) FAIL_CHECK("m " << m << " k " << k);
        seen.insert(hash(key));
      }
    }
  }
  CHECK(keys == every_type().size() * 8 * 16);
  CHECK(seen.size() == keys);
}

TEST_CASE("key: a text's hash is 0 for no text only") {
  CHECK(core::text_hash(nullptr) == 0);
  CHECK(core::text_hash("") != 0);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 10000; ++i) seen.insert(core::text_hash(("sm80_bf16_bf16_f32_tn_" + std::to_string(i)).c_str()));
  CHECK(seen.size() >= 9999);  // the last bit is always 1, so that one pair in 2^63 may meet
  CHECK(seen.count(0) == 0);
}
