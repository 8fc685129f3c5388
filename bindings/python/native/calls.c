/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "callbacks.h"
#include "runner.h"

static const char RUNNER[] = "ggemm.runner";

struct Runner {
  const ggemm_plan* plan;    /* or, without one: */
  ggemm_context* context;
  ggemm_grouped_desc desc;   /* whose numbers of groups lie elsewhere in each call */
  int grouped, swapped, device_scalars, count;
  ggemm_dtype value_dtype;
  PyObject* empty; /* NULL: out must be given */
  int has[OPERANDS];
  Array expected[OPERANDS];
};

static PyObject *error_factory, *stream_address;

void calls_setup(PyObject* factory, PyObject* address) {
  Py_INCREF(error_factory = factory);
  Py_INCREF(stream_address = address);
}

PyObject* calls_raise(ggemm_status status) {
  if (callbacks_restore_error()) return NULL;
  PyObject* error = PyObject_CallFunction(error_factory, "is", (int)status, ggemm_last_error());
  if (error) PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  Py_XDECREF(error);
  return NULL;
}

/* -------------------------------------------------------------------------------------------------------------- making one */
Runner* runner_of(PyObject* capsule) { return PyCapsule_GetPointer(capsule, RUNNER); }

static void runner_free(PyObject* capsule) {
  Runner* runner = runner_of(capsule);
  Py_XDECREF(runner->empty);
  free(runner);
}

static PyObject* make_runner(Runner made, PyObject* arrays, PyObject* empty) {
  const Py_ssize_t count = PyTuple_Size(arrays);
  if (count <= OUT || count > OPERANDS) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a runner takes the arrays of a call in their order");
    return NULL;
  }
  made.count = (int)count;
  for (int i = 0; i < made.count; ++i) {
    PyObject* object = PyTuple_GetItem(arrays, i);
    if (object == Py_None) continue;
    Reading reading;
    const int failed = arrays_read(object, &reading);
    made.has[i] = 1;
    made.expected[i] = reading.array;
    arrays_release(&reading);
    if (failed) return NULL;
  }
  Runner* runner = malloc(sizeof *runner);
  if (!runner) return PyErr_NoMemory();
  *runner = made;
  PyObject* capsule = PyCapsule_New(runner, RUNNER, runner_free);
  if (!capsule) {
    free(runner);
    return NULL;
  }
  if (empty != Py_None) Py_INCREF(runner->empty = empty);
  return capsule;
}

PyObject* calls_runner(const ggemm_plan* plan, PyObject* arrays, int grouped, ggemm_dtype value_dtype, PyObject* empty, int swapped,
                       int device_scalars) {
  Runner made;
  memset(&made, 0, sizeof made);
  made.plan = plan, made.grouped = grouped, made.value_dtype = value_dtype, made.swapped = swapped, made.device_scalars = device_scalars;
  return make_runner(made, arrays, empty);
}

PyObject* calls_group_runner(ggemm_context* context, const ggemm_grouped_desc* desc, PyObject* arrays, ggemm_dtype value_dtype, PyObject* empty, int swapped) {
  Runner made;
  memset(&made, 0, sizeof made);
  made.context = context, made.desc = *desc, made.grouped = 1, made.value_dtype = value_dtype, made.swapped = swapped;
  return make_runner(made, arrays, empty);
}

/* --------------------------------------------------------------------------------------------------------------- the arrays */
int runner_read(PyObject* const* objects, int count, Reading* readings) {
  for (int i = 0; i < count; ++i) readings[i].owner = NULL; /* so that all can be released, whatever comes of reading them */
  for (int i = 0; i < count; ++i) {
    if (objects[i] == Py_None) readings[i].object = NULL;
    else if (!arrays_try(objects[i], &readings[i])) return 0;
  }
  return 1;
}

void runner_release(Reading* readings, int count) {
  for (int i = 0; i < count; ++i) arrays_release(&readings[i]);
}

static int alike(const Array* a, const Array* b) {
  if (a->dtype != b->dtype || a->device != b->device || a->ndim != b->ndim) return 0;
  for (int i = 0; i < a->ndim && i < MAX_NDIM; ++i)
    if (a->shape[i] != b->shape[i] || a->strides[i] != b->strides[i]) return 0;
  return 1;
}

