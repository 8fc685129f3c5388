// SPDX-License-Identifier: Apache-2.0
// Modules and what is known of their kernels.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "emulated.hpp"
#include "emulator/machine/tensor_map.hpp"
#include "state.hpp"

using namespace fake;

namespace {

constexpr std::size_t largest_image = std::size_t(1) << 30;  // bytes; a header that claims more is damaged

// Where an ELF file ends, which the driver must find out for itself; 0 if it is none.
std::size_t image_bytes(const void* image) {
  Elf64_Ehdr header;
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return 0;
  std::memcpy(&header, image, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) return 0;
  std::size_t end = std::max<std::size_t>(header.e_shoff + std::size_t(header.e_shnum) * sizeof(Elf64_Shdr),
                                          header.e_phoff + std::size_t(header.e_phnum) * header.e_phentsize);
  if (end > largest_image) return 0;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, static_cast<const char*>(image) + header.e_shoff + std::size_t(i) * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL) end = std::max<std::size_t>(end, section.sh_offset + section.sh_size);
  }
  return end > largest_image ? 0 : end;
}

// The architecture that a cubin was made for, as 90 for sm_90a; 0: not said. It moved within e_flags with version 8 of the format.
int image_capability(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return static_cast<int>(header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xFF : header.e_flags & 0xFF);
}

const DeviceModel& device_of(Handle context) { return state().devices[static_cast<std::size_t>(find(state().contexts, context)->device)]; }

int attribute(const DeviceModel& device, int which) {
  const auto found = device.attributes.find(which);
  return found == device.attributes.end() ? 0 : found->second;
}
int attribute(const DeviceModel& device, cu::DeviceAttribute which) { return attribute(device, static_cast<int>(which)); }

// The function, if its module is loaded in the current context.
Result find_function(cu::Function handle, std::shared_ptr<Function>& out) {
  out = find(state().functions, handle);
  if (!out) return Result::invalid_handle;
  return find(state().modules, out->module)->context == current_context() ? Result::success : Result::invalid_context;
}

int registers(const Function& function) { return function.emulated ? emulator::registers_of(*function.emulated) : state().kernel_registers; }
int static_shared(const Function& function) { return function.emulated ? static_cast<int>(function.emulated->static_shared) : state().kernel_static_shared; }
int local_bytes(const std::string& kernel) {
  for (const auto& [part, bytes] : state().spills)
    if (kernel.find(part) != std::string::npos) return bytes;
  return state().kernel_local;
}

}  // namespace

FAKE_DRIVER Result cuModuleLoadData(cu::Module* out, const void* image) {
  Call call("cuModuleLoadData");
  if (call.fails()) return call.result();
  const Handle context = current_context();
  if (!context) return Result::invalid_context;
  if (const Result refused = capture_unsafe("cuModuleLoadData"); refused != Result::success) return refused;
  const std::size_t bytes = image_bytes(image);
  if (bytes == 0) return Result{200};  // CUDA_ERROR_INVALID_IMAGE
  const int made_for = image_capability(image), have = device_of(context).capability;
  if (made_for != 0 && (made_for / 10 != have / 10 || made_for > have)) return Result{209};  // CUDA_ERROR_NO_BINARY_FOR_GPU
  auto module = std::make_shared<Module>();
  module->context = context;
  module->image.assign(static_cast<const char*>(image), static_cast<const char*>(image) + bytes);
  if (is_emulated(module->image)) {
    module->emulated = load_emulated(module->image);
    if (!module->emulated) return Result{200};  // CUDA_ERROR_INVALID_IMAGE
  }
  *out = static_cast<cu::Module>(state().new_handle());
  state().modules[*out] = std::move(module);
  return Result::success;
}

FAKE_DRIVER Result cuModuleUnload(cu::Module handle) {
  Call call("cuModuleUnload");
  if (!call.alive()) return call.result();
  const std::shared_ptr<Module> module = find(state().modules, handle);
  if (!module) return Result::invalid_handle;
  if (module->context != current_context()) return Result::invalid_context;
  if (const Result refused = capture_unsafe("cuModuleUnload"); refused != Result::success) return refused;
  std::erase_if(state().functions, [&](const auto& function) { return function.second->module == handle; });
  state().modules.erase(handle);
  return call.after(Result::success);
}

