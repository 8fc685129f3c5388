// SPDX-License-Identifier: Apache-2.0
// Loading kernels and launching them.
#include <cstring>

#include "machine.hpp"

using namespace ggemm;
using namespace ggemm::test;

namespace {

struct Params {
  std::int64_t n;
  int* data;
};

int sizes_of_parameters(void*, const char*, std::size_t* sizes) {
  sizes[0] = sizeof(Params);
  return 1;
}

// The kernel's work: counts up n numbers. Claims 2.5 ms.
double count_up(void*, const fake_launch* launch) {
  const auto* params = static_cast<const Params*>(launch->parameters[0]);
  for (std::int64_t i = 0; i < params->n; ++i) params->data[i] += static_cast<int>(i);
  return 2.5;
}

}  // namespace

TEST_CASE("A kernel is loaded with its figures, and unloaded with its object") {
  const Machine machine;
  driver().set_kernel_resources(96, 1024, 16);
  {
    const cuda::Device device(0, nullptr, {});
    cuda::Kernel kernel = device.load(fake::make_cubin(90, {"first", "second"}), "second", 256, 32 * 1024);
    CHECK(driver().live("module") == 1);
    CHECK(kernel.threads == 256);
    CHECK(kernel.dynamic_shared == 32 * 1024);
    CHECK(kernel.registers == 96);
    CHECK(kernel.local_bytes == 16);
    CHECK(kernel.ctas_per_multiprocessor == 2);  // 65536 registers / (96 * 256)
    cuda::Kernel other = std::move(kernel);
    CHECK(kernel.module == nullptr);
    other = cuda::Kernel();
    CHECK(driver().live("module") == 0);
  }
  machine.check_clean();
}

TEST_CASE("Shared memory above 48 KiB, static and dynamic together, is opted into, and only then") {
  const Machine machine;
  driver().set_kernel_resources(32, 1024, 0);
  {
    const cuda::Device device(0, nullptr, {});
    const std::string cubin = fake::make_cubin(90, {"k"});
    const cuda::Kernel small = device.load(cubin, "k", 128, 47 * 1024);
    CHECK(driver().calls("cuFuncSetAttribute") == 0);
    const cuda::Kernel large = device.load(cubin, "k", 128, 47 * 1024 + 1);
    CHECK(driver().calls("cuFuncSetAttribute") == 1);
    const cuda::Kernel largest = device.load(cubin, "k", 128, 226 * 1024);
    CHECK(largest.ctas_per_multiprocessor == 1);
    Params params{0, nullptr};
    void* list[] = {&params};
    for (const cuda::Kernel* kernel : {&small, &large, &largest}) CHECK_NOTHROW(device.launch(*kernel, 1, nullptr, list));
  }
  machine.check_clean();
}

TEST_CASE("What cannot be loaded is refused with the kernel's name and the reason") {
  const Machine machine({80});
  {
    const cuda::Device device(0, nullptr, {});
    const auto refusal = [&](const std::string& cubin, const char* name, int threads, int shared) {
      const core::Error error = error_of([&] { device.load(cubin, name, threads, shared); });
      CHECK(error.status() == GGEMM_ERROR_LAUNCH);
      CHECK(driver().live("module") == 0);
      return error.text();
    };
    const std::string cubin = fake::make_cubin(80, {"kernel"});
    CHECK(refusal("", "kernel", 128, 0) == "the binary of kernel for sm_80 (0 bytes) is not an ELF file");
    CHECK(refusal(std::string(1000, 'x'), "kernel", 128, 0) == "the binary of kernel for sm_80 (1000 bytes) is not an ELF file");
    CHECK(refusal(fake::make_cubin(90, {"kernel"}), "kernel", 128, 0) ==
          "cuModuleLoadData of kernel for sm_80: CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image is available for execution on the device)");
    CHECK(refusal(cubin, "kerne", 128, 0) == "cuModuleGetFunction of kerne for sm_80: CUDA_ERROR_NOT_FOUND (named symbol not found)");
    CHECK(refusal(cubin, "kernel", 128, 166913) == "kernel needs 166913 bytes of shared memory; NVIDIA A100-SXM4-80GB has 166912 for a CTA");
    driver().set_kernel_resources(255, 0, 0);
    CHECK(refusal(cubin, "kernel", 512, 0) ==
          "kernel: no CTA of 512 threads, 255 registers a thread and 0 bytes of shared memory fits a multiprocessor of NVIDIA A100-SXM4-80GB");
  }
  machine.check_clean();
}

