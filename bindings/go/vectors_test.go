// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"ggemm"
)

// The shared vectors, which every binding computes with the same bits; tests/vectors/README.md of the project describes the file.
// $GGEMM_VECTORS names it where this module lies elsewhere.

var vectorActivations = map[string]func(p0, p1 float64) ggemm.Option{
	"none":       func(_, _ float64) ggemm.Option { return ggemm.WithActivation(ggemm.NoActivation) },
	"relu":       func(_, _ float64) ggemm.Option { return ggemm.WithActivation(ggemm.ReLU) },
	"leaky_relu": func(p0, _ float64) ggemm.Option { return ggemm.WithLeakyReLU(p0) },
	"gelu":       func(_, _ float64) ggemm.Option { return ggemm.WithActivation(ggemm.GELU) },
	"gelu_tanh":  func(_, _ float64) ggemm.Option { return ggemm.WithActivation(ggemm.GELUTanh) },
	"silu":       func(_, _ float64) ggemm.Option { return ggemm.WithActivation(ggemm.SiLU) },
	"sigmoid":    func(_, _ float64) ggemm.Option { return ggemm.WithActivation(ggemm.Sigmoid) },
	"tanh":       func(_, _ float64) ggemm.Option { return ggemm.WithActivation(ggemm.Tanh) },
	"clamp":      func(p0, p1 float64) ggemm.Option { return ggemm.WithClamp(p0, p1) },
}

type vectorDtype struct{ ggemm.Dtype }

func (d *vectorDtype) UnmarshalText(name []byte) error {
	for t := ggemm.F64; t <= ggemm.I32; t++ {
		if t.String() == string(name) {
			d.Dtype = t
			return nil
		}
	}
	return fmt.Errorf("unknown dtype %q", name)
}

type vectorBytes []byte

func (b *vectorBytes) UnmarshalText(digits []byte) (err error) {
	*b, err = hex.DecodeString(string(digits))
	return err
}

type vectorMatrix struct {
	Dtype        vectorDtype
	Offset       int
	RowStride    int    `json:"row_stride"`
	ColStride    int    `json:"col_stride"`
	GroupStride  int    `json:"group_stride"`
	Kind         string // of scales
	Data, Before vectorBytes
	isD          bool
}

var vectorScales = map[string]ggemm.ScaleKind{
	"tensor": ggemm.TensorScale, "vector": ggemm.VectorScale, "1x128": ggemm.Block1x128Scale, "128x128": ggemm.Block128x128Scale,
}

// scale is the scales of A (with so many rows), or of B (with so many columns); none for nil.
func (m *vectorMatrix) scale(t *testing.T, along, k int, ofA bool) ggemm.Scale {
	if m == nil {
		return ggemm.Scale{}
	}
	blocks := func(size int) int { return (size + 127) / 128 }
	var rows, cols int
	switch m.Kind {
	case "tensor":
		rows, cols = 1, 1
	case "vector":
		rows, cols = along, 1
	case "1x128":
		rows, cols = along, blocks(k)
	case "128x128":
		rows, cols = blocks(along), blocks(k)
	default:
		t.Fatalf("unknown kind of scales %q", m.Kind)
	}
	if !ofA {
		rows, cols = cols, rows
	}
	return ggemm.Scale{Kind: vectorScales[m.Kind], Values: m.view(m.Data, rows, cols)}
}

// UnmarshalJSON takes the text "d", for C that is D, beside the object.
func (m *vectorMatrix) UnmarshalJSON(text []byte) error {
	if string(text) == `"d"` {
		m.isD = true
		return nil
	}
	type plain vectorMatrix
	return json.Unmarshal(text, (*plain)(m))
}

func (m *vectorMatrix) view(data []byte, rows, cols int) ggemm.Matrix {
	return ggemm.Bytes(data, m.Dtype.Dtype).Strided(m.Offset, rows, cols, m.RowStride, m.ColStride)
}

type vectorScalar struct {
	Dtype       vectorDtype
	Data        vectorBytes
	GroupStride int `json:"group_stride"`
}

