// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: the same problems on ordinary memory, complete on return.
#pragma once
#include <memory>
#include <string>

#include "core/config.hpp"
#include "core/log.hpp"
#include "core/problem.hpp"

namespace ggemm::host {

class HostDevice {
 public:
  // threads: at least 1. cblas_path: a file, "" for none, or nullptr to search. log: may be nullptr; outlives this.
  HostDevice(int threads, const char* cblas_path, const core::Log* log = nullptr);
  ~HostDevice();
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  const core::DeviceFacts& facts() const;
  std::string blas() const;  // the CBLAS in use, "" if none
  // Why there is no CBLAS: a line for each path tried.
  std::string blas_tried() const;

  // Thread-safe. The bits do not depend on the number of threads.
  void run(const core::ProblemType& type, const kernels::GemmParams& params) const;
  // Throws GGEMM_ERROR_ARGUMENT naming the group, before anything is written, if a group's strides or pointers are wrong. Sizes below 0 count as 0.
  void run(const core::ProblemType& type, const kernels::GroupedParams& params) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ggemm::host
