// SPDX-License-Identifier: Apache-2.0
// Opening devices: what they offer, which context is used, what is refused.
#include "machine.hpp"

using namespace ggemm;
using namespace ggemm::test;

TEST_CASE("A device's facts are those of the driver's attributes, for each architecture") {
  struct Expected {
    int capability;
    const char *name, *arch;
    int multiprocessors;
    std::int64_t shared_per_block, shared_per_multiprocessor, l2_bytes;
  };
  const Expected expected[] = {
      {75, "NVIDIA T4", "sm_75", 40, 65536, 65536, 4 << 20},         {80, "NVIDIA A100-SXM4-80GB", "sm_80", 108, 166912, 167936, 40 << 20},
      {86, "NVIDIA A10", "sm_86", 72, 101376, 102400, 6 << 20},      {89, "NVIDIA L4", "sm_89", 58, 101376, 102400, 48 << 20},
      {90, "NVIDIA H200", "sm_90a", 132, 232448, 233472, 60 << 20},  {100, "NVIDIA B200", "sm_100", 148, 232448, 233472, 126 << 20},
      {120, "NVIDIA RTX PRO 6000 Blackwell", "sm_120", 188, 101376, 102400, 128 << 20},
  };
  const Machine machine({75, 80, 86, 89, 90, 100, 120});
  for (int ordinal = 0; const Expected& want : expected) {
    const cuda::Device device(ordinal, nullptr, {});
    const core::DeviceFacts& facts = device.facts();
    INFO(want.name);
    CHECK(device.ordinal() == ordinal++);
    CHECK(facts.cuda);
    CHECK(facts.name == want.name);
    CHECK(facts.arch == want.arch);
    CHECK(facts.compute_capability == want.capability);
    CHECK(facts.multiprocessors == want.multiprocessors);
    CHECK(facts.shared_per_block == want.shared_per_block);
    CHECK(facts.shared_per_multiprocessor == want.shared_per_multiprocessor);
    CHECK(facts.l2_bytes == want.l2_bytes);
    CHECK(facts.memory_bytes > std::int64_t(10) << 30);
    CHECK(facts.threads >= 1);
    CHECK(facts.driver_version == 13000);
  }
  machine.check_clean();
}

TEST_CASE("An ordinal that no device has is refused with the number of devices") {
  const Machine machine({90, 80});
  for (const int ordinal : {-1, 2, 1000}) {
    const core::Error error = error_of([&] { cuda::Device(ordinal, nullptr, {}); });
    CHECK(error.status() == GGEMM_ERROR_DEVICE);
    CHECK(error.text() == core::text("ordinal=%d, but %s has 2 devices", ordinal, GGEMM_FAKE_DRIVER));
  }
  machine.check_clean();
}

TEST_CASE("A device that is too old is refused with its capability") {
  const Machine machine;
  driver().set_attribute(0, 75, 6);
  driver().set_attribute(0, 76, 1);
  const core::Error error = error_of([] { cuda::Device(0, nullptr, {}); });
  CHECK(error.status() == GGEMM_ERROR_DEVICE);
  CHECK(error.text() == "device 0 (NVIDIA H200) has compute capability 6.1; 7.5 is the oldest that ggemm serves");
  machine.check_clean();
}

TEST_CASE("The primary context is retained once for each device object and released by it") {
  const Machine machine({90, 80});
  {
    const cuda::Device first(0, nullptr, {}), second(0, nullptr, {}), other(1, nullptr, {});
    CHECK(driver().live("context") == 3);
  }
  CHECK(driver().calls("cuDevicePrimaryCtxRelease") == 3);
  machine.check_clean();
}

TEST_CASE("A context that is given is used and left alone, and its device is found whatever the ordinal says") {
  const Machine machine({90, 80});
  void* context = make_context(1);
  set_current(nullptr);
  {
    const cuda::Device device(0, context, {});
    CHECK(device.ordinal() == 1);
    CHECK(device.facts().arch == "sm_80");
    void* stream = device.create_stream();
    set_current(context);
    CHECK(driver().symbol<int(void*)>("cuStreamSynchronize")(stream) == 0);  // the stream is of this context
    set_current(nullptr);
    device.destroy_stream(stream);
  }
  CHECK(driver().calls("cuDevicePrimaryCtxRetain") == 0);
  CHECK(driver().calls("cuDevicePrimaryCtxRelease") == 0);
  CHECK(driver().live("context") == 1);
  destroy_context(context);
  machine.check_clean();
}

TEST_CASE("A handle that is not a context is an argument error that shows it") {
  const Machine machine;
  void* context = make_context(0);
  destroy_context(context);
  const core::Error error = error_of([&] { cuda::Device(0, context, {}); });
  CHECK(error.status() == GGEMM_ERROR_ARGUMENT);
  CHECK(error.text() == core::text("cuda_context=%p is not a context: CUDA_ERROR_INVALID_CONTEXT (invalid device context)", context));
  machine.check_clean();
}

TEST_CASE("A context destroyed behind the library's back gives errors, and nothing else breaks") {
  const Machine machine;
  void* context = make_context(0);
  {
    const cuda::Device device(0, context, {});
    cuda::Buffer buffer(device, 1000, nullptr);
    void* stream = device.create_stream();
    destroy_context(context);
    const core::Error error = error_of([&] { device.synchronize(stream); });
    CHECK(error.status() == GGEMM_ERROR_LAUNCH);
    CHECK(error.text() == "cuCtxPushCurrent: CUDA_ERROR_INVALID_CONTEXT (invalid device context)");
    device.destroy_stream(stream);
  }
  CHECK(driver().live("allocation") == 1);  // it went down with the context, not by a free in a dead one
  CHECK(driver().context_depth() == 0);
  driver().reset();
  machine.check_clean();
}
