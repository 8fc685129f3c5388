// SPDX-License-Identifier: Apache-2.0
// As kernels/ptx/mma.cuh, on the emulated GPU.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

GG_DEVICE void ldmatrix(u32 (&out)[4], u32 shared) { emulator::machine().load_matrices(out, shared, false); }
GG_DEVICE void ldmatrix_transposed(u32 (&out)[4], u32 shared) { emulator::machine().load_matrices(out, shared, true); }

template <emulator::Mma KIND, class Sum>
struct WideMma {
  GG_DEVICE static void mma(Sum (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { emulator::machine().multiply(KIND, d, a, b); }
};
struct F16Mma : WideMma<emulator::Mma::f16, float> {};
struct Bf16Mma : WideMma<emulator::Mma::bf16, float> {};
struct Tf32Mma : WideMma<emulator::Mma::tf32, float> {};
struct I8Mma : WideMma<emulator::Mma::i8, i32> {};
struct F64Mma {
  GG_DEVICE static void mma(double (&d)[2], const double (&a)[1], const double (&b)[1]) { emulator::machine().multiply(emulator::Mma::f64, d, a, b); }
  GG_DEVICE static void mma(double (&d)[4], const double (&a)[2], const double (&b)[1]) { emulator::machine().multiply(emulator::Mma::f64_rows16, d, a, b); }
  GG_DEVICE static void mma(double (&d)[4], const double (&a)[4], const double (&b)[2]) { emulator::machine().multiply(emulator::Mma::f64_rows16_deep8, d, a, b); }
  GG_DEVICE static void mma(double (&d)[4], const double (&a)[8], const double (&b)[4]) { emulator::machine().multiply(emulator::Mma::f64_rows16_deep16, d, a, b); }
};

}  // namespace ggemm::kernels::ptx
