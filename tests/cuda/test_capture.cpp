// SPDX-License-Identifier: Apache-2.0
// Stream capture: seeing it, and not disturbing it.
#include <thread>

#include "machine.hpp"

using namespace ggemm;
using namespace ggemm::test;

namespace {

enum Mode : int { global = 0, thread_local_only = 1, relaxed = 2 };
enum : unsigned { blocking = 0 };
constexpr int stream_capture_invalidated = 901, stream_capture_unsupported = 900;

// A caller's own streams and graphs, in the device's context, which is current in each of these tests.
void* make_stream(unsigned flags) {
  void* stream = nullptr;
  REQUIRE(driver().symbol<int(void**, unsigned)>("cuStreamCreate")(&stream, flags) == 0);
  return stream;
}
void begin_capture(void* stream, Mode mode) { REQUIRE(driver().symbol<int(void*, int)>("cuStreamBeginCapture_v2")(stream, mode) == 0); }
int end_capture(void* stream, void** graph) { return driver().symbol<int(void*, void**)>("cuStreamEndCapture")(stream, graph); }

// A caller's context with a device on it.
struct Rig {
  Machine machine;
  void* context = make_context(0);
  std::unique_ptr<cuda::Device> device = std::make_unique<cuda::Device>(0, context, cuda::Allocator{});
  void finish() {
    device.reset();
    destroy_context(context);
    machine.check_clean();
  }
};

}  // namespace

TEST_CASE("A stream is seen to be capturing from the begin to the end of its capture") {
  Rig rig;
  void* stream = make_stream(blocking);
  CHECK_FALSE(rig.device->capturing(stream));
  begin_capture(stream, relaxed);
  CHECK(rig.device->capturing(stream));
  CHECK(driver().symbol<int(void*)>("cuStreamSynchronize")(stream) == stream_capture_unsupported);  // the caller breaks it
  CHECK(rig.device->capturing(stream));
  void* graph = nullptr;
  CHECK(end_capture(stream, &graph) == stream_capture_invalidated);
  CHECK_FALSE(rig.device->capturing(stream));
  rig.device->destroy_stream(stream);
  rig.finish();
}

TEST_CASE("The default stream counts as capturing while a stream that synchronises with it captures") {
  Rig rig;
  void *stream = make_stream(blocking), *free_stream = rig.device->create_stream(), *graph = nullptr;
  CHECK_FALSE(rig.device->capturing(nullptr));
  begin_capture(free_stream, relaxed);
  CHECK_FALSE(rig.device->capturing(nullptr));
  begin_capture(stream, relaxed);
  CHECK(rig.device->capturing(nullptr));
  // Asking broke neither.
  for (void* one : {stream, free_stream}) {
    REQUIRE(end_capture(one, &graph) == 0);
    REQUIRE(driver().symbol<int(void*)>("cuGraphDestroy")(graph) == 0);
    rig.device->destroy_stream(one);
  }
  rig.finish();
}

TEST_CASE("A handle that is no stream of the context is an argument error that shows it") {
  Rig rig;
  void* stream = make_stream(blocking);
  rig.device->destroy_stream(stream);
  const core::Error error = error_of([&] { rig.device->capturing(stream); });
  CHECK(error.status() == GGEMM_ERROR_ARGUMENT);
  CHECK(error.text() == core::text("stream=%p is not a stream of this context: CUDA_ERROR_INVALID_HANDLE (invalid resource handle)", stream));
  rig.finish();
}

TEST_CASE("Nothing is allocated on a capturing stream") {
  Rig rig;
  void *stream = make_stream(blocking), *graph = nullptr;
  begin_capture(stream, global);
  const core::Error error = error_of([&] { cuda::Buffer(*rig.device, 1234, stream); });
  CHECK(error.status() == GGEMM_ERROR_NOT_PREPARED);
  CHECK(error.text() == "1234 bytes of device memory are needed, but the stream is being captured: ggemm_prepare and plans reserve them before");
  CHECK(driver().capture_calls() == 0);
  REQUIRE(end_capture(stream, &graph) == 0);
  REQUIRE(driver().symbol<int(void*)>("cuGraphDestroy")(graph) == 0);
  rig.device->destroy_stream(stream);
  rig.finish();
}

