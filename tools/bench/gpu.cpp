// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "bench/kernels.hpp"
#include "bench/nvml.hpp"
#include "common/failure.hpp"
#include "core/library.hpp"
#include "cuda/driver.hpp"
#include "jit/compile.hpp"

namespace ggemm::bench {
namespace {

namespace cu = cuda::cu;

constexpr size_t flush_bytes = size_t{256} << 20;
constexpr int flush_threads = 512;
constexpr int host_batch = 64;  // calls between two waits: far below the length of the launch queue
constexpr int pci_bus_id_bytes = 32;
constexpr int capture_thread_local = 1;

using Graph = struct OpaqueGraph*;
using GraphExec = struct OpaqueGraphExec*;

void require(cu::Result result, const char* function) { cuda::check(cuda::driver(), result, function); }

}  // namespace

// What the benchmark needs of the driver beyond the library's own table.
struct Gpu::Extra {
  cu::Result (*begin_capture)(cu::Stream, int mode);
  cu::Result (*end_capture)(cu::Stream, Graph*);
  cu::Result (*instantiate)(GraphExec*, Graph, unsigned long long flags);
  cu::Result (*launch_graph)(GraphExec, cu::Stream);
  cu::Result (*destroy_exec)(GraphExec);
  cu::Result (*destroy_graph)(Graph);
  cu::Result (*bus_id)(char*, int, cu::Device);
  std::unique_ptr<Nvml> nvml;

