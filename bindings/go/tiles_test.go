// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"testing"

	"ggemm"
)

func TestTileOrder(t *testing.T) {
	for _, c := range []struct {
		grid  ggemm.TileGrid
		pid   int
		count int
		want  ggemm.Tile
	}{
		{ggemm.TileGrid{M: ggemm.Const(4), N: ggemm.Const(4), TileM: 1, TileN: 1, Raster: 2}, 15, 16, ggemm.Tile{TileRow: 3, TileCol: 3, RowBegin: 3, RowEnd: 4, ColBegin: 3, ColEnd: 4}},
		{ggemm.TileGrid{M: ggemm.Const(1024), N: ggemm.Const(768), TileM: 128, TileN: 64, Raster: 2}, 60, 96,
			ggemm.Tile{TileRow: 4, TileCol: 6, RowBegin: 512, RowEnd: 640, ColBegin: 384, ColEnd: 448}},
		{ggemm.TileGrid{Groups: 3, M: ggemm.Int32s([]int32{2, 0, 5}, 1), N: ggemm.Int64s([]int64{3, 3, 3}, 1), TileM: 4, TileN: 4}, 2, 3,
			ggemm.Tile{Group: 2, TileRow: 1, RowBegin: 4, RowEnd: 5, ColEnd: 3}},
		{ggemm.TileGrid{M: ggemm.Const(40), N: ggemm.Const(25), TileM: 16, TileN: 10, Raster: 2, ClusterM: 2}, 9, 10,
			ggemm.Tile{TileRow: 2, TileCol: 3, RowBegin: 32, RowEnd: 40, ColBegin: 25, ColEnd: 25}},
		{must(ggemm.ParseConfig("sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s8_c1x2_swap_r1"))(t).TileGrid(32, 512), 5, 8,
			ggemm.Tile{TileCol: 3, RowEnd: 16, ColBegin: 384, ColEnd: 512}},
	} {
		if count := must(c.grid.Count())(t); count != c.count {
			t.Errorf("%+v: %d tiles, want %d", c.grid, count, c.count)
		}
		if tile := must(c.grid.At(c.pid))(t); tile != c.want {
			t.Errorf("pid %d: %+v, want %+v", c.pid, tile, c.want)
		}
		_, err := c.grid.At(c.count)
		mustFail(t, err, ggemm.ErrArgument, "pid")
	}
	_, err := ggemm.TileGrid{M: ggemm.Const(4), N: ggemm.Const(4)}.Count()
	mustFail(t, err, ggemm.ErrArgument, "tile_m")
	_, err = ggemm.TileGrid{TileM: 1 << 40, TileN: 1}.At(0)
	mustFail(t, err, ggemm.ErrArgument, "31 bits")
	_, err = ggemm.TileGrid{M: ggemm.Const(4), N: ggemm.Const(4), TileM: 1, TileN: 1, ClusterN: -1}.Count()
	mustFail(t, err, ggemm.ErrArgument, "ClusterN=-1")
	_, err = ggemm.TileGrid{Groups: 4, M: ggemm.Int32s([]int32{1}, 1), N: ggemm.Const(1), TileM: 1, TileN: 1}.Count()
	mustFail(t, err, ggemm.ErrArgument, "M has 1 numbers")
}
