// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import "math"

// TileGrid is the tiles of a problem under a configuration. Sources are read from host memory.
type TileGrid struct {
	Groups       int // 0: 1, a plain problem
	M, N         Source
	TileM, TileN int
	Raster       int // rows of tiles (of clusters, where there are any; columns, where swapped) that are walked together; 0: 1

	ClusterM, ClusterN int  // CTAs of a cluster, down and across; 0: 1
	Swapped            bool // the product is computed transposed
}

// Tile is what one program of a kernel computes. Ranges are half open, and cut at m and n: of a tile past the edge, which completes a cluster, one is empty.
type Tile struct {
	Group            int
	TileRow, TileCol int
	RowBegin, RowEnd int
	ColBegin, ColEnd int
}

func (g *TileGrid) toC() (out C.ggo_tile_grid, err error) {
	groups := g.Groups
	if groups == 0 {
		groups = 1
	}
	for _, size := range [...]int{g.TileM, g.TileN, g.Raster, g.ClusterM, g.ClusterN} {
		if size < 0 || size > math.MaxInt32 {
			return out, argumentError("TileM=%d, TileN=%d, Raster=%d, ClusterM=%d, ClusterN=%d: not in the range of 31 bits", g.TileM, g.TileN, g.Raster, g.ClusterM, g.ClusterN)
		}
	}
	out.groups, out.tile_m, out.tile_n, out.raster = C.int64_t(groups), C.int32_t(g.TileM), C.int32_t(g.TileN), C.int32_t(max(g.Raster, 1))
	out.cluster_m, out.cluster_n = C.int32_t(g.ClusterM), C.int32_t(g.ClusterN)
	if g.Swapped {
		out.swapped = 1
	}
	if out.m, err = g.M.toC("M", groups, true); err != nil {
		return out, err
	}
	out.n, err = g.N.toC("N", groups, true)
	return out, err
}

// Count returns how many programs (Triton's word) there are: one a tile, and with clusters those tiles too that complete the last ones.
func (g TileGrid) Count() (int, error) {
	grid, err := g.toC()
	if err != nil {
		return 0, err
	}
	var count C.int64_t
	err = failure(C.ggo_tile_count(grid, &count))
	return int(count), err
}

// At returns the tile that the pid-th program computes, by the very arithmetic of the kernels: in a raster group, tiles go down the rows first.
func (g TileGrid) At(pid int) (Tile, error) {
	grid, err := g.toC()
	if err != nil {
		return Tile{}, err
	}
	var tile C.ggemm_tile
	if err := failure(C.ggo_tile_at(grid, C.int64_t(pid), &tile)); err != nil {
		return Tile{}, err
	}
	return Tile{
		Group: int(tile.group), TileRow: int(tile.tile_row), TileCol: int(tile.tile_col),
		RowBegin: int(tile.row_begin), RowEnd: int(tile.row_end), ColBegin: int(tile.col_begin), ColEnd: int(tile.col_end),
	}, nil
}
