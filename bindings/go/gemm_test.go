// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ggemm"
)

// view is a matrix with what a test needs to compute beside ggemm.
type view struct {
	data                                     []float64
	offset, rows, cols, rowStride, colStride int
}

func (v view) at(i, j int) *float64 { return &v.data[v.offset+i*v.rowStride+j*v.colStride] }
func (v view) matrix() ggemm.Matrix {
	return ggemm.Strided(v.data, v.offset, v.rows, v.cols, v.rowStride, v.colStride)
}

// randomView has strides of either sign, gaps, and elements that are small integers, so that sums are exact.
func randomView(r *rand.Rand, rows, cols int) view {
	inner := 1 + r.IntN(2)
	v := view{rows: rows, cols: cols, colStride: inner, rowStride: max(cols, 1)*inner + r.IntN(3)}
	if r.IntN(2) == 0 {
		v.rowStride, v.colStride = inner, max(rows, 1)*inner+r.IntN(3)
	}
	for _, side := range []struct {
		size   int
		stride *int
	}{{rows, &v.rowStride}, {cols, &v.colStride}} {
		reach := max(side.size-1, 0) * *side.stride
		v.data = append(v.data, make([]float64, reach)...)
		if r.IntN(3) == 0 {
			v.offset += reach
			*side.stride = -*side.stride
		}
	}
	before := r.IntN(4)
	v.offset += before
	v.data = append(v.data, make([]float64, before+1+r.IntN(4))...)
	for i := range v.data {
		v.data[i] = float64(r.IntN(5) - 2)
	}
	return v
}

func TestGemmRandomViews(t *testing.T) {
	ctx := open(t)
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m, n, k := r.IntN(9), r.IntN(9), r.IntN(9)
			a, b, c, d := randomView(r, m, k), randomView(r, k, n), randomView(r, m, n), randomView(r, m, n)
			bias := randomView(r, 1, max(n, 1))
			bias.data = bias.data[:max(n, 1)]
			alpha, beta := float64(r.IntN(4)), float64(r.IntN(3))
			want := append([]float64(nil), d.data...)
			expected := d
			expected.data = want
			for i := range m {
				for j := range n {
					sum := 0.0
					for l := range k {
						sum += *a.at(i, l) * *b.at(l, j)
					}
					*expected.at(i, j) = math.Max(alpha*sum+beta**c.at(i, j)+bias.data[j], 0)
				}
			}
			options := []ggemm.Option{ggemm.WithAlpha(alpha), ggemm.WithC(c.matrix(), beta), ggemm.WithColumnBias(ggemm.Slice(bias.data)), ggemm.WithActivation(ggemm.ReLU)}
			check(t, ctx.Gemm(a.matrix(), b.matrix(), d.matrix(), options...))
			equal(t, "D and what is around it", d.data, want)
		})
	}
}

func TestGemmDtypes(t *testing.T) {
	ctx := open(t)
	small := []float32{1, 2, 3, 4}
	want := []float32{7, 10, 15, 22}
	t.Run("f64", func(t *testing.T) { gemmOf[float64, float64](t, ctx, small, want) })
	t.Run("f32", func(t *testing.T) { gemmOf[float32, float32](t, ctx, small, want) })
	t.Run("f16", func(t *testing.T) { gemmOf[ggemm.Float16, ggemm.Float16](t, ctx, small, want) })
	t.Run("bf16 to f32", func(t *testing.T) { gemmOf[ggemm.BFloat16, float32](t, ctx, small, want) })
	t.Run("e4m3", func(t *testing.T) { gemmOf[ggemm.Float8E4M3, ggemm.Float8E4M3](t, ctx, small, want) })
	t.Run("e5m2 to bf16", func(t *testing.T) { gemmOf[ggemm.Float8E5M2, ggemm.BFloat16](t, ctx, small, want) })
	t.Run("i8 to i32", func(t *testing.T) { gemmOf[int8, int32](t, ctx, small, want) })
	t.Run("i8", func(t *testing.T) { gemmOf[int8, int8](t, ctx, small, want) })
}

