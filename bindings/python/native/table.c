/* SPDX-License-Identifier: Apache-2.0
 *
 * Products by how their arrays look: each array is read once a call, for the search and for the launch. */
#include <stdlib.h>
#include <string.h>

#include "runner.h"

static const char TABLE[] = "ggemm.table";
enum { MAX_SETTINGS = 16 };

typedef struct Table {
  PyObject *make, *zero;
  int count, limit;
} Table;

static Table* table_of(PyObject* capsule) { return PyCapsule_GetPointer(capsule, TABLE); }

/* ---------------------------------------------------------------------------------------------------------------- keys */
/* Everything of the arrays that a description depends on: type, dtype, device, shape, strides, flags. Returns the bytes written. */
static size_t write_arrays(const Reading* readings, int count, unsigned char* bytes) {
  size_t length = 0;
  for (int i = 0; i < count; ++i) {
    const void* type = readings[i].object ? (const void*)Py_TYPE(readings[i].object) : NULL;
    memcpy(bytes + length, &type, sizeof type);
    length += sizeof type;
    if (!type) continue;
    const Array* a = &readings[i].array;
    const size_t size = (size_t)(a->ndim < MAX_NDIM ? a->ndim : MAX_NDIM) * sizeof(int64_t);
    const int32_t head[4] = {a->dtype, a->device, a->ndim, a->flags};
    memcpy(bytes + length, head, sizeof head);
    memcpy(bytes + length + sizeof head, a->shape, size);
    memcpy(bytes + length + sizeof head + size, a->strides, size);
    length += sizeof head + 2 * size;
  }
  return length;
}

/* What an entry is kept under: bytes, in which a setting that is None, False, True or 0 is a byte; with others, a tuple of the bytes and those. */
static PyObject* key_of(const Table* table, const Reading* readings, PyObject* const* settings, int count) {
  unsigned char bytes[OPERANDS * (sizeof(void*) + sizeof(Array)) + MAX_SETTINGS];
  size_t length = write_arrays(readings, table->count, bytes);
  PyObject* others[MAX_SETTINGS];
  int other_count = 0;
  for (int i = 0; i < count; ++i) {
    PyObject* s = settings[i];
    const int usual = s == Py_None ? 1 : s == Py_False ? 2 : s == Py_True ? 3 : s == table->zero ? 4 : 0;
    if (!usual) others[other_count++] = s;
    bytes[length++] = (unsigned char)usual;
  }
  PyObject* text = PyBytes_FromStringAndSize((const char*)bytes, (Py_ssize_t)length);
  if (!text || !other_count) return text;
  PyObject* key = PyTuple_New(other_count + 1);
  if (!key) {
    Py_DECREF(text);
    return NULL;
  }
  PyTuple_SetItem(key, 0, text);
  for (int i = 0; i < other_count; ++i) {
    Py_INCREF(others[i]);
    PyTuple_SetItem(key, i + 1, others[i]);
  }
  return key;
}

/* ------------------------------------------------------------------------------------------------------------- entries */
static PyObject* tuple_of(PyObject* const* objects, int count) {
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; tuple && i < count; ++i) {
    Py_INCREF(objects[i]);
    PyTuple_SetItem(tuple, i, objects[i]);
  }
  return tuple;
}

/* The entry of these arrays and settings, made if there is none: a new reference; NULL with a Python error, or without one where a setting has no
 * hash. */
static PyObject* entry_of(const Table* table, PyObject* entries, const Reading* readings, PyObject* const* arrays, PyObject* const* settings, int count) {
  PyObject* key = key_of(table, readings, settings, count);
  if (!key) return NULL;
  PyObject* entry = PyDict_GetItemWithError(entries, key);
  Py_XINCREF(entry);
  if (!entry && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
  } else if (!entry) {
    PyObject* given = tuple_of(arrays, table->count);
    PyObject* others = tuple_of(settings, count);
    entry = given && others ? PyObject_CallFunctionObjArgs(table->make, given, others, NULL) : NULL;
    Py_XDECREF(given);
    Py_XDECREF(others);
    if (entry && PyDict_Size(entries) >= table->limit) PyDict_Clear(entries);
    if (entry && (!PyTuple_Check(entry) || PyDict_SetItem(entries, key, entry))) Py_CLEAR(entry);
  }
  Py_DECREF(key);
  return entry;
}

