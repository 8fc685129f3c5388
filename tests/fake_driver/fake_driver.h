/* SPDX-License-Identifier: Apache-2.0
 *
 * The control interface of the fake CUDA driver: a libcuda.so.1 without a GPU, for tests of everything around the kernels.
 *
 * How a test uses it
 *   setenv("GGEMM_LIBCUDA", GGEMM_FAKE_DRIVER, 1) before the first context, then dlopen(GGEMM_FAKE_DRIVER) and dlsym the functions below.
 *   tests/fake_driver/fake.hpp does both, and wraps them for C++.
 *
 * What is faked
 *  - "Device memory" is host memory: a device address is a host pointer, which tests fill and read directly. New memory is filled with 0xCD.
 *  - Each stream is a thread that works in order; the legacy default stream (NULL) waits for all blocking streams and they for it. What reads results
 *    must therefore wait as with a real driver. As there, cuMemFree waits for the device (but not for memory of cuMemAllocAsync), and copies of ordinary
 *    memory have read it, or are complete, on return.
 *  - Kernels that the emulated NVRTC compiled (tests/emulator) run, on the stream's thread. A misuse that the emulator finds goes to stderr, and is what every
 *    later call returns, as after a kernel's failure.
 *  - Other kernels do nothing unless the test answers them (fake_set_answer). Each launch is recorded with a copy of its parameters (fake_set_parameter_sizes).
 *  - Events tell what a stream's work claims to have taken, however busy this machine is: answered launches, copies on the device, and what
 *    fake_delay_work adds; what emulated kernels took. All else takes no time. Events of two streams have none between them, unlike real ones.
 *  - Handles are numbers that are never reused, so that a dead one is always noticed. Contexts own their objects: an object used while another context
 *    is current is CUDA_ERROR_INVALID_CONTEXT or CUDA_ERROR_INVALID_HANDLE, more strictly than in real drivers.
 *  - A module must be an ELF file of this device's architecture (e_flags; 0 fits all) whose bytes contain the kernel's name between two NULs.
 *  - Stream capture in its three modes with their rules of what other threads may not do; graphs of launches, copies, fills and event records.
 *  - cuMemAllocAsync and cuMemFreeAsync on a capturing stream are refused: real drivers make graph nodes of them, but ggemm promises to allocate nothing.
 *  - In a child forked after cuInit every call is CUDA_ERROR_NOT_INITIALIZED, as it is with a real driver.
 *
 * Function names in this interface are those that cuGetProcAddress takes: "cuMemAlloc", not "cuMemAlloc_v2".
 * A function that releases something (free, destroy, unload, release, pop, leaving the relaxed capture mode) does its work even when it is made to fail, as
 * real ones do when they report an earlier failure. Every other function that fails changes nothing.
 *
 * Environment, read when the library is loaded and meant for programs that cannot call this interface (the command line, bindings):
 *   GGEMM_FAKE_DEVICES  compute capabilities such as "90" or "80,120"; "none": no device
 *   GGEMM_FAKE_FAIL     rules "function:nth:result:count", separated by commas; "*" stands for any function
 *   GGEMM_FAKE_HIDE     functions that cuGetProcAddress does not find, separated by commas
 *   GGEMM_FAKE_MULTIPROCESSORS  how many each device has, whatever its product has
 *   GGEMM_EMULATOR_SEED         what the seeds of emulated launches are drawn from, in the order of submission (0)
 *   GGEMM_EMULATOR_LAUNCH_SEED  every launch's seed, as the message of a failed one says
 *   GGEMM_EMULATOR_LOG          if set, every launch is told on stderr, with its seed
 */
#ifndef GGEMM_TESTS_FAKE_DRIVER_H
#define GGEMM_TESTS_FAKE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_API __attribute__((visibility("default")))

/* ------------------------------------------------------------------------------------------------------- the machine */

/** Waits for all work, destroys every object, forgets rules, counts, launches and callbacks, and goes back to one H200 (or to GGEMM_FAKE_*).
 *  Handles from before are dead. cuInit need not be called again. Call it when no other thread is inside the driver. */
FAKE_API void fake_reset(void);
/** The devices by compute capability: 75, 80, 86, 89, 90, 100 or 120, each with the attributes of a product of that architecture. 0 if one is unknown. */
FAKE_API int fake_set_devices(const int* capabilities, int count);
/** Changes one CU_DEVICE_ATTRIBUTE of a device. */
FAKE_API void fake_set_attribute(int ordinal, int attribute, int value);
/** What cuDriverGetVersion says; 13000 to begin with. Functions newer than it are not found. */
FAKE_API void fake_set_driver_version(int version);
/** Allocations of a device beyond this many bytes in all are CUDA_ERROR_OUT_OF_MEMORY. */
FAKE_API void fake_set_memory_limit(int ordinal, size_t bytes);
/** What every kernel is said to need: 64 registers and nothing else to begin with. */
FAKE_API void fake_set_kernel_resources(int registers, int static_shared_bytes, int local_bytes);
/** Kernels whose name holds this text are said to keep so many bytes a thread in local memory, whatever the others do. Rules add up; the first that fits
 *  counts. */
FAKE_API void fake_set_spill(const char* part, int local_bytes);
/** Memory of the test's own that is to count as device memory in copies and fills (operands, a test's allocator). */
FAKE_API void fake_add_memory(void* data, size_t bytes);
FAKE_API void fake_remove_memory(void* data);

