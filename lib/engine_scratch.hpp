// SPDX-License-Identifier: Apache-2.0
// A problem on scratch memory with known data, for the tuner: run it, check it, time it.
#pragma once
#include <memory>
#include <vector>

#include "engine.hpp"

namespace ggemm {

// Memory and time of the engine's device, host or CUDA.
class ScratchDevice {
 public:
  explicit ScratchDevice(const Engine& engine);
  ~ScratchDevice();
  ScratchDevice(const ScratchDevice&) = delete;
  ScratchDevice& operator=(const ScratchDevice&) = delete;

  void* allocate(std::size_t bytes);
  void upload(void* destination, const void* source, std::size_t bytes);
  void download(void* destination, const void* source, std::size_t bytes);  // complete on return
  void fill(void* destination, unsigned char value, std::size_t bytes);
  void* stream() const { return stream_; }
  // Median over `samples` of the microseconds of one launch, each sample the mean of as many launches as fill about half a millisecond. A launch that takes
  // long enough to be measured alone is made once.
  double time(const std::function<void()>& launch, int samples);

 private:
  double seconds_of(const std::function<void()>& launch, int launches);

  const cuda::Device* device_;
  void* stream_ = nullptr;
  void* begin_ = nullptr;
  void* end_ = nullptr;
  std::vector<cuda::Buffer> buffers_;
  std::vector<std::unique_ptr<char[]>> host_buffers_;
};

class ScratchProblem {
 public:
  // One of the two problems; for a grouped one the sizes of its sample groups.
  ScratchProblem(const Engine& engine, const core::Problem* plain, const core::GroupedProblem* grouped, const std::vector<select::Sizes>& sample);

  void launch(const Choice& choice);
  // Launches on a poisoned D and compares a sample of its elements with float64. "" if they are right.
  std::string verify(const Choice& choice);
  double time(const Choice& choice) { return device_.time([&] { launch(choice); }, 5); }

 private:
  // One operand of one group, filled with a repeated block of data unless it is D, in a buffer of its own elements: element (i, j) at
  // base + (i * row_stride + j * col_stride) * size, in device memory.
  struct Operand {
    char* base = nullptr;
    std::int64_t row_stride = 0, col_stride = 0;
    std::int64_t first = 0;  // elements before `base` in the buffer
    void* buffer = nullptr;
    std::size_t bytes = 0;
  };
  struct Group {
    std::int64_t m, n, k;
    Operand a, b, d;
    void* bias;
    Operand scale_a, scale_b;
  };
  // An element of the product before the activation, and how wrong it may be.
  struct Expected {
    double value, error;
  };
  Operand operand(int dtype, std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride, const std::vector<char>* block);
  void* bias(std::int64_t count);
  void make_scales(Group& group, std::int64_t row_stride_a, std::int64_t col_stride_a, std::int64_t row_stride_b, std::int64_t col_stride_b);
  void make_groups(const std::vector<select::Sizes>& sample);
  void make_plain(const core::Problem& problem);
  void make_grouped(const core::GroupedProblem& problem);
  void make_rows_in_order(core::GroupedProblem& problem);
  std::int64_t columns(const Group& group) const { return type_.gate ? group.n / 2 : group.n; }  // of D
  Expected expected(const Group& group, std::int64_t i, std::int64_t j) const;
  std::string check(const Group& group, std::int64_t i, std::int64_t j);

  core::ProblemType type_;
  const Engine& engine_;
  ScratchDevice device_;
  std::vector<char> block_a_, block_b_, block_bias_, block_scale_;  // the data, repeated through the buffers
  std::vector<Group> groups_;
  kernels::GemmParams plain_{};
  kernels::GroupedParams grouped_{};
};

}  // namespace ggemm
