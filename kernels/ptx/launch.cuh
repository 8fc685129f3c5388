// SPDX-License-Identifier: Apache-2.0
// A launch that begins before the one ahead of it in the stream has ended (programmatic dependent launch); sm_90.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

// The next launch, if it was asked to overlap this one, may begin once every CTA has said so or has ended; its kernel waits by launch_wait before it reads what this one
// writes. Any thread. PTX ISA, "griddepcontrol".
GG_DEVICE void launch_next() {
#if __CUDA_ARCH__ >= 900  // kernels that copy are compiled for others too
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Waits until the launch ahead has ended and all that it wrote is seen; where this launch does not overlap it, it has. Every thread that reads any of it. PTX ISA, "griddepcontrol".
GG_DEVICE void launch_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Instead of launch_wait, where the launch ahead had waited itself before it said launch_next, and this one reads nothing that it writes, but by atomics what it fenced before. Before a CTA ends it waits all the same.
GG_DEVICE void launch_beside() {}

}  // namespace ggemm::kernels::ptx
