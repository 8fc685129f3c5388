/* SPDX-License-Identifier: Apache-2.0
 *
 * The control interface of the fake NVRTC: a libnvrtc.so.13 that compiles nothing, for tests of everything around it. Its "cubins" are what the fake
 * driver takes for one, with the kernel that the options name. It counts its calls and makes them fail, as fake_driver.h tells of the driver's.
 *
 * Environment, read when the library is loaded and meant for programs that cannot call this interface:
 *   GGEMM_FAKE_NVRTC_VERSION  such as "12.4"; 13.0 if unset
 *   GGEMM_FAKE_NVRTC_FAIL     rules "function:nth:result:count", separated by commas; "*" stands for any function
 */
#ifndef GGEMM_TESTS_FAKE_NVRTC_H
#define GGEMM_TESTS_FAKE_NVRTC_H

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_NVRTC_API __attribute__((visibility("default")))

/** From now on, calls number nth .. nth + count - 1 (the next one is 1) of `function` (NULL: of any but nvrtcGetErrorString and nvrtcDestroyProgram, which
 *  fail only when named) return `result`. count < 0: all from the nth on. */
FAKE_NVRTC_API void fake_nvrtc_fail(const char* function, long nth, int result, long count);
/** Ends all rules; answers how many calls they failed. */
FAKE_NVRTC_API long fake_nvrtc_clear_failures(void);
/** From now on, compiles of kernels whose name holds this text wait within nvrtcCompileProgram, until NULL is given instead of a text. */
FAKE_NVRTC_API void fake_nvrtc_hold(const char* part);
/** From now on, what is compiled of kernels whose name holds this text comes with ptxas's word that it runs wgmma one after the other, until NULL is given instead of a text. */
FAKE_NVRTC_API void fake_nvrtc_complain(const char* part);
/** Compiles that wait. */
FAKE_NVRTC_API long fake_nvrtc_held(void);
/** Calls that may be made to fail by no name, since the library was loaded. */
FAKE_NVRTC_API long fake_nvrtc_calls(void);
/** Programs that were made and not destroyed. */
FAKE_NVRTC_API long fake_nvrtc_live(void);
/** 1 while the calling thread is in a call of NVRTC. */
FAKE_NVRTC_API int fake_nvrtc_inside(void);

#ifdef __cplusplus
}
#endif

#endif
