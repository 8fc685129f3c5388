// SPDX-License-Identifier: Apache-2.0
// The low level: every function and struct of ggemm.h under its name without the prefix. Pointers are integers or None; a status is an exception; what
// may take long runs without the GIL. Structs are made with their defaults. The typed layer over it is in src/ggemm.
%module(package="ggemm", moduleimport="from . import _native", threads="1") native

%{
#include <time.h>

#include "arrays.h"
#include "callbacks.h"
#include "calls.h"
#include "ggemm.h"
%}

%include <stdint.i>

%rename("%(regex:/^(?:ggemm|GGEMM)_(.*)$/\\1/)s") "";

// ------------------------------------------------------------------------------------------------------------- pointers
%typemap(in) void*, const void* {
  $1 = $input == Py_None ? NULL : PyLong_AsVoidPtr($input);
  if (PyErr_Occurred()) SWIG_fail;
}
%typemap(out) void*, const void* { $result = $1 ? PyLong_FromVoidPtr((void*)$1) : SWIG_Py_Void(); }

// Texts in structs are kept as long as the process lives: configurations' names and paths, few of each.
%{
static const char* kept_text(PyObject* text) {
  static PyObject* texts;
  if (text == Py_None) return NULL;
  if (!texts && !(texts = PyDict_New())) return NULL;
  PyObject* kept = PyDict_GetItemWithError(texts, text);
  if (!kept && !PyErr_Occurred() && !PyDict_SetItem(texts, text, text)) kept = text;
  return kept ? PyUnicode_AsUTF8AndSize(kept, NULL) : NULL;
}
%}
%define KEPT_TEXT(FIELD)
%typemap(in) const char* FIELD {
  $1 = (char*)kept_text($input);
  if (PyErr_Occurred()) SWIG_fail;
}
%typemap(memberin) const char* FIELD { $1 = $input; }
%typemap(freearg) const char* FIELD ""
%enddef
KEPT_TEXT(config)
KEPT_TEXT(tune_key)
KEPT_TEXT(cache_dir)
KEPT_TEXT(shared_cache_dir)
KEPT_TEXT(nvrtc_path)
KEPT_TEXT(cblas_path)

// --------------------------------------------------------------------------------------------------------------- status
%typemap(out) ggemm_status {
  if ($1 != GGEMM_OK || callbacks_restore_error()) {
    if (!PyErr_Occurred()) calls_raise($1);
    SWIG_fail;
  }
  $result = SWIG_Py_Void();
}
%typemap(in, numinputs=0) ggemm_context** out_context (ggemm_context* made) { made = NULL; $1 = &made; }
%typemap(argout) ggemm_context** out_context { Py_DECREF($result); $result = SWIG_NewPointerObj(*$1, SWIGTYPE_p_ggemm_context, 0); }
%typemap(in, numinputs=0) ggemm_plan** out_plan (ggemm_plan* made) { made = NULL; $1 = &made; }
%typemap(argout) ggemm_plan** out_plan { Py_DECREF($result); $result = SWIG_NewPointerObj(*$1, SWIGTYPE_p_ggemm_plan, 0); }
%typemap(in, numinputs=0) size_t* (size_t number), int64_t* out_count (int64_t number) { number = 0; $1 = &number; }
%typemap(argout) size_t*, int64_t* out_count { Py_DECREF($result); $result = PyLong_FromLongLong((long long)*$1); }

// ------------------------------------------------------------------------------------------------------------ callbacks
%define CALLBACK(TYPE, NAME, FUNCTION)
%typemap(in) (TYPE NAME, void* user) {
  $1 = $input == Py_None ? NULL : FUNCTION;
  $2 = $input;
}
%enddef
CALLBACK(ggemm_log_fn, log, callbacks_log)
CALLBACK(ggemm_progress_fn, progress, callbacks_progress)
CALLBACK(ggemm_finding_fn, function, callbacks_finding)
CALLBACK(ggemm_cache_fn, function, callbacks_cache)

// A list of problems.
%typemap(in) (const ggemm_problem* problems, size_t count) {
  const Py_ssize_t length = PyList_Size($input);
  if (length < 0) SWIG_fail;
  $1 = calloc(length ? (size_t)length : 1, sizeof(ggemm_problem));
  $2 = (size_t)length;
  for (Py_ssize_t i = 0; $1 && i < length; ++i) {
    void* problem = NULL;
    if (!SWIG_IsOK(SWIG_ConvertPtr(PyList_GetItem($input, i), &problem, SWIGTYPE_p_ggemm_problem, 0)) || !problem) {
      PyErr_SetString(PyExc_TypeError, "prepare takes a list of problems");
      SWIG_fail;
    }
    $1[i] = *(ggemm_problem*)problem;
  }
}
%typemap(arginit) (const ggemm_problem* problems, size_t count) "$1 = NULL;"
%typemap(freearg) (const ggemm_problem* problems, size_t count) "free($1);"

