// SPDX-License-Identifier: Apache-2.0
// A machine whose driver is fake: kernels are compiled by the real NVRTC, loaded by the fake, and each launch is answered by the host device from the
// parameters that the kernel would get. This shows the plumbing, never the kernels' arithmetic.
#pragma once
#include <atomic>
#include <mutex>

#include "api/fixture.hpp"
#include "core/config.hpp"
#include "fake_driver/fake.hpp"
#include "host/host_device.hpp"
#include "jit/jit_support.hpp"
#include "support/temp_folder.hpp"

namespace ggemm::tests {

inline const fake::Driver& driver() { return fake::Driver::get(); }

// What a kernel's symbol says of its problem: "ggemm_<configuration without raster>_<dtype of D>[_activation][_bias_column|_bias_row][_gather][_scatter][_grouped][_columns][_by_engine|_lines]". C
// and bias have D's dtype here.
core::ProblemType type_of_kernel(const std::string& symbol);

class Machine {
 public:
  explicit Machine(std::vector<int> capabilities = {90});
  ~Machine();
  Machine(const Machine&) = delete;
  // What launches went wrong with, as the reference saw it; "" if nothing did.
  std::string faults() const;
  // Milliseconds that launches of kernels whose symbol holds this text are said to take; others take 1 ms.
  void set_time(const std::string& part, double milliseconds);
  // What copies of operands of each grouped call are said to take; 0: there are none to make.
  void set_copied_bytes(std::uint64_t bytes) { copied_bytes_ = bytes; }
  void set_lines(bool lines) { lines_ = lines; }
  // For the end of a test, when all its contexts are gone.
  void check_clean() const;

 private:
  static int sizes(void* user, const char* kernel, std::size_t* out);
  static double answer(void* user, const fake_launch* launch);
  host::HostDevice reference_{1, ""};
  mutable std::mutex mutex_;
  std::string faults_;
  std::vector<std::pair<std::string, double>> times_;
  std::atomic<std::uint64_t> copied_bytes_ = 0;
  std::atomic<bool> lines_ = false;
};

// Runs a whole problem whose operands are as they were made, on the default stream, and sees that D is right after success and untouched after failure.
ggemm_status call_and_wait(const ContextPointer& context, PlainProblem<float>& problem);

// A stream of the test's own, one that the legacy default stream waits for, in the device's primary context, which is current to this thread as long
// as it lives.
class Stream {
 public:
  Stream() {
    REQUIRE(driver().symbol<int(unsigned)>("cuInit")(0) == 0);
    REQUIRE(driver().symbol<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, 0) == 0);
    REQUIRE(driver().symbol<int(void*)>("cuCtxSetCurrent")(context_) == 0);
    REQUIRE(driver().symbol<int(void**, unsigned)>("cuStreamCreate")(&stream_, 0) == 0);
  }
  ~Stream() {
    driver().symbol<int(void*)>("cuCtxSetCurrent")(context_);  // another stream's end may have come before
    driver().symbol<int(void*)>("cuStreamDestroy_v2")(stream_);
    driver().symbol<int(void*)>("cuCtxSetCurrent")(nullptr);
    driver().symbol<int(int)>("cuDevicePrimaryCtxRelease_v2")(0);
  }
  Stream(const Stream&) = delete;
  void* get() const { return stream_; }
  void begin(int mode) { REQUIRE(driver().symbol<int(void*, int)>("cuStreamBeginCapture_v2")(stream_, mode) == 0); }
  void end() { REQUIRE(driver().symbol<int(void*, void**)>("cuStreamEndCapture")(stream_, &graph_) == 0); }
  void replay() {
    void* executable = nullptr;
    REQUIRE(driver().symbol<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(&executable, graph_, 0) == 0);
    REQUIRE(driver().symbol<int(void*, void*)>("cuGraphLaunch")(executable, stream_) == 0);
    driver().wait();
    REQUIRE(driver().symbol<int(void*)>("cuGraphExecDestroy")(executable) == 0);
  }
  void drop_graph() { REQUIRE(driver().symbol<int(void*)>("cuGraphDestroy")(graph_) == 0); }

 private:
  void *context_ = nullptr, *stream_ = nullptr, *graph_ = nullptr;
};

// Counts what a context's log says.
struct LogLines {
  std::mutex mutex;
  std::vector<std::string> lines;
  static void receive(void* user, ggemm_log_level level, const char* message);
  int count(const std::string& start);
};

// Options of a CUDA context with a cache folder ("": memory only). They point into the folder's name, which
// must outlive them.
ggemm_context_options cuda_options(const std::string& cache_folder, LogLines* log = nullptr);
ggemm_context_options cuda_options(std::string&&, LogLines* = nullptr) = delete;

}  // namespace ggemm::tests
