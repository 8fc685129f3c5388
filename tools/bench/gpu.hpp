// SPDX-License-Identifier: Apache-2.0
// The GPU as the benchmark uses it: launches timed with a cold L2, or back to back in a graph; own helper kernels; clock and power.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/data.hpp"
#include "cuda/device.hpp"

namespace ggemm::bench {

struct Telemetry {
  int sm_mhz = 0;
  double watts = 0;
};

class Gpu {
 public:
  // Makes the ordinal's primary context current to this thread for good: libraries over the CUDA runtime then share it with us.
  Gpu(int ordinal, std::string nvrtc_path);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const cuda::Device& device() const { return device_; }
  void* stream() const { return stream_; }
  void synchronize() const { device_.synchronize(stream_); }

  // A kernel of tools/bench/kernels.
  cuda::Kernel build(const std::string& file, const std::string& kernel, const std::vector<std::pair<std::string, std::string>>& defines, int threads,
                     int shared) const;

  // Repeats the block over `elements` elements of device memory.
  void fill(void* destination, std::int64_t elements, const Block& block) const;

  // Microseconds of each of `samples` launches. 256 MB are read before each one, so that L2 holds nothing of the operands and no dirty line. `launch`
  // puts work on stream(). Notes clock and power while the work runs.
  std::vector<double> cold(int samples, const std::function<void()>& launch);
  // Microseconds a launch of `launches` back to back in a CUDA graph, measured `samples` times.
  std::vector<double> graph(int samples, int launches, const std::function<void()>& launch);
  // Microseconds of host time of a call that launches, and of cuLaunchKernelEx of an empty kernel and nothing else, for each of `samples` batches of them by turns: a host's clock drifts.
  std::pair<std::vector<double>, std::vector<double>> host(int samples, const std::function<void()>& call);
  // cuLaunchKernelEx of an empty kernel and nothing else.
  void bare_launch() const;

  // What was noted since the last call; empty without NVML.
  std::vector<Telemetry> take_telemetry() { return std::exchange(telemetry_, {}); }

 private:
  struct Extra;
  void note_telemetry();
  std::pair<void*, void*> events(size_t index);
  cuda::Device device_;
  std::unique_ptr<Extra> extra_;
  std::string nvrtc_path_;
  void* stream_ = nullptr;
  std::vector<void*> events_;
  cuda::Buffer flush_memory_, sink_;
  cuda::Kernel flush_, nothing_;
  std::vector<Telemetry> telemetry_;
};

}  // namespace ggemm::bench
