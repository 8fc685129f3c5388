// SPDX-License-Identifier: Apache-2.0
// Contexts and each thread's stack of them.
#include "state.hpp"

using namespace fake;

namespace {

Handle make_context(cu::Device device, bool primary) {
  State& s = state();
  auto context = std::make_shared<Context>();
  const Handle handle = s.new_handle();
  context->device = device;
  context->primary = primary;
  context->default_stream.context = handle;
  s.contexts[handle] = std::move(context);
  return handle;
}

bool known(cu::Device device) { return device >= 0 && static_cast<std::size_t>(device) < state().devices.size(); }

DeviceModel& model(cu::Device device) { return state().devices[static_cast<std::size_t>(device)]; }

}  // namespace

FAKE_DRIVER Result cuDevicePrimaryCtxRetain(cu::Context* out, cu::Device device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (call.fails()) return call.result();
  if (!known(device)) return Result::invalid_device;
  if (const Result refused = capture_unsafe("cuDevicePrimaryCtxRetain"); refused != Result::success) return refused;
  if (model(device).retains++ == 0) model(device).primary = make_context(device, true);
  *out = static_cast<cu::Context>(model(device).primary);
  return Result::success;
}

FAKE_DRIVER Result cuDevicePrimaryCtxRelease_v2(cu::Device device) {
  Call call("cuDevicePrimaryCtxRelease");
  if (!call.alive()) return call.result();
  if (!known(device)) return Result::invalid_device;
  if (model(device).retains == 0) return Result::invalid_context;
  if (const Result refused = capture_unsafe("cuDevicePrimaryCtxRelease"); refused != Result::success) return refused;
  if (--model(device).retains == 0) {
    const Handle gone = std::exchange(model(device).primary, nullptr);
    drain(call.lock(), gone);
    destroy_context(gone);
  }
  return call.after(Result::success);
}

FAKE_DRIVER Result cuCtxCreate_v2(cu::Context* out, unsigned, cu::Device device) {
  Call call("cuCtxCreate");
  if (call.fails()) return call.result();
  if (!known(device)) return Result::invalid_device;
  *out = static_cast<cu::Context>(make_context(device, false));
  this_thread().contexts.push_back(*out);
  return Result::success;
}

FAKE_DRIVER Result cuCtxDestroy_v2(cu::Context context) {
  Call call("cuCtxDestroy");
  if (!call.alive()) return call.result();
  const std::shared_ptr<Context> object = find(state().contexts, context);
  if (!object || object->primary) return Result::invalid_context;
  drain(call.lock(), context);
  destroy_context(context);
  std::vector<Handle>& stack = this_thread().contexts;
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  return call.after(Result::success);
}

FAKE_DRIVER Result cuCtxGetCurrent(cu::Context* out) {
  Call call("cuCtxGetCurrent");
  if (call.fails()) return call.result();
  const std::vector<Handle>& stack = this_thread().contexts;
  *out = stack.empty() ? nullptr : static_cast<cu::Context>(stack.back());
  return Result::success;
}

FAKE_DRIVER Result cuCtxSetCurrent(cu::Context context) {
  Call call("cuCtxSetCurrent");
  if (call.fails()) return call.result();
  if (context && !find(state().contexts, context)) return Result::invalid_context;
  std::vector<Handle>& stack = this_thread().contexts;
  if (!stack.empty()) stack.pop_back();
  if (context) stack.push_back(context);
  return Result::success;
}

FAKE_DRIVER Result cuCtxPushCurrent_v2(cu::Context context) {
  Call call("cuCtxPushCurrent");
  if (call.fails()) return call.result();
  if (!find(state().contexts, context)) return Result::invalid_context;
  this_thread().contexts.push_back(context);
  return Result::success;
}

FAKE_DRIVER Result cuCtxPopCurrent_v2(cu::Context* out) {
  Call call("cuCtxPopCurrent");
  if (!call.alive()) return call.result();
  std::vector<Handle>& stack = this_thread().contexts;
  if (stack.empty()) return Result::invalid_context;
  if (out) *out = static_cast<cu::Context>(stack.back());
  stack.pop_back();
  return call.after(Result::success);
}

FAKE_DRIVER Result cuCtxGetDevice(cu::Device* device) {
  Call call("cuCtxGetDevice");
  if (call.fails()) return call.result();
  const std::shared_ptr<Context> object = current_object();
  if (!object) return Result::invalid_context;
  *device = object->device;
  return Result::success;
}

FAKE_DRIVER Result cuCtxSynchronize() {
  Call call("cuCtxSynchronize");
  if (call.fails()) return call.result();
  const Handle context = current_context();
  if (!context) return Result::invalid_context;
  if (const Result refused = capture_unsafe("cuCtxSynchronize"); refused != Result::success) return refused;
  drain(call.lock(), context);
  return Result::success;
}

FAKE_API int fake_context_depth(void) {
  std::lock_guard lock(state().mutex);
  return static_cast<int>(this_thread().contexts.size());
}

FAKE_API int fake_capture_mode(void) {
  std::lock_guard lock(state().mutex);
  return static_cast<int>(this_thread().mode);
}
