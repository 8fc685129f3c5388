# SPDX-License-Identifier: Apache-2.0
"""ggemm's statuses as exceptions. The text is ggemm's own: it names the field and the values."""
from __future__ import annotations


class Error(Exception):
    """Base of all errors of ggemm. `status` is the name of the C status, such as "GGEMM_ERROR_ARGUMENT"."""

    status = "GGEMM_ERROR_INTERNAL"


class ArgumentError(Error, ValueError):
    """An argument is wrong: correct it."""

    status = "GGEMM_ERROR_ARGUMENT"


class UnsupportedError(Error, NotImplementedError):
    """A right request that this device or build cannot serve."""

    status = "GGEMM_ERROR_UNSUPPORTED"


class NotPreparedError(Error, RuntimeError):
    """Needs a compile or an allocation that is not allowed now (stream capture): `prepare` first."""

    status = "GGEMM_ERROR_NOT_PREPARED"


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is used up."""

    status = "GGEMM_ERROR_OUT_OF_MEMORY"


class CompileError(Error, RuntimeError):
    """NVRTC is missing or refused a kernel; the text has its log."""

    status = "GGEMM_ERROR_COMPILE"


class LaunchError(Error, RuntimeError):
    """The driver refused a load or a launch."""

    status = "GGEMM_ERROR_LAUNCH"


class DeviceError(Error, RuntimeError):
    """No usable device or driver; the text lists what was tried."""

    status = "GGEMM_ERROR_DEVICE"


class VersionError(Error, RuntimeError):
    """This package and the libggemm that it loaded are of incompatible versions."""

    status = "GGEMM_ERROR_VERSION"


class CancelledError(Error, RuntimeError):
    """A callback asked to stop."""

    status = "GGEMM_ERROR_CANCELLED"


class InternalError(Error, RuntimeError):
    """A defect of ggemm: please report it."""

    status = "GGEMM_ERROR_INTERNAL"


# By the number of the status.
_BY_STATUS = (InternalError, ArgumentError, UnsupportedError, NotPreparedError, OutOfMemoryError, CompileError, LaunchError, DeviceError, VersionError,
              CancelledError, InternalError)


def from_status(status: int, text: str) -> Error:
    """The exception for a status of the C interface."""
    return (_BY_STATUS[status] if 0 < status < len(_BY_STATUS) else InternalError)(text)
