// SPDX-License-Identifier: Apache-2.0
#include "host/isa.hpp"

namespace ggemm::host {

const std::vector<const Isa*>& usable_isas() {
  static const std::vector<const Isa*> isas = [] {
    std::vector<const Isa*> list;
#if defined(__x86_64__)
    // The compiler's run-time library also asks whether the system keeps the registers.
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) list.push_back(&isa_avx512);
    if (avx2) list.push_back(&isa_avx2);
#endif
    list.push_back(&isa_baseline);
    return list;
  }();
  return isas;
}

}  // namespace ggemm::host
