/* SPDX-License-Identifier: Apache-2.0
 *
 * The warm calls: what is done once a product, from Python objects to the launch. They are builtin functions bound to what they know, so that a call
 * makes no objects. Each answers with the result, or with NotImplemented where something is not as it expects, and then nothing has happened: the typed
 * layer looks closer, and says what is wrong or does it the long way. */
#ifndef GGEMM_PYTHON_CALLS_H
#define GGEMM_PYTHON_CALLS_H

#include <Python.h>

#include "ggemm.h"

/* `factory`(status, text) returns the exception to raise; `stream_address`(object) the address of a stream. */
void calls_setup(PyObject* factory, PyObject* stream_address);
/* Raises this thread's last error as a Python exception; or the one that a callback left. Always NULL. */
PyObject* calls_raise(ggemm_status status);

/* A product made ready, as a capsule. `arrays` is (a, b, c, bias, out, scale_a, scale_b), of groups also row_weights and status, as the calls take them,
 * None for what they have not. value_dtype is that of alpha and beta. `empty`() makes a new D, where it is not None. `swapped`: the C interface's A is b,
 * its B is a, and so are their scales. `device_scalars`: alpha and beta are arrays, and so it runs nothing. */
PyObject* calls_runner(const ggemm_plan* plan, PyObject* arrays, int grouped, ggemm_dtype value_dtype, PyObject* empty, int swapped, int device_scalars);
/* Likewise a grouped product by the one-call form: then the numbers of groups, (ends, counts, a_index, d_index), are arrays of each call too. */
PyObject* calls_group_runner(ggemm_context* context, const ggemm_grouped_desc* desc, PyObject* arrays, ggemm_dtype value_dtype, PyObject* empty, int swapped);

/* run(*arrays, alpha, beta, stream, watch) of a runner, on arrays alike in everything but their memory. out may be None if there is an `empty`, status if
 * the product runs on the CPU. alpha and beta: numbers or None; stream: as the caller has it, None for the current one of the first operand whose
 * framework has one. watch: refuse tensors whose gradient would be lost. Returns out, or what `empty` made. */
PyObject* calls_bind(PyObject* runner);

/* The type that plans are derived from. plan._bind(runner), and plan(a, b, out=...) is a run, or plan._long_way(arrays, alpha, beta, stream, True). */
PyObject* calls_plan_type(void);

/* Products by how their arrays look: (call, find). call(entries, *arrays, alpha, beta, stream, watch, *settings) is run() of what `entries`, a dict, has for
 * such arrays and settings; what it has not yet `make`(arrays, settings) makes: (a runner, what is to live as long). find(entries, arrays, settings)
 * returns the latter. `count` arrays go with a call, and `limit` entries are kept: then all go, as sizes that never repeat must not fill memory. */
PyObject* calls_table(PyObject* make, int count, int limit);

/* The current stream of the first of the arrays whose framework has one, as an address; 0 if none has. */
PyObject* calls_stream(PyObject* arrays);

#endif
