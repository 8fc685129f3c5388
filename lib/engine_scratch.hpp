// SPDX-License-Identifier: Apache-2.0
// A problem on scratch memory with known data, for the tuner: run it, check it, time it.
#pragma once
#include <memory>
#include <vector>

#include "engine.hpp"

namespace ggemm {

// Known data, which buffers repeat from end to end.
struct ScratchBlock {
  static constexpr std::int64_t elements = 65521;  // a prime, so that no row length falls in step with it
  ScratchBlock() = default;
  ScratchBlock(int dtype, unsigned seed);
  // Where in the block an element of a buffer comes from; it may lie before the buffer's first.
  static std::int64_t place(std::int64_t element) { return (element % elements + elements) % elements; }
  double value(std::int64_t element) const { return values[static_cast<std::size_t>(place(element))]; }
  std::vector<char> bytes;
  std::vector<double> values;
};

// Memory and time of the engine's device, host or CUDA.
class ScratchDevice {
 public:
  // flush: reads memory, so that L2 is cold and clean (kernels/flush.cu); NULL on the host.
  ScratchDevice(const Engine& engine, std::shared_ptr<const cuda::Kernel> flush);
  ~ScratchDevice();
  ScratchDevice(const ScratchDevice&) = delete;
  ScratchDevice& operator=(const ScratchDevice&) = delete;

  void* allocate(std::size_t bytes);
  void upload(void* destination, const void* source, std::size_t bytes);
  void repeat(void* destination, std::size_t bytes, const ScratchBlock& block);
  // Elements from all over the device's memory, one after the other. As many each time.
  std::vector<char> gather(const std::vector<const char*>& elements, std::size_t size);
  void fill(void* destination, unsigned char value, std::size_t bytes);
  void* stream() const { return stream_; }
  // Microseconds of one launch, the median of a round of samples. On a GPU each begins with a cold, clean L2, as in `ggemm bench`, and a round takes some milliseconds or one
  // launch. On the host a sample is the mean of many launches of a short problem. A launch of more than 0.2 s is made once.
  double time(const std::function<void()>& launch);

 private:
  double seconds_of(const std::function<void()>& launch, int launches);

  const Engine& engine_;
  const cuda::Device* device_;
  std::shared_ptr<const cuda::Kernel> flush_;
  void* stream_ = nullptr;
  void* begin_ = nullptr;
  void* end_ = nullptr;
  double busy_ = 0;  // seconds that the GPU has been kept busy before anything was timed
  double last_ = 0;  // seconds of the launch that was timed last, of another candidate perhaps
  cuda::Buffer flush_memory_, gathered_;
  std::vector<cuda::Buffer> buffers_;
  std::vector<std::unique_ptr<char[]>> host_buffers_;
};

class ScratchProblem {
 public:
  // One of the two problems; for a grouped one the sizes of its sample groups.
  ScratchProblem(const Engine& engine, std::shared_ptr<const cuda::Kernel> flush, const core::Problem* plain, const core::GroupedProblem* grouped, const std::vector<select::Sizes>& sample);

  // Of its calls.
  bool by_engine() const { return type_.grouped ? core::by_engine(type_, grouped_) : core::by_engine(type_, plain_); }
  // Of groups: whether threads store lines of D. (As all sizes are known here, it need not wait for a call that notes it.)
  bool has_lines() const;
  void launch(const Choice& choice);
  // Launches on a poisoned D and compares a sample of its elements with float64. "" if they are right.
  std::string verify(const Choice& choice);
  double time(const Choice& choice) { return device_.time([&] { launch(choice); }); }

 private:
  // One operand of one group, filled with a repeated block of data unless it is D, in a buffer of its own elements or as a part of all groups': element (i, j) at
  // base + (i * row_stride + j * col_stride) * size, in device memory.
  struct Operand {
    char* base = nullptr;
    std::int64_t row_stride = 0, col_stride = 0;
    std::int64_t first = 0;  // elements of the repeated data before `base`
    void* buffer = nullptr;  // this and the next: what holds the group's elements
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
  // An element of D that is compared, with how wrong it may be.
  struct Point {
    std::size_t group;
    std::int64_t i, j;
    double reference, bound;
    bool overflows;  // infinity is right too
  };
  Operand operand(int dtype, std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride, const ScratchBlock* block);
  void* bias(std::int64_t count);
  void make_scales(Group& group, std::int64_t row_stride_a, std::int64_t col_stride_a, std::int64_t row_stride_b, std::int64_t col_stride_b);
  void make_plain(const core::Problem& problem);
  void make_grouped(const core::GroupedProblem& problem, const std::vector<select::Sizes>& sample);
  // Whether the sample lies in one matrix an operand, as a ragged m: where the caller's groups do in any form, of which no record must be made before a product (engine_groups.cpp), so that a tuning runs what the call will.
  bool joined(const core::GroupedProblem& problem, const std::vector<select::Sizes>& sample) const;
  ggemm_grouped_args lay_joined(core::GroupedProblem& problem, const std::vector<select::Sizes>& sample);
  // Else each group lies by itself, behind a pointer.
  ggemm_grouped_args lay_apart(core::GroupedProblem& problem, const std::vector<select::Sizes>& sample);
  void make_rows_in_order(core::GroupedProblem& problem, std::int64_t rows);
  void make_points();
  std::int64_t columns(const Group& group) const { return core::columns_of_d(type_, group.n); }  // of D
  Expected expected(const Group& group, std::int64_t i, std::int64_t j) const;
  Point point(std::size_t group, std::int64_t i, std::int64_t j) const;

  core::ProblemType type_;
  const Engine& engine_;
  ScratchDevice device_;
  ScratchBlock block_a_, block_b_, block_bias_, block_scale_;
  std::vector<Group> groups_;
  std::vector<Point> points_;
  kernels::GemmParams plain_{};
  kernels::GroupedParams grouped_{};
};

}  // namespace ggemm
