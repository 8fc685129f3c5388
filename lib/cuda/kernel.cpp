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

core::Error refusal(const Driver& driver, cu::Result result, const char* function, const std::string& name, const std::string& arch) {
  return {status_of(result, GGEMM_ERROR_LAUNCH), core::text("%s of %s for %s: %s", function, name.c_str(), arch.c_str(), describe(driver, result).c_str())};
}

[[noreturn]] void refuse(const Driver& driver, cu::Result result, const char* function, const std::string& name, const std::string& arch) { throw refusal(driver, result, function, name, arch); }

[[noreturn]] void refuse_binary(const Driver& driver, cu::Result result, const char* function, const std::string& name, const std::string& arch) {
  const core::Error error = refusal(driver, result, function, name, arch);
  switch (result) {
    case cu::Result::invalid_image:
    case cu::Result::no_binary_for_gpu:
    case cu::Result::invalid_ptx:
    case cu::Result::unsupported_ptx_version:
    case cu::Result::invalid_source:
    case cu::Result::not_found: throw RefusedBinary(error.status(), error.text());
    default: throw error;
  }
}

// Clusters that the device holds at once: multiprocessors share a cluster only within their GPC.
int resident_clusters(const Driver& driver, const Kernel& kernel, const std::string& name, const core::DeviceFacts& facts) {
  cu::LaunchAttribute attribute{};
  attribute.id = cu::LaunchAttributeId::cluster_dimension;
  attribute.cluster = {static_cast<unsigned>(kernel.cluster), 1, 1};
  cu::LaunchConfig config{};
  config.grid_x = static_cast<unsigned>(kernel.cluster), config.grid_y = config.grid_z = 1;
  config.block_x = static_cast<unsigned>(kernel.threads), config.block_y = config.block_z = 1;
  config.shared_bytes = static_cast<unsigned>(kernel.dynamic_shared);
  config.attributes = &attribute, config.attribute_count = 1;
  int clusters = 0;
  const cu::Result result = driver.call.occupancy_max_active_clusters(&clusters, static_cast<cu::Function>(kernel.function), &config);
  if (result != cu::Result::success) refuse(driver, result, "cuOccupancyMaxActiveClusters", name, facts.arch);
  if (clusters < 1) core::fail(GGEMM_ERROR_LAUNCH, "%s: no cluster of %d CTAs fits %s", name.c_str(), kernel.cluster, facts.name.c_str());
  return clusters;
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
  std::swap(complaint, other.complaint);
  std::swap(ctas_per_multiprocessor, other.ctas_per_multiprocessor);
  std::swap(cluster, other.cluster);
  std::swap(resident_ctas, other.resident_ctas);
  return *this;
}

Kernel::~Kernel() {
  if (!module) return;
  const OpenDevice& open = *device->impl_;
  const ReleaseScope scope(open);
  if (scope.entered()) open.driver.call.module_unload(static_cast<cu::Module>(module));
}

Kernel Device::load(std::span<const char> cubin, const std::string& name, int threads, int dynamic_shared, int cluster) const {
  const Driver& driver = impl_->driver;
  const cu::Functions& call = driver.call;
  const std::string& arch = impl_->facts.arch;
  // The driver is given no length, so it must not see what cannot be an ELF file.
  if (cubin.size() < smallest_elf || std::memcmp(cubin.data(), "\177ELF", 4) != 0)
    throw RefusedBinary(GGEMM_ERROR_LAUNCH, core::text("the binary of %s for %s (%zu bytes) is not an ELF file", name.c_str(), arch.c_str(), cubin.size()));
  const ColdScope scope(*impl_);
  scope.require();

  Kernel kernel;
  kernel.device = this;
  kernel.threads = threads;
  kernel.dynamic_shared = dynamic_shared;
  cu::Module module = nullptr;
  if (const cu::Result result = call.module_load_data(&module, cubin.data()); result != cu::Result::success)
    refuse_binary(driver, result, "cuModuleLoadData", name, arch);
  kernel.module = module;
  cu::Function function = nullptr;
  if (const cu::Result result = call.module_get_function(&function, module, name.c_str()); result != cu::Result::success)
    refuse_binary(driver, result, "cuModuleGetFunction", name, arch);
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
  kernel.cluster = cluster;
  kernel.resident_ctas = kernel.ctas_per_multiprocessor * impl_->facts.multiprocessors;
  if (cluster > 1) kernel.resident_ctas = cluster * resident_clusters(driver, kernel, name, impl_->facts);
  return kernel;
}

