// SPDX-License-Identifier: Apache-2.0
// What the fake driver's files share: the objects, the state of the machine, and what every call begins with.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda/driver_api.hpp"
#include "emulator/device/interface.hpp"
#include "failures.hpp"
#include "fake_driver.h"
#include "inside.hpp"
#include "worker.hpp"

#define FAKE_DRIVER extern "C" __attribute__((visibility("default")))

namespace fake {

namespace cu = ggemm::cuda::cu;
using cu::Result;
using Handle = void*;

struct DeviceModel {
  int capability;
  std::string name;
  std::size_t memory_bytes;
  std::map<int, int> attributes;
  std::size_t allocated = 0;
  Handle primary = nullptr;
  int retains = 0;
};

// Parameters may hold tensor maps, which lie at multiples of 64 bytes.
struct alignas(64) ParameterWord {
  char bytes[64];
};

struct LaunchRecord {
  fake_launch launch{};
  std::string kernel;
  std::vector<std::unique_ptr<ParameterWord[]>> copies;
  const emulator::Kernel* emulated = nullptr;
};

struct GraphNode {
  Worker::Work work;                           // a copy, fill or event record, or
  std::shared_ptr<const LaunchRecord> launch;  // a launch
};
struct Graph {
  std::vector<GraphNode> nodes;
};

struct Capture {
  cu::CaptureMode mode;
  std::thread::id thread;
  Graph graph;
  bool invalidated = false;
};

inline unsigned long long next_stream_id() {
  static std::atomic<unsigned long long> id = 0;
  return ++id;
}

struct Stream {
  unsigned long long id = next_stream_id();
  Handle context = nullptr;
  bool blocking = true;
  std::shared_ptr<Worker> worker = std::make_shared<Worker>();
  std::shared_ptr<Capture> capture;
};

struct Context {
  int device = 0;
  bool primary = false;
  Stream default_stream;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread;
};

struct Event {
  Handle context = nullptr;
  Worker::Point point;
  bool recorded = false, captured = false;
  std::shared_ptr<double> time;  // by the clock of the worker, written by its thread
};

struct Module {
  Handle context = nullptr;
  std::vector<char> image;
  const emulator::Kernel* emulated = nullptr;  // the kernel of an image that the emulated NVRTC made
};
struct Function {
  Handle module = nullptr;
  std::string name;
  int max_dynamic_shared = 48 * 1024;
  const emulator::Kernel* emulated = nullptr;
};

struct Allocation {
  Handle context = nullptr;  // nullptr: the test's own
  std::size_t bytes = 0;
  int device = 0;
  bool pooled = false;  // by cuMemAllocAsync
};

struct State {
  std::mutex mutex;
  std::atomic<pid_t> initialised_by = 0;
  std::uint64_t epoch = 1;  // of fake_reset
  std::uintptr_t next_handle = 0x1000;

  std::vector<DeviceModel> devices;
  int driver_version = 13000;
  int kernel_registers = 64, kernel_static_shared = 0, kernel_local = 0;
  std::vector<std::pair<std::string, int>> spills;  // part of a kernel's name, bytes
  std::vector<std::string> hidden;

  std::map<Handle, std::shared_ptr<Context>> contexts;
  std::map<Handle, std::shared_ptr<Stream>> streams;
  std::map<Handle, std::shared_ptr<Event>> events;
  std::map<Handle, std::shared_ptr<Module>> modules;
  std::map<Handle, std::shared_ptr<Function>> functions;
  std::map<Handle, std::shared_ptr<Graph>> graphs;  // instantiated ones too
  std::map<std::uintptr_t, Allocation> memory;
  std::vector<std::string> lost;  // went down with their context: "kind handle"

  Failures failures;
  std::map<std::string, long> delays;
  long work_delay = 0;  // microseconds
  std::map<std::string, long> calls;
  std::vector<const char*> call_names;  // literals
  std::vector<fake_capture_call> capture_calls;
  std::vector<std::shared_ptr<LaunchRecord>> launches;
  fake_parameter_sizes_fn parameter_sizes = nullptr;
  void* parameter_sizes_user = nullptr;
  fake_answer_fn answer = nullptr;
  void* answer_user = nullptr;
  std::uint64_t emulator_seed = 1, emulator_launch_seed = 0;  // the second, unless 0, is every launch's own
  long emulated_launches = 0;
  Result emulator_failure = Result::success;  // of a kernel: every later call that waits says it again
  std::string emulator_text;

  Handle new_handle() { return reinterpret_cast<Handle>(next_handle += 0x10); }
};
State& state();  // never destroyed: threads may outlive main

// What belongs to the calling thread.
struct ThreadState {
  std::uint64_t epoch = 0;
  std::vector<Handle> contexts;
  cu::CaptureMode mode = cu::CaptureMode::global;
};
ThreadState& this_thread();

// Every call begins with one: counts it, takes its delay, and looks whether it is to fail. Holds the state's lock after that.
class Call {
 public:
  enum class Kind { usual, before_init, unfailing };
  explicit Call(const char* function, Kind kind = Kind::usual);
  bool fails() const { return result_ != Result::success; }
  Result result() const { return result_; }
  // Of a function that releases something: the work's own result, unless the call was made to fail.
  Result after(Result own) const { return fails() ? result_ : own; }
  // False where not even a release may do its work: before cuInit, in a forked child.
  bool alive() const { return alive_; }
  std::unique_lock<std::mutex>& lock() { return lock_; }

 private:
  const Inside inside_;
  std::unique_lock<std::mutex> lock_;
  Result result_ = Result::success;
  bool alive_ = true;
};

// All of these expect the state's lock to be held.
template <class T>
std::shared_ptr<T> find(const std::map<Handle, std::shared_ptr<T>>& objects, const void* handle) {
  const auto found = objects.find(const_cast<Handle>(handle));
  return found == objects.end() ? nullptr : found->second;
}
Handle current_context();                  // nullptr if there is none, or a dead one
std::shared_ptr<Context> current_object();
Result find_stream(Handle stream, std::shared_ptr<Stream>& out);  // of the current context; knows NULL, 1 (legacy) and 2 (per thread)
bool is_legacy(Handle stream);
// Appends work to a stream, or to the graph that it captures.
Result submit(Handle stream, GraphNode node);
std::uint64_t enqueue(Handle context, const Stream& stream, Worker::Work work);
// Waits for all work of a context (nullptr: of all). Work may need the state's lock, which is therefore given up meanwhile.
void drain(std::unique_lock<std::mutex>& lock, Handle context);
// Its work must be drained.
void destroy_context(Handle context);

// A call that may not be made at any time while a stream is captured. Notes it, and if it is against the rules invalidates the captures and refuses it.
Result capture_unsafe(const char* function);
// A call of ggemm's that the driver allows, though ggemm promises not to make it within the thread's own capture.
void note_in_own_capture(const char* function);
// Refuses work on, or waiting for, a capturing stream.
Result refuse_captured_stream(const char* function, const std::shared_ptr<Stream>& stream);
// Work on the legacy default stream breaks the captures of blocking streams.
Result legacy_stream_conflict(Handle stream, bool invalidate);


// Goes back to the beginning; the lock must not be held.
void reset();
bool make_devices(const int* capabilities, int count, std::vector<DeviceModel>& out);
// So few multiprocessors that small problems keep all of them busy for several rounds.
bool shrink_devices(int multiprocessors, std::vector<DeviceModel>& devices);

}  // namespace fake