// -------------------------------------------------------------------------------------------------------------- structs
%define WITH_DEFAULTS(STRUCT, INIT)
%extend STRUCT {
  STRUCT() {
    STRUCT* made = malloc(sizeof(STRUCT));
    const STRUCT defaults = INIT;
    if (made) *made = defaults;
    return made;
  }
}
%ignore STRUCT##_init;
%ignore INIT;
%enddef
WITH_DEFAULTS(ggemm_context_options, GGEMM_CONTEXT_OPTIONS_INIT)
WITH_DEFAULTS(ggemm_device_info, GGEMM_DEVICE_INFO_INIT)
WITH_DEFAULTS(ggemm_gemm_desc, GGEMM_GEMM_DESC_INIT)
WITH_DEFAULTS(ggemm_gemm_args, GGEMM_GEMM_ARGS_INIT)
WITH_DEFAULTS(ggemm_grouped_desc, GGEMM_GROUPED_DESC_INIT)
WITH_DEFAULTS(ggemm_grouped_args, GGEMM_GROUPED_ARGS_INIT)
WITH_DEFAULTS(ggemm_config, GGEMM_CONFIG_INIT)
WITH_DEFAULTS(ggemm_tile_grid, GGEMM_TILE_GRID_INIT)
WITH_DEFAULTS(ggemm_tile, GGEMM_TILE_INIT)

%extend ggemm_context_options {
  /* The callables must live as long as the context. */
  void set_log(PyObject* callable, int level) {
    $self->log = callbacks_log;
    $self->log_user = callable;
    $self->log_level = (ggemm_log_level)level;
  }
  void set_allocator(PyObject* pair) {
    $self->allocate = callbacks_allocate;
    $self->deallocate = callbacks_deallocate;
    $self->allocator_user = pair;
  }
}
%ignore ggemm_context_options::log;
%ignore ggemm_context_options::log_user;
%ignore ggemm_context_options::allocate;
%ignore ggemm_context_options::deallocate;
%ignore ggemm_context_options::allocator_user;

// Pointed to by others, so never copied by the proxies.
%immutable ggemm_problem::gemm;
%immutable ggemm_problem::grouped;
%extend ggemm_problem {
  /* The description must live as long as the problem. */
  ggemm_problem(const ggemm_gemm_desc* gemm, const ggemm_grouped_desc* grouped) {
    ggemm_problem* made = malloc(sizeof(ggemm_problem));
    if (made) made->gemm = gemm, made->grouped = grouped;
    return made;
  }
}

// Said otherwise below, or of no use in Python.
%ignore ggemm_last_error;
%ignore ggemm_tune;
%ignore ggemm_tune_row;
%ignore ggemm_tune_options;
%ignore ggemm_tune_options_init;
%ignore GGEMM_TUNE_OPTIONS_INIT;
%ignore ggemm_tune_result;
%ignore ggemm_tune_result_init;
%ignore GGEMM_TUNE_RESULT_INIT;
%ignore ggemm_finding;
%ignore ggemm_cache_entry;
%ignore ggemm_plan_explain;
%ignore GGEMM_API;
%ignore GGEMM_MATRIX_INIT_;
%ignore GGEMM_EPILOGUE_INIT_;
%ignore GGEMM_SOURCE_INIT_;
%ignore GGEMM_GROUPED_MATRIX_INIT_;
%ignore GGEMM_SCALE_INIT_;
%ignore GGEMM_GROUPED_SCALE_INIT_;

%nothread;
%thread ggemm_context_create;
%thread ggemm_context_destroy;
%thread ggemm_diagnose;
%thread ggemm_gemm;
%thread ggemm_grouped_gemm;
%thread ggemm_plan_create;
%thread ggemm_plan_create_grouped;
%thread ggemm_plan_run;
%thread ggemm_plan_run_grouped;
%thread ggemm_plan_destroy;
%thread ggemm_config_count;
%thread ggemm_config_get;
%thread ggemm_prepare;
%thread ggemm_cache_visit;
%thread ggemm_cache_clear;
%thread ggemm_convert;

#define GGEMM_API
%include "ggemm.h"

