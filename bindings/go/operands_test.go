// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"runtime"
	"testing"
	"unsafe"

	"ggemm"
)

// Two groups, in each form: slices of these lengths are enough, and of each one less is not.
func TestGroupedOperandsAreAsLongAsTheProblemSays(t *testing.T) {
	ctx := open(t)
	const m, n, k = 4, 6, 2
	base := ggemm.Grouped{Groups: 2, M: ggemm.Const(m), N: ggemm.Const(n), K: ggemm.Const(k), A: f32, B: f32, D: f32}
	of := func(form ggemm.Form, change func(*ggemm.Grouped)) *ggemm.Grouped {
		g := base
		switch g.Form = form; form {
		case ggemm.RaggedM:
			g.Ends = ggemm.Int32s([]int32{1, 3}, 1)
		case ggemm.RaggedK:
			g.Ends = ggemm.Int32s([]int32{1, 1}, 1)
		case ggemm.Masked:
			g.Counts = ggemm.Int64s([]int64{1, 0}, 1)
		}
		if change != nil {
			change(&g)
		}
		return &g
	}
	scaled := func(a, b ggemm.ScaleKind) func(*ggemm.Grouped) {
		return func(g *ggemm.Grouped) {
			g.K, g.ScaleA.Kind, g.ScaleB.Kind = ggemm.Const(130), a, b
		}
	}
	apart := func(elements int) ggemm.Distance { return ggemm.Distance{Elements: elements} }
	gated, none := ggemm.WithGate(ggemm.Halves), ggemm.WithAlpha(1)
	for name, c := range map[string]struct {
		problem *ggemm.Grouped
		option  ggemm.Option
		lengths map[string]int
	}{
		"ragged m": {of(ggemm.RaggedM, func(g *ggemm.Grouped) { g.Bias = ggemm.RowBias }), ggemm.WithBeta(1),
			map[string]int{"A": m * k, "B": 2 * k * n, "C": m * n, "D": m * n, "the bias": m}},
		"rows by index": {of(ggemm.RaggedM, func(g *ggemm.Grouped) {
			g.AIndex, g.ARows, g.DIndex, g.DRows = ggemm.Int32s([]int32{4, 3, 2, 1}, 1), 5, ggemm.Int32s([]int32{6, 5, 4, 3}, 1), 7
		}), none, map[string]int{"A": 5 * k, "B": 2 * k * n, "D": 7 * n, "RowWeights": m}},
		"ragged k": {of(ggemm.RaggedK, func(g *ggemm.Grouped) { g.Bias = ggemm.ColumnBias }), ggemm.WithBeta(1),
			map[string]int{"A": m * k, "B": k * n, "C": 2 * m * n, "D": 2 * m * n, "the bias": 2 * n}},
		"masked": {of(ggemm.Masked, func(g *ggemm.Grouped) { g.Bias, g.BiasGroups.Shared = ggemm.ColumnBias, true }), none,
			map[string]int{"A": 2 * m * k, "B": 2 * k * n, "D": 2 * m * n, "the bias": n}},
		"gated": {of(ggemm.RaggedM, func(g *ggemm.Grouped) { g.Bias = ggemm.ColumnBias }), gated,
			map[string]int{"A": m * k, "B": 2 * k * n, "D": m * n / 2, "the bias": 2 * n}},
		"sizes of their own": {of(ggemm.Batch, func(g *ggemm.Grouped) {
			g.M, g.A.Groups, g.B.Groups.Shared, g.D.Groups = ggemm.Int32s([]int32{1, 9, 3, 9}, 2), apart(5), true, apart(10)
		}), none, map[string]int{"A": 5 + 3*k, "B": k * n, "D": 10 + 3*n}},
		"an empty group": {of(ggemm.Batch, func(g *ggemm.Grouped) {
			g.M, g.A.Groups, g.B.Groups, g.D.Groups = ggemm.Int64s([]int64{3, 0}, 1), apart(99), apart(99), apart(99)
		}), none, map[string]int{"A": 3 * k, "B": k * n, "D": 3 * n}},
		"strides": {of(ggemm.Batch, func(g *ggemm.Grouped) {
			g.A.RowStride, g.A.ColStride = ggemm.Const(1), ggemm.Const(m+1)
			g.D.RowStride, g.D.ColStride, g.D.Groups = ggemm.Int32s([]int32{n, 20}, 1), ggemm.Const(1), apart(30)
		}), none, map[string]int{"A": k*(m+1) + (k-1)*(m+1) + m, "B": 2 * k * n, "D": 30 + (m-1)*20 + n}},
		"one scale a group": {of(ggemm.Batch, scaled(ggemm.TensorScale, ggemm.VectorScale)), none,
			map[string]int{"A": 2 * m * 130, "B": 2 * 130 * n, "D": 2 * m * n, "ScaleA": 2, "ScaleB": 2 * n}},
		"scales, ragged m": {of(ggemm.RaggedM, scaled(ggemm.Block1x128Scale, ggemm.Block128x128Scale)), none,
			map[string]int{"A": m * 130, "B": 2 * 130 * n, "D": m * n, "ScaleA": m * 2, "ScaleB": 2 * 2}},
		"blocks, ragged m": {of(ggemm.RaggedM, scaled(ggemm.Block128x128Scale, ggemm.NoScale)), none,
			map[string]int{"A": m * 130, "B": 2 * 130 * n, "D": m * n, "ScaleA": 2 * 2}},
		"scales, ragged k": {of(ggemm.RaggedK, scaled(ggemm.VectorScale, ggemm.Block1x128Scale)), none,
			map[string]int{"A": m * 130, "B": 130 * n, "D": 2 * m * n, "ScaleA": 2 * m, "ScaleB": 3 * n}},
		"no k":   {of(ggemm.RaggedM, func(g *ggemm.Grouped) { g.K = ggemm.Const(0) }), none, map[string]int{"D": m * n}},
		"no n":   {of(ggemm.RaggedM, func(g *ggemm.Grouped) { g.N = ggemm.Const(0) }), none, nil},
		"groups": {of(ggemm.Batch, func(g *ggemm.Grouped) { g.Groups = 0 }), none, nil},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(change func(name string, memory *ggemm.Memory)) ggemm.Operands {
				o := ggemm.Operands{A: ggemm.Slice([]float32{}), B: ggemm.Slice([]float32{}), D: ggemm.Slice([]float32{})}
				for name, at := range map[string]*ggemm.Memory{
					"A": &o.A, "B": &o.B, "C": &o.C, "D": &o.D, "the bias": &o.Bias, "ScaleA": &o.ScaleA, "ScaleB": &o.ScaleB, "RowWeights": &o.RowWeights,
				} {
					if length := c.lengths[name]; length > 0 {
						*at = ggemm.Slice(make([]float32, length))
						change(name, at)
					}
				}
				return o
			}
			check(t, ctx.GroupedGemm(c.problem, with(func(string, *ggemm.Memory) {}), c.option))
			plan := must(ctx.PlanGrouped(c.problem, c.option))(t)
			defer plan.Close()
			for changed, length := range c.lengths {
				for text, other := range map[string]ggemm.Memory{
					changed + " has elements ":                  ggemm.Slice(make([]float32, length-1)),
					changed + " is f64, and the problem takes ": ggemm.Slice(make([]float64, length)),
					changed + " is f16, and the problem takes ": ggemm.At(4096, ggemm.F16),
				} {
					operands := with(func(name string, memory *ggemm.Memory) {
						if name == changed {
							*memory = other
						}
					})
					mustFail(t, ctx.GroupedGemm(c.problem, operands, c.option), ggemm.ErrArgument, text)
					mustFail(t, plan.Run(operands), ggemm.ErrArgument, text)
				}
			}
		})
	}
}

