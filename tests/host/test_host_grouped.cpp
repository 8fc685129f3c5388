// SPDX-License-Identifier: Apache-2.0
// Grouped products on the CPU device.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "host/host_device.hpp"
#include "host_case.hpp"
#include "support/errors.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

kernels::Source constant(std::int64_t value) { return {nullptr, 0, value, 0, 0}; }

// Groups of one type, with everything that is a group's own read from arrays.
struct Groups {
  std::vector<HostCase> cases;
  std::vector<std::int64_t> sizes, strides;     // 3 and 8 a group
  std::vector<std::int32_t> narrow;             // m again, as int32
  std::vector<const void*> a, b, c, d, bias;

  kernels::GroupedParams params() {
    sizes.clear(), strides.clear(), narrow.clear(), a.clear(), b.clear(), c.clear(), d.clear(), bias.clear();
    for (const HostCase& x : cases) {
      const kernels::GemmParams p = x.params();
      for (const std::int64_t size : {x.m, x.n, x.k}) sizes.push_back(size);
      narrow.push_back(static_cast<std::int32_t>(x.m));
      for (const kernels::Matrix& matrix : {p.a, p.b, p.c, p.d}) strides.push_back(matrix.row_stride), strides.push_back(matrix.col_stride);
      a.push_back(p.a.data), b.push_back(p.b.data), c.push_back(p.c.data), d.push_back(p.d.data), bias.push_back(p.bias);
    }
    kernels::GroupedParams g{};
    g.groups = static_cast<std::int64_t>(cases.size());
    const auto size = [&](int which) { return kernels::Source{sizes.data() + which, 24, 0, 2, 0}; };
    const auto matrix = [&](const std::vector<const void*>& data, int which) {
      return kernels::SourceMatrix{data.data(), 0, 0, 1, 0, {strides.data() + 2 * which, 64, 0, 2, 0}, {strides.data() + 2 * which + 1, 64, 0, 2, 0}};
    };
    g.m = {narrow.data(), 4, 0, 1, 0};
    g.n = size(1), g.k = size(2);
    g.a = matrix(a, 0), g.b = matrix(b, 1), g.c = matrix(c, 2), g.d = matrix(d, 3);
    g.bias = {bias.data(), 0, 0, 1, 0};
    if (!cases.empty()) g.epilogue = cases.front().params().epilogue;
    g.raster = 1;
    return g;
  }
  core::ProblemType type() const {
    core::ProblemType t = cases.empty() ? core::ProblemType{} : cases.front().type();
    t.grouped = 1;
    return t;
  }
};

// Draws cases until enough share the first one's type.
Groups random_groups(Rng& random, int count, bool exact, std::int64_t largest) {
  Groups groups;
  const HostCase model = random_case(random, exact, 8);
  while (static_cast<int>(groups.cases.size()) < count) {
    HostCase x = model;
    x.m = random.chance(0.15) ? 0 : random.between(0, largest), x.n = random.between(random.chance(0.1) ? 0 : 1, largest);
    x.k = random.chance(0.1) ? 0 : random.between(1, largest);
    const auto place = [&](HostMatrix& matrix, std::int64_t rows, std::int64_t cols) {
      matrix.rows = rows, matrix.cols = cols;
      const bool turned = random.chance(0.5);
      matrix.row_stride = turned ? 1 : cols + random.between(0, 3), matrix.col_stride = turned ? rows + random.between(0, 3) : 1;
      matrix.allocate();
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < cols; ++j) matrix.set(i, j, static_cast<double>(random.between(-2, 2)));
    };
    place(x.a, x.m, x.k);
    place(x.b, x.k, x.n);
    place(x.c, x.m, x.n);
    place(x.d, x.m, x.n);
    x.bias.row_stride = x.bias.cols = x.bias_kind == GGEMM_BIAS_PER_ROW ? x.m : x.n;
    place(x.bias, 1, x.bias.cols);
    x.bias.row_stride = x.bias.cols, x.bias.col_stride = 1;
    x.bias.allocate();
    for (std::int64_t j = 0; j < x.bias.cols; ++j) x.bias.set(0, j, static_cast<double>(random.between(-2, 2)));
    x.remember();
    groups.cases.push_back(std::move(x));
  }
  return groups;
}

