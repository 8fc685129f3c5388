/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "callbacks.h"

/* The operands of a call, in this order; a plain one has those up to SCALE_B, a grouped plan those up to STATUS. */
enum { A, B, C, BIAS, OUT, SCALE_A, SCALE_B, ROW_WEIGHTS, STATUS, ENDS, COUNTS, A_INDEX, D_INDEX, OPERANDS };
static const char RUNNER[] = "ggemm.runner";

typedef struct Runner {
  const ggemm_plan* plan;    /* or, without one: */
  ggemm_context* context;
  ggemm_grouped_desc desc;   /* whose numbers of groups lie elsewhere in each call */
  int grouped, count;
  ggemm_dtype value_dtype;
  int has[OPERANDS];
  Array expected[OPERANDS];
} Runner;

static PyObject* error_factory;

void calls_setup(PyObject* factory) { Py_INCREF(error_factory = factory); }

PyObject* calls_raise(ggemm_status status) {
  if (callbacks_restore_error()) return NULL;
  PyObject* error = PyObject_CallFunction(error_factory, "is", (int)status, ggemm_last_error());
  if (error) PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  Py_XDECREF(error);
  return NULL;
}

PyObject* calls_signature(PyObject* arrays) {
  unsigned char bytes[OPERANDS * (sizeof(void*) + sizeof(Array))];
  size_t length = 0;
  const Py_ssize_t count = PyTuple_Size(arrays);
  if (count < 0 || count > OPERANDS) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "too many arrays");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* object = PyTuple_GetItem(arrays, i);
    const void* type = object == Py_None ? NULL : (const void*)Py_TYPE(object);
    memcpy(bytes + length, &type, sizeof type);
    length += sizeof type;
    if (!type) continue;
    Reading reading;
    if (arrays_read(object, &reading)) {
      arrays_release(&reading);
      return NULL;
    }
    const Array* a = &reading.array;
    const size_t dimensions = (size_t)(a->ndim < MAX_NDIM ? a->ndim : MAX_NDIM);
    const int32_t head[4] = {a->dtype, a->device, a->ndim, a->flags};
    memcpy(bytes + length, head, sizeof head);
    memcpy(bytes + length + sizeof head, a->shape, dimensions * sizeof(int64_t));
    memcpy(bytes + length + sizeof head + dimensions * sizeof(int64_t), a->strides, dimensions * sizeof(int64_t));
    length += sizeof head + 2 * dimensions * sizeof(int64_t);
    arrays_release(&reading);
  }
  return PyBytes_FromStringAndSize((const char*)bytes, (Py_ssize_t)length);
}

static void runner_free(PyObject* capsule) { free(PyCapsule_GetPointer(capsule, RUNNER)); }

static PyObject* make_runner(const Runner* made, PyObject* arrays) {
  const Py_ssize_t count = PyTuple_Size(arrays);
  if (count <= OUT || count > OPERANDS) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a runner takes the arrays of a call in their order");
    return NULL;
  }
  Runner* runner = malloc(sizeof *runner);
  if (!runner) return PyErr_NoMemory();
  *runner = *made;
  runner->count = (int)count;
  for (int i = 0; i < runner->count; ++i) {
    PyObject* object = PyTuple_GetItem(arrays, i);
    if (object == Py_None) continue;
    Reading reading;
    const int failed = arrays_read(object, &reading);
    runner->has[i] = 1;
    runner->expected[i] = reading.array;
    arrays_release(&reading);
    if (failed) {
      free(runner);
      return NULL;
    }
  }
  PyObject* capsule = PyCapsule_New(runner, RUNNER, runner_free);
  if (!capsule) free(runner);
  return capsule;
}

PyObject* calls_runner(const ggemm_plan* plan, PyObject* arrays, int grouped, ggemm_dtype value_dtype) {
  Runner made;
  memset(&made, 0, sizeof made);
  made.plan = plan, made.grouped = grouped, made.value_dtype = value_dtype;
  return make_runner(&made, arrays);
}

PyObject* calls_group_runner(ggemm_context* context, const ggemm_grouped_desc* desc, PyObject* arrays, ggemm_dtype value_dtype) {
  Runner made;
  memset(&made, 0, sizeof made);
  made.context = context, made.desc = *desc, made.grouped = 1, made.value_dtype = value_dtype;
  return make_runner(&made, arrays);
}

static int alike(const Array* a, const Array* b) {
  if (a->dtype != b->dtype || a->device != b->device || a->ndim != b->ndim) return 0;
  for (int i = 0; i < a->ndim && i < MAX_NDIM; ++i)
    if (a->shape[i] != b->shape[i] || a->strides[i] != b->strides[i]) return 0;
  return 1;
}

typedef union Scalar {
  double f64;
  float f32;
  int32_t i32;
} Scalar;

