// SPDX-License-Identifier: Apache-2.0
// Small kernels on the emulated GPU, by way of the emulated NVRTC and the fake driver.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "fake_driver/fake.hpp"
#include "jit/jit.hpp"
#include "jit/nvrtc.hpp"
#include "params.cuh"

namespace ggemm::tests {

inline const fake::Driver& driver() { return fake::Driver::get(); }

// Throws std::runtime_error with the compiler's words.
std::string compile(const std::string& text, const std::vector<std::string>& options = {});

// The device with one kernel. A kernel's text begins after the includes of all of kernels/ptx; its name is `kernel`.
class EmulatedGpu {
 public:
  explicit EmulatedGpu(const std::string& text, const std::vector<std::string>& options = {});
  ~EmulatedGpu();
  EmulatedGpu(const EmulatedGpu&) = delete;

  // What the launch failed with; "" if it did not. The device can be used again after either.
  template <class Parameters>
  std::string run(std::uint64_t seed, unsigned ctas, unsigned threads, unsigned shared_bytes, const Parameters& parameters) {
    Parameters copy = parameters;
    void* pointers[] = {&copy};
    return launch(seed, ctas, threads, shared_bytes, pointers);
  }
  // Of how many of these seeds the launch ends well and makes `right` true.
  template <class Parameters, class Right>
  int right_of(int seeds, unsigned ctas, unsigned threads, unsigned shared_bytes, const Parameters& parameters, Right right) {
    int count = 0;
    for (int seed = 1; seed <= seeds; ++seed) count += run(static_cast<std::uint64_t>(seed), ctas, threads, shared_bytes, parameters).empty() && right();
    return count;
  }

 private:
  void open();
  std::string launch(std::uint64_t seed, unsigned ctas, unsigned threads, unsigned shared_bytes, void** parameters);

  std::string image_;
  void *module_ = nullptr, *function_ = nullptr;
};

// A tensor map of `lines` of `length` elements of `size` bytes, `pitch` bytes apart, boxes of 128 bytes by `box_lines`, swizzled over 128 bytes.
// half: as Device::tensor_map has it.
kernels::TensorMap tensor_map(const void* data, int size, std::uint64_t length, std::uint64_t lines, std::uint64_t pitch, std::uint32_t box_lines, std::uint64_t half = 0);

}  // namespace ggemm::tests