void expect_refusal(Groups& groups, const kernels::GroupedParams& params, const std::string& sentence) {
  const host::HostDevice device(2, "");
  INFO("instead of: " << sentence);
  CHECK(error_of([&] { device.run(groups.type(), params); }, GGEMM_ERROR_ARGUMENT) == sentence);
  for (const HostCase& x : groups.cases) CHECK(x.d.bytes == x.d_before);
}

Groups plain_groups(int count) {
  Groups groups;
  for (int g = 0; g < count; ++g) {
    HostCase x;
    x.m = 3 + g, x.n = 4, x.k = 5;
    x.allocate();
    x.bias = row_major(GGEMM_F32, 1, 4);
    groups.cases.push_back(std::move(x));
  }
  return groups;
}

}  // namespace

TEST_CASE("host grouped: random groups are right to the last bit, empty ones and k = 0 among them") {
  const host::HostDevice device(2, "");
  for (std::uint64_t i = 0; i < 150; ++i) {
    Rng random(mix(seed_of_run() + 3000, i));
    Groups groups = random_groups(random, static_cast<int>(random.between(1, 40)), true, 60);
    INFO(again("host grouped: random groups*", i) << "\n" << groups.cases.front().text());
    const auto params = groups.params();
    device.run(groups.type(), params);
    for (const HostCase& x : groups.cases) {
      INFO(x.text());
      REQUIRE(x.judge() == "");
    }
  }
}

TEST_CASE("host grouped: no groups, and groups that are empty with NULL pointers") {
  const host::HostDevice device(2, "");
  Groups none;
  CHECK_NOTHROW(device.run(none.type(), none.params()));
  Groups groups = plain_groups(5);
  for (HostCase& x : groups.cases) x.m = 0, x.a = x.b = x.c = x.d = HostMatrix{};
  CHECK_NOTHROW(device.run(groups.type(), groups.params()));
  Groups no_k = plain_groups(2);
  auto params = no_k.params();
  params.k = constant(0);
  params.a.data = params.b.data = nullptr;
  device.run(no_k.type(), params);
  for (HostCase& x : no_k.cases) {
    x.k = 0;
    CHECK(x.judge() == "");
  }
}

TEST_CASE("host grouped: skewed sizes over 1, 2 and 5 threads give the bits of plain products") {
  Groups groups;
  Rng random(5);
  for (int g = 0; g < 60; ++g) {
    HostCase x;
    x.a_dtype = x.b_dtype = GGEMM_BF16;
    x.m = g == 17 ? 1000 : random.between(0, 4), x.n = 130, x.k = 300;
    x.allocate();
    for (HostMatrix* matrix : {&x.a, &x.b})
      for (std::int64_t i = 0; i < matrix->rows; ++i)
        for (std::int64_t j = 0; j < matrix->cols; ++j) matrix->set(i, j, random.normal());
    groups.cases.push_back(std::move(x));
  }
  const host::HostDevice one(1, "");
  std::vector<std::vector<unsigned char>> wanted;
  for (HostCase& x : groups.cases) {
    one.run(x.type(), x.params());
    wanted.push_back(x.d.bytes);
    x.restore();
  }
  for (const int threads : {1, 2, 5}) {
    const host::HostDevice device(threads, "");
    device.run(groups.type(), groups.params());
    int different = 0;
    for (std::size_t g = 0; g < wanted.size(); ++g) {
      different += groups.cases[g].d.bytes != wanted[g];
      groups.cases[g].restore();
    }
    CHECK(different == 0);
  }
}

TEST_CASE("host grouped: 4096 groups") {
  Groups groups;
  Rng random(6);
  for (int g = 0; g < 4096; ++g) {
    HostCase x;
    x.exact = true;
    x.m = random.between(0, 3), x.n = 2, x.k = random.between(0, 5);
    x.allocate();
    for (HostMatrix* matrix : {&x.a, &x.b})
      for (std::int64_t i = 0; i < matrix->rows; ++i)
        for (std::int64_t j = 0; j < matrix->cols; ++j) matrix->set(i, j, static_cast<double>(random.between(-2, 2)));
    groups.cases.push_back(std::move(x));
  }
  const host::HostDevice device(3, "");
  device.run(groups.type(), groups.params());
  int wrong = 0;
  for (const HostCase& x : groups.cases) wrong += !x.judge().empty();
  CHECK(wrong == 0);
}

