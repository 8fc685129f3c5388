// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_impl.hpp"

namespace ggemm::cuda {

RelaxedCapture::RelaxedCapture(const Driver& driver) noexcept : driver_(driver) {
  result_ = forked() ? cu::Result::not_initialized : driver_.call.thread_exchange_stream_capture_mode(&mode_);
}

RelaxedCapture::~RelaxedCapture() {
  if (result_ == cu::Result::success) driver_.call.thread_exchange_stream_capture_mode(&mode_);
}

Scope::Scope(const OpenDevice& device, Purpose purpose) noexcept : device_(device) {
  if (forked()) {
    failed_ = "fork";
    result_ = cu::Result::not_initialized;
    return;
  }
  const cu::Functions& call = device_.driver.call;
  cu::Context current = nullptr;
  result_ = call.ctx_get_current(&current);
  if (result_ != cu::Result::success && purpose == Purpose::working) {
    failed_ = "cuCtxGetCurrent";
    return;
  }
  if (result_ == cu::Result::success && current == device_.context) return;
  result_ = call.ctx_push_current(device_.context);
  if (result_ != cu::Result::success && purpose == Purpose::releasing) result_ = call.ctx_push_current(device_.context);
  pushed_ = result_ == cu::Result::success;
  if (!pushed_) failed_ = "cuCtxPushCurrent";
}

Scope::~Scope() {
  cu::Context popped = nullptr;
  if (pushed_) device_.driver.call.ctx_pop_current(&popped);
}

void Scope::require() const {
  if (!failed_) return;
  if (forked()) core::fail(GGEMM_ERROR_DEVICE, "%s", forked_text);
  check(device_.driver, result_, failed_);
}

void ColdScope::require() const {
  scope_.require();
  check(device_.driver, relaxed_.result(), "cuThreadExchangeStreamCaptureMode");
}

}  // namespace ggemm::cuda
