/* SPDX-License-Identifier: Apache-2.0
 *
 * What a Python array is made of, read without a copy and, for torch, cupy and numpy, without running Python code. */
#ifndef GGEMM_PYTHON_ARRAYS_H
#define GGEMM_PYTHON_ARRAYS_H

#include <Python.h>
#include <stdint.h>

enum {
  MAX_NDIM = 3,
  DTYPE_I64 = 64, /* beside ggemm_dtype: int64 or uint64, for pointers and sizes */

  FLAG_READ_ONLY = 1,
  FLAG_NEEDS_GRAD = 2,  /* a torch tensor that autograd watches */
  FLAG_NO_DATA = 4,     /* a description without memory */
  FLAG_PART_STRIDE = 8, /* a stride is no multiple of the element */

  HOST = -1
};

typedef struct Array {
  void* data;
  int32_t dtype;  /* ggemm_dtype, DTYPE_I64, or 0 for any other */
  int32_t device; /* HOST, or a CUDA ordinal */
  int32_t ndim;   /* of more than MAX_NDIM dimensions only the first are kept */
  int32_t flags;
  int64_t shape[MAX_NDIM], strides[MAX_NDIM]; /* strides in elements */
} Array;

/* What keeps an array's memory and its stream; release() ends it. */
typedef struct Reading {
  Array array;
  PyObject* owner;         /* may be NULL */
  PyObject* object;        /* borrowed */
  const void* exchange;    /* the DLPack exchange functions of its type, or NULL */
  int32_t is_cupy, has_stream;
  void* stream;
} Reading;

/* Takes over: `fallback`(object) returns (a tuple as of arrays_tuple, stream or None) for what is not read here; `numpy_type` is numpy.ndarray;
 * `dtypes` maps numpy dtypes to numbers. A type with an attribute `holds_arrays` wraps others. */
int arrays_setup(PyObject* fallback, PyObject* numpy_type, PyObject* dtypes);
/* 0, or -1 with a Python error. */
int arrays_read(PyObject* object, Reading* out);
/* 1 if it was read; else 0, without an error. What the typed layer wraps around arrays, lists among it, is not even tried. */
int arrays_try(PyObject* object, Reading* out);
void arrays_release(Reading* reading);
/* The current stream of the array's framework on its device: 1 if there is one, 0 if the framework knows none, -1 with a Python error. */
int arrays_stream(const Reading* reading, void** out_stream);
/* Whether torch records gradients now: 1 or 0, or -1 with a Python error. */
int arrays_grad_enabled(void);
/* The tensor in a DLPack capsule, which is left as it is and must outlive the array. */
int arrays_from_capsule(PyObject* capsule, Array* out);
/* (data, dtype, device, flags, ndim, shape, strides, owner): the last is what the memory lives as long as. */
PyObject* arrays_tuple(const Array* array, PyObject* owner);

#endif
