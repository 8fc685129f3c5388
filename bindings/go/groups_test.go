// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"ggemm"
)

func TestGemmGroupsRandomViews(t *testing.T) {
	ctx := open(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			groups := make([]ggemm.Group, r.IntN(6))
			got, want := make([][]float64, len(groups)), make([][]float64, len(groups))
			withBias := r.IntN(2) == 0
			for g := range groups {
				m, n, k := r.IntN(7), r.IntN(7), r.IntN(7)
				a, b, c, d := randomView(r, m, k), randomView(r, k, n), randomView(r, m, n), randomView(r, m, n)
				bias := make([]float64, m+1)
				groups[g] = ggemm.Group{A: a.matrix(), B: b.matrix(), C: c.matrix(), D: d.matrix()}
				if withBias {
					for i := range bias {
						bias[i] = float64(r.IntN(5))
					}
					groups[g].RowBias = ggemm.Slice(bias)
				}
				expected := d
				expected.data = append([]float64(nil), d.data...)
				for i := range m {
					for j := range n {
						sum := 2**c.at(i, j) + bias[i]
						for l := range k {
							sum += 3 * *a.at(i, l) * *b.at(l, j)
						}
						*expected.at(i, j) = sum
					}
				}
				got[g], want[g] = d.data, expected.data
			}
			check(t, ctx.GemmGroups(groups, ggemm.WithAlpha(3), ggemm.WithBeta(2)))
			for g := range groups {
				equal(t, fmt.Sprintf("group %d", g), got[g], want[g])
			}
		})
	}
}

// Pinning takes memory in objects with pointers, in variables of the package, and of other makers.
func TestGemmGroupsMemoryOfAnyKind(t *testing.T) {
	ctx := open(t)
	object := &struct {
		self any
		x    [4]float32
	}{x: [4]float32{1, 2, 3, 4}}
	object.self = object
	d := make([]float32, 8)
	groups := []ggemm.Group{
		{A: ggemm.RowMajor(object.x[:], 2, 2), B: ggemm.RowMajor(packageMemory[:], 2, 2), D: ggemm.RowMajor(d, 2, 2)},
		{A: ggemm.RowMajor(object.x[:], 2, 2).T(), B: ggemm.RowMajor(packageMemory[:], 2, 2), D: ggemm.RowMajor(d[4:], 2, 2), ColumnBias: ggemm.Memory{}},
	}
	check(t, ctx.GemmGroups(groups))
	equal(t, "D", d, []float32{2, 1, 4, 3, 3, 1, 4, 2})
	check(t, ctx.GemmGroups(groups, ggemm.WithBeta(-1)))
	equal(t, "D - D", d, make([]float32, 8))
}

var packageMemory = [4]float32{0, 1, 1, 0}

func TestGemmGroupsRefuses(t *testing.T) {
	ctx, s, d := open(t), make([]float32, 8), []float32{7, 7, 7, 7, 7, 7, 7, 7}
	good := ggemm.Group{A: ggemm.RowMajor(s, 2, 2), B: ggemm.RowMajor(s, 2, 2), D: ggemm.RowMajor(d, 2, 2)}
	with := func(change func(*ggemm.Group)) []ggemm.Group {
		bad := good
		bad.D = ggemm.RowMajor(d[4:], 2, 2)
		change(&bad)
		return []ggemm.Group{good, bad}
	}
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"k":         {ctx.GemmGroups(with(func(g *ggemm.Group) { g.A = ggemm.RowMajor(s, 2, 3) })), "group 1: k differs"},
		"short":     {ctx.GemmGroups(with(func(g *ggemm.Group) { g.D = ggemm.RowMajor(d[6:], 2, 2) })), "group 1: D has elements 0 to 3 of a slice of 2"},
		"dtype":     {ctx.GemmGroups(with(func(g *ggemm.Group) { g.A = ggemm.RowMajor(make([]float64, 4), 2, 2) })), "group 1 has other dtypes"},
		"bias":      {ctx.GemmGroups(with(func(g *ggemm.Group) { g.RowBias = ggemm.Slice(s) })), "group 1 has other dtypes, or another kind of bias"},
		"C":         {ctx.GemmGroups(with(func(g *ggemm.Group) { g.C = ggemm.RowMajor(s, 1, 2) }), ggemm.WithBeta(1)), "group 1: C is 1x2, and D is 2x2"},
		"two":       {ctx.GemmGroups([]ggemm.Group{{A: good.A, B: good.B, D: good.D, RowBias: ggemm.Slice(s), ColumnBias: ggemm.Slice(s)}}), "group 0 has a ColumnBias and a RowBias"},
		"C's place": {ctx.GemmGroups([]ggemm.Group{good}, ggemm.WithC(good.D, 1)), "belong into its Group"},
		"overlap":   {ctx.GemmGroups(with(func(g *ggemm.Group) { g.D = ggemm.Strided(d, 4, 2, 2, 0, 1) })), "group 1: D is 2x2 with strides 0, 1"},
	} {
		t.Run(name, func(t *testing.T) { mustFail(t, c.err, ggemm.ErrArgument, c.text) })
	}
	equal(t, "D after refused calls", d, []float32{7, 7, 7, 7, 7, 7, 7, 7})
	check(t, ctx.GemmGroups(nil))
}