func TestGroupedOperandsNameTheGroup(t *testing.T) {
	ctx := open(t)
	s := ggemm.Slice(make([]float32, 8))
	batch := ggemm.Grouped{Groups: 3, Form: ggemm.Batch, M: ggemm.Const(2), N: ggemm.Const(1), K: ggemm.Const(1), A: f32, B: f32, D: f32}
	mustFail(t, ctx.GroupedGemm(&batch, ggemm.Operands{A: s, B: s, D: ggemm.Slice(make([]float32, 5))}), ggemm.ErrArgument,
		"group 2: D has elements 4 to 5 of a slice of 5")
	batch.A.RowStride, batch.A.ColStride = ggemm.Const(-2), ggemm.Const(1)
	mustFail(t, ctx.GroupedGemm(&batch, ggemm.Operands{A: s, B: s, D: s}), ggemm.ErrArgument, "group 0: A has elements -2 to 0 of a slice of 8")
	batch.A = ggemm.GroupedMatrix{Dtype: ggemm.F32, Groups: ggemm.Distance{Pointers: true}}
	mustFail(t, ctx.GroupedGemm(&batch, ggemm.Operands{A: ggemm.Bytes(make([]byte, 23), ggemm.I8), B: s, D: s}), ggemm.ErrArgument,
		"A has 23 bytes, and the addresses of 3 groups are 8 each")
	batch.A, batch.Checked = f32, true
	mustFail(t, ctx.GroupedGemm(&batch, ggemm.Operands{A: s, B: s, D: s, Status: s}), ggemm.ErrArgument, "Status is f32, and the problem takes i32")
}