TEST_CASE("A launch carries its grid, block, shared memory, stream and parameters, and runs in the stream's order") {
  const Machine machine;
  driver().set_parameter_sizes(sizes_of_parameters, nullptr);
  driver().set_answer(count_up, nullptr);
  {
    const cuda::Device device(0, nullptr, {});
    const cuda::Kernel kernel = device.load(fake::make_cubin(90, {"count_up"}), "count_up", 384, 100 * 1024);
    void* stream = device.create_stream();
    void *begin = device.create_event(), *end = device.create_event();
    {
      const cuda::Buffer numbers(device, 4 * sizeof(int), stream);
      device.fill(numbers.data(), 0, 4 * sizeof(int), stream);
      Params params{4, static_cast<int*>(numbers.data())};
      void* list[] = {&params};
      device.record(begin, stream);
      device.launch(kernel, 264, stream, list);
      const Params first = params;
      params.n = 2;  // parameters are read within the call
      device.launch(kernel, 1, stream, list);
      device.record(end, stream);
      int out[4];
      device.copy_to_host(out, numbers.data(), sizeof out, stream);
      const int want[4] = {0, 2, 2, 3};
      CHECK(std::memcmp(out, want, sizeof want) == 0);

      const std::vector<fake_launch> launches = driver().all_launches();
      REQUIRE(launches.size() == 2);
      const fake_launch& launch = launches[0];
      CHECK(std::string(launch.kernel) == "count_up");
      CHECK((launch.grid[0] == 264 && launch.grid[1] == 1 && launch.grid[2] == 1));
      CHECK((launch.block[0] == 384 && launch.block[1] == 1 && launch.block[2] == 1));
      CHECK(launch.shared_bytes == 100 * 1024);
      CHECK(launch.stream == stream);
      CHECK((launch.captured == 0 && launch.replayed == 0));
      REQUIRE(launch.parameter_count == 1);
      REQUIRE(launch.parameter_bytes[0] == sizeof(Params));
      CHECK(std::memcmp(launch.parameters[0], &first, sizeof first) == 0);
      CHECK(launches[1].grid[0] == 1);
    }
    const double elapsed = device.milliseconds(begin, end);
    CHECK(elapsed == 5);  // twice what the kernel claims
    device.destroy_event(begin);
    device.destroy_event(end);
    device.destroy_stream(stream);
  }
  machine.check_clean();
}

namespace {

// Whether the second of two launches overlaps the first, when it is asked to.
bool overlaps(const cuda::Device& device) {
  const cuda::Kernel kernel = device.load(fake::make_cubin(device.facts().compute_capability, {"k"}), "k", 128, 1000);
  Params params{0, nullptr};
  void* list[] = {&params};
  device.launch(kernel, 1, nullptr, list);
  device.launch(kernel, 1, nullptr, list, {.overlap = true});
  const std::vector<fake_launch> launches = driver().all_launches();
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].overlaps == 0);
  return launches[1].overlaps != 0;
}

}  // namespace

TEST_CASE("A launch overlaps the one ahead where it is asked to") {
  const Machine machine;
  CHECK(overlaps(cuda::Device(0, nullptr, {})));
}

