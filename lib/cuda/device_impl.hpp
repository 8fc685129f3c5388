// SPDX-License-Identifier: Apache-2.0
// What the files of lib/cuda share: the opened device, and the scope in which the driver is called on its behalf.
#pragma once
#include "cuda/device.hpp"
#include "cuda/driver.hpp"
#include "cuda/map_memo.hpp"

namespace ggemm::cuda {

struct OpenDevice {
  const Driver& driver;
  cu::Context context = nullptr;
  cu::Device device = 0;
  int ordinal = 0;
  bool retained = false;  // the primary context is held, to be released at the end
  bool pools = false;     // stream-ordered allocation
  Allocator allocator{};
  core::DeviceFacts facts{};
};

struct Device::Impl : OpenDevice {
  MapMemo maps{};
};

// Lets this thread load, allocate and synchronise while some other thread captures in global mode, without breaking that capture. Nothing that is called
// in it touches the capturing stream.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) noexcept;
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  cu::Result result() const { return result_; }

 private:
  const Driver& driver_;
  cu::CaptureMode mode_ = cu::CaptureMode::relaxed;
  cu::Result result_;
};

// The device's context is current within a scope, and what was current before is so again after it.
class Scope {
 public:
  // releasing: something is to be given back, and a failure on the way there has no one to be reported to; what fails once is worked round or tried again.
  enum class Purpose { working, releasing };
  explicit Scope(const OpenDevice& device, Purpose purpose = Purpose::working) noexcept;
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  bool entered() const { return !failed_; }
  void require() const;  // throws unless entered

 private:
  const OpenDevice& device_;
  const char* failed_ = nullptr;  // the function
  cu::Result result_ = cu::Result::success;
  bool pushed_ = false;
};

// For everything but launches and questions: with relaxed capture.
class ColdScope {
 public:
  explicit ColdScope(const OpenDevice& device) noexcept : device_(device), scope_(device), relaxed_(device.driver) {}
  void require() const;  // throws unless entered

 private:
  const OpenDevice& device_;
  Scope scope_;
  RelaxedCapture relaxed_;
};

// For destructors.
class ReleaseScope {
 public:
  explicit ReleaseScope(const OpenDevice& device) noexcept : scope_(device, Scope::Purpose::releasing), relaxed_(device.driver) {}
  bool entered() const { return scope_.entered(); }

 private:
  Scope scope_;
  RelaxedCapture relaxed_;
};

inline cu::Stream as_stream(void* stream) { return static_cast<cu::Stream>(stream); }
inline cu::Address as_address(const void* pointer) { return reinterpret_cast<cu::Address>(pointer); }

}  // namespace ggemm::cuda