// gemmOf squares a 2x2 matrix, with an alpha and a beta that cancel out.
func gemmOf[In, Out ggemm.Element](t *testing.T, ctx *ggemm.Context, x, want []float32) {
	a, d, got := make([]In, 4), make([]Out, 4), make([]float32, 4)
	check(t, ggemm.Convert(a, x))
	check(t, ctx.Gemm(ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(d, 2, 2)))
	check(t, ctx.Gemm(ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(d, 2, 2), ggemm.WithAlpha(2), ggemm.WithBeta(-1)))
	check(t, ggemm.Convert(got, d))
	equal(t, "D", got, want)
}

func TestActivations(t *testing.T) {
	ctx := open(t)
	for name, c := range map[string]struct {
		option ggemm.Option
		of     func(x float64) float64
	}{
		"none":       {ggemm.WithActivation(ggemm.NoActivation), func(x float64) float64 { return x }},
		"relu":       {ggemm.WithActivation(ggemm.ReLU), func(x float64) float64 { return max(x, 0) }},
		"leaky relu": {ggemm.WithLeakyReLU(0.25), func(x float64) float64 { return max(x, 0.25*x) }},
		"gelu":       {ggemm.WithActivation(ggemm.GELU), func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }},
		"gelu tanh": {ggemm.WithActivation(ggemm.GELUTanh), func(x float64) float64 {
			return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}},
		"silu":    {ggemm.WithActivation(ggemm.SiLU), func(x float64) float64 { return x / (1 + math.Exp(-x)) }},
		"sigmoid": {ggemm.WithActivation(ggemm.Sigmoid), func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
		"tanh":    {ggemm.WithActivation(ggemm.Tanh), math.Tanh},
		"clamp":   {ggemm.WithClamp(-0.5, 1.5), func(x float64) float64 { return min(max(x, -0.5), 1.5) }},
	} {
		t.Run(name, func(t *testing.T) {
			x, one, d := []float64{-2, -0.75, 0, 0.5, 3}, []float64{1}, make([]float64, 5)
			check(t, ctx.Gemm(ggemm.RowMajor(x, 5, 1), ggemm.RowMajor(one, 1, 1), ggemm.RowMajor(d, 5, 1), c.option))
			for i := range x {
				if math.Abs(d[i]-c.of(x[i])) > 1e-12 {
					t.Errorf("of %g: got %g, want %g", x[i], d[i], c.of(x[i]))
				}
			}
		})
	}
}

func TestBiasByRow(t *testing.T) {
	ctx, x, d := open(t), []float32{1, 2}, make([]float32, 4)
	check(t, ctx.Gemm(ggemm.RowMajor(x, 2, 1), ggemm.RowMajor(x, 1, 2), ggemm.RowMajor(d, 2, 2), ggemm.WithRowBias(ggemm.Slice([]float32{10, 20}))))
	equal(t, "D", d, []float32{11, 12, 22, 24})
}

func TestTF32RoundsInputs(t *testing.T) {
	ctx, d := open(t), make([]float32, 1)
	a, b := []float32{1 + 1.0/4096}, []float32{1}
	check(t, ctx.Gemm(ggemm.RowMajor(a, 1, 1), ggemm.RowMajor(b, 1, 1), ggemm.RowMajor(d, 1, 1)))
	equal(t, "exact", d, a)
	check(t, ctx.Gemm(ggemm.RowMajor(a, 1, 1), ggemm.RowMajor(b, 1, 1), ggemm.RowMajor(d, 1, 1), ggemm.WithTF32()))
	equal(t, "tf32", d, b)
}

