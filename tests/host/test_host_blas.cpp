// SPDX-License-Identifier: Apache-2.0
// CBLAS by dlopen. What needs a library is skipped where there is none.
#include "host/blas.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "host/host_device.hpp"
#include "host/product.hpp"
#include "host_case.hpp"
#include "support/allocations.hpp"
#include "support/formats.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

constexpr const char* installed = "libopenblas.so.0";  // named, so that it is used however slow

// Column-major where turned; rows of D padded.
HostCase large(ggemm_dtype dtype, bool turned_a, bool turned_b, bool turned_d) {
  HostCase x;
  x.a_dtype = x.b_dtype = x.d_dtype = dtype;
  x.m = 70, x.n = 150, x.k = 130;
  x.allocate();
  const auto turn = [](HostMatrix& matrix, bool turned, std::int64_t pad) {
    matrix.row_stride = turned ? 1 : matrix.cols + pad;
    matrix.col_stride = turned ? matrix.rows + pad : 1;
    matrix.allocate();
  };
  turn(x.a, turned_a, 3);
  turn(x.b, turned_b, 0);
  turn(x.d, turned_d, 5);
  Rng random(static_cast<std::uint64_t>(dtype));
  for (HostMatrix* matrix : {&x.a, &x.b, &x.c})
    for (std::int64_t i = 0; i < matrix->rows; ++i)
      for (std::int64_t j = 0; j < matrix->cols; ++j) matrix->set(i, j, random.normal());
  x.remember();
  return x;
}

}  // namespace

TEST_CASE("blas: switched off, a missing file, and a library that is no BLAS are each told apart") {
  const host::HostDevice off(1, "");
  CHECK(off.blas() == "");
  CHECK(off.blas_tried() == "none: switched off by an empty path");
  const host::HostDevice missing(1, "/nowhere/libblas.so");
  CHECK(missing.blas() == "");
  CHECK(missing.blas_tried().find("/nowhere/libblas.so: ") == 0);
  const host::HostDevice other(1, "libm.so.6");
  CHECK(other.blas() == "");
  CHECK(other.blas_tried() == "libm.so.6: has no cblas_sgemm and cblas_dgemm");
}

TEST_CASE("blas: one that is searched for is passed over where it is much slower than our own kernels, one that is named is not") {
  const auto spend = [](double seconds) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) continue;
  };
  std::vector<core::Sum> asked;
  host::Blas own_slow(nullptr, [&](core::Sum sum, std::int64_t, const void*, const void*, void*) { asked.push_back(sum), spend(2e-3); });
  if (!own_slow.found()) SKIP("no CBLAS library here; install libopenblas0-pthread to test it:\n" << own_slow.tried());
  CHECK(std::count(asked.begin(), asked.end(), core::Sum::f32) == 20);
  CHECK(std::count(asked.begin(), asked.end(), core::Sum::f64) == 20);
  host::Blas own_fast(nullptr, [](core::Sum, std::int64_t, const void*, const void*, void*) {});
  CHECK_FALSE(own_fast.found());
  CHECK(own_fast.path() == "");
  CHECK(own_fast.tried().find(": slow (64x64x64 of f32 takes it ") != std::string::npos);
  host::Blas named(own_slow.path().c_str(), [](core::Sum, std::int64_t, const void*, const void*, void*) { FAIL("asked"); });
  CHECK(named.found());
  // Either way the device multiplies.
  const host::HostDevice device(1, nullptr);
  if (device.blas().empty()) CHECK(device.blas_tried().find(": slow (64x64x64 of f") != std::string::npos);
  HostCase x = large(GGEMM_F32, false, false, false);
  device.run(x.type(), x.params());
  CHECK(x.judge() == "");
}

TEST_CASE("blas: what a library is compared with is a product") {
  const auto check = [](auto one) {
    using T = decltype(one);
    constexpr std::int64_t n = 37;
    std::vector<T> a(n * n), b(n * n), d(n * n);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 7) - 3, b[i] = static_cast<T>(i % 5) - 2;
    host::Pool(1, host::scratch_bytes).run(1, [&](host::Scratch& scratch) { host::multiply_squares<T>(*host::usable_isas().front(), n, a.data(), b.data(), d.data(), scratch); });
    int wrong = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        T sum = 0;
        for (std::size_t l = 0; l < n; ++l) sum += a[i * n + l] * b[l * n + j];
        wrong += d[i * n + j] != sum;
      }
    CHECK(wrong == 0);
  };
  check(1.0f);
  check(1.0);
}

TEST_CASE("blas: takes f32 and f64 with a unit stride that are large enough, and nothing else") {
  const HostCase x = large(GGEMM_F32, false, true, false);
  const auto call = host::blas_call(x.type(), x.params());
  REQUIRE(call);
  CHECK_FALSE(call->a_turned);
  CHECK(call->b_turned);
  CHECK(call->lda == 133);
  CHECK(call->ldb == 130);
  const auto taken = [&](auto change) {
    auto type = x.type();
    auto params = x.params();
    change(type, params);
    return host::blas_call(type, params).has_value();
  };
  CHECK(taken([](auto&, auto&) {}));
  CHECK_FALSE(taken([](auto& type, auto&) { type.compute = GGEMM_COMPUTE_TF32; }));
  CHECK_FALSE(taken([](auto& type, auto&) { type.a = GGEMM_F16; }));
  CHECK_FALSE(taken([](auto& type, auto&) { type.a = GGEMM_F64, type.sum = core::Sum::f64; }));
  CHECK_FALSE(taken([](auto&, auto& params) { params.a.col_stride = 2; }));
  CHECK_FALSE(taken([](auto&, auto& params) { params.a.row_stride = 0; }));
  CHECK_FALSE(taken([](auto&, auto& params) { params.a.row_stride = -200; }));
  CHECK_FALSE(taken([](auto&, auto& params) { params.a.row_stride = 129; }));
  CHECK_FALSE(taken([](auto&, auto& params) { params.a.row_stride = std::int64_t(1) << 31; }));
  CHECK_FALSE(taken([](auto&, auto& params) { params.k = 0; }));
  CHECK_FALSE(taken([](auto&, auto& params) { params.m = 2; }));
}

