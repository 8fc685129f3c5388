/* SPDX-License-Identifier: Apache-2.0
 *
 * The warm calls: what is done once a product, from Python objects to the launch. */
#ifndef GGEMM_PYTHON_CALLS_H
#define GGEMM_PYTHON_CALLS_H

#include <Python.h>

#include "ggemm.h"

/* `factory`(status, text) returns the exception to raise. */
void calls_setup(PyObject* factory);
/* Raises this thread's last error as a Python exception; or the one that a callback left. Always NULL. */
PyObject* calls_raise(ggemm_status status);

/* Everything of a tuple of arrays (or None) that a description depends on, as bytes: type, dtype, device, shape, strides, flags. */
PyObject* calls_signature(PyObject* arrays);

/* A plan made ready: `arrays` is (a, b, c, bias, out, scale_a, scale_b), of groups also row_weights and status, as the plan takes them, None for what
 * it has not. value_dtype is that of alpha and beta. */
PyObject* calls_runner(const ggemm_plan* plan, PyObject* arrays, int grouped, ggemm_dtype value_dtype);
/* Likewise a grouped product by the one-call form: then the numbers of groups, (ends, counts, a_index, d_index), are arrays of each call too. */
PyObject* calls_group_runner(ggemm_context* context, const ggemm_grouped_desc* desc, PyObject* arrays, ggemm_dtype value_dtype);
/* Runs it on as many arrays, alike in everything but their memory, on `stream` (an address, or None for the current stream of the first operand whose
 * framework has one). alpha, beta: numbers or None. True when done; False if an operand differs from the plan's, or one needs grad and `watch_grad` is
 * set: then nothing has happened. */
PyObject* calls_run(PyObject* runner, PyObject* arrays, PyObject* alpha, PyObject* beta, PyObject* stream, int watch_grad);
/* The current stream of the first of the arrays whose framework has one, as an address; 0 if none has. */
PyObject* calls_stream(PyObject* arrays);

#endif
