// SPDX-License-Identifier: Apache-2.0
// Streams and events of our own. Destroying one never fails to the caller: the driver reports failures of earlier work there.
#include "cuda/device_impl.hpp"

namespace ggemm::cuda {

void* Device::create_stream() const {
  const ColdScope scope(*impl_);
  scope.require();
  cu::Stream stream = nullptr;
  // Non-blocking: work on it neither waits for the caller's default stream nor breaks a capture by touching that stream.
  check(impl_->driver, impl_->driver.call.stream_create(&stream, cu::stream_non_blocking), "cuStreamCreate");
  return stream;
}

void Device::destroy_stream(void* stream) const {
  if (!stream) return;
  const ReleaseScope scope(*impl_);
  if (scope.entered()) impl_->driver.call.stream_destroy(as_stream(stream));
}

unsigned long long Device::stream_id(void* stream) const {
  const Scope scope(*impl_);
  scope.require();
  unsigned long long id = 0;
  check(impl_->driver, impl_->driver.call.stream_get_id(as_stream(stream), &id), "cuStreamGetId");
  return id;
}

void Device::synchronize(void* stream) const {
  const ColdScope scope(*impl_);
  scope.require();
  check(impl_->driver, impl_->driver.call.stream_synchronize(as_stream(stream)), "cuStreamSynchronize");
}

void* Device::create_event() const {
  const ColdScope scope(*impl_);
  scope.require();
  cu::Event event = nullptr;
  check(impl_->driver, impl_->driver.call.event_create(&event, cu::event_default), "cuEventCreate");
  return event;
}

void Device::destroy_event(void* event) const {
  if (!event) return;
  const ReleaseScope scope(*impl_);
  if (scope.entered()) impl_->driver.call.event_destroy(static_cast<cu::Event>(event));
}

void Device::record(void* event, void* stream) const {
  const ColdScope scope(*impl_);
  scope.require();
  check(impl_->driver, impl_->driver.call.event_record(static_cast<cu::Event>(event), as_stream(stream)), "cuEventRecord");
}

double Device::milliseconds(void* begin, void* end) const {
  const ColdScope scope(*impl_);
  scope.require();
  check(impl_->driver, impl_->driver.call.event_synchronize(static_cast<cu::Event>(end)), "cuEventSynchronize");
  float elapsed = 0;
  check(impl_->driver, impl_->driver.call.event_elapsed_time(&elapsed, static_cast<cu::Event>(begin), static_cast<cu::Event>(end)), "cuEventElapsedTime");
  return elapsed;
}

}  // namespace ggemm::cuda
