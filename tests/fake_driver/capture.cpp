// SPDX-License-Identifier: Apache-2.0
// Stream capture: its modes, what it forbids to whom, and the graphs that come of it.
#include <algorithm>

#include "state.hpp"

namespace fake {
namespace {

std::vector<std::shared_ptr<Stream>> capturing_streams() {
  State& s = state();
  std::vector<std::shared_ptr<Stream>> out;
  for (const auto& [handle, stream] : s.streams)
    if (stream->capture) out.push_back(stream);
  for (const auto& [handle, context] : s.contexts)
    for (const auto& [thread, stream] : context->per_thread)
      if (stream->capture) out.push_back(stream);
  return out;
}

bool by_this_thread(const Capture& capture) { return capture.thread == std::this_thread::get_id(); }

void note(const char* function, bool refused, bool own) { state().capture_calls.push_back({function, refused, own}); }

}  // namespace

Result capture_unsafe(const char* function) {
  const cu::CaptureMode mode = this_thread().mode;
  bool refused = false, own = false;
  for (const std::shared_ptr<Stream>& stream : capturing_streams()) {
    Capture& capture = *stream->capture;
    const bool mine = by_this_thread(capture);
    own |= mine;
    if (mode == cu::CaptureMode::relaxed || capture.mode == cu::CaptureMode::relaxed) continue;
    if (!mine && (mode != cu::CaptureMode::global || capture.mode != cu::CaptureMode::global)) continue;
    capture.invalidated = true;
    refused = true;
  }
  if (refused || own) note(function, refused, own);
  return refused ? Result::stream_capture_unsupported : Result::success;
}

void note_in_own_capture(const char* function) {
  const auto streams = capturing_streams();
  if (std::any_of(streams.begin(), streams.end(), [](const auto& stream) { return by_this_thread(*stream->capture); })) note(function, false, true);
}

Result refuse_captured_stream(const char* function, const std::shared_ptr<Stream>& stream) {
  if (!stream->capture) return Result::success;
  stream->capture->invalidated = true;
  note(function, true, by_this_thread(*stream->capture));
  return Result::stream_capture_unsupported;
}

Result legacy_stream_conflict(Handle stream, bool invalidate) {
  if (!is_legacy(stream)) return Result::success;
  Result result = Result::success;
  for (const std::shared_ptr<Stream>& other : capturing_streams()) {
    if (!other->blocking || other->context != current_context()) continue;
    other->capture->invalidated |= invalidate;
    result = Result::stream_capture_implicit;
  }
  return result;
}

Result submit(Handle stream, GraphNode node) {
  std::shared_ptr<Stream> object;
  if (const Result bad = find_stream(stream, object); bad != Result::success) return bad;
  if (const Result conflict = legacy_stream_conflict(stream, true); conflict != Result::success) return conflict;
  if (!object->capture) {
    enqueue(object->context, *object, std::move(node.work));
    return Result::success;
  }
  if (object->capture->invalidated) return Result::stream_capture_invalidated;
  object->capture->graph.nodes.push_back(std::move(node));
  return Result::success;
}

}  // namespace fake

using namespace fake;

FAKE_DRIVER Result cuStreamIsCapturing(cu::Stream handle, cu::CaptureStatus* status) {
  Call call("cuStreamIsCapturing");
  if (call.fails()) return call.result();
  std::shared_ptr<Stream> stream;
  if (const Result bad = find_stream(handle, stream); bad != Result::success) return bad;
  if (const Result conflict = legacy_stream_conflict(handle, false); conflict != Result::success) return conflict;
  *status = !stream->capture ? cu::CaptureStatus::none : stream->capture->invalidated ? cu::CaptureStatus::invalidated : cu::CaptureStatus::active;
  return Result::success;
}

FAKE_DRIVER Result cuThreadExchangeStreamCaptureMode(cu::CaptureMode* mode) {
  Call call("cuThreadExchangeStreamCaptureMode");
  const bool back = call.alive() && this_thread().mode == cu::CaptureMode::relaxed;
  if (call.fails() && !back) return call.result();
  if (*mode < cu::CaptureMode::global || *mode > cu::CaptureMode::relaxed) return Result::invalid_value;
  std::swap(this_thread().mode, *mode);
  return call.after(Result::success);
}

FAKE_DRIVER Result cuStreamBeginCapture_v2(cu::Stream handle, cu::CaptureMode mode) {
  Call call("cuStreamBeginCapture");
  if (call.fails()) return call.result();
  std::shared_ptr<Stream> stream;
  if (const Result bad = find_stream(handle, stream); bad != Result::success) return bad;
  if (is_legacy(handle)) return Result::stream_capture_unsupported;
  if (stream->capture) return Result{401};  // CUDA_ERROR_ILLEGAL_STATE
  stream->capture = std::make_shared<Capture>(Capture{mode, std::this_thread::get_id(), {}, false});
  return Result::success;
}

FAKE_DRIVER Result cuStreamEndCapture(cu::Stream handle, Handle* graph) {
  Call call("cuStreamEndCapture");
  if (call.fails()) return call.result();
  std::shared_ptr<Stream> stream;
  *graph = nullptr;
  if (const Result bad = find_stream(handle, stream); bad != Result::success) return bad;
  if (!stream->capture) return Result{401};  // CUDA_ERROR_ILLEGAL_STATE
  if (stream->capture->mode != cu::CaptureMode::relaxed && !by_this_thread(*stream->capture)) return Result::stream_capture_wrong_thread;
  const std::shared_ptr<Capture> capture = std::move(stream->capture);
  stream->capture = nullptr;
  if (capture->invalidated) return Result::stream_capture_invalidated;
  *graph = state().new_handle();
  state().graphs[*graph] = std::make_shared<Graph>(std::move(capture->graph));
  return Result::success;
}

// How many nodes it has, which is all that is faked.
FAKE_DRIVER Result cuGraphGetNodes(Handle graph, void* nodes, std::size_t* count) {
  Call call("cuGraphGetNodes");
  if (call.fails()) return call.result();
  const std::shared_ptr<Graph> object = find(state().graphs, graph);
  if (!object) return Result::invalid_handle;
  if (nodes) return Result::invalid_value;
  *count = object->nodes.size();
  return Result::success;
}

FAKE_DRIVER Result cuGraphInstantiateWithFlags(Handle* out, Handle graph, unsigned long long) {
  Call call("cuGraphInstantiateWithFlags");
  if (call.fails()) return call.result();
  const std::shared_ptr<Graph> object = find(state().graphs, graph);
  if (!object) return Result::invalid_handle;
  *out = state().new_handle();
  state().graphs[*out] = object;
  return Result::success;
}

FAKE_DRIVER Result cuGraphDestroy(Handle graph) {
  Call call("cuGraphDestroy");
  if (!call.alive()) return call.result();
  return call.after(state().graphs.erase(graph) ? Result::success : Result::invalid_handle);
}

FAKE_DRIVER Result cuGraphExecDestroy(Handle graph) {
  Call call("cuGraphExecDestroy");
  if (!call.alive()) return call.result();
  return call.after(state().graphs.erase(graph) ? Result::success : Result::invalid_handle);
}

FAKE_API long fake_capture_calls(void) {
  std::lock_guard lock(state().mutex);
  return static_cast<long>(state().capture_calls.size());
}

FAKE_API int fake_capture_call_get(long index, fake_capture_call* out) {
  std::lock_guard lock(state().mutex);
  const auto& calls = state().capture_calls;
  if (index < 0 || static_cast<std::size_t>(index) >= calls.size()) return 0;
  *out = calls[static_cast<std::size_t>(index)];
  return 1;
}