FAKE_DRIVER Result cuModuleGetFunction(cu::Function* out, cu::Module handle, const char* name) {
  Call call("cuModuleGetFunction");
  if (call.fails()) return call.result();
  const std::shared_ptr<Module> module = find(state().modules, handle);
  if (!module) return Result::invalid_handle;
  if (module->context != current_context()) return Result::invalid_context;
  const std::string symbol = std::string(1, '\0') + name + '\0';
  if (std::string_view(module->image.data(), module->image.size()).find(symbol) == std::string_view::npos) return Result::not_found;
  auto function = std::make_shared<Function>();
  function->module = handle;
  function->name = name;
  function->emulated = module->emulated;
  function->max_dynamic_shared -= std::min(function->max_dynamic_shared, static_shared(*function));
  *out = static_cast<cu::Function>(state().new_handle());
  state().functions[*out] = std::move(function);
  return Result::success;
}

FAKE_DRIVER Result cuFuncGetAttribute(int* value, cu::FunctionAttribute which, cu::Function handle) {
  Call call("cuFuncGetAttribute");
  if (call.fails()) return call.result();
  std::shared_ptr<Function> function;
  if (const Result bad = find_function(handle, function); bad != Result::success) return bad;
  switch (which) {
    case cu::FunctionAttribute::shared_bytes: *value = static_shared(*function); break;
    case cu::FunctionAttribute::local_bytes: *value = local_bytes(function->name); break;
    case cu::FunctionAttribute::registers: *value = registers(*function); break;
    case cu::FunctionAttribute::max_dynamic_shared_bytes: *value = function->max_dynamic_shared; break;
    default: return Result::invalid_value;
  }
  return Result::success;
}

FAKE_DRIVER Result cuFuncSetAttribute(cu::Function handle, cu::FunctionAttribute which, int value) {
  Call call("cuFuncSetAttribute");
  if (call.fails()) return call.result();
  std::shared_ptr<Function> function;
  if (const Result bad = find_function(handle, function); bad != Result::success) return bad;
  const int most = attribute(device_of(current_context()), cu::DeviceAttribute::shared_per_block_optin) - static_shared(*function);
  if (which != cu::FunctionAttribute::max_dynamic_shared_bytes || value < 0 || value > most) return Result::invalid_value;
  function->max_dynamic_shared = value;
  return Result::success;
}

FAKE_DRIVER Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* ctas, cu::Function handle, int threads, std::size_t dynamic_shared) {
  Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (call.fails()) return call.result();
  std::shared_ptr<Function> function;
  if (const Result bad = find_function(handle, function); bad != Result::success) return bad;
  if (threads < 1) return Result::invalid_value;
  constexpr int max_threads_per_multiprocessor = 39, max_registers_per_multiprocessor = 82;  // CU_DEVICE_ATTRIBUTE_*
  const DeviceModel& device = device_of(current_context());
  const long shared_of_all = attribute(device, cu::DeviceAttribute::shared_per_multiprocessor);
  const long reserved = shared_of_all - attribute(device, cu::DeviceAttribute::shared_per_block_optin);
  const long shared = static_cast<long>(dynamic_shared) + static_shared(*function) + reserved;
  const long by_threads = threads > 1024 ? 0 : attribute(device, max_threads_per_multiprocessor) / threads;
  const long by_registers = attribute(device, max_registers_per_multiprocessor) / (static_cast<long>(registers(*function)) * threads);
  const long by_shared = static_cast<long>(dynamic_shared) > function->max_dynamic_shared ? 0 : shared ? shared_of_all / shared : by_threads;
  *ctas = static_cast<int>(std::min({by_threads, by_registers, by_shared, 32L}));
  return Result::success;
}