// -------------------------------------------------------------------------------------------------- written out by hand
%inline %{
/* PACKED is INT64_MIN, which SWIG does not read as a constant. */
static PyObject* packed_stride(void) { return PyLong_FromLongLong(GGEMM_PACKED); }

static PyObject* plan_explain(const ggemm_plan* plan) {
  size_t size = 0;
  ggemm_status status = ggemm_plan_explain(plan, NULL, 0, &size);
  char* text = status == GGEMM_OK ? malloc(size) : NULL;
  if (text) status = ggemm_plan_explain(plan, text, size, NULL);
  PyObject* result = status != GGEMM_OK ? calls_raise(status) : text ? PyUnicode_FromString(text) : PyErr_NoMemory();
  free(text);
  return result;
}

/* configs: a list of names; sizes: a list of 3 * groups numbers; function: called with each row, may be None. Returns the name of the best, its
   microseconds and TFLOP/s, and the seconds that it took. */
static PyObject* tune(ggemm_context* context, const ggemm_problem* problem, double budget_seconds, PyObject* configs, PyObject* sizes,
                      PyObject* function) {
  const Py_ssize_t config_count = PyList_Size(configs), size_count = PyList_Size(sizes);
  if (config_count < 0 || size_count < 0) return NULL;
  const char** names = calloc((size_t)config_count + 1, sizeof *names);
  int64_t* samples = calloc((size_t)size_count + 1, sizeof *samples);
  if (names && samples) {
    for (Py_ssize_t i = 0; i < config_count && !PyErr_Occurred(); ++i) names[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(configs, i), NULL);
    for (Py_ssize_t i = 0; i < size_count && !PyErr_Occurred(); ++i) samples[i] = PyLong_AsLongLong(PyList_GetItem(sizes, i));
  } else {
    PyErr_NoMemory();
  }
  PyObject* result = NULL;
  if (!PyErr_Occurred()) {
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.budget_seconds = budget_seconds;
    options.configs = names;
    options.config_count = (size_t)config_count;
    options.sample_sizes = size_count ? samples : NULL;
    options.sample_groups = (size_t)size_count / 3;
    options.function = function == Py_None ? NULL : callbacks_tune;
    options.user = function;
    PyThreadState* thread = PyEval_SaveThread();
    ggemm_tune_result best = GGEMM_TUNE_RESULT_INIT;
    const ggemm_status status = ggemm_tune(context, problem, &options, &best);
    PyEval_RestoreThread(thread);
    if (status != GGEMM_OK) calls_raise(status);
    else if (!callbacks_restore_error()) result = Py_BuildValue("sddd", best.best, best.microseconds, best.tflops, best.seconds);
  }
  free(names);
  free(samples);
  return result;
}

/* Seconds that a run takes from C, as the mean of `count`: what the cost of a call from Python is compared with. One of args and grouped is NULL. */
static PyObject* plan_run_seconds(const ggemm_plan* plan, const ggemm_gemm_args* args, const ggemm_grouped_args* grouped, void* stream, int count) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < count; ++i) {
    const ggemm_status status = args ? ggemm_plan_run(plan, args, stream) : ggemm_plan_run_grouped(plan, grouped, stream);
    if (status != GGEMM_OK) return calls_raise(status);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return PyFloat_FromDouble(((double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec)) / count);
}

static PyObject* setup(PyObject* factory, PyObject* stream_address, PyObject* fallback, PyObject* numpy_type, PyObject* dtypes) {
  calls_setup(factory, stream_address);
  if (arrays_setup(fallback, numpy_type, dtypes)) return NULL;
  Py_RETURN_NONE;
}
/* (data, dtype, device, flags, ndim, shape, strides, owner) of an array. */
static PyObject* read_array(PyObject* object) {
  Reading reading;
  PyObject* result = arrays_read(object, &reading) ? NULL : arrays_tuple(&reading.array, reading.owner ? reading.owner : object);
  arrays_release(&reading);
  return result;
}
static PyObject* read_capsule(PyObject* capsule) {
  Array array;
  return arrays_from_capsule(capsule, &array) ? NULL : arrays_tuple(&array, capsule);
}
%}

PyObject* calls_runner(const ggemm_plan* plan, PyObject* arrays, int grouped, ggemm_dtype value_dtype, PyObject* empty, int swapped, int device_scalars);
PyObject* calls_group_runner(ggemm_context* context, const ggemm_grouped_desc* desc, PyObject* arrays, ggemm_dtype value_dtype, PyObject* empty, int swapped);
PyObject* calls_bind(PyObject* runner);
PyObject* calls_table(PyObject* make, int count, int limit);
PyObject* calls_stream(PyObject* arrays);
%init %{
{
  PyObject* type = calls_plan_type();
  if (type && PyModule_AddObject(m, "Plan", type)) Py_CLEAR(type);
}
%}
%constant int FLAG_READ_ONLY = FLAG_READ_ONLY;
%constant int FLAG_NEEDS_GRAD = FLAG_NEEDS_GRAD;
%constant int FLAG_NO_DATA = FLAG_NO_DATA;
%constant int FLAG_PART_STRIDE = FLAG_PART_STRIDE;
%constant int DTYPE_I64 = DTYPE_I64;
