# SPDX-License-Identifier: Apache-2.0
"""ggemm: plain and grouped matrix products on CUDA GPUs and on the CPU.

    d = ggemm.matmul(a, b, bias=bias, activation="gelu")    # numpy on the CPU; torch, cupy and jax where their arrays lie
    y = ggemm.grouped_matmul(x, w, ends=offsets)            # rows sorted by group
    p = ggemm.plan(a, b); p(a, b, out=d); print(p.explain())

`ggemm.torch` has the same as differentiable torch operators, `ggemm.bench` compares speeds, `ggemm.native` is the C interface as it is.
"""
from __future__ import annotations

from typing import Any

import numpy as _np

from . import native as _raw
from ._arguments import text as _text
from ._arrays import Matrix
from ._arrays import dtype_number as _dtype_number
from ._arrays import numpy_dtype as _numpy_dtype
from ._arrays import read as _read
from ._context import CacheEntry, Context, DeviceInfo, Finding, context, diagnose
from ._errors import (ArgumentError, CancelledError, CompileError, DeviceError, Error, InternalError, LaunchError, NotPreparedError, OutOfMemoryError,
                      UnsupportedError, VersionError)
from ._faults import Fault
from ._grouped import GroupedPlan, grouped_matmul, grouped_plan, grouped_problem
from ._groups import Pointers
from ._plan import Plan, matmul, plan
from ._problem import Problem
from ._problem import check_element_types as _check_element_types
from ._problem import problem
from ._scales import Scale
from ._select import Config, TuneResult, TuneRow, configs, prepare, tune
from ._tiles import Tile, Tiles, tiles

__version__: str = _raw.version_string()
for _error in (Error, *Error.__subclasses__()):
    _error.__module__ = __name__  # what a traceback shows


def has_feature(name: str) -> bool:
    """Whether this build of the library has a feature: "cuda", "grouped", "tune" ..., as the header lists them."""
    return bool(_raw.has_feature(_text("name", name)))


def convert(array: Any, dtype: Any) -> _np.ndarray[Any, Any]:
    """A packed copy of an array in ordinary memory, converted as the products convert theirs: to nearest even, fp8 and integers saturating.

    Raises ArgumentError for dtypes that are none of ggemm's, and for what is no array; UnsupportedError for bf16 and fp8 without ml_dtypes, which gives numpy these.
    """
    number = _dtype_number(dtype)
    out_dtype = _numpy_dtype(number)
    try:
        held = _np.ascontiguousarray(array)
    except (TypeError, ValueError) as error:  # nested lists of unequal lengths, an array in a GPU's memory
        raise ArgumentError(f"array is none of ordinary memory: {error}") from error
    out = _np.empty(held.shape, out_dtype)
    source = _read("array", held.reshape(-1))
    _check_element_types({"array": source})
    _raw.convert(number, out.ctypes.data, source.dtype, source.data, held.size)
    return out


__all__ = ["ArgumentError", "CacheEntry", "CancelledError", "CompileError", "Config", "Context", "DeviceError", "DeviceInfo", "Error", "Fault", "Finding",
           "GroupedPlan", "InternalError", "LaunchError", "Matrix", "NotPreparedError", "OutOfMemoryError", "Plan", "Pointers", "Problem", "Scale", "Tile", "Tiles",
           "TuneResult", "TuneRow", "UnsupportedError", "VersionError", "configs", "context", "convert", "diagnose", "grouped_matmul", "grouped_plan",
           "grouped_problem", "has_feature", "matmul", "plan", "prepare", "problem", "tiles", "tune"]
