# SPDX-License-Identifier: Apache-2.0
"""ggemm.h as it is, by SWIG: each function and struct under its name without the prefix; pointers are integers, a status is an exception."""
from typing import Any

def __getattr__(name: str) -> Any: ...