func (s *vectorScalar) value(t *testing.T) float64 {
	switch s.Dtype.Dtype {
	case ggemm.F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(s.Data))
	case ggemm.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(s.Data)))
	case ggemm.I32:
		return float64(int32(binary.LittleEndian.Uint32(s.Data)))
	}
	t.Fatalf("a scalar of dtype %v", s.Dtype)
	return 0
}

type vectorGroup struct {
	M, N, K    int
	A, B, C, D *vectorMatrix
	BiasVector *vectorScalar `json:"bias_vector"`
	ScaleA     *vectorMatrix `json:"scale_a"`
	ScaleB     *vectorMatrix `json:"scale_b"`
}

type vectorCase struct {
	vectorGroup
	Name, Form, Compute, Activation, Bias, Gate string

	P0, P1         float64
	Alpha, Beta    *vectorScalar
	Sizes, Strides string
	Groups         []vectorGroup
}

// cols is D's columns.
func (c *vectorCase) cols() int {
	if c.Gate == "none" {
		return c.N
	}
	return c.N / 2
}

func readVectors(t *testing.T) []json.RawMessage {
	path := os.Getenv("GGEMM_VECTORS")
	if path == "" {
		path = "../../tests/vectors/vectors.json"
	}
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) && os.Getenv("GGEMM_VECTORS") == "" && os.Getenv("CI") != "true" {
		t.Skip("needs the project's tests/vectors/vectors.json, or $GGEMM_VECTORS")
	}
	check(t, err)
	var file struct {
		Format int
		Cases  []json.RawMessage
	}
	check(t, json.Unmarshal(text, &file))
	if file.Format != 2 || len(file.Cases) == 0 {
		t.Fatalf("%s has format %d and %d cases: this reads format 2", path, file.Format, len(file.Cases))
	}
	return file.Cases
}

// options are those of the case; beta goes with C, and the bias with its memory.
func (c *vectorCase) options(t *testing.T) (options []ggemm.Option, beta float64) {
	activation, known := vectorActivations[c.Activation]
	if !known {
		t.Fatalf("unknown activation %q", c.Activation)
	}
	options = append(options, activation(c.P0, c.P1))
	switch c.Compute {
	case "default":
	case "tf32":
		options = append(options, ggemm.WithTF32())
	case "f32x3":
		options = append(options, ggemm.WithF32x3())
	case "fp8_fast":
		options = append(options, ggemm.WithFP8Fast())
	default:
		t.Fatalf("unknown compute %q", c.Compute)
	}
	gate, known := map[string]ggemm.Gate{"none": ggemm.NoGate, "halves": ggemm.Halves, "interleaved": ggemm.Interleaved}[c.Gate]
	if !known {
		t.Fatalf("unknown gate %q", c.Gate)
	}
	options = append(options, ggemm.WithGate(gate))
	if len(c.Form) > 0 && c.Form != "plain" && c.Form != "pointers" {
		return options, 0 // which gives alpha and beta as memory
	}
	if c.Alpha != nil {
		options = append(options, ggemm.WithAlpha(c.Alpha.value(t)))
	}
	if c.Beta != nil {
		beta = c.Beta.value(t)
		options = append(options, ggemm.WithBeta(beta))
	}
	return options, beta
}

func (g *vectorGroup) compare(t *testing.T, what string, got []byte) {
	t.Helper()
	if !bytes.Equal(got, g.D.Data) {
		for i := range got {
			if got[i] != g.D.Data[i] {
				t.Fatalf("%s: byte %d of D's buffer is %02x, want %02x", what, i, got[i], g.D.Data[i])
			}
		}
	}
}

// buffer is a copy of D's bytes before the call.
func (g *vectorGroup) buffer() []byte {
	return append(make([]byte, 0, len(g.D.Before)+8), g.D.Before...)
}

