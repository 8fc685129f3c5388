// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"runtime"
	"time"
	"unsafe"

	"ggemm"
)

func ExampleContext_Gemm() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	fmt.Println("runs on", ctx.Device().Device)

	a := []float32{1, 2, 3, 4, 5, 6}  // 2 x 3
	bt := []float32{1, 1, 1, 1, 0, 0} // B, given as [n, k]: 2 x 3
	bias := []float32{0.5, -2.5}
	d := make([]float32, 4)
	err = ctx.Gemm(ggemm.RowMajor(a, 2, 3), ggemm.RowMajor(bt, 2, 3).T(), ggemm.RowMajor(d, 2, 2),
		ggemm.WithColumnBias(ggemm.Slice(bias)), ggemm.WithActivation(ggemm.ReLU))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	// Output:
	// runs on host
	// [6.5 0 15.5 1.5]
}

func ExampleConvert() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	a := make([]ggemm.BFloat16, 4)
	if err := ggemm.Convert(a, []float32{1, 2, 3, 4}); err != nil {
		log.Fatal(err)
	}
	d := []float32{100, 100, 100, 100}
	x := ggemm.RowMajor(a, 2, 2)
	if err := ctx.Gemm(x, x.T(), ggemm.RowMajor(d, 2, 2), ggemm.WithAlpha(2), ggemm.WithBeta(1)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	// Output: [110 122 122 150]
}

func ExampleContext_GemmGroups() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	tokens := []float32{1, 2, 3, 4, 5, 6} // 3 of 2 elements: the first expert takes two, the second none, the third one
	weights := []float32{1, 0, 9, 9, 0, 1}
	d := make([]float32, 3)
	var groups []ggemm.Group
	for expert, rows := range [][2]int{{0, 2}, {2, 2}, {2, 3}} {
		first, m := rows[0], rows[1]-rows[0]
		groups = append(groups, ggemm.Group{
			A: ggemm.RowMajor(tokens[2*first:], m, 2),
			B: ggemm.RowMajor(weights[2*expert:], 2, 1),
			D: ggemm.RowMajor(d[first:], m, 1),
		})
	}
	if err := ctx.GemmGroups(groups); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	// Output: [1 3 6]
}

func ExampleWithGate() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	x, w := []float32{1, 2, 3, 4}, []float32{1, 0, 0, 1} // w: a gate and an up
	rows := []float32{1, 0.5}
	d := make([]float32, 2)
	err = ctx.Gemm(ggemm.RowMajor(x, 2, 2), ggemm.RowMajor(w, 2, 2), ggemm.RowMajor(d, 2, 1),
		ggemm.WithScaleA(ggemm.Scale{Kind: ggemm.VectorScale, Values: ggemm.RowMajor(rows, 2, 1)}), // one a row
		ggemm.WithGate(ggemm.Halves), ggemm.WithActivation(ggemm.ReLU))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	// Output: [2 3]
}

func ExampleGrouped() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	x, w, y := []float32{1, 2, 3}, []float32{10, 0, 100}, make([]float32, 3) // three experts of one number each
	ends := []int32{1, 1, 3}                                                 // the second has no token
	var status [4]int32
	f32 := ggemm.GroupedMatrix{Dtype: ggemm.F32}
	problem := &ggemm.Grouped{
		Groups: 3, Form: ggemm.RaggedM, Ends: ggemm.Int32s(ends, 1), Checked: true,
		M: ggemm.Const(3), N: ggemm.Const(1), K: ggemm.Const(1), A: f32, B: f32, D: f32,
	}
	err = ctx.GroupedGemm(problem, ggemm.Operands{A: ggemm.Slice(x), B: ggemm.Slice(w), D: ggemm.Slice(y), Status: ggemm.Slice(status[:])})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y, ggemm.ReadFault(status))
	// Output: [10 200 300] <nil>
}

func ExampleContext_GroupedGemm() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	a, b, d := []float32{1, 2, 3}, []float32{10, 1}, make([]float32, 3)
	sizes := []int32{1, 1, 2 /* m, n, k of group 0 */, 1, 2, 1 /* of group 1 */}

	// On CUDA all of this is device memory: Int32At instead of Int32s, and arrays of addresses. On the host the arrays of
	// addresses hold Go pointers, which must be pinned.
	var pinner runtime.Pinner
	defer pinner.Unpin()
	addresses := func(matrices ...*float32) uintptr {
		for _, m := range matrices {
			pinner.Pin(m)
		}
		pinner.Pin(&matrices[0])
		return uintptr(unsafe.Pointer(&matrices[0]))
	}
	f32 := ggemm.GroupedMatrix{Dtype: ggemm.F32} // packed row-major, each group by its own sizes
	err = ctx.GroupedGemm(&ggemm.Grouped{
		Groups: 2,
		M:      ggemm.Int32s(sizes, 3), N: ggemm.Int32s(sizes[1:], 3), K: ggemm.Int32s(sizes[2:], 3),
		A: f32, B: f32, D: f32,
	}, ggemm.Pointers{A: addresses(&a[0], &a[2]), B: addresses(&b[0], &b[0]), D: addresses(&d[0], &d[1])})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	// Output: [12 30 3]
}

