// SPDX-License-Identifier: Apache-2.0
// cuBLAS and cuBLASLt as providers of a case.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "bench/cublas_api.hpp"
#include "bench/gpu.hpp"
#include "bench/product.hpp"

namespace ggemm::bench {

// One way to compute the case into the peers' D: launch() puts it on the GPU's stream and throws tools::Failure if it cannot.
struct Peer {
  std::string name;
  std::function<void()> launch;
};

class Cublas {
 public:
  // `library` may be NULL: then there are no peers.
  Cublas(const blas::Library* library, Gpu& gpu);

  // Families of ways, of which the fastest right one counts. Plain: every algorithm that cuBLASLt's heuristics return, all named "cublaslt". Grouped: "cublaslt-loop",
  // "cublas-grouped", "cublaslt-grouped", and "cublaslt-batch" of a batch, as far as they serve the case; none for rows by index, which they have not.
  std::vector<std::vector<Peer>> families(const Case& one, const Operands& operands) const;
  // All of a plain case, or of a batch as one. Nothing where it offers none.
  std::vector<Peer> algorithms(const Case& one, const Operands& operands) const;

 private:
  Peer loop(const Case& one, const Operands& operands) const;
  Peer grouped_batched(const Case& one, const Operands& operands) const;
  Peer device_grouped(const Case& one, const Operands& operands) const;

  const blas::Library* library_;
  Gpu& gpu_;
  std::shared_ptr<cuda::Buffer> workspace_;
};

}  // namespace ggemm::bench