func TestVectors(t *testing.T) {
	ctx := open(t)
	for _, text := range readVectors(t) {
		var head struct{ Name, Form string }
		check(t, json.Unmarshal(text, &head))
		t.Run(head.Name, func(t *testing.T) {
			if head.Form != "plain" && head.Form != "pointers" {
				var c vectorForm
				check(t, json.Unmarshal(text, &c))
				c.run(t, ctx)
				return
			}
			var c vectorCase
			check(t, json.Unmarshal(text, &c))
			if head.Form == "plain" {
				c.runPlain(t, ctx)
			} else {
				c.runGroups(t, ctx)
				c.runPointers(t, ctx)
			}
		})
	}
}

// runPlain runs the case as a call and as a plan.
func (c *vectorCase) runPlain(t *testing.T, ctx *ggemm.Context) {
	options, beta := c.options(t)
	data := c.buffer()
	a, b, d := c.A.view(c.A.Data, c.M, c.K), c.B.view(c.B.Data, c.K, c.N), c.D.view(data, c.M, c.cols())
	if c.ScaleA != nil {
		options = append(options, ggemm.WithScaleA(c.ScaleA.scale(t, c.M, c.K, true)))
	}
	if c.ScaleB != nil {
		options = append(options, ggemm.WithScaleB(c.ScaleB.scale(t, c.N, c.K, false)))
	}
	if c.C != nil && !c.C.isD {
		options = append(options, ggemm.WithC(c.C.view(c.C.Data, c.M, c.N), beta))
	}
	switch c.Bias {
	case "none":
	case "column":
		options = append(options, ggemm.WithColumnBias(ggemm.Bytes(c.BiasVector.Data, c.BiasVector.Dtype.Dtype)))
	case "row":
		options = append(options, ggemm.WithRowBias(ggemm.Bytes(c.BiasVector.Data, c.BiasVector.Dtype.Dtype)))
	default:
		t.Fatalf("unknown bias %q", c.Bias)
	}
	check(t, ctx.Gemm(a, b, d, options...))
	c.compare(t, "Gemm", data)

	copy(data, c.D.Before)
	plan := must(ctx.Plan(a, b, d, options...))(t)
	defer plan.Close()
	check(t, plan.Run(a, b, d))
	c.compare(t, "Plan", data)
}

// runGroups runs the case as a list of matrices.
func (c *vectorCase) runGroups(t *testing.T, ctx *ggemm.Context) {
	options, _ := c.options(t)
	groups, buffers := make([]ggemm.Group, len(c.Groups)), make([][]byte, len(c.Groups))
	for i := range c.Groups {
		g := &c.Groups[i]
		buffers[i] = g.buffer()
		groups[i] = ggemm.Group{A: g.A.view(g.A.Data, g.M, g.K), B: g.B.view(g.B.Data, g.K, g.N), D: g.D.view(buffers[i], g.M, g.N)}
		if g.C != nil && !g.C.isD {
			groups[i].C = g.C.view(g.C.Data, g.M, g.N)
		}
		switch {
		case c.Bias == "column":
			groups[i].ColumnBias = ggemm.Bytes(g.BiasVector.Data, g.BiasVector.Dtype.Dtype)
		case c.Bias == "row":
			groups[i].RowBias = ggemm.Bytes(g.BiasVector.Data, g.BiasVector.Dtype.Dtype)
		}
	}
	check(t, ctx.GemmGroups(groups, options...))
	for i := range c.Groups {
		c.Groups[i].compare(t, fmt.Sprintf("GemmGroups, group %d", i), buffers[i])
	}
}

// numbers is what the case says that sizes or strides are to be given as.
func numbers(t *testing.T, kind string, column int, table [][]int) ggemm.Source {
	if kind == "packed" || len(table) == 0 {
		return ggemm.Source{}
	}
	width := len(table[0])
	i32, i64 := []int32(nil), []int64(nil)
	for _, row := range table {
		for _, x := range row {
			i32, i64 = append(i32, int32(x)), append(i64, int64(x))
		}
	}
	switch kind {
	case "const":
		return ggemm.Const(table[0][column])
	case "i32":
		return ggemm.Int32s(i32[column:], width)
	case "i64":
		return ggemm.Int64s(i64[column:], width)
	}
	t.Fatalf("unknown kind of numbers %q", kind)
	return ggemm.Source{}
}

