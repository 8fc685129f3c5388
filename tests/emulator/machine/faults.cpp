// SPDX-License-Identifier: Apache-2.0
// A launch, and what becomes of a kernel's memory fault: it ends the launch, not the process.
#include <signal.h>

#include <array>
#include <mutex>

#include "emulation.hpp"

namespace emulator {

void Emulation::fault(const void* address) {
  const auto* const at = static_cast<const char*>(address);
  if (running_ && at < reinterpret_cast<const char*>(running_->view) && at >= reinterpret_cast<const char*>(running_->view) + thread_room - stack_bytes)
    fail(launch_failed, "needs more than the %zu bytes of stack that an emulated thread has", stack_bytes);
  fail(illegal_address, running_ ? "touches memory at %p, where nothing is mapped" : "an asynchronous copy touches memory at %p, where nothing is mapped", address);
}

namespace {

// The launch that this system thread runs.
thread_local Emulation* under_way = nullptr;
std::mutex guards_mutex;
int guards = 0;
std::array<struct sigaction, 2> former;
constexpr std::array fault_signals = {SIGSEGV, SIGBUS};

void on_fault(int signal, siginfo_t* info, void*) {
  if (under_way) under_way->fault(info->si_addr);
  // Another thread's, not a kernel's: as if we were not here.
  sigaction(signal, &former[signal == SIGBUS], nullptr);
}

// While a launch runs. The handler has a stack of its own: the fault may be that a thread's is used up.
class FaultGuard {
 public:
  explicit FaultGuard(Emulation& emulation) : stack_(64 * 1024) {
    std::lock_guard lock(guards_mutex);
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (std::size_t i = 0; guards == 0 && i < fault_signals.size(); ++i) sigaction(fault_signals[i], &action, &former[i]);
    ++guards;
    const stack_t mine{stack_.data(), 0, stack_.size()};
    sigaltstack(&mine, &outer_);
    under_way = &emulation;
  }
  ~FaultGuard() {
    std::lock_guard lock(guards_mutex);
    --guards;
    for (std::size_t i = 0; guards == 0 && i < fault_signals.size(); ++i) sigaction(fault_signals[i], &former[i], nullptr);
    under_way = nullptr;
    sigaltstack(&outer_, nullptr);
  }
  FaultGuard(const FaultGuard&) = delete;

 private:
  std::vector<char> stack_;
  stack_t outer_{};
};

}  // namespace

Failure run(const Launch& launch) {
  Emulation emulation(launch);
  const FaultGuard guard(emulation);
  return emulation.run();
}

}  // namespace emulator
