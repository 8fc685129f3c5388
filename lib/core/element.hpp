// SPDX-License-Identifier: Apache-2.0
// From a dtype's number to its storage type.
#pragma once
#include "core/error.hpp"
#include "tile/numeric.cuh"

namespace ggemm::core {

// Calls function(Element{}). `field` is named if the dtype is none.
template <class Function>
void with_element(int dtype, const char* field, Function function) {
  switch (dtype) {
    case GGEMM_F64: return function(double{});
    case GGEMM_F32: return function(float{});
    case GGEMM_F16: return function(kernels::F16{});
    case GGEMM_BF16: return function(kernels::Bf16{});
    case GGEMM_E4M3: return function(kernels::E4m3{});
    case GGEMM_E5M2: return function(kernels::E5m2{});
    case GGEMM_I8: return function(std::int8_t{});
    case GGEMM_I32: return function(std::int32_t{});
    default: fail(GGEMM_ERROR_ARGUMENT, "%s=%d is not a ggemm_dtype", field, dtype);
  }
}

}  // namespace ggemm::core