func TestGroupedOperandsThatAreLookedAtWhateverTheSizes(t *testing.T) {
	ctx := open(t)
	one := ggemm.Const(1)
	s, d := ggemm.Slice(make([]float32, 15)), ggemm.Slice(make([]float32, 15))
	// The status is written though there be no groups.
	none := ggemm.Grouped{Form: ggemm.Batch, M: one, N: one, K: one, A: f32, B: f32, D: f32, Checked: true}
	mustFail(t, ctx.GroupedGemm(&none, ggemm.Operands{A: s, B: s, D: d, Status: ggemm.Slice(make([]int32, 1))}), ggemm.ErrArgument, "Status has elements 0 to 3 of a slice of 1")
	// An empty group is not looked at, the one before it is.
	batch := ggemm.Grouped{Groups: 3, Form: ggemm.Batch, M: ggemm.Int32s([]int32{5, 5, 0}, 1), N: one, K: one, A: f32, B: f32, D: f32}
	batch.A.Groups, batch.D.Groups = ggemm.Distance{Elements: 5}, ggemm.Distance{Elements: 5}
	mustFail(t, ctx.GroupedGemm(&batch, ggemm.Operands{A: s, B: ggemm.Slice(make([]float32, 1)), D: d}), ggemm.ErrArgument, "group 1: B has elements 1 to 1 of a slice of 1")
	check(t, ctx.GroupedGemm(&batch, ggemm.Operands{A: s, B: ggemm.Slice(make([]float32, 2)), D: d}))
}

// A number of each group lies where the distance says in the form of pointers too.
func TestTensorScalesOfPointers(t *testing.T) {
	ctx := open(t)
	numbers, d := []float32{2, 2, 2}, make([]float32, 3)
	address := func(of []float32, step int) []uint64 {
		out := make([]uint64, 3)
		for i := range out {
			out[i] = uint64(uintptr(unsafe.Pointer(&of[i*step])))
		}
		return out
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&numbers[0])
	pins.Pin(&d[0])
	one := ggemm.Const(1)
	problem := ggemm.Grouped{Groups: 3, Form: ggemm.PointerGroups, M: one, N: one, K: one, A: f32, B: f32, D: f32}
	problem.ScaleA.Kind = ggemm.TensorScale
	bytes := func(addresses []uint64) ggemm.Memory {
		return ggemm.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&addresses[0])), 8*len(addresses)), ggemm.F32)
	}
	operands := ggemm.Operands{A: bytes(address(numbers, 0)), B: bytes(address(numbers, 0)), D: bytes(address(d, 1)), ScaleA: ggemm.Slice([]float32{1, 10, 100})}
	check(t, ctx.GroupedGemm(&problem, operands))
	if d[0] != 4 || d[1] != 40 || d[2] != 400 {
		t.Errorf("D is %v", d)
	}
	operands.ScaleA = ggemm.Slice([]float32{1, 10})
	mustFail(t, ctx.GroupedGemm(&problem, operands), ggemm.ErrArgument, "ScaleA has elements 2 to 2 of a slice of 2")
}