TEST_CASE("Loading, allocating and waiting in one thread leave another thread's capture whole, in every mode") {
  for (const Mode mode : {global, thread_local_only, relaxed}) {
    Rig rig;
    void *stream = make_stream(0), *graph = nullptr;
    begin_capture(stream, mode);
    std::string trouble;
    double elapsed = -1;
    int mode_after = -1;
    const auto everything = [&] {
      const cuda::Device other(0, nullptr, {});
      const cuda::Kernel kernel = rig.device->load(fake::make_cubin(90, {"k"}), "k", 128, 0);
      void *own = rig.device->create_stream(), *begin = rig.device->create_event(), *end = rig.device->create_event();
      cuda::Buffer buffer(*rig.device, 100, own);
      rig.device->record(begin, own);
      rig.device->fill(buffer.data(), 0, 100, own);
      char bytes[100];
      rig.device->copy_to_device(buffer.data(), bytes, 100, own);
      rig.device->copy_to_host(bytes, buffer.data(), 100, own);
      rig.device->record(end, own);
      elapsed = rig.device->milliseconds(begin, end);
      rig.device->synchronize(own);
      rig.device->destroy_event(begin);
      rig.device->destroy_event(end);
      buffer.forget_stream();
      rig.device->destroy_stream(own);
      mode_after = driver().capture_mode();
    };
    std::thread([&] {
      try {
        everything();
      } catch (const core::Error& error) {
        trouble = error.text();
      }
    }).join();
    CHECK(trouble == "");
    CHECK(elapsed == 0);
    CHECK(mode_after == global);  // the thread's own mode, as it was
    CHECK(driver().capture_calls() == 0);
    CHECK(end_capture(stream, &graph) == 0);
    REQUIRE(driver().symbol<int(void*)>("cuGraphDestroy")(graph) == 0);
    rig.device->destroy_stream(stream);
    rig.finish();
  }
}

TEST_CASE("The fake driver does refuse what another thread's global capture forbids, and notes what its own thread does") {
  Rig rig;
  void *stream = make_stream(blocking), *graph = nullptr;
  begin_capture(stream, global);
  int result = 0;
  std::thread([&] {
    unsigned long long address = 0;
    driver().symbol<int(void*)>("cuCtxSetCurrent")(rig.context);
    result = driver().symbol<int(unsigned long long*, std::size_t)>("cuMemAlloc_v2")(&address, 100);
  }).join();
  CHECK(result == stream_capture_unsupported);
  CHECK(end_capture(stream, &graph) == stream_capture_invalidated);
  fake_capture_call call{};
  REQUIRE(driver().capture_call_get(0, &call));
  CHECK(std::string(call.function) == "cuMemAlloc");
  CHECK((call.refused == 1 && call.own_thread == 0));

  begin_capture(stream, global);
  cuda::Kernel kernel = rig.device->load(fake::make_cubin(90, {"k"}), "k", 128, 0);  // allowed by the relaxed mode
  CHECK(end_capture(stream, &graph) == 0);
  REQUIRE(driver().capture_call_get(1, &call));
  CHECK(std::string(call.function) == "cuModuleLoadData");
  CHECK((call.refused == 0 && call.own_thread == 1));
  CHECK(driver().capture_calls() == 2);
  REQUIRE(driver().symbol<int(void*)>("cuGraphDestroy")(graph) == 0);
  rig.device->destroy_stream(stream);
  kernel = cuda::Kernel();
  rig.finish();
}

TEST_CASE("A captured launch does not run, and runs each time that its graph is launched") {
  static int runs;
  runs = 0;
  Rig rig;
  driver().set_answer([](void*, const fake_launch*) { return ++runs, 0.0; }, nullptr);
  {
    const cuda::Kernel kernel = rig.device->load(fake::make_cubin(90, {"k"}), "k", 128, 0);
    void *stream = make_stream(blocking), *graph = nullptr, *executable = nullptr;
    int parameter = 0;
    void* list[] = {&parameter};
    begin_capture(stream, global);
    rig.device->launch(kernel, 3, stream, list);
    REQUIRE(end_capture(stream, &graph) == 0);
    REQUIRE(driver().symbol<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(&executable, graph, 0) == 0);
    driver().wait();
    CHECK(runs == 0);
    for (int i = 0; i < 3; ++i) REQUIRE(driver().symbol<int(void*, void*)>("cuGraphLaunch")(executable, stream) == 0);
    rig.device->synchronize(stream);
    CHECK(runs == 3);
    const std::vector<fake_launch> launches = driver().all_launches();
    REQUIRE(launches.size() == 4);
    CHECK((launches[0].captured == 1 && launches[0].replayed == 0));
    CHECK((launches[1].captured == 0 && launches[1].replayed == 1 && launches[1].grid[0] == 3));
    REQUIRE(driver().symbol<int(void*)>("cuGraphExecDestroy")(executable) == 0);
    REQUIRE(driver().symbol<int(void*)>("cuGraphDestroy")(graph) == 0);
    rig.device->destroy_stream(stream);
  }
  CHECK(driver().capture_calls() == 0);
  rig.finish();
}

TEST_CASE("A launch on the default stream that would break a capture is a launch error") {
  Rig rig;
  {
    const cuda::Kernel kernel = rig.device->load(fake::make_cubin(90, {"k"}), "k", 128, 0);
    void *stream = make_stream(blocking), *graph = nullptr;
    begin_capture(stream, global);
    void* list[] = {nullptr};
    const core::Error error = error_of([&] { rig.device->launch(kernel, 1, nullptr, list); });
    CHECK(error.status() == GGEMM_ERROR_LAUNCH);
    CHECK(contains(error.text(), "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"));
    CHECK(end_capture(stream, &graph) == stream_capture_invalidated);
    rig.device->destroy_stream(stream);
  }
  rig.finish();
}
