// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"ggemm"
)

func TestPlanRunsOtherSizesAndOperands(t *testing.T) {
	ctx := open(t)
	of := ggemm.Of(ggemm.F32)
	bias := ggemm.Slice([]float32{10, 20, 30})
	plan := must(ctx.Plan(of.RowMajor(2, 2), of.RowMajor(2, 2), of.RowMajor(2, 2), ggemm.WithColumnBias(bias), ggemm.WithActivation(ggemm.ReLU)))(t)
	defer plan.Close()
	a, b, d := []float32{1, 2, 3}, []float32{1, 2, 3}, make([]float32, 9)
	check(t, plan.Run(ggemm.RowMajor(a, 3, 1), ggemm.RowMajor(b, 1, 3), ggemm.RowMajor(d, 3, 3)))
	equal(t, "3x3x1", d, []float32{11, 22, 33, 12, 24, 36, 13, 26, 39})
	check(t, plan.Run(ggemm.RowMajor(a, 1, 3), ggemm.RowMajor(b, 3, 1), ggemm.RowMajor(d, 1, 1),
		ggemm.WithAlpha(2), ggemm.WithBeta(1), ggemm.WithColumnBias(ggemm.Slice(make([]float32, 1)))))
	equal(t, "1x1x3 added to", d[:2], []float32{39, 22})
}

func TestPlanRefusesWhatItWasNotMadeFor(t *testing.T) {
	ctx, s := open(t), make([]float32, 32)
	row := func(rows, cols int) ggemm.Matrix { return ggemm.RowMajor(s, rows, cols) }
	d := ggemm.RowMajor(make([]float32, 16), 4, 4)
	plan := must(ctx.Plan(row(4, 4), row(4, 4).T(), d, ggemm.WithRowBias(ggemm.Slice(s))))(t)
	defer plan.Close()
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"dtype":      {plan.Run(ggemm.RowMajor(make([]float64, 16), 4, 4), row(4, 4).T(), d), "A is f64, and the plan was made for f32"},
		"layout":     {plan.Run(row(4, 4), row(4, 4), d), "B has strides 4, 1, and the plan was made for 1, 4"},
		"gap":        {plan.Run(ggemm.Strided(s, 0, 4, 4, 5, 1), row(4, 4).T(), d), "A has strides 5, 1, and the plan was made for 4, 1"},
		"activation": {plan.Run(row(4, 4), row(4, 4).T(), d, ggemm.WithActivation(ggemm.ReLU)), "an activation is not what the plan was made with"},
		"tf32":       {plan.Run(row(4, 4), row(4, 4).T(), d, ggemm.WithTF32()), "a compute mode is not what the plan was made with"},
		"bias":       {plan.Run(row(4, 4), row(4, 4).T(), d, ggemm.WithColumnBias(ggemm.Slice(s))), "a bias is not"},
		"bias dtype": {plan.Run(row(4, 4), row(4, 4).T(), d, ggemm.WithRowBias(ggemm.Slice(make([]float64, 4)))), "a bias is not what the plan was made with"},
		"scalars":    {plan.Run(row(4, 4), row(4, 4).T(), d, ggemm.WithDeviceScalars(0, 0)), "WithDeviceScalars"},
		"C":          {plan.Run(row(4, 4), row(4, 4).T(), d, ggemm.WithC(row(4, 4).T(), 1)), "C has strides 1, 4, and the plan was made for 4, 1"},
		"short":      {plan.Run(row(9, 4), row(4, 4).T(), ggemm.RowMajor(make([]float32, 36), 9, 4)), "A has elements 0 to 35 of a slice of 32"},
		"sizes":      {plan.Run(row(4, 3), row(4, 4).T(), d), "k differs"},
	} {
		t.Run(name, func(t *testing.T) { mustFail(t, c.err, ggemm.ErrArgument, c.text) })
	}
	check(t, plan.Run(ggemm.Strided(s, 0, 1, 4, 99, 1), row(4, 4).T(), ggemm.RowMajor(make([]float32, 4), 1, 4)))     // a stride that nothing is reached by
	check(t, plan.Run(row(4, 4), row(4, 4).T(), d, ggemm.WithScaleA(ggemm.Scale{}), ggemm.WithScaleB(ggemm.Scale{}))) // none, as in the plan
}

