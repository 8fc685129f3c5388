// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include "emulated.hpp"
#include "state.hpp"

using namespace fake;

FAKE_DRIVER Result cuStreamCreate(cu::Stream* out, unsigned flags) {
  Call call("cuStreamCreate");
  if (call.fails()) return call.result();
  if (flags > cu::stream_non_blocking) return Result::invalid_value;
  if (!current_context()) return Result::invalid_context;
  auto stream = std::make_shared<Stream>();
  stream->context = current_context();
  stream->blocking = flags != cu::stream_non_blocking;
  *out = static_cast<cu::Stream>(state().new_handle());
  state().streams[*out] = std::move(stream);
  return Result::success;
}

FAKE_DRIVER Result cuStreamDestroy_v2(cu::Stream handle) {
  Call call("cuStreamDestroy");
  if (!call.alive()) return call.result();
  std::shared_ptr<Stream> stream = find(state().streams, handle);
  if (!stream) return Result::invalid_handle;
  if (stream->context != current_context()) return Result::invalid_context;
  if (stream->capture) stream->capture->invalidated = true;
  // Work that is left is still done: the worker's thread ends after it, without the lock.
  const Worker::Point end{stream->worker, stream->worker->submitted()};
  state().streams.erase(handle);
  call.lock().unlock();
  end.wait();
  return call.after(Result::success);
}

FAKE_DRIVER Result cuStreamGetId(cu::Stream handle, unsigned long long* id) {
  Call call("cuStreamGetId");
  if (call.fails()) return call.result();
  std::shared_ptr<Stream> stream;
  if (const Result bad = find_stream(handle, stream); bad != Result::success) return bad;
  if (stream->capture) return Result::stream_capture_unsupported;
  *id = stream->id;
  return Result::success;
}

FAKE_DRIVER Result cuStreamSynchronize(cu::Stream handle) {
  Call call("cuStreamSynchronize");
  if (call.fails()) return call.result();
  std::shared_ptr<Stream> stream;
  if (const Result bad = find_stream(handle, stream); bad != Result::success) return bad;
  if (const Result refused = refuse_captured_stream("cuStreamSynchronize", stream); refused != Result::success) return refused;
  if (const Result conflict = legacy_stream_conflict(handle, true); conflict != Result::success) return conflict;
  if (const Result refused = capture_unsafe("cuStreamSynchronize"); refused != Result::success) return refused;
  // An empty piece of work, so that the default stream also waits for the others.
  const std::uint64_t ticket = enqueue(stream->context, *stream, [](Worker&) {});
  const std::shared_ptr<Worker> worker = stream->worker;
  stream.reset();
  call.lock().unlock();
  worker->wait(ticket);
  return failure_of_kernels();
}

FAKE_DRIVER Result cuEventCreate(cu::Event* out, unsigned) {
  Call call("cuEventCreate");
  if (call.fails()) return call.result();
  if (!current_context()) return Result::invalid_context;
  auto event = std::make_shared<Event>();
  event->context = current_context();
  *out = static_cast<cu::Event>(state().new_handle());
  state().events[*out] = std::move(event);
  return Result::success;
}

FAKE_DRIVER Result cuEventDestroy_v2(cu::Event handle) {
  Call call("cuEventDestroy");
  if (!call.alive()) return call.result();
  const std::shared_ptr<Event> event = find(state().events, handle);
  if (!event) return Result::invalid_handle;
  if (event->context != current_context()) return Result::invalid_context;
  state().events.erase(handle);
  return call.after(Result::success);
}

FAKE_DRIVER Result cuEventRecord(cu::Event handle, cu::Stream on) {
  Call call("cuEventRecord");
  if (call.fails()) return call.result();
  const std::shared_ptr<Event> event = find(state().events, handle);
  std::shared_ptr<Stream> stream;
  if (const Result bad = find_stream(on, stream); bad != Result::success) return bad;
  if (!event || event->context != stream->context) return Result::invalid_handle;
  if (const Result conflict = legacy_stream_conflict(on, true); conflict != Result::success) return conflict;
  auto time = std::make_shared<double>();
  const auto record = [time](Worker& worker) { *time = worker.clock_ms; };
  event->captured = stream->capture != nullptr;
  if (event->captured) return submit(on, {record, nullptr});
  event->time = time;
  event->point = {stream->worker, enqueue(stream->context, *stream, record)};
  event->recorded = true;
  return Result::success;
}

FAKE_DRIVER Result cuEventSynchronize(cu::Event handle) {
  Call call("cuEventSynchronize");
  if (call.fails()) return call.result();
  const std::shared_ptr<Event> event = find(state().events, handle);
  if (!event) return Result::invalid_handle;
  if (event->captured) return Result{907};  // CUDA_ERROR_CAPTURED_EVENT
  if (const Result refused = capture_unsafe("cuEventSynchronize"); refused != Result::success) return refused;
  const Worker::Point point = event->point;
  call.lock().unlock();
  point.wait();
  return Result::success;
}

FAKE_DRIVER Result cuEventElapsedTime(float* milliseconds, cu::Event begin, cu::Event end) {
  Call call("cuEventElapsedTime");
  if (call.fails()) return call.result();
  const std::shared_ptr<Event> first = find(state().events, begin), last = find(state().events, end);
  if (!first || !last || !first->recorded || !last->recorded) return Result::invalid_handle;
  if (first->point.worker != last->point.worker) return Result::invalid_handle;  // each has a clock of its own
  if (!first->point.reached() || !last->point.reached()) return Result{600};  // CUDA_ERROR_NOT_READY
  *milliseconds = static_cast<float>(*last->time - *first->time);
  return Result::success;
}

FAKE_API void fake_wait(void) {
  std::unique_lock lock(state().mutex);
  drain(lock, nullptr);
}
