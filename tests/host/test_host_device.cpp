// SPDX-License-Identifier: Apache-2.0
// Plain products on the CPU device.
#include "host/host_device.hpp"

#include <sys/mman.h>

#include <catch2/catch_test_macros.hpp>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#include "host_case.hpp"
#include "support/errors.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

const char* const no_blas = "";
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

HostCase product(ggemm_dtype a, ggemm_dtype b, ggemm_dtype d, std::int64_t m, std::int64_t n, std::int64_t k) {
  HostCase x;
  x.a_dtype = a, x.b_dtype = b, x.d_dtype = d, x.m = m, x.n = n, x.k = k;
  x.allocate();
  return x;
}

void fill_normal(HostMatrix& x, std::uint64_t seed) {
  Rng random(seed);
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = 0; j < x.cols; ++j) x.set(i, j, random.normal());
}

void fill_value(HostMatrix& x, double value) {
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = 0; j < x.cols; ++j) x.set(i, j, value);
}

}  // namespace

TEST_CASE("host: products of small integers are right to the last bit, for all dtypes, strides and epilogues") {
  const host::HostDevice device(2, no_blas);
  for (std::uint64_t i = 0; i < 1500; ++i) {
    Rng random(mix(seed_of_run(), i));
    HostCase x = random_case(random, true, 400);
    INFO(again("host: products of small integers*", i) << "\n" << x.text());
    device.run(x.type(), x.params());
    REQUIRE(x.judge() == "");
  }
}

TEST_CASE("host: products of real numbers stay within the element-wise bound") {
  const host::HostDevice device(2, no_blas);
  for (std::uint64_t i = 0; i < 800; ++i) {
    Rng random(mix(seed_of_run() + 1000, i));
    HostCase x = random_case(random, false, 300);
    INFO(again("host: products of real numbers*", i) << "\n" << x.text());
    device.run(x.type(), x.params());
    REQUIRE(x.judge() == "");
  }
}

TEST_CASE("host: 1, 2 and 5 threads give the same bits") {
  const host::HostDevice one(1, no_blas), two(2, no_blas), five(5, no_blas);
  for (std::uint64_t i = 0; i < 40; ++i) {
    Rng random(mix(seed_of_run() + 2000, i));
    HostCase x = random_case(random, false, i < 10 ? 400 : 150);
    INFO(again("host: 1, 2 and 5 threads*", i) << "\n" << x.text());
    one.run(x.type(), x.params());
    const auto wanted = x.d.bytes;
    for (const host::HostDevice* device : {&two, &five}) {
      x.restore();
      device->run(x.type(), x.params());
      REQUIRE(x.d.bytes == wanted);
    }
  }
}

TEST_CASE("host: an element's bits do not depend on the size of the product or on its place in it") {
  const host::HostDevice device(2, no_blas);
  for (const ggemm_dtype dtype : {GGEMM_F32, GGEMM_F64, GGEMM_BF16}) {
    const ggemm_dtype out = dtype == GGEMM_F64 ? GGEMM_F64 : GGEMM_F32;
    HostCase whole = product(dtype, dtype, out, 150, 470, 700);
    fill_normal(whole.a, 1);
    fill_normal(whole.b, 2);
    device.run(whole.type(), whole.params());
    struct Part {
      std::int64_t row, column, rows, columns;
    };
    const Part parts[] = {{0, 0, 1, 470}, {149, 0, 1, 470}, {0, 469, 150, 1}, {77, 333, 1, 1}, {10, 200, 90, 40}};
    for (const auto& [row, column, rows, columns] : parts) {
      HostCase part = product(dtype, dtype, out, rows, columns, 700);
      auto params = part.params();
      params.a = {whole.a.at(row, 0), whole.a.row_stride, 1};
      params.b = {whole.b.at(0, column), whole.b.row_stride, 1};
      device.run(part.type(), params);
      int different = 0;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          different += std::memcmp(part.d.at(i, j), whole.d.at(row + i, column + j), out == GGEMM_F64 ? 8 : 4) != 0;
      INFO("part at " << row << ", " << column);
      CHECK(different == 0);
    }
  }
}

