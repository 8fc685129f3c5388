// SPDX-License-Identifier: Apache-2.0
#include "bench/nvml.hpp"

#include <vector>

#include "core/library.hpp"

namespace ggemm::bench {
namespace {

constexpr int clock_sm = 1;  // nvmlClockType_t

template <class Function>
bool bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(core::find_symbol(library, name));
  return function != nullptr;
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) {
  std::vector<std::string> tried;
  void* library = core::open_library("libnvidia-ml.so.1", tried);
  int (*init)() = nullptr;
  int (*by_bus)(const char*, Device*) = nullptr;
  if (!library || !bind(library, "nvmlInit_v2", init) || !bind(library, "nvmlDeviceGetHandleByPciBusId_v2", by_bus) ||
      !bind(library, "nvmlDeviceGetClockInfo", clock_) || !bind(library, "nvmlDeviceGetPowerUsage", power_))
    return;
  Device device = nullptr;
  if (init() == 0 && by_bus(pci_bus_id.c_str(), &device) == 0) device_ = device;
}

std::optional<unsigned> Nvml::sm_mhz() const {
  unsigned value = 0;
  return device_ && clock_(device_, clock_sm, &value) == 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> Nvml::watts() const {
  unsigned value = 0;
  return device_ && power_(device_, &value) == 0 ? std::optional(value * 1e-3) : std::nullopt;
}

}  // namespace ggemm::bench
