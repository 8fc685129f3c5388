// SPDX-License-Identifier: Apache-2.0

// Package gpu is device memory for the tests that run on a GPU, from the driver alone.
package gpu

// #cgo LDFLAGS: -ldl
// #include <dlfcn.h>
// #include <stdint.h>
// #include <stdlib.h>
//
// typedef int (*init_fn)(unsigned);
// typedef int (*device_fn)(int*, int);
// typedef int (*retain_fn)(void**, int);
// typedef int (*set_fn)(void*);
// typedef int (*allocate_fn)(uint64_t*, size_t);
// typedef int (*free_fn)(uint64_t);
// typedef int (*to_device_fn)(uint64_t, const void*, size_t, void*);
// typedef int (*to_host_fn)(void*, uint64_t, size_t, void*);
// typedef int (*wait_fn)(void*);
//
// static void* library;
// static void* context;
// static void* found(const char* name) { return library ? dlsym(library, name) : NULL; }
//
// /* 0, or what failed. The primary context becomes current to the calling thread. */
// static int enter(void) {
//   if (!context) {
//     const char* path = getenv("GGEMM_LIBCUDA");
//     library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
//     int device = 0;
//     init_fn init = (init_fn)found("cuInit");
//     device_fn get = (device_fn)found("cuDeviceGet");
//     retain_fn retain = (retain_fn)found("cuDevicePrimaryCtxRetain");
//     if (!init || !get || !retain || init(0) || get(&device, 0) || retain(&context, device)) return 1;
//   }
//   set_fn set = (set_fn)found("cuCtxSetCurrent");
//   return !set || set(context) ? 2 : 0;
// }
// static uint64_t allocate(size_t bytes) {
//   uint64_t address = 0;
//   const int failed = enter();
//   allocate_fn f = (allocate_fn)found("cuMemAlloc_v2");
//   return failed || !f || f(&address, bytes) ? 0 : address;
// }
// static int release(uint64_t address) {
//   const int failed = enter();
//   free_fn f = (free_fn)found("cuMemFree_v2");
//   return failed || !f || f(address);
// }
// static int wait_for(void) {
//   wait_fn f = (wait_fn)found("cuStreamSynchronize");
//   return !f || f(NULL);
// }
// static int to_device(uint64_t to, const void* from, size_t bytes) {
//   const int failed = enter();
//   to_device_fn f = (to_device_fn)found("cuMemcpyHtoDAsync_v2");
//   return failed || !f || f(to, from, bytes, NULL) || wait_for();
// }
// static int to_host(void* to, uint64_t from, size_t bytes) {
//   const int failed = enter();
//   to_host_fn f = (to_host_fn)found("cuMemcpyDtoHAsync_v2");
//   return failed || !f || f(to, from, bytes, NULL) || wait_for();
// }
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Memory is some bytes of device 0's.
type Memory struct {
	Address uintptr
	bytes   int
}

// New copies bytes to the device. The copy waits for all work of the device's default stream, as [Memory.Read] does.
func New(data []byte) (Memory, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	address := C.allocate(C.size_t(len(data) + 256))
	if address == 0 {
		return Memory{}, fmt.Errorf("the driver gave no %d bytes of memory", len(data))
	}
	m := Memory{uintptr(address), len(data)}
	return m, m.Write(data)
}

// Write copies bytes to the memory.
func (m Memory) Write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if C.to_device(C.uint64_t(m.Address), unsafe.Pointer(&data[0]), C.size_t(len(data))) != 0 {
		return fmt.Errorf("the driver copied no %d bytes to the device", len(data))
	}
	return nil
}

// Read returns what the memory holds, once what the default stream does is done.
func (m Memory) Read() ([]byte, error) {
	data := make([]byte, m.bytes)
	if m.bytes == 0 {
		return data, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if C.to_host(unsafe.Pointer(&data[0]), C.uint64_t(m.Address), C.size_t(m.bytes)) != 0 {
		return nil, fmt.Errorf("the driver copied no %d bytes from the device", m.bytes)
	}
	return data, nil
}

// Free gives it back.
func (m Memory) Free() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.release(C.uint64_t(m.Address))
}