// A plan sees what its arrays hold when it runs, and keeps them in their place.
func TestGroupedPlanReadsItsArraysAtEachRun(t *testing.T) {
	ctx := open(t)
	a, b, d := []float32{1, 2, 3, 4}, []float32{1, 0, 0, 1}, make([]float32, 4)
	sizes := []int64{2, 2, 2}
	plan := must(ctx.PlanGrouped(&ggemm.Grouped{
		Groups: 1, M: ggemm.Int64s(sizes, 3), N: ggemm.Int64s(sizes[1:], 3), K: ggemm.Int64s(sizes[2:], 3), A: f32, B: f32, D: f32,
	}, ggemm.WithAlpha(2)))(t)
	defer plan.Close()
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pointer := func(s []float32) uintptr {
		array := &[1]unsafe.Pointer{unsafe.Pointer(&s[0])}
		pinner.Pin(&s[0])
		pinner.Pin(array)
		return uintptr(unsafe.Pointer(array))
	}
	pointers := ggemm.Pointers{A: pointer(a), B: pointer(b), D: pointer(d)}
	runtime.GC()
	check(t, plan.Run(pointers))
	equal(t, "2 A", d, []float32{2, 4, 6, 8})
	sizes[0] = 1
	check(t, plan.Run(pointers, ggemm.WithAlpha(3)))
	equal(t, "one row of 3 A", d, []float32{3, 6, 6, 8})
	check(t, plan.Run(pointers, ggemm.WithScaleA(ggemm.Scale{}))) // none, as in the plan
	mustFail(t, plan.Run(pointers, ggemm.WithConfig("x")), ggemm.ErrArgument, "WithConfig is not what the plan was made with")
	mustFail(t, plan.Run(pointers, ggemm.WithC(ggemm.Matrix{}, 1)), ggemm.ErrArgument, "belongs into its operands")
	mustFail(t, plan.Run(ggemm.Pointers{}), ggemm.ErrArgument, "a")
}

func TestGroupedRefuses(t *testing.T) {
	ctx := open(t)
	three := []int32{1, 1, 1}
	for name, c := range map[string]struct {
		problem ggemm.Grouped
		text    string
	}{
		"short":    {ggemm.Grouped{Groups: 4, M: ggemm.Int32s(three, 1)}, "M has 3 numbers, 1 apart, for 4 groups"},
		"step":     {ggemm.Grouped{Groups: 2, A: ggemm.GroupedMatrix{RowStride: ggemm.Int32s(three, 3)}}, "A.RowStride has 3 numbers, 3 apart, for 2 groups"},
		"back":     {ggemm.Grouped{Groups: 2, N: ggemm.Int32s(three, -1)}, "N has 3 numbers, -1 apart"},
		"empty":    {ggemm.Grouped{Groups: 1, K: ggemm.Int64s(nil, 0)}, "K has 0 numbers"},
		"negative": {ggemm.Grouped{Groups: -1}, "Groups=-1"},
		"const":    {ggemm.Grouped{Groups: 1, M: ggemm.Const(-1), A: f32, B: f32, D: f32}, "m=-1"},
		"dtype":    {ggemm.Grouped{Groups: 1, A: f32, B: f32}, "d.dtype=0"},
	} {
		t.Run(name, func(t *testing.T) {
			mustFail(t, ctx.GroupedGemm(&c.problem, ggemm.Pointers{}), ggemm.ErrArgument, c.text)
			_, err := ctx.PlanGrouped(&c.problem)
			mustFail(t, err, ggemm.ErrArgument, c.text)
		})
	}
	check(t, ctx.GroupedGemm(&ggemm.Grouped{A: f32, B: f32, D: f32, M: ggemm.Int32s(nil, 1)}, ggemm.Pointers{}))
}

