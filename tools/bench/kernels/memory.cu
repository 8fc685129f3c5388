// SPDX-License-Identifier: Apache-2.0
// Helpers of the benchmark's protocol.

// Reads `count` vectors and keeps nothing, so that L2 holds only clean lines of this memory afterwards. `sink` is written never, but the compiler cannot know.
extern "C" __global__ void flush_read(const uint4* data, unsigned long long count, unsigned* sink) {
  unsigned mixed = 0;
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 v = data[i];
    mixed ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (mixed == 0x9e3779b9u) *sink = mixed;
}

// Copies `count` vectors: the bandwidth that a kernel which reads and writes can reach.
extern "C" __global__ void copy_vectors(const uint4* source, uint4* destination, unsigned long long count) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) destination[i] = source[i];
}

// What a launch costs the host when the kernel does nothing.
extern "C" __global__ void nothing(unsigned) {}