TEST_CASE("host: with m or n 0 nothing happens, with k 0 D = act(beta C + bias), and unused pointers may be NULL") {
  const host::HostDevice device(2, no_blas);
  for (const auto& [m, n] : {std::pair<int, int>{0, 5}, {5, 0}, {0, 0}}) {
    HostCase x = product(GGEMM_F32, GGEMM_F32, GGEMM_F32, m, n, 3);
    auto params = x.params();
    params.a.data = params.b.data = params.c.data = params.d.data = nullptr;
    CHECK_NOTHROW(device.run(x.type(), params));
  }
  HostCase x = product(GGEMM_F16, GGEMM_F16, GGEMM_F32, 3, 4, 0);
  x.beta = 2;
  x.bias_kind = GGEMM_BIAS_PER_ROW;
  x.bias = row_major(GGEMM_F32, 1, 3);
  x.activation = GGEMM_ACTIVATION_RELU;
  fill_value(x.c, -1);
  for (int i = 0; i < 3; ++i) x.bias.set(0, i, i * 2);
  auto params = x.params();
  params.a.data = params.b.data = nullptr;
  device.run(x.type(), params);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) CHECK(x.d.value(i, j) == (i == 0 ? 0 : i * 2 - 2));
}

TEST_CASE("host: where beta is 0 C is not read, and beta may lie behind a pointer") {
  const host::HostDevice device(1, no_blas);
  HostCase x = product(GGEMM_F32, GGEMM_F32, GGEMM_F32, 4, 4, 4);
  fill_value(x.a, 1);
  fill_value(x.b, 1);
  fill_value(x.c, not_a_number);
  auto params = x.params();
  device.run(x.type(), params);
  CHECK(x.judge() == "");
  params.c.data = nullptr;
  CHECK_NOTHROW(device.run(x.type(), params));
  const float beta = 1, alpha = 3;
  params.epilogue.beta = {&beta, 0};
  params.epilogue.alpha = {&alpha, 0};
  x.restore();
  CHECK(error_of([&] { device.run(x.type(), params); }, GGEMM_ERROR_ARGUMENT) == "c is NULL, but beta is not 0");
  CHECK(x.d.bytes == x.d_before);
  fill_value(x.c, 2);
  params.c = x.c.view();
  device.run(x.type(), params);
  CHECK(x.d.value(3, 3) == 3 * 4 + 2);
}

TEST_CASE("host: the gelus and silu are 0 at -infinity, their limit, and keep infinity and NaN") {
  const host::HostDevice device(1, no_blas);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const ggemm_dtype dtype : {GGEMM_F64, GGEMM_F32, GGEMM_BF16}) {
    for (const ggemm_activation activation : {GGEMM_ACTIVATION_GELU, GGEMM_ACTIVATION_GELU_TANH, GGEMM_ACTIVATION_SILU}) {
      INFO(core::dtype_name(dtype) << ", " << core::activation_name(activation));
      HostCase x = product(dtype, dtype, dtype, 1, 3, 1);
      x.activation = activation;
      fill_value(x.a, 1);
      x.b.set(0, 0, -infinity), x.b.set(0, 1, infinity), x.b.set(0, 2, not_a_number);
      device.run(x.type(), x.params());
      CHECK(x.d.value(0, 0) == 0);
      CHECK(x.d.value(0, 1) == infinity);
      CHECK(std::isnan(x.d.value(0, 2)));
    }
  }
}

TEST_CASE("host: NaN and infinity of A and B reach their rows and columns and no others, alpha 0 included") {
  const host::HostDevice device(2, no_blas);
  for (const ggemm_dtype dtype : {GGEMM_F64, GGEMM_F32, GGEMM_F16, GGEMM_BF16, GGEMM_E5M2}) {
    HostCase x = product(dtype, dtype, GGEMM_F32, 40, 50, 60);
    fill_value(x.a, 1);
    fill_value(x.b, 1);
    x.a.set(7, 30, not_a_number);
    x.b.set(5, 11, not_a_number);
    for (const double alpha : {1.0, 0.0}) {
      x.alpha = alpha;
      device.run(x.type(), x.params());
      int wrong = 0;
      for (int i = 0; i < 40; ++i)
        for (int j = 0; j < 50; ++j) wrong += std::isnan(x.d.value(i, j)) != (i == 7 || j == 11);
      CHECK(wrong == 0);
    }
  }
  HostCase x = product(GGEMM_F32, GGEMM_F32, GGEMM_BF16, 3, 3, 2);
  fill_value(x.a, 1);
  fill_value(x.b, 1);
  x.a.set(0, 0, infinity);
  x.a.set(1, 0, -infinity);
  x.b.set(0, 2, 0);
  device.run(x.type(), x.params());
  CHECK(x.d.value(0, 0) == infinity);
  CHECK(x.d.value(1, 1) == -infinity);
  CHECK(std::isnan(x.d.value(0, 2)));
  CHECK(x.d.value(2, 2) == 1);
}