func TestGemmGroupsTakeScalarsOfTheirOwn(t *testing.T) {
	ctx := open(t)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	at := func(numbers []float32) uintptr {
		pinner.Pin(&numbers[0])
		return uintptr(unsafe.Pointer(&numbers[0]))
	}
	x, d := []float32{1, 4, 1, 4}, []float32{1, 1}
	groups := []ggemm.Group{
		{A: ggemm.RowMajor(x[1:], 1, 1), B: ggemm.RowMajor(x, 1, 1), D: ggemm.RowMajor(d, 1, 1)},
		{A: ggemm.RowMajor(x[3:], 1, 1), B: ggemm.RowMajor(x, 1, 1), D: ggemm.RowMajor(d[1:], 1, 1)},
	}
	check(t, ctx.GemmGroups(groups, ggemm.WithGroupScalars(at([]float32{2, 5}), 0)))
	equal(t, "alpha of each", d, []float32{8, 20})
	check(t, ctx.GemmGroups(groups, ggemm.WithGroupScalars(0, at([]float32{1, 2}))))
	equal(t, "beta of each", d, []float32{12, 44})
	check(t, ctx.GemmGroups(groups, ggemm.WithDeviceScalars(at([]float32{2, 5}), 0)))
	equal(t, "one alpha for all", d, []float32{8, 8})
}

// What a single product refuses of D, a list does of each group's.
func TestGemmGroupsRefuseOverlaps(t *testing.T) {
	ctx, s, d := open(t), make([]float32, 64), make([]float32, 64)
	for i := range s {
		s[i], d[i] = 2, 7
	}
	row := func(from, rows, cols int) ggemm.Matrix { return ggemm.RowMajor(s[from:], rows, cols) }
	scale := func(m ggemm.Matrix) ggemm.Scale { return ggemm.Scale{Kind: ggemm.TensorScale, Values: m} }
	first := ggemm.Group{A: row(0, 4, 4), B: row(16, 4, 4), D: ggemm.RowMajor(d, 4, 4)}
	beside := func(group ggemm.Group) error {
		list := []ggemm.Group{first, group}
		if group.ScaleA.Kind != ggemm.NoScale {
			list[0].ScaleA = scale(row(0, 1, 1))
		}
		return ctx.GemmGroups(list, ggemm.WithBeta(1))
	}
	with := func(d ggemm.Matrix) ggemm.Group { return ggemm.Group{A: row(0, 4, 4), B: row(16, 4, 4), D: d} }
	for name, c := range map[string]struct {
		group ggemm.Group
		text  string
	}{
		"itself":         {with(ggemm.Strided(d, 16, 4, 4, 1, 1)), "group 1: D is 4x4 with strides 1, 1: its elements must not coincide"},
		"no row stride":  {with(ggemm.Strided(d, 16, 4, 4, 0, 1)), "with strides 0, 1"},
		"no strides":     {with(ggemm.Strided(d, 16, 4, 4, 0, 0)), "with strides 0, 0"},
		"near rows":      {with(ggemm.Strided(d, 16, 4, 4, -3, 1).T()), "with strides 1, -3"},
		"a diagonal":     {with(ggemm.Strided(d, 0, 4, 4, 6, 4)), "with strides 6, 4"},
		"A":              {with(row(0, 4, 4)), "group 1: D overlaps A"},
		"a part of B":    {with(row(31, 4, 4)), "group 1: D overlaps B"},
		"A, with gaps":   {with(ggemm.Strided(s, 15, 4, 4, 5, 1)), "D overlaps A"},
		"C":              {ggemm.Group{A: first.A, B: first.B, C: ggemm.RowMajor(d[20:], 4, 4), D: ggemm.RowMajor(d[16:], 4, 4)}, "D overlaps C"},
		"D as another C": {ggemm.Group{A: first.A, B: first.B, C: ggemm.RowMajor(d[16:], 4, 4).T(), D: ggemm.RowMajor(d[16:], 4, 4)}, "D overlaps C"},
		"scales": {ggemm.Group{A: first.A, B: first.B, D: ggemm.RowMajor(d[16:], 4, 4), ScaleA: scale(ggemm.RowMajor(d[17:], 1, 1))},
			"D overlaps scale A"},
	} {
		t.Run(name, func(t *testing.T) { mustFail(t, beside(c.group), ggemm.ErrArgument, c.text) })
	}
	equal(t, "D after refused calls", d[:32], slices.Repeat([]float32{7}, 32))

	none := ggemm.RowMajor(s[32:], 4, 0)
	for name, group := range map[string]ggemm.Group{
		"a wider array":        with(ggemm.Strided(d, 16, 4, 4, 9, 1)),
		"backwards":            with(ggemm.Strided(d, 63, 4, 4, -4, -1)),
		"rows that interleave": with(ggemm.Strided(d, 16, 4, 4, 2, 9)),
		"one row":              with(ggemm.Strided(d, 16, 1, 4, 0, 1)),
		"C that is D":          {A: first.A, B: first.B, C: ggemm.RowMajor(d[16:], 4, 4), D: ggemm.RowMajor(d[16:], 4, 4)},
		"no A to overlap":      {A: none, B: none.T(), D: ggemm.RowMajor(s[32:], 4, 4)},
	} {
		if group.D.Rows() == 1 {
			group.A = row(0, 1, 4)
		}
		t.Run(name, func(t *testing.T) { check(t, beside(group)) })
	}
}
