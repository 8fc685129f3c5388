# SPDX-License-Identifier: Apache-2.0
"""The order in which a kernel walks the tiles of D."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, SupportsIndex, Union, overload

import numpy as np

from . import native
from ._arguments import INT32, integer, integer_tuple, listed
from ._errors import ArgumentError
from ._select import Config


Sizes = Union[SupportsIndex, Iterable[SupportsIndex]]  # of D, or of each group


class Tile(NamedTuple):
    """One tile: its group, its place in the grid of tiles, and the elements of D that it covers: none if it is past the edge that cuts its cluster."""

    group: int
    row: int
    col: int
    rows: range
    cols: range


class Tiles(Sequence[Tile]):
    """The tiles of a product in the order of the programs that compute them: `tiles[pid]`, `len(tiles)`, iteration."""

    def __init__(self, m: Sizes, n: Sizes, tile: Iterable[SupportsIndex], raster: SupportsIndex, cluster: Iterable[SupportsIndex],
                 swapped: bool) -> None:
        self._grid = grid = native.tile_grid()
        self._sizes = []  # the grid points to them
        wanted = "rows and columns are wanted"
        grid.tile_m, grid.tile_n = integer_tuple("tile", tile, (2, 3), wanted, INT32)[:2]
        grid.cluster_m, grid.cluster_n = integer_tuple("cluster", cluster, (2, 3), wanted, INT32)[:2]
        grid.raster = integer("raster", raster, INT32)
        grid.swapped = int(bool(swapped))
        lengths = set()
        for name, sizes in (("m", m), ("n", n)):
            if not isinstance(sizes, Iterable):
                setattr(grid, name, getattr(native, "const")(integer(name, sizes)))
                continue
            held = np.array([integer(f"{name}[{g}]", size) for g, size in enumerate(listed(name, sizes))], np.int64)
            lengths.add(len(held))
            self._sizes.append(held)
            setattr(grid, name, native.i64_at(held.ctypes.data, 8))
        if len(lengths) > 1:
            raise ArgumentError(f"m and n are of {' and '.join(str(length) for length in sorted(lengths))} groups")
        grid.groups = lengths.pop() if lengths else 1
        self._count = native.tile_count(grid)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, pid: SupportsIndex) -> Tile: ...
    @overload
    def __getitem__(self, pid: slice) -> list[Tile]: ...
    def __getitem__(self, pid: SupportsIndex | slice) -> Tile | list[Tile]:
        if isinstance(pid, slice):
            return [self[i] for i in range(*pid.indices(self._count))]
        index = integer("pid", pid)
        index += self._count if index < 0 else 0
        if not 0 <= index < self._count:
            raise IndexError(f"pid {pid} is not one of {self._count} tiles")
        t = native.tile()
        native.tile_at(self._grid, index, t)
        return Tile(t.group, t.tile_row, t.tile_col, range(t.row_begin, t.row_end), range(t.col_begin, t.col_end))


def tiles(m: Sizes, n: Sizes, tile: Iterable[SupportsIndex] | Config, raster: SupportsIndex = 1, *, cluster: Iterable[SupportsIndex] = (1, 1),
          swapped: bool = False) -> Tiles:
    """The tile order of D [m, n], or of groups if m or n is a sequence or an array: `tiles(1024, 768, (128, 64), raster=2)[60]`.

    tile: rows and columns of a tile; or a `Config`, which says all the rest too.
    raster: rows of tiles (of clusters, where there are any; columns, where swapped) that are walked together (Triton's GROUP_SIZE_M).
    cluster, swapped: as in `Config`. With clusters, whole ones are counted: tiles past the edge of D are among the programs, and cover nothing.
    Raises ArgumentError for a size that makes no sense.
    """
    if isinstance(tile, Config):
        return Tiles(m, n, tile.tile, tile.raster, tile.cluster, tile.swapped)
    return Tiles(m, n, tile, raster, cluster, swapped)
