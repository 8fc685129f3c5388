/* SPDX-License-Identifier: Apache-2.0
 *
 * From the library's callbacks to Python callables; `user` is the callable. An exception in one that the library calls from the calling thread ends the
 * call and is raised when it returns; one in a log function is reported as Python does for exceptions that nobody can catch. */
#ifndef GGEMM_PYTHON_CALLBACKS_H
#define GGEMM_PYTHON_CALLBACKS_H

#include <Python.h>

#include "ggemm.h"

/* Raises again what a callback of this thread left: 1 if there was something. */
int callbacks_restore_error(void);

void callbacks_log(void* user, ggemm_log_level level, const char* message);
int32_t callbacks_progress(void* user, size_t done, size_t total, const char* what);
int32_t callbacks_tune(void* user, const ggemm_tune_row* row);
void callbacks_finding(void* user, const ggemm_finding* finding);
void callbacks_cache(void* user, const ggemm_cache_entry* entry);
/* `user` is a pair (allocate, deallocate): allocate(bytes, stream) returns an address, deallocate(address, bytes, stream). */
int32_t callbacks_allocate(void* user, size_t bytes, void* stream, void** out_pointer);
void callbacks_deallocate(void* user, void* pointer, size_t bytes, void* stream);

#endif
