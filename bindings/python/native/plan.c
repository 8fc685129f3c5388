/* SPDX-License-Identifier: Apache-2.0
 *
 * What plans are derived from: calling one goes straight to its runner, where a method in Python would take as long to be called as all the rest. */
#include <string.h>

#include "runner.h"

typedef struct Plan {
  PyObject_HEAD
  PyObject* runner;
} Plan;

/* In the order of a runner's arrays, and of what follows them. */
static const char* const OPERAND_NAMES[OPERANDS] = {"a", "b", "c", "bias", "out", "scale_a", "scale_b", "row_weights", "status"};
static const char* const EXTRA_NAMES[WATCH] = {"alpha", "beta", "stream"};
static PyObject *operand_names[OPERANDS], *extra_names[WATCH], *long_way;

static int index_of(PyObject* name, PyObject* const* names, int count) {
  for (int i = 0; i < count; ++i)
    if (names[i] == name) return i; /* names in source are such objects */
  for (int i = 0; i < count; ++i)
    if (names[i] && PyUnicode_Compare(names[i], name) == 0) return i;
  return -1;
}

/* The arguments of a call into their places. 0, or -1 with a Python error. */
static int place(PyObject* args, PyObject* kwargs, int count, PyObject** objects) {
  const Py_ssize_t given = PyTuple_Size(args);
  for (int i = 0; i < count + EXTRAS; ++i) objects[i] = NULL;
  if (given > B + 1) {
    PyErr_Format(PyExc_TypeError, "a plan takes a and b, and all else by name: %zd arguments were given", given);
    return -1;
  }
  for (int i = 0; i < given; ++i) objects[i] = PyTuple_GetItem(args, i);
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (kwargs && PyDict_Next(kwargs, &position, &name, &value)) {
    int index = index_of(name, operand_names, count);
    if (index < 0 && (index = index_of(name, extra_names, WATCH)) >= 0) index += count;
    if (index < 0 || objects[index]) {
      PyErr_Format(PyExc_TypeError, index < 0 ? "a plan takes no argument %R" : "%R was given twice", name);
      return -1;
    }
    objects[index] = value;
  }
  if (!objects[A] || !objects[B]) {
    PyErr_Format(PyExc_TypeError, "%s is missing", objects[A] ? "b" : "a");
    return -1;
  }
  for (int i = 0; i < count + WATCH; ++i)
    if (!objects[i]) objects[i] = Py_None;
  objects[count + WATCH] = Py_True;
  return 0;
}

static PyObject* plan_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* capsule = ((Plan*)self)->runner;
  if (!capsule) {
    PyErr_SetString(PyExc_TypeError, "the plan was never made");
    return NULL;
  }
  PyObject* objects[OPERANDS + EXTRAS];
  const int count = runner_count(capsule);
  if (place(args, kwargs, count, objects)) return NULL;
  PyObject* result = runner_call(capsule, objects);
  if (result != Py_NotImplemented) return result;
  Py_DECREF(result);
  PyObject* arrays = PyTuple_New(count);
  for (int i = 0; arrays && i < count; ++i) {
    Py_INCREF(objects[i]);
    PyTuple_SetItem(arrays, i, objects[i]);
  }
  result = arrays ? PyObject_CallMethodObjArgs(self, long_way, arrays, objects[count + ALPHA], objects[count + BETA], objects[count + STREAM], Py_True, NULL) : NULL;
  Py_XDECREF(arrays);
  return result;
}

static PyObject* plan_bind(PyObject* self, PyObject* runner) {
  if (runner_count(runner) < 0) return NULL;
  PyObject* former = ((Plan*)self)->runner;
  Py_INCREF(((Plan*)self)->runner = runner);
  Py_XDECREF(former);
  Py_RETURN_NONE;
}

static void plan_free(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((Plan*)self)->runner);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* calls_plan_type(void) {
  static PyMethodDef methods[] = {{"_bind", plan_bind, METH_O, NULL}, {NULL, NULL, 0, NULL}};
  static PyType_Slot slots[] = {{Py_tp_call, (void*)plan_call}, {Py_tp_dealloc, (void*)plan_free}, {Py_tp_methods, methods}, {0, NULL}};
  static PyType_Spec spec = {"ggemm._native.Plan", sizeof(Plan), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  for (int i = 0; i < OPERANDS && OPERAND_NAMES[i]; ++i)
    if (!(operand_names[i] = PyUnicode_InternFromString(OPERAND_NAMES[i]))) return NULL;
  for (int i = 0; i < WATCH; ++i)
    if (!(extra_names[i] = PyUnicode_InternFromString(EXTRA_NAMES[i]))) return NULL;
  long_way = PyUnicode_InternFromString("_long_way");
  return long_way ? PyType_FromSpec(&spec) : NULL;
}
