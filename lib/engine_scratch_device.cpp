// SPDX-License-Identifier: Apache-2.0
// The tuner's memory, known data and times.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "core/element.hpp"
#include "engine_scratch.hpp"

namespace ggemm {

// Normal(0,1), never zeros: a GPU's power, and so its clock, depends on the data. i8 takes its whole range.
ScratchBlock::ScratchBlock(int dtype, unsigned seed) : bytes(static_cast<std::size_t>(elements) * core::dtype_size(dtype)) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> whole(-127, 127);
  values.reserve(static_cast<std::size_t>(elements));
  core::with_element(dtype, "dtype", [&](auto element) {
    using Element = decltype(element);
    auto* out = reinterpret_cast<Element*>(bytes.data());
    for (std::int64_t i = 0; i < elements; ++i) {
      out[i] = kernels::Store<Element>::from(dtype == GGEMM_I8 ? static_cast<double>(whole(generator)) : static_cast<double>(normal(generator)));
      values.push_back(kernels::to_sum<double>(out[i]));
    }
  });
}

ScratchDevice::ScratchDevice(const Engine& engine, std::shared_ptr<const cuda::Kernel> flush) : engine_(engine), device_(engine.device()), flush_(std::move(flush)) {
  if (!device_) return;
  stream_ = device_->create_stream();
  try {
    begin_ = device_->create_event();
    end_ = device_->create_event();
    // Whatever it holds. So much more than L2 that its policy of replacement leaves nothing.
    constexpr std::int64_t times_l2 = 4, most = std::int64_t(256) << 20, least = std::int64_t(1) << 20;
    flush_memory_ = cuda::Buffer(*device_, static_cast<std::size_t>(std::clamp(times_l2 * device_->facts().l2_bytes, least, most)), stream_);
  } catch (...) {
    if (begin_) device_->destroy_event(begin_);
    if (end_) device_->destroy_event(end_);
    device_->destroy_stream(stream_);
    throw;
  }
}

ScratchDevice::~ScratchDevice() {
  if (!device_) return;
  try {
    device_->synchronize(stream_);
  } catch (const core::Error&) {
    // The memory is given back all the same.
  }
  flush_memory_ = {}, gathered_ = {};
  buffers_.clear();
  engine_.forget(stream_);
  device_->destroy_event(begin_);
  device_->destroy_event(end_);
  device_->destroy_stream(stream_);
}

void* ScratchDevice::allocate(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 16);
  if (device_) return buffers_.emplace_back(*device_, bytes, stream_).data();
  return host_buffers_.emplace_back(new char[bytes]).get();
}
void ScratchDevice::upload(void* destination, const void* source, std::size_t bytes) {
  if (device_) device_->copy_to_device(destination, source, bytes, stream_);
  else std::memcpy(destination, source, bytes);
}
void ScratchDevice::repeat(void* destination, std::size_t bytes, const ScratchBlock& block) {
  char* const out = static_cast<char*>(destination);
  std::size_t done = std::min(block.bytes.size(), bytes);
  upload(out, block.bytes.data(), done);
  // What is there, once more behind it: a whole number of blocks until the end.
  for (std::size_t more; done < bytes; done += more) {
    more = std::min(done, bytes - done);
    if (device_) device_->copy_on_device(out + done, out, more, stream_);
    else std::memcpy(out + done, out, more);
  }
}
std::vector<char> ScratchDevice::gather(const std::vector<const char*>& elements, std::size_t size) {
  std::vector<char> out(elements.size() * size);
  if (device_ && !gathered_.data()) gathered_ = cuda::Buffer(*device_, out.size(), stream_);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (device_) device_->copy_on_device(static_cast<char*>(gathered_.data()) + i * size, elements[i], size, stream_);
    else std::memcpy(out.data() + i * size, elements[i], size);
  }
  if (device_) device_->copy_to_host(out.data(), gathered_.data(), out.size(), stream_);
  return out;
}
void ScratchDevice::fill(void* destination, unsigned char value, std::size_t bytes) {
  if (device_) device_->fill(destination, value, bytes, stream_);
  else std::memset(destination, value, bytes);
}

double ScratchDevice::seconds_of(const std::function<void()>& launch, int launches) {
  if (!device_) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) launch();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  kernels::FlushParams flush{flush_memory_.data(), static_cast<kernels::i64>(flush_memory_.size() / 16), static_cast<kernels::u32*>(flush_memory_.data()), 0x9e3779b9, 0};
  void* arguments[] = {&flush};
  device_->launch(*flush_, flush_->ctas(0), stream_, arguments);
  device_->record(begin_, stream_);
  launch();
  device_->record(end_, stream_);
  return device_->milliseconds(begin_, end_) * 1e-3;
}

double ScratchDevice::time(const std::function<void()>& launch) {
  // Of a round. On the host a sample is as many launches as fill half a millisecond; on a GPU it is one, and takes what empties L2 besides.
  constexpr double round_seconds = 6e-3, flush_seconds = 60e-6, host_sample_seconds = 0.5e-3, long_seconds = 2e-3;
  constexpr int host_samples = 5, most_samples = 30;
  // A GPU that was idle takes some milliseconds to come to its clock: until then the first candidates would look up to a quarter slower than those after them.
  constexpr double waking_seconds = 50e-3;
  for (; device_ && busy_ < waking_seconds; busy_ += last_ + flush_seconds) last_ = seconds_of(launch, 1);
  // Long products bind power, of which a GPU that has just worked has less to give, and then others win: they start rested, as the benchmark's do.
  constexpr double power_seconds = 300e-6;
  if (device_ && last_ > power_seconds) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double once = last_ = seconds_of(launch, 1);
  if (once > 0.2) return once * 1e6;
  const int launches = device_ ? 1 : static_cast<int>(std::clamp(host_sample_seconds / std::max(once, 1e-7), 1.0, 100.0));
  const int samples = device_ ? static_cast<int>(std::clamp(round_seconds / (once + flush_seconds), 1.0, double(most_samples))) : host_samples;
  std::vector<double> times;
  if (device_ && once > long_seconds) times.push_back(once);  // of shorter ones the first has woken the clock, and does not count
  while (times.size() < static_cast<std::size_t>(samples)) times.push_back(seconds_of(launch, launches) / launches);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle * 1e6;
}

}  // namespace ggemm
