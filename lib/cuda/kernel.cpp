// SPDX-License-Identifier: Apache-2.0
// Modules and launches.
#include <cstring>
#include <utility>

#include "cuda/device_impl.hpp"

namespace ggemm::cuda {
namespace {

constexpr int default_shared_bytes = 48 * 1024;     // static and dynamic together, without opting in
constexpr std::size_t smallest_elf = 64;            // bytes of an ELF header

int attribute(const Driver& driver, cu::Function function, cu::FunctionAttribute which) {
  int value = 0;
  check(driver, driver.call.func_get_attribute(&value, which, function), "cuFuncGetAttribute");
  return value;
}

[[noreturn]] void refuse(const Driver& driver, cu::Result result, const char* function, const std::string& name, const std::string& arch) {
  core::fail(status_of(result, GGEMM_ERROR_LAUNCH), "%s of %s for %s: %s", function, name.c_str(), arch.c_str(), describe(driver, result).c_str());
}

bool is_capture_error(cu::Result result) {
  return result >= cu::Result::stream_capture_unsupported && result <= cu::Result::stream_capture_wrong_thread;
}

}  // namespace

Kernel::Kernel(Kernel&& other) noexcept { *this = std::move(other); }

Kernel& Kernel::operator=(Kernel&& other) noexcept {
  std::swap(device, other.device);
  std::swap(module, other.module);
  std::swap(function, other.function);
  std::swap(threads, other.threads);
  std::swap(dynamic_shared, other.dynamic_shared);
  std::swap(registers, other.registers);
  std::swap(local_bytes, other.local_bytes);
  std::swap(ctas_per_multiprocessor, other.ctas_per_multiprocessor);
  return *this;
}

Kernel::~Kernel() {
  if (!module) return;
  const OpenDevice& open = *device->impl_;
  const ReleaseScope scope(open);
  if (scope.entered()) open.driver.call.module_unload(static_cast<cu::Module>(module));
}

Kernel Device::load(std::span<const char> cubin, const std::string& name, int threads, int dynamic_shared) const {
  const Driver& driver = impl_->driver;
  const cu::Functions& call = driver.call;
  const std::string& arch = impl_->facts.arch;
  // The driver is given no length, so it must not see what cannot be an ELF file.
  if (cubin.size() < smallest_elf || std::memcmp(cubin.data(), "\177ELF", 4) != 0)
    core::fail(GGEMM_ERROR_LAUNCH, "the binary of %s for %s (%zu bytes) is not an ELF file", name.c_str(), arch.c_str(), cubin.size());
  const ColdScope scope(*impl_);
  scope.require();

  Kernel kernel;
  kernel.device = this;
  kernel.threads = threads;
  kernel.dynamic_shared = dynamic_shared;
  cu::Module module = nullptr;
  if (const cu::Result result = call.module_load_data(&module, cubin.data()); result != cu::Result::success)
    refuse(driver, result, "cuModuleLoadData", name, arch);
  kernel.module = module;
  cu::Function function = nullptr;
  if (const cu::Result result = call.module_get_function(&function, module, name.c_str()); result != cu::Result::success)
    refuse(driver, result, "cuModuleGetFunction", name, arch);
  kernel.function = function;

  kernel.registers = attribute(driver, function, cu::FunctionAttribute::registers);
  kernel.local_bytes = attribute(driver, function, cu::FunctionAttribute::local_bytes);
  const int static_shared = attribute(driver, function, cu::FunctionAttribute::shared_bytes);
  if (static_shared + dynamic_shared > impl_->facts.shared_per_block)
    core::fail(GGEMM_ERROR_LAUNCH, "%s needs %d bytes of shared memory; %s has %lld for a CTA", name.c_str(), static_shared + dynamic_shared,
               impl_->facts.name.c_str(), static_cast<long long>(impl_->facts.shared_per_block));
  if (static_shared + dynamic_shared > default_shared_bytes) {
    const cu::Result result = call.func_set_attribute(function, cu::FunctionAttribute::max_dynamic_shared_bytes, dynamic_shared);
    if (result != cu::Result::success) refuse(driver, result, "cuFuncSetAttribute (shared memory)", name, arch);
  }
  if (const cu::Result result = call.occupancy_max_active_blocks_per_multiprocessor(&kernel.ctas_per_multiprocessor, function, threads,
                                                                                    static_cast<std::size_t>(dynamic_shared));
      result != cu::Result::success)
    refuse(driver, result, "cuOccupancyMaxActiveBlocksPerMultiprocessor", name, arch);
  if (kernel.ctas_per_multiprocessor < 1)
    core::fail(GGEMM_ERROR_LAUNCH, "%s: no CTA of %d threads, %d registers a thread and %d bytes of shared memory fits a multiprocessor of %s",
               name.c_str(), threads, kernel.registers, static_shared + dynamic_shared, impl_->facts.name.c_str());
  return kernel;
}

void Device::launch(const Kernel& kernel, unsigned ctas, void* stream, void** params) const {
  const Scope scope(*impl_);
  scope.require();
  const cu::LaunchConfig config{.grid_x = ctas,
                                .grid_y = 1,
                                .grid_z = 1,
                                .block_x = static_cast<unsigned>(kernel.threads),
                                .block_y = 1,
                                .block_z = 1,
                                .shared_bytes = static_cast<unsigned>(kernel.dynamic_shared),
                                .stream = as_stream(stream),
                                .attributes = nullptr,
                                .attribute_count = 0};
  const cu::Result result = impl_->driver.call.launch_kernel_ex(&config, static_cast<cu::Function>(kernel.function), params, nullptr);
  if (result == cu::Result::success) return;
  core::fail(is_capture_error(result) ? GGEMM_ERROR_LAUNCH : status_of(result, GGEMM_ERROR_LAUNCH),
             "cuLaunchKernelEx (%u CTAs of %d threads, %d bytes of shared memory, stream=%p): %s", ctas, kernel.threads, kernel.dynamic_shared, stream,
             describe(impl_->driver, result).c_str());
}

}  // namespace ggemm::cuda
