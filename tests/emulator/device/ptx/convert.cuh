// SPDX-License-Identifier: Apache-2.0
// As kernels/ptx/convert.cuh, on the emulated GPU.
#pragma once
#include "tile/numeric.cuh"

namespace ggemm::kernels::ptx {

GG_DEVICE u32 to_f16_pair(float low, float high) { return F16Format::encode(low, false) | F16Format::encode(high, false) << 16; }
GG_DEVICE u32 to_bf16_pair(float low, float high) { return Bf16Format::encode(low, false) | Bf16Format::encode(high, false) << 16; }
GG_DEVICE u16 to_e4m3_pair(float low, float high) { return static_cast<u16>(E4m3Format::encode(low, true) | E4m3Format::encode(high, true) << 8); }
GG_DEVICE u16 to_e5m2_pair(float low, float high) { return static_cast<u16>(E5m2Format::encode(low, true) | E5m2Format::encode(high, true) << 8); }

GG_DEVICE u32 f16_pair_of_e4m3(u16 pair) { return to_f16_pair(E4m3Format::decode(pair & 255), E4m3Format::decode(pair >> 8)); }

}  // namespace ggemm::kernels::ptx