static PyObject* call(PyObject* capsule, PyObject* const* objects, Py_ssize_t count) {
  const Table* table = table_of(capsule);
  if (!table) return NULL;
  const Py_ssize_t settings = count - 1 - table->count - EXTRAS;
  if (settings < 0 || settings > MAX_SETTINGS) {
    PyErr_Format(PyExc_TypeError, "%zd arguments to a table of %d arrays", count, table->count);
    return NULL;
  }
  Reading readings[OPERANDS];
  PyObject* result = NULL;
  PyObject* const* arrays = objects + 1;
  if (runner_read(arrays, table->count, readings)) {
    PyObject* entry = entry_of(table, objects[0], readings, arrays, arrays + table->count + EXTRAS, (int)settings);
    const Runner* runner = entry ? runner_of(PyTuple_GetItem(entry, 0)) : NULL;
    if (runner) result = runner_run(runner, arrays, readings, arrays + table->count);
    Py_XDECREF(entry);
  }
  if (!result && !PyErr_Occurred()) Py_INCREF(result = Py_NotImplemented);
  runner_release(readings, table->count);
  return result;
}

static PyObject* find(PyObject* capsule, PyObject* const* objects, Py_ssize_t count) {
  const Table* table = table_of(capsule);
  if (!table) return NULL;
  PyObject *arrays[OPERANDS], *settings[MAX_SETTINGS], *result = NULL;
  const Py_ssize_t setting_count = count == 3 && PyTuple_Check(objects[2]) ? PyTuple_Size(objects[2]) : -1;
  if (setting_count < 0 || setting_count > MAX_SETTINGS || !PyTuple_Check(objects[1]) || PyTuple_Size(objects[1]) != table->count) {
    PyErr_SetString(PyExc_TypeError, "find takes the entries, and the arrays and the settings each as a tuple");
    return NULL;
  }
  for (int i = 0; i < table->count; ++i) arrays[i] = PyTuple_GetItem(objects[1], i);
  for (int i = 0; i < setting_count; ++i) settings[i] = PyTuple_GetItem(objects[2], i);
  Reading readings[OPERANDS];
  if (runner_read(arrays, table->count, readings)) {
    PyObject* entry = entry_of(table, objects[0], readings, arrays, settings, (int)setting_count);
    result = entry ? PyTuple_GetItem(entry, 1) : NULL;
    Py_XINCREF(result);
    Py_XDECREF(entry);
  }
  if (!result && !PyErr_Occurred()) Py_INCREF(result = Py_NotImplemented);
  runner_release(readings, table->count);
  return result;
}

static void table_free(PyObject* capsule) {
  Table* table = table_of(capsule);
  Py_XDECREF(table->make);
  Py_XDECREF(table->zero);
  free(table);
}

PyObject* calls_table(PyObject* make, int count, int limit) {
  static PyMethodDef functions[] = {{"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL},
                                    {"find", (PyCFunction)(void (*)(void))find, METH_FASTCALL, NULL}};
  Table* table = count > OUT && count <= OPERANDS ? calloc(1, sizeof *table) : NULL;
  if (!table) return PyErr_NoMemory();
  table->count = count, table->limit = limit;
  table->zero = PyLong_FromLong(0); /* there is one 0 only */
  Py_INCREF(table->make = make);
  PyObject* capsule = PyCapsule_New(table, TABLE, table_free);
  if (!capsule) return NULL;
  PyObject* result = Py_BuildValue("NN", PyCFunction_New(&functions[0], capsule), PyCFunction_New(&functions[1], capsule));
  Py_DECREF(capsule);
  return result;
}
