// SPDX-License-Identifier: Apache-2.0
// The rest of the control interface: the machine, failures, and what happened.
#include <algorithm>
#include <sstream>

#include "state.hpp"

using namespace fake;

namespace {

// A line an object: "kind details".
std::vector<std::string> live_objects() {
  const State& s = state();
  std::vector<std::string> lines = s.lost;
  const auto add = [&](const char* kind, Handle handle, const std::string& more = "") {
    std::ostringstream line;
    line << kind << ' ' << handle << more;
    lines.push_back(line.str());
  };
  for (const auto& [handle, context] : s.contexts)
    if (!context->primary) add("context", handle);
  for (const DeviceModel& device : s.devices)
    for (int i = 0; i < device.retains; ++i) add("context", device.primary, " (primary, retained)");
  for (const auto& [handle, module] : s.modules) add("module", handle);
  for (const auto& [handle, stream] : s.streams) add("stream", handle);
  for (const auto& [handle, event] : s.events) add("event", handle);
  for (const auto& [handle, graph] : s.graphs) add("graph", handle);
  for (const auto& [address, allocation] : s.memory)
    if (allocation.context) add("allocation", reinterpret_cast<Handle>(address), " of " + std::to_string(allocation.bytes) + " bytes");
  return lines;
}

}  // namespace

FAKE_API void fake_reset(void) { reset(); }

FAKE_API void fake_set_driver_version(int version) {
  std::lock_guard lock(state().mutex);
  state().driver_version = version;
}

FAKE_API void fake_fail(const char* function, long nth, int result, long count) {
  std::lock_guard lock(state().mutex);
  state().failures.add(function ? function : "", nth, result, count);
}

FAKE_API long fake_clear_failures(void) {
  std::lock_guard lock(state().mutex);
  return state().failures.clear();
}

FAKE_API void fake_hide(const char* function) {
  std::lock_guard lock(state().mutex);
  state().hidden.push_back(function);
}

FAKE_API int fake_inside(void) { return Inside::now(); }

FAKE_API void fake_delay(const char* function, long microseconds) {
  std::lock_guard lock(state().mutex);
  state().delays[function] = microseconds;
}

FAKE_API void fake_delay_work(long microseconds) {
  std::lock_guard lock(state().mutex);
  state().work_delay = microseconds;
}

FAKE_API long fake_calls(const char* function) {
  std::lock_guard lock(state().mutex);
  if (!function) return static_cast<long>(state().call_names.size());
  const auto found = state().calls.find(function);
  return found == state().calls.end() ? 0 : found->second;
}

FAKE_API const char* fake_call_name(long index) {
  std::lock_guard lock(state().mutex);
  const auto& names = state().call_names;
  return index >= 0 && static_cast<std::size_t>(index) < names.size() ? names[static_cast<std::size_t>(index)] : nullptr;
}

FAKE_API long fake_live(const char* kind) {
  std::lock_guard lock(state().mutex);
  const std::vector<std::string> lines = live_objects();
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return !kind || line.starts_with(std::string(kind) + " "); });
}

FAKE_API const char* fake_live_text(void) {
  thread_local std::string text;
  std::lock_guard lock(state().mutex);
  text.clear();
  for (const std::string& line : live_objects()) text += line + "\n";
  return text.c_str();
}