func TestPlanTellsItsConfiguration(t *testing.T) {
	ctx := open(t)
	x := ggemm.Of(ggemm.F32).RowMajor(64, 64)
	problem := ggemm.Product(x, x, x)
	configs := must(ctx.Configs(problem))(t)
	if len(configs) == 0 {
		t.Fatal("no configuration")
	}
	parsed := must(ggemm.ParseConfig(configs[0].Name))(t)
	if parsed != configs[0] || parsed.Family != "host" {
		t.Errorf("%+v, read back %+v", configs[0], parsed)
	}
	plan := must(ctx.Plan(x, x, x, ggemm.WithConfig(configs[0].Name)))(t)
	defer plan.Close()
	if config := must(plan.Config())(t); config != configs[0] {
		t.Errorf("the plan has %+v", config)
	}
	if text := must(plan.Explain())(t); !strings.Contains(text, configs[0].Name) || !strings.Contains(text, "forced") {
		t.Errorf("explained as %q", text)
	}
	const name = "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8"
	sm80 := must(ggemm.ParseConfig(name))(t)
	want := ggemm.Config{Name: name, Family: "sm80", TileM: 128, TileN: 256, TileK: 64, WarpsM: 2, WarpsN: 4, Stages: 3, Raster: 8}
	if sm80 != want {
		t.Errorf("read %+v, want %+v", sm80, want)
	}
	_, err := ggemm.ParseConfig("")
	mustFail(t, err, ggemm.ErrArgument)
}

// The same matrix may be the operand of several problems: only their sizes count here.
func problems() []ggemm.Problem {
	of := ggemm.Of(ggemm.F32)
	grouped := &ggemm.Grouped{
		Groups: 4, M: ggemm.Int32s(make([]int32, 4), 1), N: ggemm.Const(8), K: ggemm.Const(8), A: f32, B: f32, D: f32,
		ExpectedM: 8, ExpectedN: 8, ExpectedK: 8, ExpectedLargestM: 16,
	}
	return []ggemm.Problem{
		ggemm.Product(of.RowMajor(8, 8), of.RowMajor(8, 8), of.RowMajor(8, 8)),
		ggemm.Product(of.RowMajor(8, 8), of.ColMajor(8, 8), of.RowMajor(8, 8), ggemm.WithTuneKey("key")),
		grouped.Problem(),
		grouped.Problem(ggemm.WithTuneKey("other key")),
	}
}

func TestPrepare(t *testing.T) {
	ctx := open(t)
	var done []int
	check(t, ctx.Prepare(t.Context(), problems(), func(n, total int, what string) {
		if done = append(done, n); total != 4 || what == "" {
			t.Errorf("%d of %d: %q", n, total, what)
		}
	}))
	equal(t, "steps", done, []int{1, 2, 3, 4})
	check(t, ctx.Prepare(t.Context(), problems(), nil))
	check(t, ctx.Prepare(t.Context(), nil, nil))
	bad := ggemm.Product(ggemm.Of(ggemm.F32).RowMajor(2, 3), ggemm.Of(ggemm.F32).RowMajor(4, 5), ggemm.Of(ggemm.F32).RowMajor(2, 5))
	mustFail(t, ctx.Prepare(t.Context(), append(problems(), bad), nil), ggemm.ErrArgument, "k differs")
}

func TestPrepareIsCancelled(t *testing.T) {
	ctx := open(t)
	reason := errors.New("enough")
	parent, cancel := context.WithCancelCause(t.Context())
	steps := 0
	err := ctx.Prepare(parent, problems(), func(int, int, string) {
		steps++
		cancel(reason)
	})
	mustFail(t, err, ggemm.ErrCancelled)
	if !errors.Is(err, reason) || steps != 1 {
		t.Errorf("%v after %d steps", err, steps)
	}
	err = ctx.Prepare(parent, problems(), func(int, int, string) { t.Error("it began although its context had ended") })
	mustFail(t, err, ggemm.ErrCancelled)
	if !errors.Is(err, reason) {
		t.Error(err)
	}
}

// A panic in a callback does not pass over C's frames, and is not lost.
func TestPanicInCallback(t *testing.T) {
	ctx := open(t)
	defer func() {
		if r := recover(); r != "oops" {
			t.Errorf("recovered %v", r)
		}
		check(t, ctx.Prepare(t.Context(), problems(), nil)) // the context is as it was
	}()
	ctx.Prepare(t.Context(), problems(), func(int, int, string) { panic("oops") })
	t.Error("the panic is lost")
}

func TestTune(t *testing.T) {
	ctx := open(t)
	for i, problem := range problems() {
		var rows []ggemm.TuneRow
		result := must(ctx.Tune(t.Context(), problem, ggemm.TuneOptions{
			Budget: 5 * time.Second, Each: func(row ggemm.TuneRow) { rows = append(rows, row) },
		}))(t)
		if len(rows) != 1 || rows[0].Config != result.Best || rows[0].Rejected != "" || rows[0].Time <= 0 || rows[0].TFLOPS <= 0 || rows[0].Total != 1 {
			t.Errorf("problem %d: %+v", i, rows)
		}
		if result.Timed != 1 || result.Rejected != 0 || result.Time <= 0 || result.Took <= 0 || result.TFLOPS <= 0 {
			t.Errorf("problem %d: %+v", i, result)
		}
	}
	grouped := &ggemm.Grouped{Groups: 2, A: f32, B: f32, D: f32}
	sample := ggemm.TuneOptions{SampleSizes: [][3]int{{4, 8, 8}, {0, 8, 8}}}
	must(ctx.Tune(t.Context(), grouped.Problem(), sample))(t)
	_, err := ctx.Tune(t.Context(), grouped.Problem(), ggemm.TuneOptions{})
	mustFail(t, err, ggemm.ErrArgument, "sample_sizes")
	_, err = ctx.Tune(t.Context(), problems()[0], ggemm.TuneOptions{Configs: []string{"nonsense"}})
	mustFail(t, err, ggemm.ErrArgument, "nonsense")
	_, err = ctx.Tune(t.Context(), problems()[0], ggemm.TuneOptions{Configs: []string{""}})
	mustFail(t, err, ggemm.ErrArgument, "Configs[0] is empty")
}