func TestGemmRefuses(t *testing.T) {
	ctx := open(t)
	s := make([]float32, 24)
	for i := range s {
		s[i] = 7
	}
	row := func(rows, cols int) ggemm.Matrix { return ggemm.RowMajor(s, rows, cols) }
	gemm := func(a, b, d ggemm.Matrix, options ...ggemm.Option) error { return ctx.Gemm(a, b, d, options...) }
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"k":               {gemm(row(2, 3), row(4, 5), row(2, 5)), "k differs: A is 2x3 (k=3), B is 4x5 (k=4)"},
		"m":               {gemm(row(2, 3), row(3, 5), row(1, 5)), "m differs: A is 2x3 (m=2), D is 1x5 (m=1)"},
		"n":               {gemm(row(2, 3), row(3, 5), row(2, 4)), "n differs: B is 3x5 (n=5), D is 2x4 (n=4)"},
		"negative":        {gemm(row(2, -3), row(-3, 5), row(2, 5)), "A is 2x-3"},
		"short A":         {gemm(row(5, 5), row(5, 1), row(5, 1)), "A has elements 0 to 24 of a slice of 24"},
		"short D":         {gemm(row(5, 1), row(1, 5), row(5, 5)), "D has elements 0 to 24 of a slice of 24"},
		"nil B":           {gemm(row(2, 3), ggemm.RowMajor[float32](nil, 3, 2), row(2, 2)), "B has elements 0 to 0 of a slice of 0"},
		"before A":        {gemm(ggemm.Strided(s, 1, 2, 1, -2, 1), row(1, 1), row(2, 1)), "A has elements -1 to 1"},
		"offset":          {gemm(ggemm.Strided(s, 24, 1, 1, 1, 1), row(1, 1), row(1, 1)), "A has elements 24 to 24"},
		"negative offset": {gemm(ggemm.Strided(s, math.MinInt, 1, 2, 1, -1), row(2, 1), row(1, 1)), "A has elements"},
		"overflow":        {gemm(ggemm.Strided(s, 0, 1<<62, 2, 4, 1), row(2, 1), ggemm.Strided(s, 0, 1<<62, 1, 1, 1)), "fit in no slice"},
		"least stride":    {gemm(ggemm.Strided(s, 0, 2, 1, math.MinInt, 1), row(1, 1), row(2, 1)), "fit in no slice"},
		"no memory":       {gemm(ggemm.Of(ggemm.F32).RowMajor(2, 2), row(2, 2), row(2, 2)), "A has no memory"},
		"D over A":        {gemm(row(2, 2), row(2, 2), row(2, 2)), "D must not overlap A or B"},
		"overlapping D":   {gemm(row(2, 2), row(2, 2), ggemm.Strided(s, 0, 2, 2, 1, 1)), "d.row_stride=1 < n=2"},
		"C's shape":       {gemm(row(2, 2), row(2, 2), row(2, 2), ggemm.WithC(row(2, 3), 1)), "C is 2x3, and D is 2x2"},
		"short C":         {gemm(row(5, 2), row(2, 4), row(5, 4), ggemm.WithC(ggemm.RowMajor(s[:8], 5, 4), 1)), "C has elements 0 to 19 of a slice of 8"},
		"short bias":      {gemm(row(2, 2), row(2, 3), row(2, 3), ggemm.WithColumnBias(ggemm.Slice(s[:2]))), "bias has elements 0 to 2 of a slice of 2"},
		"short row bias":  {gemm(row(3, 2), row(2, 2), row(3, 2), ggemm.WithRowBias(ggemm.Slice(s[:2]))), "bias has elements 0 to 2 of a slice of 2"},
		"activation":      {gemm(row(1, 1), row(1, 1), row(1, 1), ggemm.WithActivation(77)), "epilogue.activation=77"},
		"clamp":           {gemm(row(1, 1), row(1, 1), row(1, 1), ggemm.WithClamp(1, 0)), "clamp takes the low end first"},
		"config":          {gemm(row(1, 1), row(1, 1), ggemm.Strided(s, 9, 1, 1, 1, 1), ggemm.WithConfig("nonsense")), "nonsense"},
		"NUL":             {gemm(row(1, 1), row(1, 1), row(1, 1), ggemm.WithTuneKey("a\x00b")), "NUL"},
		"dtype":           {gemm(ggemm.Bytes(make([]byte, 64), 99).RowMajor(1, 1), row(1, 1), row(1, 1)), "a.dtype=99"},
		"i32 input":       {gemm(ggemm.RowMajor(make([]int32, 1), 1, 1), row(1, 1), row(1, 1)), "a.dtype=i32"},
	} {
		t.Run(name, func(t *testing.T) { mustFail(t, c.err, ggemm.ErrArgument, c.text) })
	}
	for i, x := range s {
		if x != 7 {
			t.Fatalf("a refused call wrote element %d", i)
		}
	}
	i8, i32 := make([]int8, 4), make([]int32, 4)
	for _, alpha := range []float64{0.5, math.NaN(), 1 << 31} {
		err := ctx.Gemm(ggemm.RowMajor(i8, 2, 2), ggemm.RowMajor(i8, 2, 2), ggemm.RowMajor(i32, 2, 2), ggemm.WithAlpha(alpha))
		mustFail(t, err, ggemm.ErrArgument, "whole numbers")
	}
}