TEST_CASE("blas: products are within the bound in every layout, with and without an epilogue, and touch nothing beside D") {
  const host::HostDevice device(2, installed);
  if (device.blas().empty()) SKIP("no CBLAS library here; install libopenblas0-pthread to test it:\n" << device.blas_tried());
  CHECK(device.blas_tried() == "");
  for (const ggemm_dtype dtype : {GGEMM_F32, GGEMM_F64}) {
    for (int layout = 0; layout < 8; ++layout) {
      HostCase x = large(dtype, layout & 1, layout & 2, layout & 4);
      REQUIRE(host::blas_call(x.type(), x.params()));
      INFO(name_of(dtype) << " layout " << layout);
      device.run(x.type(), x.params());
      CHECK(x.judge() == "");
      x.restore();
      x.alpha = -0.5, x.beta = 2, x.activation = GGEMM_ACTIVATION_RELU, x.bias_kind = GGEMM_BIAS_PER_COLUMN;
      x.bias = row_major(dtype, 1, x.n);
      for (std::int64_t j = 0; j < x.n; ++j) x.bias.set(0, j, static_cast<double>(j % 7));
      device.run(x.type(), x.params());
      CHECK(x.judge() == "");
      // Without C the epilogue works on the sums where they lie in D.
      x.restore();
      x.beta = 0;
      device.run(x.type(), x.params());
      CHECK(x.judge() == "");
    }
  }
}

TEST_CASE("blas: an output of another dtype goes through panels of sums") {
  const host::HostDevice device(2, installed);
  if (device.blas().empty()) SKIP("no CBLAS library here; install libopenblas0-pthread to test it");
  HostCase x;
  x.d_dtype = GGEMM_BF16;
  x.m = 300, x.n = 17000, x.k = 16, x.exact = true;  // more columns than a panel, more rows than a panel holds of them
  x.allocate();
  Rng random(8);
  for (HostMatrix* matrix : {&x.a, &x.b})
    for (std::int64_t i = 0; i < matrix->rows; ++i)
      for (std::int64_t j = 0; j < matrix->cols; ++j) matrix->set(i, j, static_cast<double>(random.between(-2, 2)));
  REQUIRE(host::blas_call(x.type(), x.params()));
  device.run(x.type(), x.params());
  int wrong = 0;
  for (std::int64_t i = 0; i < x.m; i += i % 100 == 0 ? 1 : 99) {
    for (std::int64_t j = 0; j < x.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < x.k; ++l) sum += x.a.value(i, l) * x.b.value(l, j);
      wrong += x.d.value(i, j) != rounded(GGEMM_BF16, sum);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("blas: whichever piece of memory cannot be had, D is as it was") {
  for (const ggemm_dtype d_dtype : {GGEMM_F32, GGEMM_BF16}) {  // sums that lie in D, and in a panel
    const host::HostDevice device(2, installed);
    if (device.blas().empty()) SKIP("no CBLAS library here; install libopenblas0-pthread to test it");
    // With several threads OpenBLAS takes memory of its own, for which it would end the process.
    void* const library = ::dlopen(device.blas().c_str(), RTLD_LAZY | RTLD_NOLOAD);
    REQUIRE(library);
    if (void* const set_threads = ::dlsym(library, "openblas_set_num_threads")) reinterpret_cast<void (*)(int)>(set_threads)(1);
    HostCase x;
    x.d_dtype = d_dtype;
    x.m = x.n = x.k = 110, x.exact = true;
    x.allocate();
    for (HostMatrix* matrix : {&x.a, &x.b})
      for (std::int64_t i = 0; i < matrix->rows; ++i)
        for (std::int64_t j = 0; j < matrix->cols; ++j) matrix->set(i, j, static_cast<double>(i % 3));
    REQUIRE(host::blas_call(x.type(), x.params()));
    if (d_dtype == GGEMM_F32) device.run(x.type(), x.params());  // without an epilogue: what the library takes once is taken
    x.activation = GGEMM_ACTIVATION_RELU;
    x.restore();
    bool done = false;
    for (long nth = 1; !done; ++nth) {
      INFO("allocation " << nth);
      REQUIRE(nth < 100);
      fail_allocations(nth, 1);
      try {
        device.run(x.type(), x.params());
        done = true;
      } catch (const std::exception&) {
      }
      const long failed = clear_failed_allocations();
      REQUIRE((failed > 0 || done));
      if (!done) REQUIRE(x.d.bytes == x.d_before);
      done = done && failed == 0;
    }
    CHECK(x.judge() == "");
  }
}
