/* SPDX-License-Identifier: Apache-2.0
 *
 * One product made ready, and its run. */
#ifndef GGEMM_PYTHON_RUNNER_H
#define GGEMM_PYTHON_RUNNER_H

#include "arrays.h"
#include "calls.h"

/* The operands of a call, in this order; a plain one has those up to SCALE_B, a grouped plan those up to STATUS. */
enum { A, B, C, BIAS, OUT, SCALE_A, SCALE_B, ROW_WEIGHTS, STATUS, ENDS, COUNTS, A_INDEX, D_INDEX, OPERANDS };
/* What follows the arrays of a call. */
enum { ALPHA, BETA, STREAM, WATCH, EXTRAS };

typedef struct Runner Runner;
Runner* runner_of(PyObject* capsule);
/* How many arrays go with a call; -1 with a Python error. */
int runner_count(PyObject* capsule);
/* Its run on so many arrays and what follows them; NotImplemented as calls.h says. */
PyObject* runner_call(PyObject* capsule, PyObject* const* objects);

/* 1 if all of `count` arrays were read; else 0, and no error is left. Those read have to be released in either case. */
int runner_read(PyObject* const* objects, int count, Reading* readings);
void runner_release(Reading* readings, int count);
/* The arrays are known to be as the runner expects, but for flags. Takes over no references. */
PyObject* runner_run(const Runner* runner, PyObject* const* objects, Reading* readings, PyObject* const* extras);

#endif