func TestTuneIsCancelled(t *testing.T) {
	ctx := open(t)
	parent, cancel := context.WithCancel(t.Context())
	result, err := ctx.Tune(parent, problems()[0], ggemm.TuneOptions{Each: func(ggemm.TuneRow) { cancel() }})
	if err != nil || result.Timed != 1 {
		t.Errorf("what is known when it ends is the result: %+v, %v", result, err)
	}
	_, err = ctx.Tune(parent, problems()[0], ggemm.TuneOptions{})
	mustFail(t, err, ggemm.ErrCancelled)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Numbers beside scalars in device memory would be read by nobody, nor would more than the first of those of groups by a single product.
func TestScalarsThatNobodyReadsAreRefused(t *testing.T) {
	ctx, two, d := open(t), []float32{2}, []float32{7}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&two[0])
	at := uintptr(unsafe.Pointer(&two[0]))
	x, out := ggemm.RowMajor([]float32{3}, 1, 1), ggemm.RowMajor(d, 1, 1)
	plan := must(ctx.Plan(x, x, out, ggemm.WithDeviceScalars(at, 0)))(t)
	defer plan.Close()
	_, planned := ctx.Plan(x, x, out, ggemm.WithAlpha(3), ggemm.WithDeviceScalars(at, 0))
	one, pointers := ggemm.Const(1), ggemm.Grouped{Groups: 1, A: f32, B: f32, D: f32}
	pointers.M, pointers.N, pointers.K = one, one, one
	groups := must(ctx.PlanGrouped(&pointers, ggemm.WithDeviceScalars(at, 0)))(t)
	defer groups.Close()
	const numbers, single = "are numbers beside scalars in device memory", "WithGroupScalars is for groups"
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"alpha first":     {ctx.Gemm(x, x, out, ggemm.WithAlpha(3), ggemm.WithDeviceScalars(at, 0)), "alpha=3, beta=0 " + numbers},
		"alpha last":      {ctx.Gemm(x, x, out, ggemm.WithDeviceScalars(at, 0), ggemm.WithAlpha(3)), numbers},
		"beta":            {ctx.Gemm(x, x, out, ggemm.WithDeviceScalars(at, 0), ggemm.WithBeta(1)), "beta=1 " + numbers},
		"C":               {ctx.Gemm(x, x, out, ggemm.WithDeviceScalars(at, at), ggemm.WithC(x, 1)), "beta=1 " + numbers},
		"a plan":          {planned, numbers},
		"a run":           {plan.Run(x, x, out, ggemm.WithAlpha(3)), numbers},
		"a problem":       {ctx.Prepare(t.Context(), []ggemm.Problem{ggemm.Product(x, x, out, ggemm.WithBeta(3), ggemm.WithDeviceScalars(0, 0))}, nil), numbers},
		"groups":          {ctx.GroupedGemm(&pointers, ggemm.Pointers{}, ggemm.WithAlpha(3), ggemm.WithGroupScalars(at, 0)), numbers},
		"a list":          {ctx.GemmGroups([]ggemm.Group{{A: x, B: x, D: out}}, ggemm.WithAlpha(3), ggemm.WithGroupScalars(at, 0)), numbers},
		"a run of groups": {groups.Run(ggemm.Pointers{}, ggemm.WithBeta(3)), numbers},
		"of groups":       {ctx.Gemm(x, x, out, ggemm.WithGroupScalars(at, 0)), single},
		"of groups, run":  {plan.Run(x, x, out, ggemm.WithGroupScalars(at, 0)), single},
	} {
		t.Run(name, func(t *testing.T) { mustFail(t, c.err, ggemm.ErrArgument, c.text) })
	}
	equal(t, "D after refused calls", d, []float32{7})
	check(t, ctx.Gemm(x, x, out, ggemm.WithAlpha(1), ggemm.WithDeviceScalars(at, 0), ggemm.WithC(x, 0)))
	equal(t, "2 A B", d, []float32{18})
	check(t, plan.Run(x, x, out, ggemm.WithDeviceScalars(at, at), ggemm.WithC(x, 0)))
	equal(t, "2 A B + 2 C", d, []float32{24})
}
