// SPDX-License-Identifier: Apache-2.0
#include "cuda.hpp"

#include <dlfcn.h>

#include <mutex>
#include <stdexcept>
#include <vector>

#include "memory.hpp"

namespace ggemm::tests::cuda {
namespace {

template <class Function>
void load(void* library, const char* name, Function& function, bool needed = true) {
  void* symbol = dlsym(library, name);
  if (!symbol && needed) throw std::runtime_error(std::string("libcuda.so.1 has no ") + name);
  function = reinterpret_cast<Function>(symbol);
}

Driver load_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(std::string("no CUDA driver: ") + dlerror());
  Driver d;
#define GG_LOAD(name) load(library, #name, d.name)
  GG_LOAD(cuInit), GG_LOAD(cuDeviceGet), GG_LOAD(cuGetErrorString), GG_LOAD(cuDevicePrimaryCtxRetain);
  GG_LOAD(cuCtxGetCurrent), GG_LOAD(cuCtxSetCurrent), GG_LOAD(cuCtxCreate_v2), GG_LOAD(cuCtxDestroy_v2);
  GG_LOAD(cuMemAlloc_v2), GG_LOAD(cuMemFree_v2);
  GG_LOAD(cuMemcpyHtoDAsync_v2), GG_LOAD(cuMemcpyDtoHAsync_v2), GG_LOAD(cuMemsetD8Async), GG_LOAD(cuStreamCreate), GG_LOAD(cuStreamDestroy_v2),
      GG_LOAD(cuStreamSynchronize);
  GG_LOAD(cuStreamBeginCapture_v2), GG_LOAD(cuStreamEndCapture);
  GG_LOAD(cuGraphInstantiateWithFlags), GG_LOAD(cuGraphLaunch), GG_LOAD(cuGraphExecDestroy), GG_LOAD(cuGraphDestroy);
#undef GG_LOAD
  // What the fake driver lacks: NULL there, and used only where a GPU is needed.
#define GG_LOAD(name) load(library, #name, d.name, false)
  GG_LOAD(cuMemAddressReserve), GG_LOAD(cuMemAddressFree), GG_LOAD(cuMemGetAllocationGranularity), GG_LOAD(cuMemCreate), GG_LOAD(cuMemRelease);
  GG_LOAD(cuMemMap), GG_LOAD(cuMemUnmap), GG_LOAD(cuMemSetAccess), GG_LOAD(cuMemGetInfo_v2), GG_LOAD(cuGraphGetNodes);
#undef GG_LOAD
  if (d.cuInit(0) != success) throw std::runtime_error("cuInit failed");
  return d;
}

unsigned long long address(const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); }

class CudaMemory final : public Memory {
 public:
  CudaMemory(int ordinal, bool exact) : d_(driver()), exact_(exact) {
    use_device(ordinal);
    properties_ = {1, 0, {1, ordinal}, nullptr, {}};
    if (!exact_ && !d_.cuMemMap) throw std::runtime_error("this driver maps no memory");
    if (!exact_) check(d_.cuMemGetAllocationGranularity(&granularity_, &properties_, 0), "cuMemGetAllocationGranularity");
    check(d_.cuStreamCreate(&stream_, 1), "cuStreamCreate");  // 1: does not wait for the default stream
  }
  ~CudaMemory() override { d_.cuStreamDestroy_v2(stream_); }

  Block map(std::size_t bytes) override {
    unsigned long long base = 0, handle = 0;
    if (exact_) {
      check(d_.cuMemAlloc_v2(&base, bytes), "cuMemAlloc");
      return {reinterpret_cast<char*>(base), bytes, 0};
    }
    const std::size_t size = (bytes + granularity_ - 1) / granularity_ * granularity_;
    check(d_.cuMemAddressReserve(&base, size + 2 * granularity_, 0, 0, 0), "cuMemAddressReserve");
    check(d_.cuMemCreate(&handle, size, &properties_, 0), "cuMemCreate");
    check(d_.cuMemMap(base + granularity_, size, 0, handle, 0), "cuMemMap");
    const AccessDescriptor access{properties_.location, 3};
    check(d_.cuMemSetAccess(base + granularity_, size, &access, 1), "cuMemSetAccess");
    return {reinterpret_cast<char*>(base + granularity_), size, static_cast<std::size_t>(handle)};
  }
  void unmap(const Block& block) override {
    d_.cuStreamSynchronize(stream_);
    const unsigned long long data = address(block.data);
    if (exact_) {
      d_.cuMemFree_v2(data);
      return;
    }
    d_.cuMemUnmap(data, block.size);
    d_.cuMemRelease(block.handle);
    d_.cuMemAddressFree(data - granularity_, block.size + 2 * granularity_);
  }
  void write(void* to, const void* from, std::size_t bytes) override {
    check(d_.cuMemcpyHtoDAsync_v2(address(to), from, bytes, stream_), "cuMemcpyHtoDAsync");
    wait();
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    check(d_.cuMemcpyDtoHAsync_v2(to, address(from), bytes, stream_), "cuMemcpyDtoHAsync");
    wait();
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    check(d_.cuMemsetD8Async(address(to), value, bytes, stream_), "cuMemsetD8Async");
    wait();
  }
  void wait() override { check(d_.cuStreamSynchronize(stream_), "cuStreamSynchronize"); }
  void* stream() const override { return stream_; }
  bool exact() const override { return exact_; }

 private:
  const Driver& d_;
  bool exact_;
  AllocationProperties properties_{};
  std::size_t granularity_ = 0;
  void* stream_ = nullptr;
};

}  // namespace

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

void check(Result result, const char* what) {
  if (result == success) return;
  const char* text = nullptr;
  driver().cuGetErrorString(result, &text);
  throw std::runtime_error(std::string(what) + " failed with " + std::to_string(result) + ": " + (text ? text : "unknown error"));
}

void* use_device(int ordinal) {
  static std::mutex mutex;
  static std::vector<void*> contexts(16, nullptr);
  std::lock_guard lock(mutex);
  void*& context = contexts.at(static_cast<std::size_t>(ordinal));
  int device = 0;
  check(driver().cuDeviceGet(&device, ordinal), "cuDeviceGet");
  if (!context) check(driver().cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return context;
}

}  // namespace ggemm::tests::cuda

namespace ggemm::tests {

std::unique_ptr<Memory> cuda_memory(int ordinal, bool exact) { return std::make_unique<cuda::CudaMemory>(ordinal, exact); }

}  // namespace ggemm::tests
