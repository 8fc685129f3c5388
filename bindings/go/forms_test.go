// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"errors"
	"testing"

	"ggemm"
)

func TestScalesAndPairs(t *testing.T) {
	ctx := open(t)
	a, b := ggemm.RowMajor([]float32{1, 2, 3, 4, 5, 6}, 2, 3), ggemm.RowMajor([]float32{1, 0, 0, 1, 1, 1}, 3, 2)
	byRow := ggemm.Scale{Kind: ggemm.VectorScale, Values: ggemm.RowMajor([]float32{1, 10}, 2, 1)}
	half := ggemm.Scale{Kind: ggemm.TensorScale, Values: ggemm.RowMajor([]float32{0.5}, 1, 1)}
	d := make([]float32, 4)
	check(t, ctx.Gemm(a, b, ggemm.RowMajor(d, 2, 2), ggemm.WithScaleA(byRow), ggemm.WithScaleB(half)))
	equal(t, "scaled", d, []float32{2, 2.5, 50, 55})

	pairs := make([]float32, 2)
	check(t, ctx.Gemm(a, b, ggemm.RowMajor(pairs, 2, 1), ggemm.WithGate(ggemm.Halves), ggemm.WithActivation(ggemm.ReLU)))
	equal(t, "pairs", pairs, []float32{20, 110})
	plan := must(ctx.Plan(a, b, ggemm.RowMajor(pairs, 2, 1), ggemm.WithGate(ggemm.Interleaved), ggemm.WithScaleA(byRow)))(t)
	defer plan.Close()
	check(t, plan.Run(a, b, ggemm.RowMajor(pairs, 2, 1)))
	equal(t, "pairs of a plan", pairs, []float32{20, 11000})
	twice := ggemm.Scale{Kind: ggemm.VectorScale, Values: ggemm.RowMajor([]float32{2, 20}, 2, 1)}
	check(t, plan.Run(a, b, ggemm.RowMajor(pairs, 2, 1), ggemm.WithScaleA(twice)))
	equal(t, "other scales", pairs, []float32{80, 44000})

	groups := []ggemm.Group{{A: a, B: b, D: ggemm.RowMajor(d, 2, 2), ScaleA: byRow}, {A: b, B: a, D: ggemm.RowMajor(make([]float32, 9), 3, 3), ScaleA: ggemm.Scale{
		Kind: ggemm.VectorScale, Values: ggemm.RowMajor([]float32{1, 1, 1}, 3, 1)}}}
	check(t, ctx.GemmGroups(groups))
	equal(t, "a list", d, []float32{4, 5, 100, 110})
	groups[1].ScaleA = half
	mustFail(t, ctx.GemmGroups(groups), ggemm.ErrArgument, "group 1 has other dtypes, or another kind of bias or scales")

	for _, c := range []struct {
		err  error
		text string
	}{
		{ctx.Gemm(a, b, ggemm.RowMajor(d, 2, 2), ggemm.WithGate(ggemm.Halves)), "n differs: B is 3x2 (n=2, so 1 pairs), D is 2x2"},
		{ctx.Gemm(a, b, ggemm.RowMajor(d, 2, 2), ggemm.WithScaleB(byRow)), "scale B is 2x1, and this product needs 1x2"},
		{ctx.Gemm(a, b, ggemm.RowMajor(pairs, 2, 1), ggemm.WithGate(ggemm.Halves), ggemm.WithBeta(1)), "gated pairs have no C"},
		{ctx.Gemm(a, b, ggemm.RowMajor(d, 2, 2), ggemm.WithMaxCTAs(-1)), "max_ctas=-1"},
		{ctx.GroupedGemm(raggedProblem([]int32{1, 2}), ggemm.Operands{}, ggemm.WithMaxCTAs(-2)), "max_ctas=-2"},
		{plan.Run(a, b, ggemm.RowMajor(pairs, 2, 1), ggemm.WithBeta(1)), "gated pairs have no C"},
		{plan.Run(a, b, ggemm.RowMajor(pairs, 2, 1), ggemm.WithScaleA(half)), "WithScaleA is not what the plan was made with"},
		{plan.Run(a, b, ggemm.RowMajor(pairs, 2, 1), ggemm.WithGate(ggemm.NoGate)), "WithGate is not what the plan was made with"},
	} {
		mustFail(t, c.err, ggemm.ErrArgument, c.text)
	}
}

