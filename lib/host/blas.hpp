// SPDX-License-Identifier: Apache-2.0
// A CBLAS library found at run time, for f32 and f64 products.
//
// A library's own threads are process-global state that belongs to the program: they are never set here, so CBLAS uses as many as it was told to use,
// whatever the context's number is.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/problem.hpp"
#include "host/blocking.hpp"

namespace ggemm::host {

// Row-major product as CBLAS takes it: D[m,n] = A B.
struct BlasCall {
  std::int64_t m, n, k;
  const void *a, *b;
  bool a_turned, b_turned;  // stored column by column
  std::int64_t lda, ldb;
};

// Whether CBLAS can take the operands of a product, and is worth calling. The types must be f32 or f64 throughout, compute default; no scales by
// blocks, no gated pairs.
std::optional<BlasCall> blas_call(const core::ProblemType& type, const kernels::GemmParams& params);

class Blas {
 public:
  // Our own product of two packed squares, in this thread.
  using Own = std::function<void(core::Sum sum, std::int64_t n, const void* a, const void* b, void* d)>;

  // path: a file, "" for none, or nullptr to search. Nothing is opened before the first question: a BLAS starts threads when it is loaded.
  // own: what one that was searched for must not be much slower than. log: is told, then, if the one that was named cannot be used.
  Blas(const char* path, Own own, const core::Log* log = nullptr);
  bool found();
  std::string path();   // "" if none
  std::string tried();  // a line for each path that failed

  // A rectangle of the product to d, rows ldd elements apart. found() must be true.
  void multiply(core::Sum sum, const BlasCall& call, const Block& block, void* d, std::int64_t ldd);

 private:
  // 64-bit integers on purpose: see blas.cpp.
  template <class T>
  using Gemm = void (*)(int order, int turn_a, int turn_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a, std::int64_t lda,
                        const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc);
  void find();
  bool take(const std::string& path);
  template <class T> bool fast(const std::string& path, Gemm<T> gemm);

  const bool search_;
  const std::string given_;
  const Own own_;
  const core::Log* const log_;
  std::mutex mutex_;
  std::atomic<bool> searched_ = false;
  std::string path_;
  std::vector<std::string> tried_;
  bool slow_ = false;  // one was found, and is not used
  Gemm<float> sgemm_ = nullptr;
  Gemm<double> dgemm_ = nullptr;
};

}  // namespace ggemm::host
