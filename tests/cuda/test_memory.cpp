// SPDX-License-Identifier: Apache-2.0
// Buffers, allocators, copies, fills, streams and events.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>

#include "machine.hpp"

using namespace ggemm;
using namespace ggemm::test;

namespace {

constexpr int memory_pools_supported = 115;  // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED

// An allocator of a caller's that keeps books.
struct Books {
  std::int32_t answer = 0;
  std::size_t offset = 0;  // of what is given from a multiple of 256
  bool null = false;
  int given = 0, taken_back = 0;
  std::size_t bytes = 0;
  void *stream = nullptr, *context = nullptr;
  alignas(256) char memory[4096];

  static std::int32_t allocate(void* user, std::size_t bytes, void* stream, void** out) {
    auto* books = static_cast<Books*>(user);
    books->bytes = bytes;
    books->stream = stream;
    books->context = current_context();
    if (books->answer != 0) return books->answer;
    ++books->given;
    *out = books->null ? nullptr : books->memory + books->offset;
    return 0;
  }
  static void deallocate(void* user, void* pointer, std::size_t bytes, void* stream) {
    auto* books = static_cast<Books*>(user);
    CHECK(pointer == books->memory + books->offset);
    CHECK(bytes == books->bytes);
    books->stream = stream;
    ++books->taken_back;
  }
  cuda::Allocator allocator() { return {allocate, deallocate, this}; }
};

}  // namespace

TEST_CASE("A buffer is allocated and freed in its stream's order where the device has memory pools") {
  const Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    void* stream = device.create_stream();
    {
      const cuda::Buffer buffer(device, 1000, stream);
      CHECK(buffer.size() == 1000);
      CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256 == 0);
      CHECK(driver().live("allocation") == 1);
    }
    device.synchronize(stream);
    CHECK(driver().live("allocation") == 0);
    CHECK(driver().calls("cuMemAllocAsync") == 1);
    CHECK(driver().calls("cuMemFreeAsync") == 1);
    CHECK(driver().calls("cuMemAlloc") + driver().calls("cuMemFree") == 0);
    device.destroy_stream(stream);
  }
  machine.check_clean();
}

TEST_CASE("A buffer is allocated by cuMemAlloc where the device has no memory pools") {
  const Machine machine;
  driver().set_attribute(0, memory_pools_supported, 0);
  {
    const cuda::Device device(0, nullptr, {});
    const cuda::Buffer buffer(device, 1000, nullptr);
    CHECK(driver().calls("cuMemAlloc") == 1);
    CHECK(driver().calls("cuMemAllocAsync") == 0);
  }
  CHECK(driver().calls("cuMemFree") == 1);
  machine.check_clean();
}

TEST_CASE("A buffer of no bytes calls nothing") {
  const Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    const long before = driver().calls(nullptr);
    { const cuda::Buffer buffer(device, 0, nullptr); }
    CHECK(driver().calls(nullptr) == before);
  }
  machine.check_clean();
}

TEST_CASE("A moved buffer is freed once") {
  const Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    cuda::Buffer first(device, 100, nullptr);
    void* data = first.data();
    cuda::Buffer second(std::move(first));
    CHECK(second.data() == data);
    CHECK(first.data() == nullptr);
    second = cuda::Buffer(device, 200, nullptr);
    CHECK(second.size() == 200);
    device.synchronize(nullptr);
    CHECK(driver().live("allocation") == 1);
  }
  CHECK(driver().calls("cuMemFreeAsync") == 2);
  machine.check_clean();
}

TEST_CASE("A buffer that forgot its stream outlives it") {
  const Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    void* stream = device.create_stream();
    cuda::Buffer buffer(device, 100, stream);
    buffer.forget_stream();
    cuda::Buffer moved = std::move(buffer);
    device.destroy_stream(stream);
  }
  CHECK(driver().calls("cuMemFreeAsync") == 0);
  CHECK(driver().calls("cuMemFree") == 1);
  machine.check_clean();
}

TEST_CASE("Device memory that is used up is its own status, with the bytes asked for") {
  const Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    driver().set_memory_limit(0, 1 << 20);
    const core::Error error = error_of([&] { cuda::Buffer(device, (1 << 20) + 1, nullptr); });
    CHECK(error.status() == GGEMM_ERROR_OUT_OF_MEMORY);
    CHECK(error.text() == "cuMemAllocAsync of 1048577 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    const cuda::Buffer fits(device, 1 << 20, nullptr);
  }
  machine.check_clean();
}

