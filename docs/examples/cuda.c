/* SPDX-License-Identifier: Apache-2.0
 * Operands in GPU memory: a plain product, with scales and gated pairs, and a grouped one. Where there is no GPU the same calls take
 * ordinary memory. The driver is opened while the program runs, so that nothing of CUDA is needed to build it.
 *
 *   cc cuda.c $(pkg-config --cflags --libs ggemm) -ldl -o cuda && ./cuda
 *
 * Output:
 *   plain: right
 *   group 0: right
 *   group 1: right
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggemm.h"

/* What cuda.h declares. A program that has it, or cudaMalloc and cudaMemcpyAsync, needs none of this. */
typedef unsigned long long address;
static int (*cuInit)(unsigned flags);
static int (*cuDeviceGet)(int* device, int ordinal);
static int (*cuDevicePrimaryCtxRetain)(void** context, int device);
static int (*cuCtxSetCurrent)(void* context);
static int (*cuMemAlloc)(address* memory, size_t bytes);
static int (*cuMemFree)(address memory);
static int (*cuMemcpyHtoDAsync)(address to, const void* from, size_t bytes, void* stream);
static int (*cuMemcpyDtoHAsync)(void* to, address from, size_t bytes, void* stream);
static int (*cuStreamSynchronize)(void* stream);

static int on_gpu, wrong, count;
static void* taken[16];
static void* const stream = NULL; /* the legacy default stream, or any CUstream or cudaStream_t */

static void need(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s failed %s\n", what, ggemm_last_error());
  exit(1);
}

static void find(void* driver, const char* name, void* function) {
  void* symbol = dlsym(driver, name);
  need(symbol != NULL, name);
  memcpy(function, &symbol, sizeof symbol);
}

/* Makes the device's primary context current, which the ggemm_context uses too. */
static void open_driver(int ordinal) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *primary;
  int device;
  need(driver != NULL, "libcuda.so.1");
  find(driver, "cuInit", &cuInit), find(driver, "cuDeviceGet", &cuDeviceGet), find(driver, "cuDevicePrimaryCtxRetain", &cuDevicePrimaryCtxRetain);
  find(driver, "cuCtxSetCurrent", &cuCtxSetCurrent), find(driver, "cuMemAlloc_v2", &cuMemAlloc), find(driver, "cuMemFree_v2", &cuMemFree);
  find(driver, "cuMemcpyHtoDAsync_v2", &cuMemcpyHtoDAsync), find(driver, "cuMemcpyDtoHAsync_v2", &cuMemcpyDtoHAsync);
  find(driver, "cuStreamSynchronize", &cuStreamSynchronize);
  need(!cuInit(0) && !cuDeviceGet(&device, ordinal) && !cuDevicePrimaryCtxRetain(&primary, device) && !cuCtxSetCurrent(primary), "CUDA");
}

/* Memory of the context's device, with a copy of what is in the host's. */
static void* on_device(const void* from, size_t bytes) {
  address memory = 0;
  void* copy = on_gpu ? NULL : malloc(bytes);
  if (on_gpu) need(!cuMemAlloc(&memory, bytes) && !cuMemcpyHtoDAsync(memory, from, bytes, stream), "GPU memory"), copy = (void*)(uintptr_t)memory;
  need(copy != NULL && count < (int)(sizeof taken / sizeof taken[0]), "memory");
  return taken[count++] = on_gpu ? copy : memcpy(copy, from, bytes);
}

static void check(const char* name, const float* d, const float* expected, size_t bytes) {
  float copy[4];
  if (on_gpu) need(!cuMemcpyDtoHAsync(copy, (uintptr_t)d, bytes, stream) && !cuStreamSynchronize(stream), "the copy of D");
  const int same = memcmp(on_gpu ? copy : d, expected, bytes) == 0;
  printf("%s: %s\n", name, same ? "right" : "wrong");
  wrong += !same;
}

int main(void) {
  ggemm_context* context;
  need(!ggemm_context_create(NULL, &context), "context"); /* NULL: the GPU if there is one, else the CPU */
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  need(!ggemm_context_device(context, &info), "device");
  on_gpu = info.kind == GGEMM_DEVICE_CUDA;
  if (on_gpu) open_driver(info.ordinal);
  fprintf(stderr, "the context is on the %s: %s\n", on_gpu ? "GPU" : "CPU", info.name);

  const float A[2][2] = {{1, 2}, {3, 4}}, B[2][4] = {{1, 0, 10, 0}, {0, 1, 0, 10}}, factors[2] = {1, 0.5f}, nothing[4] = {0};
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = 2, desc.n = 4, desc.k = 2;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = on_device(A, sizeof A), args.b = on_device(B, sizeof B), args.d = on_device(nothing, sizeof nothing);
  desc.scale_a.kind = GGEMM_SCALE_VECTOR; /* an f32 for each row of A */
  args.scale_a = on_device(factors, sizeof factors);
  desc.epilogue.gate = GGEMM_GATE_HALVES; /* D has n / 2 columns: d[i][j] = act(x[i][j]) x[i][j + n / 2], where x = scale A B */
  desc.epilogue.activation = GGEMM_ACTIVATION_RELU;
  need(!ggemm_gemm(context, &desc, &args, stream), "plain");
  check("plain", args.d, (const float[]){10, 40, 22.5f, 40}, sizeof nothing);

  /* Sizes and addresses are read on the device: their arrays are in its memory too. */
  const int32_t sizes[2][3] = {{1, 2, 2}, {2, 1, 2}}, *const first = on_device(sizes, sizeof sizes);
  const void *const a[2] = {on_device((const float[]){1, 1}, 8), args.a}, *const b[2] = {args.a, on_device((const float[]){1, 2}, 8)};
  void* const d[2] = {on_device(nothing, 8), on_device(nothing, 8)};
  ggemm_grouped_desc groups = GGEMM_GROUPED_DESC_INIT;
  groups.groups = 2;
  groups.a.dtype = groups.b.dtype = groups.d.dtype = GGEMM_F32;
  groups.m = ggemm_i32_at(first, sizeof sizes[0]);
  groups.n = ggemm_i32_at(first + 1, sizeof sizes[0]);
  groups.k = ggemm_i32_at(first + 2, sizeof sizes[0]);
  ggemm_grouped_args operands = GGEMM_GROUPED_ARGS_INIT;
  operands.a = on_device(a, sizeof a), operands.b = on_device(b, sizeof b), operands.d = on_device(d, sizeof d);
  need(!ggemm_grouped_gemm(context, &groups, &operands, stream), "grouped");
  check("group 0", d[0], (const float[]){4, 6}, 8);
  check("group 1", d[1], (const float[]){5, 11}, 8);

  while (count--) on_gpu ? (void)cuMemFree((uintptr_t)taken[count]) : free(taken[count]);
  ggemm_context_destroy(context); /* its work is complete: check() has waited */
  return wrong;
}