/* What is made for a call may be missing from it. */
static int all_alike(const Runner* runner, const Reading* readings) {
  for (int i = 0; i < runner->count; ++i) {
    const int given = readings[i].object != NULL;
    if (!given && (i == OUT || i == STATUS)) continue;
    if (given != runner->has[i] || (given && !alike(&readings[i].array, &runner->expected[i]))) return 0;
  }
  return 1;
}

/* 1 if nothing is against writing and reading them, 0 if something is; -1 with a Python error. */
static int usable(const Reading* readings, int count, int watch) {
  int flags = 0;
  for (int i = 0; i < count; ++i) {
    if (!readings[i].object) continue;
    const int found = readings[i].array.flags;
    flags |= i == OUT || i == STATUS ? found : found & ~FLAG_READ_ONLY;
  }
  if (!flags) return 1;
  if (flags & ~FLAG_NEEDS_GRAD) return 0;
  if (!watch) return 1;
  const int recorded = arrays_grad_enabled();
  return recorded < 0 ? -1 : !recorded;
}

/* ------------------------------------------------------------------------------------------------------------------- the run */
typedef union Scalar {
  double f64;
  float f32;
  int32_t i32;
} Scalar;

static void store(Scalar* scalar, ggemm_dtype dtype, double value) {
  if (dtype == GGEMM_F64) scalar->f64 = value;
  else if (dtype == GGEMM_I32) scalar->i32 = (int32_t)value;
  else scalar->f32 = (float)value;
}

/* 1, and `out` points to the number in the dtype that the library wants (NULL for None); 0 if it is none of that dtype. */
static int scalar(PyObject* object, ggemm_dtype dtype, Scalar* storage, const void** out) {
  *out = NULL;
  if (object == Py_None) return 1;
  if (!PyFloat_CheckExact(object) && !PyLong_CheckExact(object)) return 0;
  *out = storage;
  const double value = PyFloat_AsDouble(object);
  if (PyErr_Occurred()) { /* an integer beyond f64 */
    PyErr_Clear();
    return 0;
  }
  if (dtype == GGEMM_I32 && !(value >= INT32_MIN && value <= INT32_MAX && value == (double)(int32_t)value)) return 0;
  store(storage, dtype, value);
  return 1;
}

/* The stream of the call; 0, or -1 with a Python error. */
static int find_stream(PyObject* given, const Reading* readings, int count, void** out) {
  *out = NULL;
  if (given != Py_None) {
    if (PyLong_Check(given)) {
      *out = (void*)(uintptr_t)PyLong_AsUnsignedLongLong(given);
      if (!PyErr_Occurred()) return 0;
      PyErr_Clear(); /* what is wrong with it is said below */
    }
    PyObject* address = PyObject_CallFunctionObjArgs(stream_address, given, NULL);
    if (address) *out = PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    return PyErr_Occurred() ? -1 : 0;
  }
  for (int i = 0; i < count; ++i) {
    if (!readings[i].object || readings[i].array.device == HOST) continue;
    const int found = arrays_stream(&readings[i], out);
    if (found) return found < 0 ? -1 : 0;
  }
  return 0;
}

static ggemm_status launch(const Runner* runner, void* const* data, const void* alpha, const void* beta, void* stream) {
  const int a = runner->swapped ? B : A, b = runner->swapped ? A : B;
  const int scale_a = runner->swapped ? SCALE_B : SCALE_A, scale_b = runner->swapped ? SCALE_A : SCALE_B;
  if (!runner->grouped) {
    ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
    args.a = data[a], args.b = data[b], args.c = data[C], args.bias = data[BIAS], args.d = data[OUT], args.alpha = alpha, args.beta = beta;
    args.scale_a = data[scale_a], args.scale_b = data[scale_b];
    return ggemm_plan_run(runner->plan, &args, stream);
  }
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = data[a], args.b = data[b], args.c = data[C], args.bias = data[BIAS], args.d = data[OUT], args.alpha = alpha, args.beta = beta;
  args.scale_a = data[scale_a], args.scale_b = data[scale_b], args.row_weights = data[ROW_WEIGHTS], args.status = data[STATUS];
  if (runner->plan) return ggemm_plan_run_grouped(runner->plan, &args, stream);
  ggemm_grouped_desc desc = runner->desc;
  if (runner->has[ENDS]) desc.ends.data = data[ENDS];
  if (runner->has[COUNTS]) desc.counts.data = data[COUNTS];
  if (runner->has[A_INDEX]) desc.a_index.data = data[A_INDEX];
  if (runner->has[D_INDEX]) desc.d_index.data = data[D_INDEX];
  return ggemm_grouped_gemm(runner->context, &desc, &args, stream);
}

