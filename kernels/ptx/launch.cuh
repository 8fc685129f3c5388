// SPDX-License-Identifier: Apache-2.0
// A launch that begins before the one ahead of it in the stream has ended (programmatic dependent launch); sm_90.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

// The next launch may begin, once every CTA has said so or has ended: what follows it waits with launch_wait. Any thread. PTX ISA, "griddepcontrol".
GG_DEVICE void launch_next() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// Waits until the launch ahead, if this one began before its end, has ended and all that it wrote is seen. Every thread that reads any of it. PTX ISA, "griddepcontrol".
GG_DEVICE void launch_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace ggemm::kernels::ptx