/* ------------------------------------------------------------------------------------------------ failures and delays */

/** From now on, calls number nth .. nth + count - 1 (the next one is 1) of `function` return `result`. count < 0: all from the nth on.
 *  function NULL: of any function, but for cuGetErrorName and cuGetErrorString, which fail only when named. Rules add up; the first that fits counts.
 *
 *  The failure of every call in turn: run the scenario once after fake_reset and take fake_calls(NULL), then for each nth up to it fake_reset,
 *  fake_fail(NULL, nth, ...), run, and see that fake_clear_failures says 1. Load the driver before the first run, whose calls would be counted in. */
FAKE_API void fake_fail(const char* function, long nth, int result, long count);
/** Ends all rules of fake_fail; answers how many calls they failed. */
FAKE_API long fake_clear_failures(void);
/** Makes cuGetProcAddress not find a function. Works only before the library under test has loaded the driver. */
FAKE_API void fake_hide(const char* function);
/** Every call of `function` takes this long at least. */
FAKE_API void fake_delay(const char* function, long microseconds);
/** Every piece of work on a stream takes this long at least. */
FAKE_API void fake_delay_work(long microseconds);

/* ------------------------------------------------------------------------------------------------------ what happened */

/** Calls of `function` since the last reset; NULL: of any (but cuGetErrorName and cuGetErrorString). */
FAKE_API long fake_calls(const char* function);
/** The name of call number `index` since the last reset, from 0, as counted by fake_calls(NULL); NULL beyond the last. */
FAKE_API const char* fake_call_name(long index);
/** Objects that were made and not given back. kind: "context" (made, or a primary one's retain), "module", "stream", "event", "allocation", "graph";
 *  NULL: any. Objects that went down with their context still count. Memory freed in a stream's order is live until its turn: fake_wait first. */
FAKE_API long fake_live(const char* kind);
/** The same as text, a line an object; "" if there are none. Valid until this thread's next call of it. */
FAKE_API const char* fake_live_text(void);
/** Contexts on the calling thread's stack. */
FAKE_API int fake_context_depth(void);
/** The calling thread's capture mode, which each call should leave as it was: 0 global (the default), 1 thread-local, 2 relaxed. */
FAKE_API int fake_capture_mode(void);
/** 1 while the calling thread is in a call of the driver, or is a stream: what it then takes from the heap is the fake's. */
FAKE_API int fake_inside(void);
/** Waits for all work on all streams; not counted as a call. */
FAKE_API void fake_wait(void);

/** A call that allocates, frees, synchronises, or loads or unloads a module at a wrong time. */
typedef struct fake_capture_call {
  const char* function;
  int32_t refused;    /**< 1: against the driver's rules; it failed with CUDA_ERROR_STREAM_CAPTURE_* and invalidated the capture */
  int32_t own_thread; /**< 1: the calling thread had begun the capture; where refused is 0 the driver allows the call, but ggemm promises not to make it */
} fake_capture_call;
/** How many there were since the last reset. A test of the capture promise asserts 0. */
FAKE_API long fake_capture_calls(void);
/** Number `index` from 0; returns 0 beyond the last. */
FAKE_API int fake_capture_call_get(long index, fake_capture_call* out);

/* ----------------------------------------------------------------------------------------------------------- launches */

#define FAKE_MAX_PARAMETERS 8

typedef struct fake_launch {
  const char* kernel;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes; /**< dynamic */
  int32_t captured;      /**< 1: it went into a graph and was not run */
  int32_t replayed;      /**< 1: it was run by a graph's launch */
  int32_t overlaps;      /**< 1: by its attributes it may begin before the launch ahead has ended */
  int32_t cluster;       /**< CTAs of a cluster that its attributes ask for; 0: they ask for none */
  int32_t parameter_count;
  void* stream;
  void* context;
  const void* parameters[FAKE_MAX_PARAMETERS]; /**< copies; aligned for any type */
  size_t parameter_bytes[FAKE_MAX_PARAMETERS];
} fake_launch;

/** Says how large a kernel's parameters are, which a real driver knows from the binary: writes their sizes and returns how many there are (up to
 *  FAKE_MAX_PARAMETERS). Called within cuLaunchKernelEx with the fake's lock held: it must call nothing of the driver. Without it launches are recorded
 *  without parameters. */
typedef int (*fake_parameter_sizes_fn)(void* user, const char* kernel, size_t* sizes);
FAKE_API void fake_set_parameter_sizes(fake_parameter_sizes_fn function, void* user);
/** Does what the kernel would do, on the stream's thread when its turn comes. Returns the milliseconds that it is to have taken by the stream's events;
 *  no one waits for them. */
typedef double (*fake_answer_fn)(void* user, const fake_launch* launch);
FAKE_API void fake_set_answer(fake_answer_fn function, void* user);

/** What an emulated kernel failed with since the last reset; "" if none did. Valid until the next reset. */
FAKE_API const char* fake_emulator_failure(void);
/** As GGEMM_EMULATOR_SEED; launches are counted anew. */
FAKE_API void fake_set_emulator_seed(uint64_t seed);

/** Launches since the last reset, in the order of submission: direct ones, captured ones, and one more for each replay. */
FAKE_API long fake_launches(void);
/** Number `index` from 0; returns 0 beyond the last. What `out` points to is valid until the next reset. */
FAKE_API int fake_launch_get(long index, fake_launch* out);

#ifdef __cplusplus
}
#endif

#endif