  explicit Extra(const cuda::Driver& driver) {
    std::vector<std::string> tried;
    void* library = core::open_library(driver.path, tried);
    if (!library) tools::fail("%s", tried.front().c_str());
    const auto find = [&](auto& function, const char* name) {
      void* symbol = core::find_symbol(library, name);
      std::memcpy(&function, &symbol, sizeof symbol);
      return symbol != nullptr;
    };
    const auto bind = [&](auto& function, const char* name) {
      if (!find(function, name)) tools::fail("%s has no %s", driver.path.c_str(), name);
    };
    bind(begin_capture, "cuStreamBeginCapture_v2");
    bind(end_capture, "cuStreamEndCapture");
    bind(instantiate, "cuGraphInstantiateWithFlags");
    bind(launch_graph, "cuGraphLaunch");
    bind(destroy_exec, "cuGraphExecDestroy");
    bind(destroy_graph, "cuGraphDestroy");
    find(bus_id, "cuDeviceGetPCIBusId");  // may be missing
  }
};

Gpu::Gpu(int ordinal, std::string nvrtc_path) : device_(ordinal, nullptr, {}), nvrtc_path_(std::move(nvrtc_path)) {
  const cuda::Driver& driver = cuda::driver();
  extra_ = std::make_unique<Extra>(driver);
  cu::Device device = 0;
  cu::Context context = nullptr;
  require(driver.call.device_get(&device, ordinal), "cuDeviceGet");
  require(driver.call.device_primary_ctx_retain(&context, device), "cuDevicePrimaryCtxRetain");
  require(driver.call.ctx_push_current(context), "cuCtxPushCurrent");
  char bus[pci_bus_id_bytes] = "";  // without it NVML finds nothing, and clock and power stay unknown
  if (extra_->bus_id) require(extra_->bus_id(bus, sizeof bus, device), "cuDeviceGetPCIBusId");
  extra_->nvml = std::make_unique<Nvml>(bus);
  stream_ = device_.create_stream();
  flush_memory_ = cuda::Buffer(device_, flush_bytes, stream_);
  sink_ = cuda::Buffer(device_, 256, stream_);
  device_.fill(flush_memory_.data(), 1, flush_bytes, stream_);
  flush_ = build("memory.cu", "flush_read", {}, flush_threads, 0);
  nothing_ = build("memory.cu", "nothing", {}, 32, 0);
  synchronize();
}

Gpu::~Gpu() {
  for (void* event : events_) device_.destroy_event(event);
  flush_memory_ = {};
  sink_ = {};
  device_.destroy_stream(stream_);
}

cuda::Kernel Gpu::build(const std::string& file, const std::string& kernel, const std::vector<std::pair<std::string, std::string>>& defines,
                        int threads, int shared) const {
  const jit::Request request{kernel, file, defines, device_.facts().arch};
  const auto nvrtc = jit::load_nvrtc(nvrtc_path_, device_.facts().driver_version, device_.facts().compute_capability);
  const jit::Cubin cubin = jit::compile(*nvrtc, request, kernel_files(), false);
  return device_.load(cubin.bytes, kernel, threads, shared);
}

void Gpu::fill(void* destination, std::int64_t elements, const Block& block) const {
  const size_t period = block.bytes().size(), element = period / static_cast<size_t>(block.period());
  const size_t total = static_cast<size_t>(elements) * element;
  char* out = static_cast<char*>(destination);
  size_t done = 0;
  while (done < total) {
    // What is there, once more behind it; `done` stays a multiple of the period until the end.
    const size_t more = std::min(done == 0 ? period : done, total - done);
    if (done == 0)
      device_.copy_to_device(out + done, block.bytes().data(), more, stream_);
    else
      device_.copy_on_device(out + done, out, more, stream_);
    done += more;
  }
  synchronize();
}

std::pair<void*, void*> Gpu::events(size_t index) {
  while (events_.size() < 2 * index + 2) events_.push_back(device_.create_event());
  return {events_[2 * index], events_[2 * index + 1]};
}

void Gpu::note_telemetry() {
  const auto mhz = extra_->nvml->sm_mhz();
  const auto watts = extra_->nvml->watts();
  if (mhz && watts) telemetry_.push_back({static_cast<int>(*mhz), *watts});
}

std::vector<double> Gpu::cold(int samples, const std::function<void()>& launch) {
  launch();  // the first launch after a rest also wakes the clock
  synchronize();
  const void* data = flush_memory_.data();
  void* sink = sink_.data();
  unsigned long long vectors = flush_bytes / 16;
  void* params[] = {&data, &vectors, &sink};
  const unsigned ctas = static_cast<unsigned>(device_.facts().multiprocessors) * 4;
  for (int i = 0; i < samples; i++) {
    const auto [begin, end] = events(static_cast<size_t>(i));
    device_.launch(flush_, ctas, stream_, params);
    device_.record(begin, stream_);
    launch();
    device_.record(end, stream_);
  }
  note_telemetry();
  std::vector<double> out;
  for (int i = 0; i < samples; i++) {
    const auto [begin, end] = events(static_cast<size_t>(i));
    out.push_back(device_.milliseconds(begin, end) * 1e3);
  }
  return out;
}

std::vector<double> Gpu::graph(int samples, int launches, const std::function<void()>& launch) {
  launch();
  synchronize();
  const auto stream = static_cast<cu::Stream>(stream_);
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  require(extra_->begin_capture(stream, capture_thread_local), "cuStreamBeginCapture");
  try {
    for (int i = 0; i < launches; i++) launch();
  } catch (...) {
    extra_->end_capture(stream, &graph);
    if (graph) extra_->destroy_graph(graph);
    throw;
  }
  require(extra_->end_capture(stream, &graph), "cuStreamEndCapture");
  const cu::Result result = extra_->instantiate(&exec, graph, 0);
  extra_->destroy_graph(graph);
  require(result, "cuGraphInstantiate");
  std::vector<double> out;
  for (int i = 0; i < samples + 1; i++) {
    const auto [begin, end] = events(0);
    device_.record(begin, stream_);
    require(extra_->launch_graph(exec, stream), "cuGraphLaunch");
    device_.record(end, stream_);
    if (i == samples) note_telemetry();
    const double us = device_.milliseconds(begin, end) * 1e3 / launches;
    if (i > 0) out.push_back(us);  // the first one uploads the graph
  }
  extra_->destroy_exec(exec);
  return out;
}

std::pair<std::vector<double>, std::vector<double>> Gpu::host(int samples, const std::function<void()>& call) {
  const auto batch = [this](const auto& each) {
    synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < host_batch; i++) each();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / host_batch;
  };
  std::pair<std::vector<double>, std::vector<double>> out;
  for (int i = -1; i < samples; i++) {
    const double calls = batch(call), bare = batch([this] { bare_launch(); });
    if (i >= 0) out.first.push_back(calls), out.second.push_back(bare);  // the first is to be warm
  }
  synchronize();
  return out;
}

void Gpu::bare_launch() const {
  unsigned argument = 0;
  void* params[] = {&argument};
  const cu::LaunchConfig config{.grid_x = 1,
                                .grid_y = 1,
                                .grid_z = 1,
                                .block_x = 32,
                                .block_y = 1,
                                .block_z = 1,
                                .shared_bytes = 0,
                                .stream = static_cast<cu::Stream>(stream_),
                                .attributes = nullptr,
                                .attribute_count = 0};
  static const cuda::Driver& driver = cuda::driver();
  require(driver.call.launch_kernel_ex(&config, static_cast<cu::Function>(nothing_.function), params, nullptr), "cuLaunchKernelEx");
}

}  // namespace ggemm::bench
