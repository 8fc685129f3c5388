// SPDX-License-Identifier: Apache-2.0
#include "state.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace fake {
namespace {

// GGEMM_FAKE_*, as fake_driver.h tells. What cannot be understood ends the program: a test would otherwise test nothing.
void read_environment(State& s) {
  const char* devices = std::getenv("GGEMM_FAKE_DEVICES");
  std::vector<int> capabilities;
  for (const std::string& part : split(devices ? devices : "90", ','))
    if (part != "none") capabilities.push_back(std::atoi(part.c_str()));
  bool understood = make_devices(capabilities.data(), static_cast<int>(capabilities.size()), s.devices);
  understood = s.failures.read(std::getenv("GGEMM_FAKE_FAIL")) && understood;
  s.hidden = split(std::getenv("GGEMM_FAKE_HIDE"), ',');
  if (const char* count = std::getenv("GGEMM_FAKE_MULTIPROCESSORS")) understood = shrink_devices(std::atoi(count), s.devices) && understood;
  const auto seed_of = [](const char* name) { return std::getenv(name) ? std::strtoull(std::getenv(name), nullptr, 10) : 0; };
  s.emulator_seed = seed_of("GGEMM_EMULATOR_SEED");
  s.emulator_launch_seed = seed_of("GGEMM_EMULATOR_LAUNCH_SEED");
  if (understood) return;
  std::fputs("fake driver: GGEMM_FAKE_DEVICES, GGEMM_FAKE_FAIL or GGEMM_FAKE_MULTIPROCESSORS cannot be understood\n", stderr);
  std::abort();
}

}  // namespace

State& state() {
  static State* const s = [] {
    auto* made = new State;
    read_environment(*made);
    return made;
  }();
  return *s;
}

ThreadState& this_thread() {
  thread_local ThreadState mine;
  if (mine.epoch != state().epoch) mine = ThreadState{state().epoch, {}, cu::CaptureMode::global};
  return mine;
}

Call::Call(const char* function, Kind kind) {
  State& s = state();
  // Before the lock: another thread of the parent may have held it at the fork.
  if (s.initialised_by != 0 && s.initialised_by != getpid()) {
    if (kind != Kind::unfailing) result_ = Result::not_initialized;
    alive_ = false;
    return;
  }
  lock_ = std::unique_lock(s.mutex);
  ++s.calls[function];
  if (kind != Kind::unfailing) s.call_names.push_back(function);
  if (const auto delay = s.delays.find(function); delay != s.delays.end()) {
    const std::chrono::microseconds length(delay->second);
    lock_.unlock();
    std::this_thread::sleep_for(length);
    lock_.lock();
  }
  result_ = static_cast<Result>(s.failures.wanted(function, kind != Kind::unfailing));
  if (kind == Kind::usual && result_ == Result::success) result_ = s.emulator_failure;
  if (kind == Kind::usual && s.initialised_by == 0) {
    alive_ = false;
    result_ = Result::not_initialized;
  }
}

Handle current_context() {
  const std::vector<Handle>& stack = this_thread().contexts;
  return !stack.empty() && find(state().contexts, stack.back()) ? stack.back() : nullptr;
}

std::shared_ptr<Context> current_object() { return find(state().contexts, current_context()); }

bool is_legacy(Handle stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 1; }

Result find_stream(Handle stream, std::shared_ptr<Stream>& out) {
  const Handle context = current_context();
  const std::shared_ptr<Context> object = current_object();
  if (!object) return Result::invalid_context;
  if (is_legacy(stream)) {
    out = std::shared_ptr<Stream>(object, &object->default_stream);
  } else if (reinterpret_cast<std::uintptr_t>(stream) == 2) {
    std::shared_ptr<Stream>& mine = object->per_thread[std::this_thread::get_id()];
    if (!mine) {
      mine = std::make_shared<Stream>();
      mine->context = context;
    }
    out = mine;
  } else {
    out = find(state().streams, stream);
  }
  return out && out->context == context ? Result::success : Result::invalid_handle;
}

std::uint64_t enqueue(Handle context, const Stream& stream, Worker::Work work) {
  State& s = state();
  const std::shared_ptr<Context> object = find(s.contexts, context);
  std::vector<Worker::Point> after;
  const auto add = [&](const Stream& other) {
    if (other.blocking && other.worker != stream.worker) after.push_back({other.worker, other.worker->submitted()});
  };
  if (stream.worker == object->default_stream.worker) {
    for (const auto& [handle, other] : s.streams)
      if (other->context == context) add(*other);
    for (const auto& [thread, other] : object->per_thread) add(*other);
  } else if (stream.blocking) {
    add(object->default_stream);
  }
  const std::chrono::microseconds delay(s.work_delay);
  if (delay.count() == 0) return stream.worker->submit(std::move(after), std::move(work));
  return stream.worker->submit(std::move(after), [delay, work = std::move(work)](Worker& worker) {
    std::this_thread::sleep_for(delay);
    worker.clock_ms += std::chrono::duration<double, std::milli>(delay).count();
    work(worker);
  });
}

void drain(std::unique_lock<std::mutex>& lock, Handle context) {
  State& s = state();
  std::vector<Worker::Point> points;
  const auto add = [&](const Stream& stream) {
    if (!context || stream.context == context) points.push_back({stream.worker, stream.worker->submitted()});
  };
  for (const auto& [handle, stream] : s.streams) add(*stream);
  for (const auto& [handle, object] : s.contexts) {
    add(object->default_stream);
    for (const auto& [thread, stream] : object->per_thread) add(*stream);
  }
  lock.unlock();
  for (const Worker::Point& point : points) point.wait();
  points.clear();
  lock.lock();
}

void destroy_context(Handle context) {
  State& s = state();
  const auto drop = [&](auto& objects, const char* kind) {
    for (auto it = objects.begin(); it != objects.end();) {
      if (it->second->context != context) {
        ++it;
        continue;
      }
      std::ostringstream line;
      line << kind << ' ' << it->first;
      s.lost.push_back(line.str());
      it = objects.erase(it);
    }
  };
  drop(s.streams, "stream");
  drop(s.events, "event");
  drop(s.modules, "module");
  std::erase_if(s.functions, [&](const auto& function) { return !find(s.modules, function.second->module); });
  for (auto it = s.memory.begin(); it != s.memory.end();) {
    if (it->second.context != context) {
      ++it;
      continue;
    }
    s.lost.push_back("allocation of " + std::to_string(it->second.bytes) + " bytes");
    s.devices[static_cast<std::size_t>(it->second.device)].allocated -= it->second.bytes;
    std::free(reinterpret_cast<void*>(it->first));
    it = s.memory.erase(it);
  }
  s.contexts.erase(context);
}

void reset() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  drain(lock, nullptr);
  while (!s.contexts.empty()) destroy_context(s.contexts.begin()->first);
  s.memory.clear();
  s.graphs.clear();
  s.functions.clear();
  s.lost.clear();
  s.devices.clear();
  s.failures.clear();
  s.delays.clear();
  s.work_delay = 0;
  s.calls.clear();
  s.call_names.clear();
  s.capture_calls.clear();
  s.launches.clear();
  s.emulator_failure = Result::success;
  s.emulator_text.clear();
  s.emulated_launches = 0;
  s.parameter_sizes = nullptr;
  s.answer = nullptr;
  s.driver_version = 13000;
  s.kernel_registers = 64;
  s.kernel_static_shared = s.kernel_local = 0;
  s.spills.clear();
  ++s.epoch;
  read_environment(s);
}

}  // namespace fake