/* `out` points to the number in the dtype that the library wants; NULL for None. */
static int scalar(PyObject* object, ggemm_dtype dtype, Scalar* storage, const void** out) {
  *out = NULL;
  if (object == Py_None) return 0;
  *out = storage;
  if (dtype == GGEMM_I32) {
    const long long value = PyLong_Check(object) ? PyLong_AsLongLong(object) : (long long)PyFloat_AsDouble(object);
    storage->i32 = (int32_t)value;
    if (!PyErr_Occurred() && (value != storage->i32 || (!PyLong_Check(object) && PyFloat_AsDouble(object) != (double)value)))
      PyErr_Format(PyExc_ValueError, "i8 products stored as i32 take alpha and beta of 32-bit integers, not %R", object);
  } else {
    const double value = PyFloat_AsDouble(object);
    if (dtype == GGEMM_F64) storage->f64 = value;
    else storage->f32 = (float)value;
  }
  return PyErr_Occurred() ? -1 : 0;
}

/* The stream of the call; 0, or -1 with a Python error. */
static int find_stream(PyObject* given, const Reading* readings, int count, void** out) {
  *out = NULL;
  if (given != Py_None) {
    *out = PyLong_AsVoidPtr(given);
    return PyErr_Occurred() ? -1 : 0;
  }
  for (int i = 0; i < count; ++i) {
    if (!readings[i].object || readings[i].array.device == HOST) continue;
    const int found = arrays_stream(&readings[i], out);
    if (found) return found < 0 ? -1 : 0;
  }
  return 0;
}

static ggemm_status launch(const Runner* runner, const Reading* readings, const void* alpha, const void* beta, void* stream) {
  void* data[OPERANDS];
  for (int i = 0; i < OPERANDS; ++i) data[i] = i < runner->count ? readings[i].array.data : NULL;
  ggemm_status status;
  PyThreadState* thread = PyEval_SaveThread();
  if (runner->grouped) {
    ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
    args.a = data[A], args.b = data[B], args.c = data[C], args.bias = data[BIAS], args.d = data[OUT], args.alpha = alpha, args.beta = beta;
    args.scale_a = data[SCALE_A], args.scale_b = data[SCALE_B], args.row_weights = data[ROW_WEIGHTS], args.status = data[STATUS];
    if (runner->plan) {
      status = ggemm_plan_run_grouped(runner->plan, &args, stream);
    } else {
      ggemm_grouped_desc desc = runner->desc;
      if (runner->has[ENDS]) desc.ends.data = data[ENDS];
      if (runner->has[COUNTS]) desc.counts.data = data[COUNTS];
      if (runner->has[A_INDEX]) desc.a_index.data = data[A_INDEX];
      if (runner->has[D_INDEX]) desc.d_index.data = data[D_INDEX];
      status = ggemm_grouped_gemm(runner->context, &desc, &args, stream);
    }
  } else {
    ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
    args.a = data[A], args.b = data[B], args.c = data[C], args.bias = data[BIAS], args.d = data[OUT], args.alpha = alpha, args.beta = beta;
    args.scale_a = data[SCALE_A], args.scale_b = data[SCALE_B];
    status = ggemm_plan_run(runner->plan, &args, stream);
  }
  PyEval_RestoreThread(thread);
  return status;
}

PyObject* calls_run(PyObject* capsule, PyObject* arrays, PyObject* alpha, PyObject* beta, PyObject* stream_object, int watch_grad) {
  const Runner* runner = PyCapsule_GetPointer(capsule, RUNNER);
  if (!runner) return NULL;
  if (PyTuple_Size(arrays) != runner->count) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "not as many arrays as the runner was made for");
    return NULL;
  }
  const int refused_in = watch_grad ? ~FLAG_READ_ONLY : ~(FLAG_READ_ONLY | FLAG_NEEDS_GRAD);
  Reading readings[OPERANDS];
  memset(readings, 0, (size_t)runner->count * sizeof *readings);
  PyObject* result = NULL;
  int fits = 1;
  for (int i = 0; i < runner->count && fits; ++i) {
    PyObject* object = PyTuple_GetItem(arrays, i);
    const int given = object != Py_None;
    if (given && arrays_read(object, &readings[i])) goto done;
    const Array* array = &readings[i].array;
    if (given != runner->has[i] || (given && !alike(array, &runner->expected[i]))) fits = 0;
    if (array->flags & (i == OUT || i == STATUS ? ~0 : refused_in)) fits = 0;
  }
  if (fits) {
    Scalar storage[2];
    const void *alpha_at, *beta_at;
    void* stream;
    if (scalar(alpha, runner->value_dtype, &storage[0], &alpha_at) || scalar(beta, runner->value_dtype, &storage[1], &beta_at) ||
        find_stream(stream_object, readings, runner->count, &stream))
      goto done;
    const ggemm_status status = launch(runner, readings, alpha_at, beta_at, stream);
    if (status != GGEMM_OK) {
      calls_raise(status);
      goto done;
    }
  }
  result = PyBool_FromLong(fits);
done:
  for (int i = 0; i < runner->count; ++i) arrays_release(&readings[i]);
  return result;
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
