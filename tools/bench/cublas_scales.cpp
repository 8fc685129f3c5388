// SPDX-License-Identifier: Apache-2.0
#include "bench/cublas_scales.hpp"

#include <algorithm>

namespace ggemm::bench {
namespace {

constexpr std::int64_t block = 128, line = 4;  // of k, and f32 numbers in 16 bytes, at which each matrix begins

}  // namespace

std::shared_ptr<const LtScales> LtScales::make(const Case& one, const Operands& operands, const Gpu& gpu) {
  const std::vector<Size> groups = one.grouped() ? one.groups : std::vector<Size>{one.size};
  const bool taken = one.scaling != Scaling::block || std::all_of(groups.begin(), groups.end(), [](const Size& s) { return s.m % line == 0 && s.n % line == 0; });
  return taken ? std::shared_ptr<const LtScales>(new LtScales(one, operands, gpu)) : nullptr;
}

LtScales::LtScales(const Case& one, const Operands& operands, const Gpu& gpu) : scaling_(one.scaling) {
  const std::vector<Size> groups = one.grouped() ? one.groups : std::vector<Size>{one.size};
  const Layout& layout = operands.layout();
  std::vector<float> numbers;
  std::vector<size_t> begins;
  for (size_t g = 0; g < groups.size(); g++) {
    const std::int64_t rows = scaling_ == Scaling::tensor ? 1 : groups[g].m, deep = scaling_ == Scaling::block ? groups[g].k : 1;
    begins.push_back(numbers.size());
    for (std::int64_t k = 0; k < deep; k += block)
      for (std::int64_t row = 0; row < rows; row++) numbers.push_back(static_cast<float>(scales_a()[layout.scale_a[g].at(row, k)]));
    numbers.resize((numbers.size() + line - 1) / line * line);
  }
  numbers.resize(std::max<size_t>(line, numbers.size()));
  const auto keep = [&](cuda::Buffer& buffer, const void* from, size_t bytes) {
    buffer = cuda::Buffer(gpu.device(), bytes, gpu.stream());
    gpu.device().copy_to_device(buffer.data(), from, bytes, gpu.stream());
    gpu.synchronize();
  };
  keep(numbers_, numbers.data(), numbers.size() * sizeof(float));
  for (size_t g = 0; g < groups.size(); g++) {
    a_.push_back(static_cast<const float*>(numbers_.data()) + begins[g]);
    b_.push_back(operands.scale_b() + layout.scale_b[g].base);
  }
  std::vector<const void*> pointers = a_;
  pointers.insert(pointers.end(), b_.begin(), b_.end());
  keep(pointers_, pointers.data(), pointers.size() * sizeof(void*));
}

}  // namespace ggemm::bench