PyObject* runner_run(const Runner* runner, PyObject* const* objects, Reading* readings, PyObject* const* extras) {
  Scalar storage[2];
  const void *alpha = NULL, *beta = NULL;
  const int numbers = !runner->device_scalars && scalar(extras[ALPHA], runner->value_dtype, &storage[0], &alpha) &&
                      scalar(extras[BETA], runner->value_dtype, &storage[1], &beta);
  const int fits = numbers ? usable(readings, runner->count, extras[WATCH] == Py_True) : 0;
  if (fits < 0) return NULL;
  const int checked = runner->has[STATUS], on_host = runner->expected[OUT].device == HOST;
  if (!fits || (!readings[OUT].object && !runner->empty) || (checked && !readings[STATUS].object && !on_host)) Py_RETURN_NOTIMPLEMENTED;
  void* stream;
  if (find_stream(extras[STREAM], readings, runner->count, &stream)) return NULL;
  if (!beta && runner->has[C]) {
    store(&storage[1], runner->value_dtype, 1);
    beta = &storage[1];
  }
  PyObject* out = objects[OUT];
  if (readings[OUT].object) {
    Py_INCREF(out);
  } else {
    out = PyObject_CallNoArgs(runner->empty);
    if (!out || arrays_read(out, &readings[OUT])) {
      Py_XDECREF(out);
      return NULL;
    }
  }
  int32_t found[4]; /* on the CPU the library says itself what it finds */
  void* data[OPERANDS] = {NULL};
  for (int i = 0; i < runner->count; ++i)
    if (readings[i].object) data[i] = readings[i].array.data;
  if (checked && !data[STATUS]) data[STATUS] = found;
  PyThreadState* thread = PyEval_SaveThread();
  const ggemm_status status = launch(runner, data, alpha, beta, stream);
  PyEval_RestoreThread(thread);
  if (status == GGEMM_OK) return out;
  Py_DECREF(out);
  return calls_raise(status);
}

int runner_count(PyObject* capsule) {
  const Runner* runner = runner_of(capsule);
  return runner ? runner->count : -1;
}

PyObject* runner_call(PyObject* capsule, PyObject* const* objects) {
  const Runner* runner = runner_of(capsule);
  if (!runner) return NULL;
  Reading readings[OPERANDS];
  PyObject* result;
  if (runner_read(objects, runner->count, readings) && all_alike(runner, readings)) {
    result = runner_run(runner, objects, readings, objects + runner->count);
  } else {
    Py_INCREF(result = Py_NotImplemented);
  }
  runner_release(readings, runner->count);
  return result;
}

static PyObject* run(PyObject* capsule, PyObject* const* objects, Py_ssize_t count) {
  const int arrays = runner_count(capsule);
  if (count == arrays + EXTRAS) return runner_call(capsule, objects);
  if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%zd arguments, and the runner takes %d", count, arrays + EXTRAS);
  return NULL;
}

PyObject* calls_bind(PyObject* runner) {
  static PyMethodDef definition = {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, NULL};
  return runner_of(runner) ? PyCFunction_New(&definition, runner) : NULL;
}

PyObject* calls_stream(PyObject* arrays) {
  const Py_ssize_t count = PyTuple_Size(arrays);
  void* stream = NULL;
  int found = 0;
  for (Py_ssize_t i = 0; i < count && !found; ++i) {
    PyObject* object = PyTuple_GetItem(arrays, i);
    if (object == Py_None) continue;
    Reading reading;
    found = arrays_read(object, &reading) ? -1 : reading.array.device == HOST ? 0 : arrays_stream(&reading, &stream);
    arrays_release(&reading);
  }
  return found < 0 || PyErr_Occurred() ? NULL : PyLong_FromVoidPtr(stream);
}
