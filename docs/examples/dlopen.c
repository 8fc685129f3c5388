/* SPDX-License-Identifier: Apache-2.0
 * Nothing of ggemm at link time: the library is opened while the program runs. The header gives the types only.
 *
 *   cc dlopen.c $(pkg-config --cflags ggemm) -ldl -o dlopen && ./dlopen libggemm.so.0
 *
 * Output:
 *   19 22
 *   43 50
 *   ldd=1: GGEMM_ERROR_ARGUMENT
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ggemm.h"

static void* library;

/* C has no cast from an object to a function pointer: the bytes are copied. */
static int find(const char* name, void* function) {
  void* symbol = dlsym(library, name);
  if (!symbol) fprintf(stderr, "no %s: %s\n", name, dlerror());
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

int main(int argc, char** argv) {
  ggemm_status (*context_create)(const ggemm_context_options*, ggemm_context**);
  void (*context_destroy)(ggemm_context*);
  ggemm_status (*gemm)(ggemm_context*, const ggemm_gemm_desc*, const ggemm_gemm_args*, void*);
  const char* (*last_error)(void);
  const char* (*status_string)(ggemm_status);

  library = dlopen(argc > 1 ? argv[1] : "libggemm.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  if (!find("ggemm_context_create", &context_create) || !find("ggemm_context_destroy", &context_destroy) || !find("ggemm_gemm", &gemm) ||
      !find("ggemm_last_error", &last_error) || !find("ggemm_status_string", &status_string))
    return 1;

  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  ggemm_context* context;
  if (context_create(&options, &context)) {
    fprintf(stderr, "%s\n", last_error());
    return 1;
  }
  const double A[] = {1, 2, 3, 4}, B[] = {5, 6, 7, 8};
  double D[4];
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.n = desc.k = 2;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F64;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = A, args.b = B, args.d = D;
  if (gemm(context, &desc, &args, NULL)) {
    fprintf(stderr, "%s\n", last_error());
    return 1;
  }
  printf("%g %g\n%g %g\n", D[0], D[1], D[2], D[3]);

  desc.d.row_stride = 1; /* rows of D would overlap: refused, and last_error() says why */
  const ggemm_status status = gemm(context, &desc, &args, NULL);
  printf("ldd=1: %s\n", status_string(status));
  fprintf(stderr, "%s\n", last_error());
  context_destroy(context);
  return status == GGEMM_ERROR_ARGUMENT ? 0 : 1;
}
