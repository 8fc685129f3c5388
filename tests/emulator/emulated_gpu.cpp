// SPDX-License-Identifier: Apache-2.0
#include "emulated_gpu.hpp"

#include <stdexcept>

#include "cuda/driver_api.hpp"

namespace ggemm::tests {
namespace {

namespace cu = cuda::cu;

// Every program begins with these, so that a kernel's text is what it shows.
constexpr const char* prelude = R"(
#ifndef GG_A  // an option's
#define GG_A 4
#define GG_B 4
#define GG_MAJOR_A 0
#endif
#define GG_MAJOR_B 0
#include "params.cuh"
#include "ptx/async.cuh"
#include "ptx/barrier.cuh"
#include "ptx/memory.cuh"
#include "ptx/mma.cuh"
#include "ptx/tensor.cuh"
#include "ptx/wgmma.cuh"
using namespace ggemm::kernels;
#line 1 "kernel.cu"
)";

void check(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string(what) + " fails with " + std::to_string(result));
}

// The driver's one context, current in this thread.
void make_current() {
  void* context = nullptr;
  check(driver().symbol<int(unsigned)>("cuInit")(0), "cuInit");
  check(driver().symbol<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0), "cuDevicePrimaryCtxRetain");
  check(driver().symbol<int(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
}

}  // namespace

std::string compile(const std::string& text, const std::vector<std::string>& options) {
  const auto nvrtc = jit::load_nvrtc(GGEMM_EMULATED_NVRTC, 0);
  std::vector<const char*> names, texts, flags;
  for (const jit::EmbeddedFile& file : jit::embedded_files()) names.push_back(file.name), texts.push_back(file.text);
  for (const std::string& option : options) flags.push_back(option.c_str());
  jit::NvrtcProgram* program = nullptr;
  check(nvrtc->create(&program, (prelude + text).c_str(), "kernel.cu", static_cast<int>(names.size()), texts.data(), names.data()), "nvrtcCreateProgram");
  const int result = nvrtc->compile(program, static_cast<int>(flags.size()), flags.data());
  std::size_t bytes = 0;
  (result ? nvrtc->log_size : nvrtc->cubin_size)(program, &bytes);
  std::string out(bytes, '\0');
  (result ? nvrtc->log : nvrtc->cubin)(program, out.data());
  nvrtc->destroy(&program);
  if (result) throw std::runtime_error(out);
  return out;
}

EmulatedGpu::EmulatedGpu(const std::string& text, const std::vector<std::string>& options) : image_(compile(text, options)) {
  driver().reset();
  open();
}

EmulatedGpu::~EmulatedGpu() { driver().reset(); }

void EmulatedGpu::open() {
  make_current();
  check(driver().symbol<int(void**, const void*)>("cuModuleLoadData")(&module_, image_.data()), "cuModuleLoadData");
  check(driver().symbol<int(void**, void*, const char*)>("cuModuleGetFunction")(&function_, module_, "kernel"), "cuModuleGetFunction");
  check(driver().symbol<int(void*, int, int)>("cuFuncSetAttribute")(function_, 8, 200 * 1024), "cuFuncSetAttribute");
}

std::string EmulatedGpu::launch(std::uint64_t seed, unsigned ctas, unsigned threads, unsigned shared_bytes, void** parameters) {
  driver().set_emulator_seed(seed);
  cu::LaunchConfig config{};
  config.grid_x = ctas, config.block_x = threads, config.shared_bytes = shared_bytes;
  config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
  check(driver().symbol<int(const cu::LaunchConfig*, void*, void**, void**)>("cuLaunchKernelEx")(&config, function_, parameters, nullptr), "cuLaunchKernelEx");
  const int result = driver().symbol<int(void*)>("cuStreamSynchronize")(nullptr);
  const std::string failure = driver().emulator_failure();
  REQUIRE((result != 0) == !failure.empty());
  if (result != 0) {
    driver().reset();
    open();
  }
  return failure;
}

kernels::TensorMap tensor_map(const void* data, int size, std::uint64_t length, std::uint64_t lines, std::uint64_t pitch, std::uint32_t box_lines, std::uint64_t half) {
  make_current();
  kernels::TensorMap map{};
  const auto type = size == 1 ? cu::TensorType::u8 : size == 2 ? cu::TensorType::bf16 : cu::TensorType::f32;
  const std::uint64_t dims[3] = {length, half ? 2 : lines, lines}, strides[2] = {half ? half * pitch : pitch, pitch};
  const std::uint32_t box[3] = {static_cast<std::uint32_t>(128 / size), half ? 2 : box_lines, box_lines / 2}, steps[3] = {1, 1, 1};
  const auto encode = driver().symbol<cu::Result(void*, cu::TensorType, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*, const std::uint32_t*, const std::uint32_t*, cu::TensorInterleave, cu::TensorSwizzle,
                                                 cu::TensorL2, cu::TensorFill)>("cuTensorMapEncodeTiled");
  check(static_cast<int>(encode(&map, type, half ? 3 : 2, const_cast<void*>(data), dims, strides, box, steps, cu::TensorInterleave::none, cu::TensorSwizzle::bytes_128, cu::TensorL2::bytes_128, cu::TensorFill::zeros)), "cuTensorMapEncodeTiled");
  return map;
}

}  // namespace ggemm::tests
