# SPDX-License-Identifier: Apache-2.0
"""Reads and writes .npy files with nothing but Python, so that the tool is held against another reader than its own."""
import ast
import struct

CODES = {"<f8": "d", "<f4": "f", "<f2": "e", "|i1": "b", "<i4": "i", "<i2": "h", "<i8": "q", "|u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "|b1": "?", "<V2": "H", "|V1": "B"}


def save(path, rows, descr="<f4", fortran=False, version=1, shape=None):
    """rows: a list of lists, or a flat list with its shape."""
    if shape is None:
        shape = (len(rows), len(rows[0]) if rows else 0)
        rows = [value for row in rows for value in row]
    if fortran:
        assert len(shape) == 2
        rows = [rows[i * shape[1] + j] for j in range(shape[1]) for i in range(shape[0])]
    header = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode()
    length = "<H" if version == 1 else "<I"
    start = b"\x93NUMPY" + bytes([version, 0])
    header += b" " * (-(len(start) + struct.calcsize(length) + len(header) + 1) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(start + struct.pack(length, len(header)) + header + struct.pack(f"<{len(rows)}{CODES[descr]}", *rows))


def load(path):
    """(shape, descr, flat list of values in row-major order)"""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack_from("<H", data, 8)
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10:10 + length].decode())
    assert header["fortran_order"] is False
    count = 1
    for extent in header["shape"]:
        count *= extent
    code = CODES[header["descr"]]
    assert len(data) == 10 + length + count * struct.calcsize(code), "the file's size is not what its header says"
    return header["shape"], header["descr"], list(struct.unpack_from(f"<{count}{code}", data, 10 + length))


def rows_of(flat, cols):
    return [flat[i:i + cols] for i in range(0, len(flat), cols)] if cols else []


def bf16(value):
    """The bits of a float that bf16 holds exactly."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    assert bits & 0xFFFF == 0, value
    return bits >> 16


def from_bf16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
