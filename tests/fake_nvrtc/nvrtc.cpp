// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <optional>

#include "fake_driver/cubin.hpp"
#include "fake_driver/failures.hpp"
#include "fake_driver/inside.hpp"
#include "fake_nvrtc.h"

#define NVRTC extern "C" __attribute__((visibility("default")))

using fake::Inside;

namespace {

struct State {
  std::mutex mutex;
  fake::Failures failures;
  long calls = 0, live = 0;
  int major = 13, minor = 0;
  std::optional<std::string> hold;  // a part of the names of kernels whose compiles wait
  std::optional<std::string> complaint;  // a part of the names of kernels of which ptxas complains
  std::condition_variable let_go;
  long held = 0;
};

State& state() {  // never destroyed: threads may outlive main
  static State* const made = [] {
    auto* const s = new State;
    const char* version = std::getenv("GGEMM_FAKE_NVRTC_VERSION");
    const bool understood = s->failures.read(std::getenv("GGEMM_FAKE_NVRTC_FAIL")) && (!version || std::sscanf(version, "%d.%d", &s->major, &s->minor) == 2);
    if (!understood) {
      std::fputs("fake NVRTC: GGEMM_FAKE_NVRTC_FAIL or GGEMM_FAKE_NVRTC_VERSION cannot be understood\n", stderr);
      std::abort();
    }
    return s;
  }();
  return *made;
}

struct Program {
  std::string log, cubin;
};
Program* of(void* handle) { return static_cast<Program*>(handle); }

// Every call begins with this; 0: it need not fail.
int begin(const char* function, bool any_may = true) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (any_may) ++s.calls;
  return s.failures.wanted(function, any_may);
}

// What follows `start` in one of the options.
std::string option(int count, const char* const* options, const std::string& start) {
  for (int i = 0; i < count; ++i)
    if (std::string(options[i]).starts_with(start)) return options[i] + start.size();
  return "";
}

void wait_if_held(const std::string& kernel) {
  State& s = state();
  std::unique_lock lock(s.mutex);
  const auto may_go = [&] { return !s.hold || kernel.find(*s.hold) == std::string::npos; };
  if (may_go()) return;
  ++s.held;
  s.let_go.wait(lock, may_go);
  --s.held;
}

}  // namespace

NVRTC const char* nvrtcGetErrorString(int result) { return result == 0 ? "NVRTC_SUCCESS" : result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INTERNAL_ERROR"; }

NVRTC int nvrtcVersion(int* major, int* minor) {
  const Inside inside;
  if (const int result = begin("nvrtcVersion")) return result;
  *major = state().major, *minor = state().minor;
  return 0;
}

// Those of the real ones, and all between them: Blackwell's came with 12.8.
static int archs_end() { return state().major > 12 || state().minor >= 8 ? 130 : 91; }
NVRTC int nvrtcGetNumSupportedArchs(int* count) {
  const Inside inside;
  if (const int result = begin("nvrtcGetNumSupportedArchs")) return result;
  *count = archs_end();
  return 0;
}
NVRTC int nvrtcGetSupportedArchs(int* archs) {
  const Inside inside;
  if (const int result = begin("nvrtcGetSupportedArchs")) return result;
  std::iota(archs, archs + archs_end(), 0);
  return 0;
}

NVRTC int nvrtcCreateProgram(void** out, const char*, const char*, int, const char* const*, const char* const*) {
  const Inside inside;
  if (const int result = begin("nvrtcCreateProgram")) return result;
  *out = new Program;
  const std::lock_guard lock(state().mutex);
  ++state().live;
  return 0;
}

// Does its work even when it is made to fail.
NVRTC int nvrtcDestroyProgram(void** program) {
  const Inside inside;
  const int result = begin("nvrtcDestroyProgram", false);
  if (!*program) return result;
  delete of(std::exchange(*program, nullptr));
  const std::lock_guard lock(state().mutex);
  --state().live;
  return result;
}

NVRTC int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  const Inside inside;
  const int result = begin("nvrtcCompileProgram");
  of(program)->log = result ? "what does not compile\n" : "";
  if (result) return result;
  const std::string arch = option(count, options, "--gpu-architecture=sm_"), kernel = option(count, options, "-DGG_KERNEL_NAME=");
  wait_if_held(kernel);
  {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    if (s.complaint && kernel.find(*s.complaint) != std::string::npos) of(program)->log = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in function '" + kernel + "'\n";
  }
  of(program)->cubin = fake::make_cubin(std::atoi(arch.c_str()), {kernel});
  return 0;
}

NVRTC int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
  const Inside inside;
  if (const int result = begin("nvrtcGetProgramLogSize")) return result;
  *bytes = of(program)->log.size() + 1;
  return 0;
}
NVRTC int nvrtcGetProgramLog(void* program, char* out) {
  const Inside inside;
  if (const int result = begin("nvrtcGetProgramLog")) return result;
  std::copy_n(of(program)->log.c_str(), of(program)->log.size() + 1, out);
  return 0;
}
NVRTC int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  const Inside inside;
  if (const int result = begin("nvrtcGetCUBINSize")) return result;
  *bytes = of(program)->cubin.size();
  return 0;
}
NVRTC int nvrtcGetCUBIN(void* program, char* out) {
  const Inside inside;
  if (const int result = begin("nvrtcGetCUBIN")) return result;
  std::copy(of(program)->cubin.begin(), of(program)->cubin.end(), out);
  return 0;
}

void fake_nvrtc_fail(const char* function, long nth, int result, long count) {
  const std::lock_guard lock(state().mutex);
  state().failures.add(function ? function : "", nth, result, count);
}
long fake_nvrtc_clear_failures(void) {
  const std::lock_guard lock(state().mutex);
  return state().failures.clear();
}
void fake_nvrtc_hold(const char* part) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (part) s.hold = part;
  else s.hold.reset();
  s.let_go.notify_all();
}
void fake_nvrtc_complain(const char* part) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (part) s.complaint = part;
  else s.complaint.reset();
}
long fake_nvrtc_held(void) {
  const std::lock_guard lock(state().mutex);
  return state().held;
}
long fake_nvrtc_calls(void) {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
long fake_nvrtc_live(void) {
  const std::lock_guard lock(state().mutex);
  return state().live;
}
int fake_nvrtc_inside(void) { return Inside::now(); }
