// SPDX-License-Identifier: Apache-2.0
// EMULATOR_WIDE: before a function whose loop gains by the vectors of the CPU that runs it.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EMULATOR_SANITIZED  // whose libraries are not there yet when a clone is chosen
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EMULATOR_SANITIZED
#endif
#endif

#if defined(__x86_64__) && !defined(EMULATOR_SANITIZED)
#define EMULATOR_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EMULATOR_WIDE
#endif
