// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ggemm"
	"ggemm/internal/gpu"
)

// onGPU opens the GPU that there is; without one the test is skipped.
func onGPU(t *testing.T) *ggemm.Context {
	ctx, err := ggemm.Open(ggemm.CUDA(0))
	if err != nil {
		t.Skipf("needs a GPU: %v", err)
	}
	t.Cleanup(func() { ctx.Close() })
	return ctx
}

// upload returns a copy on the device, which goes with the test.
func upload(t *testing.T, data []byte) gpu.Memory {
	memory := must(gpu.New(data))(t)
	t.Cleanup(memory.Free)
	return memory
}

func (c *vectorColumn) deviceSource(t *testing.T) ggemm.Source {
	switch {
	case c == nil:
		return ggemm.Source{}
	case c.Dtype == "i32":
		return ggemm.Int32At(upload(t, c.Data).Address, 4)
	}
	return ggemm.Int64At(upload(t, c.Data).Address, 8)
}

func (s *vectorScalar) deviceAddress(t *testing.T) uintptr {
	if s == nil {
		return 0
	}
	return upload(t, s.Data).Address
}

// The shared vectors of groups held together, with all their memory on a GPU: the same bits.
func TestVectorsOnGPU(t *testing.T) {
	ctx := onGPU(t)
	t.Log("on", ctx.Device().Name)
	for _, text := range readVectors(t) {
		var c vectorForm
		if json.Unmarshal(text, &c) != nil || c.Form == "plain" || c.Form == "pointers" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { c.runOnGPU(t, ctx) })
	}
}

func (c *vectorForm) runOnGPU(t *testing.T, ctx *ggemm.Context) {
	options, _ := c.options(t)
	if c.Alpha != nil || c.Beta != nil {
		with := ggemm.WithDeviceScalars
		if c.Alpha != nil && len(c.Alpha.Data) > c.Alpha.Dtype.Size() {
			with = ggemm.WithGroupScalars
		}
		options = append(options, with(c.Alpha.deviceAddress(t), c.Beta.deviceAddress(t)))
	}
	at := func(m *vectorMatrix) ggemm.Memory {
		if m == nil || m.isD {
			return ggemm.Memory{}
		}
		return ggemm.At(upload(t, m.Data).Address+uintptr(m.Offset*m.Dtype.Size()), m.Dtype.Dtype)
	}
	vector := func(s *vectorScalar) ggemm.Memory {
		if s == nil {
			return ggemm.Memory{}
		}
		return ggemm.At(upload(t, s.Data).Address, s.Dtype.Dtype)
	}
	d, status := upload(t, c.D.Before), upload(t, make([]byte, 16))
	operands := ggemm.Operands{
		A: at(c.A), B: at(c.B), C: at(c.C), D: ggemm.At(d.Address+uintptr(c.D.Offset*c.D.Dtype.Size()), c.D.Dtype.Dtype), Bias: vector(c.BiasVector),
		ScaleA: at(c.ScaleA), ScaleB: at(c.ScaleB), RowWeights: vector(c.RowWeights), Status: ggemm.At(status.Address, ggemm.I32),
	}
	problem := c.problem(t)
	problem.Ends, problem.Counts = c.Ends.deviceSource(t), c.Counts.deviceSource(t)
	problem.AIndex, problem.DIndex = c.AIndex.deviceSource(t), c.DIndex.deviceSource(t)
	err := ctx.GroupedGemm(problem, operands, options...)
	if errors.Is(err, ggemm.ErrUnsupported) { // rows that meet, so far
		t.Skip(strings.SplitN(err.Error(), "\n", 2)[0])
	}
	check(t, err)
	c.compare(t, "GroupedGemm", must(d.Read())(t))
	words := must(status.Read())(t)
	var found [4]int32
	for i := range found {
		found[i] = int32(binary.LittleEndian.Uint32(words[4*i:]))
	}
	check(t, ggemm.ReadFault(found))

	check(t, d.Write(c.D.Before))
	plan := must(ctx.PlanGrouped(problem, options...))(t)
	defer plan.Close()
	check(t, plan.Run(operands))
	c.compare(t, "GroupedPlan", must(d.Read())(t))
}

func TestFaultsOnGPU(t *testing.T) {
	ctx := onGPU(t)
	ends := upload(t, []byte{2, 0, 0, 0, 1, 0, 0, 0})
	problem := raggedProblem(nil)
	problem.Groups, problem.Ends, problem.Checked = 2, ggemm.Int32At(ends.Address, 4), true
	memory, d, status := upload(t, make([]byte, 64)), upload(t, []byte{9, 9, 9, 9, 9, 9, 9, 9}), upload(t, make([]byte, 16))
	at := func(m gpu.Memory, dtype ggemm.Dtype) ggemm.Memory { return ggemm.At(m.Address, dtype) }
	check(t, ctx.GroupedGemm(problem, ggemm.Operands{A: at(memory, ggemm.F32), B: at(memory, ggemm.F32), D: at(d, ggemm.F32), Status: at(status, ggemm.I32)}))
	words := must(status.Read())(t)
	got := ggemm.ReadFault([4]int32{int32(words[0]), int32(words[4]), int32(words[8]), int32(words[12])})
	if got == nil || got.Error() != "m of group 1: it ends before it begins, or above the size in all" {
		t.Errorf("found %v", got)
	}
	equal(t, "D", must(d.Read())(t), []byte{9, 9, 9, 9, 9, 9, 9, 9})
}

func TestGemmOnGPU(t *testing.T) {
	ctx := onGPU(t)
	const m, n, k = 200, 136, 72
	a, b := make([]ggemm.BFloat16, m*k), make([]ggemm.BFloat16, n*k)
	numbers := func(to []ggemm.BFloat16, step int) {
		from := make([]float32, len(to))
		for i := range from {
			from[i] = float32(i*step%5) - 2
		}
		check(t, ggemm.Convert(to, from))
	}
	numbers(a, 3)
	numbers(b, 7)
	bytes := func(s []ggemm.BFloat16) []byte {
		out := make([]byte, 2*len(s))
		for i, x := range s {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(x))
		}
		return out
	}
	want := make([]float32, m*n)
	host := must(ggemm.Open(ggemm.Host))(t)
	defer host.Close()
	check(t, host.Gemm(ggemm.RowMajor(a, m, k), ggemm.RowMajor(b, n, k).T(), ggemm.RowMajor(want, m, n), ggemm.WithActivation(ggemm.ReLU)))

	out := upload(t, make([]byte, 4*m*n))
	view := func(m gpu.Memory, dtype ggemm.Dtype, rows, cols int) ggemm.Matrix {
		return ggemm.At(m.Address, dtype).RowMajor(rows, cols)
	}
	A, B, D := view(upload(t, bytes(a)), ggemm.BF16, m, k), view(upload(t, bytes(b)), ggemm.BF16, n, k).T(), view(out, ggemm.F32, m, n)
	same := func(what string) {
		got, words := make([]float32, m*n), must(out.Read())(t)
		for i := range got {
			got[i] = float32FromBits(words[4*i:])
		}
		equal(t, what, got, want)
	}
	check(t, ctx.Gemm(A, B, D, ggemm.WithActivation(ggemm.ReLU)))
	same("Gemm")
	check(t, out.Write(make([]byte, 4*m*n)))
	plan := must(ctx.Plan(A, B, D, ggemm.WithActivation(ggemm.ReLU)))(t)
	defer plan.Close()
	check(t, plan.Run(A, B, D))
	same("Plan")
}