TEST_CASE("host grouped: packed strides follow each group's own sizes") {
  Groups groups = plain_groups(3);
  for (HostCase& x : groups.cases)
    for (std::int64_t i = 0; i < x.m; ++i)
      for (std::int64_t l = 0; l < x.k; ++l) x.a.set(i, l, static_cast<double>(i + l));
  for (HostCase& x : groups.cases)
    for (std::int64_t l = 0; l < x.k; ++l)
      for (std::int64_t j = 0; j < x.n; ++j) x.b.set(l, j, static_cast<double>(l * j % 5));
  auto params = groups.params();
  for (kernels::SourceMatrix* matrix : {&params.a, &params.b, &params.c, &params.d})
    matrix->row_stride = matrix->col_stride = constant(kernels::packed_stride);
  const host::HostDevice device(1, "");
  device.run(groups.type(), params);
  for (HostCase& x : groups.cases) {
    x.exact = true;
    CHECK(x.judge() == "");
  }
}

TEST_CASE("host grouped: what is wrong with a group is said before anything is written") {
  Groups groups = plain_groups(5);
  auto params = groups.params();
  SECTION("missing pointers") {
    groups.a[3] = nullptr;
    expect_refusal(groups, params, "a[3] is NULL");
    groups.d[2] = nullptr;
    expect_refusal(groups, params, "d[2] is NULL");
  }
  SECTION("missing c") {
    const float beta = 1;
    params.epilogue.beta = {&beta, 0};
    groups.c[1] = nullptr;
    expect_refusal(groups, params, "c[1] is NULL");
  }
  SECTION("missing bias") {
    groups.cases.front().bias_kind = GGEMM_BIAS_PER_COLUMN;
    params.bias.data = nullptr;
    expect_refusal(groups, params, "bias[0] is NULL");
  }
  SECTION("misaligned pointers") {
    groups.b[4] = reinterpret_cast<const void*>(std::uintptr_t(0x1002));
    expect_refusal(groups, params, "b[4] = 0x1002 is not a multiple of its element's 4 bytes");
  }
  SECTION("strides of D") {
    groups.strides[8 * 2 + 6] = 0;
    expect_refusal(groups, params, "d.row_stride[2] = 0 with m[2] = 5: rows of D would share their elements");
    groups.strides[8 * 2 + 6] = 4;
    groups.strides[8 * 1 + 7] = 0;
    expect_refusal(groups, params, "d.col_stride[1] = 0 with n[1] = 4: columns of D would share their elements");
    groups.strides[8 * 1 + 7] = 1;
    groups.strides[8 * 3 + 6] = -3;
    expect_refusal(groups, params, "d.row_stride[3] = -3, d.col_stride[3] = 1: of 6 x 4 elements some would share their place");
  }
  SECTION("an odd number of paired columns, of one group and of all") {
    core::ProblemType type = groups.type();
    type.gate = GGEMM_GATE_HALVES;
    const host::HostDevice device(2, "");
    const auto refusal = [&] { return error_of([&] { device.run(type, params); }, GGEMM_ERROR_ARGUMENT); };
    groups.sizes[3 * 2 + 1] = 3;
    CHECK(refusal() == "n[2] = 3 with epilogue.gate=halves: columns in pairs must be even in number");
    params.n = constant(5);
    CHECK(refusal() == "n[0] = 5 with epilogue.gate=halves: columns in pairs must be even in number");
  }
  SECTION("strides beyond memory") {
    groups.strides[8 * 1 + 0] = INT64_MAX / 2;
    expect_refusal(groups, params, "a[1]: 4 x 5 elements with strides 4611686018427387903 and 1 span more than 2^63 bytes");
  }
}
