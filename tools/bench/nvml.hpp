// SPDX-License-Identifier: Apache-2.0
// Clock and power by NVML, where it is installed.
#pragma once
#include <optional>
#include <string>

namespace ggemm::bench {

class Nvml {
 public:
  // Does nothing if libnvidia-ml.so.1 or the device cannot be opened.
  explicit Nvml(const std::string& pci_bus_id);
  std::optional<unsigned> sm_mhz() const;
  std::optional<double> watts() const;

 private:
  using Device = struct OpaqueNvmlDevice*;
  Device device_ = nullptr;
  int (*clock_)(Device, int type, unsigned* mhz) = nullptr;
  int (*power_)(Device, unsigned* milliwatts) = nullptr;
};

}  // namespace ggemm::bench
