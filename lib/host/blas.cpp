// SPDX-License-Identifier: Apache-2.0
#include "host/blas.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/library.hpp"

namespace ggemm::host {
namespace {

constexpr int row_major = 101, no_turn = 111, turn = 112;  // CBLAS_LAYOUT and CBLAS_TRANSPOSE

// Libraries with 32-bit integers. Debian's 64-bit OpenBLAS has other sonames and suffixed symbols (cblas_sgemm64_), so it is not met here.
const char* const candidates[] = {"libopenblas.so.0", "libopenblas.so",  "libcblas.so.3", "libblas.so.3",
                                  "libblis.so.4",     "libmkl_rt.so.2", "libmkl_rt.so"};

// Below these our own kernels, which need no turning of small matrices and no other threads, are as fast.
constexpr double min_work = 1 << 20;  // multiply-adds
constexpr std::int64_t min_side = 16;

struct Side {
  bool turned;
  std::int64_t ld;
};

// rows x columns stored row by row, or column by column.
std::optional<Side> side(const kernels::Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  const auto fits = [](std::int64_t unit, std::int64_t ld, std::int64_t length, std::int64_t count) {
    // The last bound keeps libraries that count elements in 32 bits right.
    return unit == 1 && ld >= length && ld <= limit && ld * (count - 1) + length <= limit;
  };
  if (fits(matrix.col_stride, matrix.row_stride, columns, rows)) return Side{false, matrix.row_stride};
  if (fits(matrix.row_stride, matrix.col_stride, rows, columns)) return Side{true, matrix.col_stride};
  return std::nullopt;
}

// A small product whose result is known: [1 2; 3 4; 5 6] [7 8; 9 10].
template <class T, class Function>
bool multiplies(Function gemm) {
  const T a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10}, expected[] = {25, 28, 57, 64, 89, 100};
  T c[6] = {};
  gemm(row_major, no_turn, no_turn, 3, 2, 2, T(1), a, 2, b, 2, T(0), c, 2);
  return std::equal(c, c + 6, expected);
}

}  // namespace

std::optional<BlasCall> blas_call(const core::ProblemType& type, const kernels::GemmParams& params) {
  const bool f32 = type.sum == core::Sum::f32 && type.a == GGEMM_F32 && type.b == GGEMM_F32 && type.compute != GGEMM_COMPUTE_TF32;
  const bool f64 = type.sum == core::Sum::f64 && type.a == GGEMM_F64 && type.b == GGEMM_F64;
  if ((!f32 && !f64) || core::scaled_by_blocks(type) || type.gate) return std::nullopt;
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  if (std::max({params.m, params.n, params.k}) > limit || std::min({params.m, params.n, params.k}) < min_side) return std::nullopt;
  if (static_cast<double>(params.m) * static_cast<double>(params.n) * static_cast<double>(params.k) < min_work) return std::nullopt;
  const auto a = side(params.a, params.m, params.k), b = side(params.b, params.k, params.n);
  if (!a || !b) return std::nullopt;
  return BlasCall{params.m, params.n, params.k, params.a.data, params.b.data, a->turned, b->turned, a->ld, b->ld};
}

Blas::Blas(const char* path, Own own, const core::Log* log) : search_(path == nullptr), given_(path ? path : ""), own_(std::move(own)), log_(log) {}

bool Blas::found() {
  // Not by std::call_once: an exception would end the process there, if there is no memory for what the C library needs to let one through.
  if (!searched_.load(std::memory_order_acquire)) {
    std::unique_lock lock(mutex_);
    if (!searched_.load(std::memory_order_relaxed)) {
      tried_.clear(), slow_ = false;  // of a search that memory ended
      find();
      searched_.store(true, std::memory_order_release);
      lock.unlock();
      // Who named one should know why products are slow.
      if (log_ && !sgemm_ && !given_.empty()) log_->write(GGEMM_LOG_WARNING, "the CBLAS that was named is not used, but ggemm's own kernels: %s", tried_.back().c_str());
      if (log_ && slow_) log_->write(GGEMM_LOG_INFO, "a CBLAS is not used, but ggemm's own kernels: %s", tried_.back().c_str());
    }
  }
  return sgemm_ != nullptr;
}

std::string Blas::path() { return found() ? path_ : ""; }

std::string Blas::tried() {
  if (found()) return "";
  std::string out;
  for (const std::string& line : tried_) out += (out.empty() ? "" : "\n") + line;
  return out;
}