TEST_CASE("A caller's allocator gives and takes back the memory, with the device's context current") {
  const Machine machine;
  Books books;
  {
    const cuda::Device device(0, nullptr, books.allocator());
    void* stream = device.create_stream();
    {
      const cuda::Buffer buffer(device, 500, stream);
      CHECK(buffer.data() == books.memory);
      CHECK(books.bytes == 500);
      CHECK(books.stream == stream);
      CHECK(books.context != nullptr);
      CHECK(current_context() == nullptr);
      books.stream = nullptr;
    }
    CHECK(books.stream == stream);
    device.destroy_stream(stream);
  }
  CHECK(books.given == 1);
  CHECK(books.taken_back == 1);
  CHECK(driver().calls("cuMemAllocAsync") + driver().calls("cuMemAlloc") == 0);
  machine.check_clean();
}

TEST_CASE("A caller's allocator that refuses, gives nothing or gives a misaligned address is an error") {
  const Machine machine;
  Books books;
  {
    const cuda::Device device(0, nullptr, books.allocator());
    books.answer = 7;
    const core::Error refused = error_of([&] { cuda::Buffer(device, 500, nullptr); });
    CHECK(refused.status() == GGEMM_ERROR_OUT_OF_MEMORY);
    CHECK(contains(refused.text(), "returned 7"));
    books.answer = 0;
    books.null = true;
    CHECK(error_of([&] { cuda::Buffer(device, 500, nullptr); }).status() == GGEMM_ERROR_OUT_OF_MEMORY);
    books.null = false;
    books.offset = 128;
    const core::Error misaligned = error_of([&] { cuda::Buffer(device, 500, nullptr); });
    CHECK(misaligned.status() == GGEMM_ERROR_ARGUMENT);
    CHECK(contains(misaligned.text(), "not a multiple of 256 bytes"));
    CHECK(books.taken_back == 1);
  }
  machine.check_clean();
}

TEST_CASE("Copies and fills are done in the stream's order, and a copy to the host is complete on return") {
  const Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    driver().delay_work(2000);
    void* stream = device.create_stream();
    {
      const cuda::Buffer buffer(device, 256, stream);
      std::vector<unsigned char> in(256), out(256);
      std::iota(in.begin(), in.end(), 0);
      device.fill(buffer.data(), 0xAB, 256, stream);
      device.copy_to_device(static_cast<char*>(buffer.data()) + 16, in.data(), 100, stream);
      std::memset(in.data(), 0, in.size());  // pageable memory has been read by now
      device.copy_to_host(out.data(), buffer.data(), 256, stream);
      for (int i = 0; i < 256; ++i) REQUIRE(out[static_cast<std::size_t>(i)] == (i < 16 || i >= 116 ? 0xAB : i - 16));
      device.copy_to_device(buffer.data(), nullptr, 0, stream);  // no bytes, no call
      CHECK(driver().calls("cuMemcpyHtoDAsync") == 1);
      CHECK(driver().calls("cuStreamSynchronize") == 1);
    }
    device.destroy_stream(stream);
  }
  machine.check_clean();
}

TEST_CASE("Our streams do not wait for the default stream") {
  // The default stream is held up by a kernel that ends when our stream has come through, or after a time that only a failure takes.
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false, in_time = false;
  } gate;
  const Machine machine;
  driver().set_answer(
      [](void* user, const fake_launch*) {
        auto* mine = static_cast<Gate*>(user);
        std::unique_lock lock(mine->mutex);
        mine->in_time = mine->changed.wait_for(lock, std::chrono::seconds(10), [&] { return mine->open; });
        return 0.0;
      },
      &gate);
  {
    const cuda::Device device(0, nullptr, {});
    const cuda::Kernel kernel = device.load(fake::make_cubin(90, {"k"}), "k", 128, 0);
    void* none[] = {nullptr};
    void* stream = device.create_stream();
    device.launch(kernel, 1, nullptr, none);
    device.synchronize(stream);
    {
      std::lock_guard lock(gate.mutex);
      gate.open = true;
      gate.changed.notify_all();
    }
    device.synchronize(nullptr);
    CHECK(gate.in_time);
    device.destroy_stream(stream);
  }
  machine.check_clean();
}

TEST_CASE("Events measure the time between them, and wait for the later one") {
  const Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    void* stream = device.create_stream();
    void *begin = device.create_event(), *end = device.create_event();
    driver().delay_work(5000);
    device.record(begin, stream);
    device.record(end, stream);
    const double elapsed = device.milliseconds(begin, end);
    CHECK(elapsed == 5);
    device.destroy_event(begin);
    device.destroy_event(end);
    device.destroy_stream(stream);
  }
  machine.check_clean();
}