TEST_CASE("host: int32 sums wrap") {
  const host::HostDevice device(1, no_blas);
  const std::int64_t k = 200000;  // 127 * 127 * k is beyond 2^31
  HostCase x = product(GGEMM_I8, GGEMM_I8, GGEMM_I32, 2, 3, k);
  fill_value(x.a, 127);
  fill_value(x.b, 127);
  for (std::int64_t l = 0; l < k; ++l) x.b.set(l, 1, -128);
  device.run(x.type(), x.params());
  CHECK(x.d.value(1, 0) == static_cast<std::int32_t>(static_cast<std::uint32_t>(127 * 127 * k)));
  CHECK(x.d.value(0, 1) == static_cast<std::int32_t>(static_cast<std::uint32_t>(-128 * 127 * k)));
}

TEST_CASE("host: compute tf32 rounds each input to 10 mantissa bits") {
  const host::HostDevice device(1, no_blas);
  HostCase x = product(GGEMM_F32, GGEMM_F32, GGEMM_F32, 1, 1, 1);
  x.a.set(0, 0, 1 + 0x1p-11);           // a tie: away from zero
  x.b.set(0, 0, -(1 + 0x1p-11 - 0x1p-22));
  device.run(x.type(), x.params());
  CHECK(x.d.value(0, 0) == static_cast<float>(-(1 + 0x1p-11) * (1 + 0x1p-11 - 0x1p-22)));
  x.compute = GGEMM_COMPUTE_TF32;
  device.run(x.type(), x.params());
  CHECK(x.d.value(0, 0) == -(1 + 0x1p-10));
}

TEST_CASE("host: the caller's rounding mode changes no bit and is left as it was") {
  const host::HostDevice device(2, no_blas);
  HostCase x = product(GGEMM_F32, GGEMM_F32, GGEMM_F32, 60, 60, 600);
  fill_normal(x.a, 3);
  fill_normal(x.b, 4);
  device.run(x.type(), x.params());
  const auto wanted = x.d.bytes;
  for (const int mode : {FE_UPWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    device.run(x.type(), x.params());
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(after == mode);
    CHECK(x.d.bytes == wanted);
  }
}

TEST_CASE("host: offsets beyond 2^31 elements") {
  const std::int64_t stride = (std::int64_t(1) << 31) + 5;
  const std::size_t bytes = static_cast<std::size_t>(2 * stride + 64);
  void* far = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (far == MAP_FAILED) SKIP("this machine gives no 4 GB of address space");
  auto* base = static_cast<signed char*>(far);
  const host::HostDevice device(1, no_blas);
  HostCase x = product(GGEMM_I8, GGEMM_I8, GGEMM_I8, 3, 2, 2);
  for (int i = 0; i < 3; ++i) base[i * stride] = static_cast<signed char>(i + 1), base[i * stride + 1] = 1;  // A, and then D beside it
  fill_value(x.b, 3);
  auto params = x.params();
  params.a = {base, stride, 1};
  params.d = {base + 8, stride, 1};
  device.run(x.type(), params);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) CHECK(base[8 + i * stride + j] == 3 * (i + 2));
  munmap(far, bytes);
}

TEST_CASE("host: what it says of itself") {
  const host::HostDevice device(3, no_blas);
  CHECK_FALSE(device.facts().cuda);
  CHECK(device.facts().threads == 3);
  CHECK(!device.facts().name.empty());
  CHECK(device.facts().memory_bytes > 0);
  CHECK(device.facts().arch.empty());
}