void Blas::find() {
  if (!search_) {
    if (given_.empty())
      tried_.push_back("none: switched off by an empty path");
    else
      take(given_);
    return;
  }
  for (const char* name : candidates)
    if (take(name) || slow_) return;  // each that is opened stays so, with its threads
}

// Integers are passed 64 bits wide. On 64-bit Linux every integer argument has an eight-byte register or stack slot of its own, whose upper half a
// library with 32-bit integers ignores and one with 64-bit integers reads. So one that hides 64-bit integers behind the common names is served too.
bool Blas::take(const std::string& path) {
  void* library = core::open_library(path, tried_);
  if (!library) return false;
  void *sgemm = core::find_symbol(library, "cblas_sgemm"), *dgemm = core::find_symbol(library, "cblas_dgemm");
  if (!sgemm || !dgemm) {
    const bool suffixed = core::find_symbol(library, "cblas_sgemm64_") != nullptr;
    tried_.push_back(path + (suffixed ? ": has 64-bit integers (cblas_sgemm64_); the library with 32-bit ones is needed"
                                      : ": has no cblas_sgemm and cblas_dgemm"));
    return false;
  }
  const auto single = reinterpret_cast<Gemm<float>>(sgemm);
  const auto twice = reinterpret_cast<Gemm<double>>(dgemm);
  if (!multiplies<float>(single) || !multiplies<double>(twice)) {
    tried_.push_back(path + ": multiplies wrongly");
    return false;
  }
  if (search_ && !(fast<float>(path, single) && fast<double>(path, twice))) return false;
  const std::string file = core::library_path(sgemm);
  path_ = file.empty() ? path : file;
  sgemm_ = single;
  dgemm_ = twice;
  return true;
}

// What a system calls its BLAS may be the reference implementation, or an OpenBLAS that does not know this processor and takes it for one of 2004: a few
// times slower than our own kernels. Twice as slow is far from what most take, so that one run of a program seldom chooses otherwise than the next.
template <class T>
bool Blas::fast(const std::string& path, Gemm<T> gemm) {
  constexpr std::int64_t n = 64;  // OpenBLAS shares larger ones among threads (interface/gemm.c: 65536 x 4 multiply-adds)
  constexpr int rounds = 20;
  constexpr double slow = 2;
  const std::vector<T> a(n * n, T(1)), b(n * n, T(1));
  std::vector<T> d(n * n);
  const auto seconds = [](auto&& multiply) {
    const auto start = std::chrono::steady_clock::now();
    multiply();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double theirs = std::numeric_limits<double>::max(), ours = theirs;
  for (int i = 0; i < rounds; ++i) {
    theirs = std::min(theirs, seconds([&] { gemm(row_major, no_turn, no_turn, n, n, n, T(1), a.data(), n, b.data(), n, T(0), d.data(), n); }));
    ours = std::min(ours, seconds([&] { own_(std::is_same_v<T, double> ? core::Sum::f64 : core::Sum::f32, n, a.data(), b.data(), d.data()); }));
  }
  if (theirs <= slow * ours) return true;
  slow_ = true;
  tried_.push_back(core::text("%s: slow (%dx%dx%d of %s takes it %.1f us, ggemm's own kernels %.1f)", path.c_str(), static_cast<int>(n), static_cast<int>(n), static_cast<int>(n),
                              std::is_same_v<T, double> ? "f64" : "f32", theirs * 1e6, ours * 1e6));
  return false;
}

void Blas::multiply(core::Sum sum, const BlasCall& call, const Block& block, void* d, std::int64_t ldd) {
  const std::int64_t a_at = block.row * (call.a_turned ? 1 : call.lda), b_at = block.column * (call.b_turned ? call.ldb : 1);
  const int turn_a = call.a_turned ? turn : no_turn, turn_b = call.b_turned ? turn : no_turn;
  const auto run = [&](auto gemm, auto one) {
    using T = decltype(one);
    const T *a = static_cast<const T*>(call.a) + a_at, *b = static_cast<const T*>(call.b) + b_at;
    gemm(row_major, turn_a, turn_b, block.rows, block.columns, call.k, one, a, call.lda, b, call.ldb, T(0), static_cast<T*>(d), ldd);
  };
  if (sum == core::Sum::f64)
    run(dgemm_, 1.0);
  else
    run(sgemm_, 1.0f);
}

}  // namespace ggemm::host