func raggedProblem(ends []int32) *ggemm.Grouped {
	return &ggemm.Grouped{
		Groups: len(ends), Form: ggemm.RaggedM, M: ggemm.Const(2), N: ggemm.Const(1), K: ggemm.Const(3), Ends: ggemm.Int32s(ends, 1), A: f32, B: f32, D: f32,
	}
}

func TestCheckedMode(t *testing.T) {
	ctx := open(t)
	d, status := []float32{9, 9}, [4]int32{}
	operands := ggemm.Operands{
		A: ggemm.Slice([]float32{1, 2, 3, 4, 5, 6}), B: ggemm.Slice([]float32{1, 1, 1, 2, 2, 2}), D: ggemm.Slice(d), Status: ggemm.Slice(status[:]),
	}
	problem := raggedProblem([]int32{2, 1})
	problem.Checked = true
	mustFail(t, ctx.GroupedGemm(problem, operands), ggemm.ErrArgument, "ends[1] = 1, after 2 and with m=2 in all")
	err := ggemm.ReadFault(status)
	var fault *ggemm.Fault
	if !errors.As(err, &fault) || fault.Kind != ggemm.EndFault || fault.Group != 1 || fault.Field != "m" || !errors.Is(err, ggemm.ErrArgument) {
		t.Fatalf("got %v", err)
	}
	if want := "m of group 1: it ends before it begins, or above the size in all"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if want, got := "a_index[9], group 3: it is not below the number of rows", ggemm.ReadFault([4]int32{7, 3, 4, 9}).Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ggemm.ReadFault([4]int32{99, 0, 99, 0}).Error(); got != " of group 0: fault 99" {
		t.Errorf("got %q", got)
	}
	equal(t, "D", d, []float32{9, 9})
	operands.Status = ggemm.Slice(status[:2])
	mustFail(t, ctx.GroupedGemm(problem, operands), ggemm.ErrArgument, "Status has elements 0 to 3 of a slice of 2")
}

func TestOperandsByDistanceAndPointers(t *testing.T) {
	ctx := open(t)
	x, d := []float32{1, 2, 3}, make([]float32, 3)
	one := ggemm.Const(1)
	problem := &ggemm.Grouped{Groups: 3, Form: ggemm.Batch, M: one, N: one, K: one, A: f32, B: f32, D: f32}
	operands := ggemm.Operands{A: ggemm.Slice(x), B: ggemm.Slice(x), D: ggemm.Slice(d)}
	check(t, ctx.GroupedGemm(problem, operands))
	equal(t, "packed", d, []float32{1, 4, 9})
	problem.B.Groups.Shared = true
	check(t, ctx.GroupedGemm(problem, operands, ggemm.WithAlpha(2)))
	equal(t, "shared", d, []float32{2, 4, 6})
	problem.ScaleA = ggemm.GroupedScale{Kind: ggemm.TensorScale}
	operands.ScaleA = ggemm.Slice([]float32{1, 10, 100})
	check(t, ctx.GroupedGemm(problem, operands))
	equal(t, "scaled", d, []float32{1, 20, 300})
	mustFail(t, ctx.GroupedGemm(problem, operands, ggemm.WithScaleA(ggemm.Scale{Kind: ggemm.TensorScale, Values: ggemm.RowMajor(x, 1, 1)})), ggemm.ErrArgument,
		"C, bias and scales of a grouped problem belong into Grouped and its operands")
	problem.Ends = ggemm.Int32s([]int32{1}, 1)
	mustFail(t, ctx.GroupedGemm(problem, operands), ggemm.ErrArgument, "Ends has 1 numbers, 1 apart, for 3 groups")
}