// As if every multiprocessor held one CTA and clusters fitted without rest.
FAKE_DRIVER Result cuOccupancyMaxActiveClusters(int* clusters, cu::Function handle, const cu::LaunchConfig* config) {
  Call call("cuOccupancyMaxActiveClusters");
  if (call.fails()) return call.result();
  std::shared_ptr<Function> function;
  if (const Result bad = find_function(handle, function); bad != Result::success) return bad;
  if (config->attribute_count != 1 || config->attributes->id != cu::LaunchAttributeId::cluster_dimension) return Result::invalid_value;
  const unsigned size = config->attributes->cluster.x;
  if (size < 1 || size > 8 || config->grid_x % size || static_cast<int>(config->shared_bytes) > function->max_dynamic_shared) return Result::invalid_value;
  *clusters = attribute(device_of(current_context()), cu::DeviceAttribute::multiprocessor_count) / static_cast<int>(size);
  return Result::success;
}

// Refuses what a driver refuses (CUDA driver API, "Tensor Map Object Management") for maps swizzled over 128 bytes or not at all; writes what the emulated copy engine reads.
FAKE_DRIVER Result cuTensorMapEncodeTiled(void* map, cu::TensorType type, std::uint32_t rank, void* address, const std::uint64_t* dims, const std::uint64_t* strides, const std::uint32_t* box,
                                          const std::uint32_t* element_strides, cu::TensorInterleave interleave, cu::TensorSwizzle swizzle, cu::TensorL2, cu::TensorFill) {
  Call call("cuTensorMapEncodeTiled");
  if (call.fails()) return call.result();
  if (!current_context()) return Result::invalid_context;
  const std::uint32_t size = type == cu::TensorType::u8 ? 1 : type == cu::TensorType::f16 || type == cu::TensorType::bf16 ? 2 : 4;
  const auto wrong = [](std::uintptr_t value, std::uintptr_t multiple) { return value == 0 || value % multiple != 0; };
  if (wrong(reinterpret_cast<std::uintptr_t>(map), 64) || wrong(reinterpret_cast<std::uintptr_t>(address), 16)) return Result::invalid_value;
  if ((rank != 2 && rank != 3) || interleave != cu::TensorInterleave::none || (swizzle != cu::TensorSwizzle::bytes_128 && swizzle != cu::TensorSwizzle::none)) return Result::invalid_value;
  for (std::uint32_t i = 0; i < rank; ++i)
    if (dims[i] < 1 || dims[i] > std::uint64_t(1) << 32 || box[i] < 1 || box[i] > 256 || element_strides[i] != 1) return Result::invalid_value;
  for (std::uint32_t i = 0; i + 1 < rank; ++i)
    if (wrong(strides[i], 16) || strides[i] >= std::uint64_t(1) << 40 || strides[i] < dims[0] * size) return Result::invalid_value;
  if (box[0] * size % 16 != 0 || (swizzle == cu::TensorSwizzle::bytes_128 && box[0] * size > 128)) return Result::invalid_value;
  emulator::TensorMap out{};
  out.mark = emulator::TensorMap::right_mark;
  out.base = reinterpret_cast<std::uintptr_t>(address);
  out.rank = rank;
  out.inner = dims[0], out.outer = dims[rank - 1], out.stride = strides[rank - 2];
  out.box_inner = box[0], out.box_outer = box[rank - 1];
  out.middle = rank == 3 ? dims[1] : 1, out.middle_stride = rank == 3 ? strides[0] : 0, out.box_middle = rank == 3 ? box[1] : 1;
  out.element_bytes = size, out.swizzle_bytes = swizzle == cu::TensorSwizzle::bytes_128 ? 128 : 0, out.tf32 = type == cu::TensorType::tf32;
  std::memcpy(map, &out, sizeof out);
  return Result::success;
}

FAKE_API void fake_set_kernel_resources(int registers, int static_shared_bytes, int local_bytes) {
  std::lock_guard lock(state().mutex);
  state().kernel_registers = registers;
  state().kernel_static_shared = static_shared_bytes;
  state().kernel_local = local_bytes;
}

FAKE_API void fake_set_spill(const char* part, int local_bytes) {
  std::lock_guard lock(state().mutex);
  state().spills.emplace_back(part, local_bytes);
}