TEST_CASE("CTAs that form no clusters are dealt by turns where that is asked for; those that do form them are so by themselves") {
  const Machine machine;
  const cuda::Device device(0, nullptr, {});
  const cuda::Kernel alone = device.load(fake::make_cubin(device.facts().compute_capability, {"k"}), "k", 128, 1000), pairs = device.load(fake::make_cubin(device.facts().compute_capability, {"k"}), "k", 128, 1000, 2);
  Params params{0, nullptr};
  void* list[] = {&params};
  for (const bool overlap : {false, true})
    for (const bool by_turns : {false, true})
      for (const cuda::Kernel* kernel : {&alone, &pairs}) {
        INFO(overlap << ' ' << by_turns << ' ' << kernel->cluster);
        device.launch(*kernel, 2, nullptr, list, {.overlap = overlap, .by_turns = by_turns});
        const fake_launch launch = driver().all_launches().back();
        CHECK(launch.overlaps == overlap);
        CHECK(launch.cluster == (by_turns && kernel == &alone ? 1 : 0));
      }
}

TEST_CASE("A launch does not overlap where the driver's graphs would not know it") {
  const Machine machine;
  driver().set_driver_version(12020);
  const cuda::Device device(0, nullptr, {});
  if (device.facts().driver_version != 12020) SKIP("another test of this process has loaded the driver");
  CHECK_FALSE(overlaps(device));
}

TEST_CASE("A launch does not overlap, nor asks for clusters, on devices that know neither") {
  const Machine machine({80});
  const cuda::Device device(0, nullptr, {});
  CHECK_FALSE(overlaps(device));
  const cuda::Kernel kernel = device.load(fake::make_cubin(80, {"k"}), "k", 128, 1000);
  Params params{0, nullptr};
  void* list[] = {&params};
  device.launch(kernel, 2, nullptr, list, {.by_turns = true});
  CHECK(driver().all_launches().back().cluster == 0);
}

TEST_CASE("A launch that the driver refuses says what was asked of it") {
  const Machine machine({90, 90});
  {
    const cuda::Device device(0, nullptr, {}), other(1, nullptr, {});
    const cuda::Kernel kernel = device.load(fake::make_cubin(device.facts().compute_capability, {"k"}), "k", 128, 1000);
    Params params{0, nullptr};
    void* list[] = {&params};
    const core::Error no_grid = error_of([&] { device.launch(kernel, 0, nullptr, list); });
    CHECK(no_grid.status() == GGEMM_ERROR_LAUNCH);
    CHECK(no_grid.text() ==
          "cuLaunchKernelEx (0 CTAs of 128 threads, 1000 bytes of shared memory, stream=(nil)): CUDA_ERROR_INVALID_VALUE (invalid argument)");
    void* foreign = other.create_stream();
    const core::Error wrong_stream = error_of([&] { device.launch(kernel, 1, foreign, list); });
    CHECK(wrong_stream.status() == GGEMM_ERROR_LAUNCH);
    CHECK(contains(wrong_stream.text(), core::text("stream=%p", foreign)));
    CHECK(contains(wrong_stream.text(), "CUDA_ERROR_INVALID_HANDLE"));
    other.destroy_stream(foreign);
    CHECK(driver().launches() == 0);
  }
  machine.check_clean();
}

TEST_CASE("A launch while the device's context is current makes two driver calls, and four otherwise") {
  const Machine machine;
  void* context = make_context(0);
  {
    const cuda::Device device(0, context, {});
    const cuda::Kernel kernel = device.load(fake::make_cubin(90, {"k"}), "k", 128, 0);
    Params params{0, nullptr};
    void* list[] = {&params};
    const auto calls_of_a_launch = [&] {
      const long before = driver().calls(nullptr);
      device.launch(kernel, 1, nullptr, list);
      return driver().calls(nullptr) - before;
    };
    CHECK(calls_of_a_launch() == 2);
    set_current(nullptr);
    CHECK(calls_of_a_launch() == 4);
  }
  destroy_context(context);
  machine.check_clean();
}