kernels::TensorMap Device::tensor_map(const TensorLayout& layout) const {
  kernels::TensorMap maps[1] = {};  // the driver wants 64 bytes of alignment, which GCC 12 does not give the place of what a function returns
  if (impl_->maps.find(layout, maps[0])) return maps[0];
  const auto type = [&layout] {
    switch (layout.dtype) {
      case GGEMM_F32: return layout.tf32 ? cu::TensorType::tf32 : cu::TensorType::f32;
      case GGEMM_F16: return cu::TensorType::f16;
      case GGEMM_BF16: return cu::TensorType::bf16;
      case GGEMM_I32: return cu::TensorType::i32;
      default: return cu::TensorType::u8;  // bytes are moved, whatever they mean
    }
  };
  const auto size = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  // Of pairs the two are a dimension between the elements of a line and the lines, so that a box has them one after the other. (Its stride is the larger one, which the driver's documentation does not foresee; 580 takes it.)
  const bool pairs = layout.half != 0, swizzled = layout.box_length == 0;
  const std::uint64_t length = size(layout.length), lines = size(layout.lines), apart = size(layout.line_bytes);
  // The products of a batch are one behind the lines. (Theirs may be the smaller one, where lines lie by turns.)
  const std::uint64_t dims[3] = {length, pairs ? 2 : lines, pairs ? lines : size(layout.products)}, strides[2] = {pairs ? size(layout.half) * apart : apart, pairs ? apart : size(layout.product_bytes)};
  const auto box_length = static_cast<std::uint32_t>(swizzled ? kernels::panel_bytes / static_cast<int>(core::dtype_size(layout.dtype)) : layout.box_length), box_lines = static_cast<std::uint32_t>(layout.box_lines);
  const std::uint32_t boxes[3] = {box_length, pairs ? 2 : box_lines, pairs ? box_lines / 2 : 1}, steps[3] = {1, 1, 1};
  const Scope scope(*impl_);  // it needs a current context
  scope.require();
  const cu::Result result = impl_->driver.call.tensor_map_encode_tiled(maps, type(), pairs || layout.products ? 3 : 2, const_cast<void*>(layout.data), dims, strides, boxes, steps, cu::TensorInterleave::none,
                                                                       swizzled ? cu::TensorSwizzle::bytes_128 : cu::TensorSwizzle::none, cu::TensorL2::bytes_128, cu::TensorFill::zeros);
  if (result != cu::Result::success)
    core::fail(status_of(result, GGEMM_ERROR_LAUNCH), "cuTensorMapEncodeTiled (%s at %p, %lld lines of %lld, %lld bytes apart, boxes of %d lines): %s", core::dtype_name(layout.dtype), layout.data, static_cast<long long>(layout.lines),
               static_cast<long long>(layout.length), static_cast<long long>(layout.line_bytes), layout.box_lines, describe(impl_->driver, result).c_str());
  impl_->maps.keep(layout, maps[0]);
  return maps[0];
}

void Device::launch(const Kernel& kernel, unsigned ctas, void* stream, void** params, LaunchOptions options) const {
  constexpr int graphs_know_it = 12030;  // from this driver on
  cu::LaunchAttribute attributes[2];
  unsigned count = 0;
  const bool hopper = impl_->facts.compute_capability >= 90;  // or newer
  if (options.overlap && hopper && impl_->facts.driver_version >= graphs_know_it) {
    attributes[count] = {cu::LaunchAttributeId::programmatic_stream_serialization, 0, {}};
    attributes[count++].programmatic_stream_serialization = 1;
  }
  if (options.by_turns && hopper && kernel.cluster == 1) {
    attributes[count] = {cu::LaunchAttributeId::cluster_dimension, 0, {}};
    attributes[count++].cluster = {1, 1, 1};
  }
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
                                .attributes = attributes,
                                .attribute_count = count};
  const cu::Result result = impl_->driver.call.launch_kernel_ex(&config, static_cast<cu::Function>(kernel.function), params, nullptr);
  if (result == cu::Result::success) return;
  core::fail(is_capture_error(result) ? GGEMM_ERROR_LAUNCH : status_of(result, GGEMM_ERROR_LAUNCH),
             "cuLaunchKernelEx (%u CTAs of %d threads, %d bytes of shared memory, stream=%p): %s", ctas, kernel.threads, kernel.dynamic_shared, stream,
             describe(impl_->driver, result).c_str());
}

}  // namespace ggemm::cuda