func ExampleError() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	a, b, d := make([]float32, 64*128), make([]float32, 96*32), make([]float32, 64*32)
	err = ctx.Gemm(ggemm.RowMajor(a, 64, 128), ggemm.RowMajor(b, 96, 32), ggemm.RowMajor(d, 64, 32))
	if errors.Is(err, ggemm.ErrArgument) {
		fmt.Println(err)
	}
	var e *ggemm.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status)
	}
	// Output:
	// ggemm: k differs: A is 64x128 (k=128), B is 96x32 (k=96)
	// GGEMM_ERROR_ARGUMENT
}

func ExampleContext_Plan() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	f32 := ggemm.Of(ggemm.F32) // no memory yet
	plan, err := ctx.Plan(f32.RowMajor(8, 2), f32.RowMajor(2, 2), f32.RowMajor(8, 2), ggemm.WithActivation(ggemm.ReLU))
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x, w, y := []float32{1, -1, 2, 0}, []float32{1, 2, 3, 4}, make([]float32, 4)
	for range 2 {
		err := plan.Run(ggemm.RowMajor(x, 2, 2), ggemm.RowMajor(w, 2, 2), ggemm.RowMajor(y, 2, 2)) // no look-up
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(y)
		x[1] = 1
	}
	// Output:
	// [0 0 2 4]
	// [4 6 2 4]
}

func ExampleContext_Prepare() {
	ctx, err := ggemm.Open(ggemm.Host)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	var problems []ggemm.Problem
	bf16 := ggemm.Of(ggemm.BF16)
	for _, m := range []int{1, 64, 4096} {
		problems = append(problems, ggemm.Product(bf16.RowMajor(m, 512), bf16.ColMajor(512, 256), bf16.RowMajor(m, 256)))
	}
	// Compiling takes its time: a deadline, or a signal, ends it between two kernels.
	background, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = ctx.Prepare(background, problems, func(done, total int, what string) { fmt.Println(done, "of", total) })
	if errors.Is(err, ggemm.ErrCancelled) {
		fmt.Println("the rest is compiled when it is first used")
	} else if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 of 3
	// 2 of 3
	// 3 of 3
}

func ExampleContext_Tune() {
	// What is found is kept in the cache folder, for this process and later ones; here there is none.
	ctx, err := ggemm.OpenWith(ggemm.Options{Device: ggemm.Host, CacheDir: ggemm.None})
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	f32 := ggemm.Of(ggemm.F32)
	problem := ggemm.Product(f32.RowMajor(64, 64), f32.RowMajor(64, 64), f32.RowMajor(64, 64))
	result, err := ctx.Tune(context.Background(), problem, ggemm.TuneOptions{
		Budget: 5 * time.Second,
		Each:   func(row ggemm.TuneRow) { fmt.Println(row.Index+1, "of", row.Total) },
	})
	if err != nil {
		log.Fatal(err)
	}
	config, err := ggemm.ParseConfig(result.Best)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the best is of the family", config.Family, "and timed:", result.Time > 0)
	// Output:
	// 1 of 1
	// the best is of the family host and timed: true
}

func ExampleOptions() {
	handler := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})
	ctx, err := ggemm.OpenWith(ggemm.Options{Device: ggemm.Host, Threads: 2, Logger: slog.New(handler)})
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	fmt.Println(ctx.Device().Threads, "threads")
	// Output: 2 threads
}

func ExampleTileGrid_At() {
	grid := ggemm.TileGrid{M: ggemm.Const(1024), N: ggemm.Const(768), TileM: 128, TileN: 64, Raster: 2}
	tile, err := grid.At(60)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("tile (%d, %d): rows %d..%d, columns %d..%d\n", tile.TileRow, tile.TileCol, tile.RowBegin, tile.RowEnd-1, tile.ColBegin, tile.ColEnd-1)
	// Output: tile (4, 6): rows 512..639, columns 384..447
}

// attend queues scores = Q K^T / 8 and out = scores V on a stream, all in device memory: 64 queries of 128 keys, 64 elements each.
func attend(ctx *ggemm.Context, q, k, v, scores, out, stream uintptr) error {
	f16 := func(address uintptr, rows int) ggemm.Matrix { return ggemm.At(address, ggemm.F16).RowMajor(rows, 64) }
	s := ggemm.At(scores, ggemm.F16).RowMajor(64, 128)
	err := ctx.Gemm(f16(q, 64), f16(k, 128).T(), s, ggemm.WithAlpha(1.0/8), ggemm.WithStream(stream))
	if err != nil {
		return err
	}
	return ctx.Gemm(s, f16(v, 128), f16(out, 64), ggemm.WithStream(stream)) // runs after the first, as both are on one stream
}