// runPointers runs the case in the form of devices: arrays of addresses, sizes and strides as the case says. The addresses are those of
// pinned Go memory.
func (c *vectorCase) runPointers(t *testing.T, ctx *ggemm.Context) {
	if len(c.Groups) == 0 {
		check(t, ctx.GroupedGemm(&ggemm.Grouped{A: f32, B: f32, D: f32}, ggemm.Pointers{}))
		return
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	address := func(b []byte, offset int) uintptr {
		if len(b) == 0 {
			return 0
		}
		pinner.Pin(&b[0])
		return uintptr(unsafe.Pointer(&b[0])) + uintptr(offset)
	}
	first := &c.Groups[0]
	matrices := []**vectorMatrix{&first.A, &first.B, &first.C, &first.D}
	if first.C == nil || first.C.isD {
		matrices[2] = &first.D
	}
	var sizes, strides [][]int
	arrays, buffers := make([][]uintptr, 5), make([][]byte, len(c.Groups))
	for i := range c.Groups {
		g := &c.Groups[i]
		buffers[i] = g.buffer()
		sizes = append(sizes, []int{g.M, g.N, g.K})
		cMatrix, cData := g.D, buffers[i]
		if g.C != nil && !g.C.isD {
			cMatrix, cData = g.C, g.C.Data
		}
		var row []int
		for j, m := range []struct {
			*vectorMatrix
			data []byte
		}{{g.A, g.A.Data}, {g.B, g.B.Data}, {cMatrix, cData}, {g.D, buffers[i]}} {
			row = append(row, m.RowStride, m.ColStride)
			arrays[j] = append(arrays[j], address(m.data, m.Offset*m.Dtype.Size()))
		}
		strides = append(strides, row)
		if g.BiasVector != nil {
			arrays[4] = append(arrays[4], address(g.BiasVector.Data, 0))
		}
	}
	grouped := &ggemm.Grouped{Groups: len(c.Groups), M: numbers(t, c.Sizes, 0, sizes), N: numbers(t, c.Sizes, 1, sizes), K: numbers(t, c.Sizes, 2, sizes)}
	for j, to := range []*ggemm.GroupedMatrix{&grouped.A, &grouped.B, &grouped.C, &grouped.D} {
		*to = ggemm.GroupedMatrix{Dtype: (*matrices[j]).Dtype.Dtype, RowStride: numbers(t, c.Strides, 2*j, strides), ColStride: numbers(t, c.Strides, 2*j+1, strides)}
	}
	if c.Bias != "none" {
		grouped.Bias = map[string]ggemm.BiasKind{"column": ggemm.ColumnBias, "row": ggemm.RowBias}[c.Bias]
		grouped.BiasDtype = first.BiasVector.Dtype.Dtype
	}
	at := func(array []uintptr) uintptr {
		if len(array) == 0 {
			return 0
		}
		pinner.Pin(&array[0])
		return uintptr(unsafe.Pointer(&array[0]))
	}
	pointers := ggemm.Pointers{A: at(arrays[0]), B: at(arrays[1]), C: at(arrays[2]), D: at(arrays[3]), Bias: at(arrays[4])}
	options, _ := c.options(t)
	check(t, ctx.GroupedGemm(grouped, pointers, options...))
	for i := range c.Groups {
		c.Groups[i].compare(t, fmt.Sprintf("GroupedGemm, group %d", i), buffers[i])
		copy(buffers[i], c.Groups[i].D.Before)
	}
	plan := must(ctx.PlanGrouped(grouped, options...))(t)
	defer plan.Close()
	check(t, plan.Run(pointers))
	for i := range c.Groups {
		c.Groups[i].compare(t, fmt.Sprintf("GroupedPlan, group %d", i), buffers[i])
	}
}

var f32 = ggemm.GroupedMatrix{Dtype: ggemm.F32}