func TestDegenerateSizes(t *testing.T) {
	ctx, none := open(t), []float32(nil)
	d := []float32{1, 2}
	check(t, ctx.Gemm(ggemm.RowMajor(none, 0, 3), ggemm.RowMajor(none, 3, 0), ggemm.RowMajor(none, 0, 0)))
	check(t, ctx.Gemm(ggemm.RowMajor(none, 0, 3), ggemm.ColMajor(none, 3, 0), ggemm.RowMajor(none, 0, 0).T()))
	check(t, ctx.Gemm(ggemm.RowMajor(none, 1, 0), ggemm.RowMajor(none, 0, 2), ggemm.RowMajor(d, 1, 2), ggemm.WithBeta(2)))
	equal(t, "K = 0 leaves beta C", d, []float32{2, 4})
	check(t, ctx.Gemm(ggemm.RowMajor(none, 1, 0), ggemm.ColMajor(none, 0, 2), ggemm.ColMajor(d, 1, 2)))
	equal(t, "K = 0", d, []float32{0, 0})
}

// An array inside of an object with pointers is passed without those pointers.
func TestMemoryInsideOfObjectsWithPointers(t *testing.T) {
	type layer struct {
		name    *string
		weights [4]float32
	}
	name, d := "layer", make([]float32, 4)
	l := &layer{&name, [4]float32{1, 2, 3, 4}}
	ctx := open(t)
	check(t, ctx.Gemm(ggemm.RowMajor(l.weights[:], 2, 2), ggemm.RowMajor(l.weights[:], 2, 2), ggemm.RowMajor(d, 2, 2)))
	equal(t, "D", d, []float32{7, 10, 15, 22})
}

func TestCallsDoNotAllocate(t *testing.T) {
	ctx := open(t)
	a, bias, d := []float32{1, 2, 3, 4}, ggemm.Slice([]float32{1, 2}), make([]float32, 4)
	plan := must(ctx.Plan(ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(a, 2, 2).T(), ggemm.RowMajor(d, 2, 2)))(t)
	defer plan.Close()
	for name, call := range map[string]func() error{
		"Gemm": func() error {
			return ctx.Gemm(ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(a, 2, 2).T(), ggemm.RowMajor(d, 2, 2), ggemm.WithColumnBias(bias), ggemm.WithAlpha(2))
		},
		"Run": func() error {
			return plan.Run(ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(a, 2, 2).T(), ggemm.RowMajor(d, 2, 2), ggemm.WithAlpha(2))
		},
	} {
		if n := testing.AllocsPerRun(100, func() { check(t, call()) }); n != 0 {
			t.Errorf("%s allocates %g times", name, n)
		}
	}
}
