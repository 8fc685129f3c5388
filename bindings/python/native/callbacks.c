/* SPDX-License-Identifier: Apache-2.0 */
#include "callbacks.h"

static _Thread_local struct {
  PyObject *type, *value, *traceback;
} pending;

int callbacks_restore_error(void) {
  if (!pending.type) return 0;
  PyErr_Restore(pending.type, pending.value, pending.traceback);
  pending.type = pending.value = pending.traceback = NULL;
  return 1;
}

/* Calls and drops the arguments, which may be NULL after a failure. Returns 1 if the caller is to stop: an exception, or True as the answer. */
static int32_t answer(void* callable, PyObject* arguments) {
  PyObject* reply = arguments ? PyObject_CallObject(callable, arguments) : NULL;
  const int stop = reply ? reply == Py_True : 1;
  if (!reply && !pending.type) PyErr_Fetch(&pending.type, &pending.value, &pending.traceback);
  else if (!reply) PyErr_Clear();
  Py_XDECREF(reply);
  Py_XDECREF(arguments);
  return stop;
}

void callbacks_log(void* user, ggemm_log_level level, const char* message) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* reply = PyObject_CallFunction(user, "is", (int)level, message);
  if (!reply) PyErr_WriteUnraisable(user);
  Py_XDECREF(reply);
  PyGILState_Release(gil);
}

int32_t callbacks_progress(void* user, size_t done, size_t total, const char* what) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  const int32_t stop = answer(user, Py_BuildValue("nns", (Py_ssize_t)done, (Py_ssize_t)total, what));
  PyGILState_Release(gil);
  return stop;
}

int32_t callbacks_tune(void* user, const ggemm_tune_row* row) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  const int32_t stop = answer(user, Py_BuildValue("nnsddz", (Py_ssize_t)row->index, (Py_ssize_t)row->total, row->config, row->microseconds, row->tflops,
                                                  row->rejected));
  PyGILState_Release(gil);
  return stop;
}

void callbacks_finding(void* user, const ggemm_finding* f) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  answer(user, Py_BuildValue("sOOss", f->component, f->found ? Py_True : Py_False, f->needed ? Py_True : Py_False, f->detail, f->advice));
  PyGILState_Release(gil);
}

void callbacks_cache(void* user, const ggemm_cache_entry* e) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  answer(user, Py_BuildValue("ssssKL", e->kind, e->name, e->path, e->nvrtc, (unsigned long long)e->bytes, (long long)e->last_used));
  PyGILState_Release(gil);
}

int32_t callbacks_allocate(void* user, size_t bytes, void* stream, void** out_pointer) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* reply = PyObject_CallFunction(PyTuple_GetItem(user, 0), "nN", (Py_ssize_t)bytes, PyLong_FromVoidPtr(stream));
  *out_pointer = reply ? PyLong_AsVoidPtr(reply) : NULL;
  if (PyErr_Occurred()) {
    PyErr_WriteUnraisable(user);
    *out_pointer = NULL;
  }
  Py_XDECREF(reply);
  PyGILState_Release(gil);
  return *out_pointer ? 0 : 1;
}

void callbacks_deallocate(void* user, void* pointer, size_t bytes, void* stream) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* reply = PyObject_CallFunction(PyTuple_GetItem(user, 1), "NnN", PyLong_FromVoidPtr(pointer), (Py_ssize_t)bytes, PyLong_FromVoidPtr(stream));
  if (!reply) PyErr_WriteUnraisable(user);
  Py_XDECREF(reply);
  PyGILState_Release(gil);
}
