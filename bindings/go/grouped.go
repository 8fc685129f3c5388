// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// GroupedMatrix is a matrix of each group. A unit stride that is a constant (as the default, packed row-major, is) is the fast path.
type GroupedMatrix struct {
	Dtype                Dtype
	RowStride, ColStride Source
}

// Grouped is a problem of many products whose sizes, strides and pointers are arrays in the device's memory, read when the launch runs. A
// captured launch may be replayed after they have changed. On the host the arrays may be Go slices ([Int32s], [Int64s]).
type Grouped struct {
	Groups     int
	M, N, K    Source
	A, B, C, D GroupedMatrix // C.Dtype 0: as D in all
	Bias       BiasKind
	BiasDtype  Dtype // 0: D's

	// Mean sizes of a group, for the choice of configuration; 0: not known. They never change a result beyond rounding.
	ExpectedM, ExpectedN, ExpectedK int
}

// BiasKind says along which side of D a bias lies.
type BiasKind int32

const (
	NoBias     BiasKind = C.GGEMM_BIAS_NONE
	ColumnBias BiasKind = C.GGEMM_BIAS_PER_COLUMN // bias[j], n elements
	RowBias    BiasKind = C.GGEMM_BIAS_PER_ROW    // bias[i], m elements
)

// Pointers are the operands of a grouped call: addresses of arrays, in the device's memory, of one address a group.
type Pointers struct {
	A, B, D uintptr
	C       uintptr // 0: D
	Bias    uintptr // 0: none
}

// GroupedGemm computes D = act(alpha A B + beta C + bias) for every group, in one launch. The arrays, and what they name, must stay until
// the launch has run. It takes the options of [Context.Gemm] but for [WithC] and biases, which [Grouped] and [Pointers] have.
func (c *Context) GroupedGemm(problem *Grouped, pointers Pointers, options ...Option) error {
	var s call
	if err := s.begin(options); err != nil {
		return err
	}
	desc, err := problem.describe(&s, c.onHost())
	if err != nil {
		return err
	}
	if err := problem.setPointers(&s, pointers); err != nil {
		return err
	}
	if err := c.handle.use(); err != nil {
		return err
	}
	defer c.handle.release()
	return failure(C.ggo_grouped_gemm(c.c, desc, s.args, nil))
}

func (g *Grouped) describe(s *call, host bool) (C.ggo_grouped, error) {
	out := C.ggo_grouped{
		groups:     C.int64_t(g.Groups),
		expected_m: C.int64_t(g.ExpectedM), expected_n: C.int64_t(g.ExpectedN), expected_k: C.int64_t(g.ExpectedK),
	}
	if s.hasC || s.desc.epilogue.bias != C.GGEMM_BIAS_NONE {
		return out, argumentError("C and bias of a grouped problem belong into Grouped and Pointers")
	}
	if g.Groups < 0 {
		return out, argumentError("Groups=%d must be 0 or more", g.Groups)
	}
	c := g.C
	if c.Dtype == 0 {
		c = g.D
	}
	out.a.dtype, out.b.dtype, out.c.dtype, out.d.dtype = C.int64_t(g.A.Dtype), C.int64_t(g.B.Dtype), C.int64_t(c.Dtype), C.int64_t(g.D.Dtype)
	for _, source := range [...]struct {
		name  string
		given *Source
		to    *C.ggo_source
	}{
		{"M", &g.M, &out.m}, {"N", &g.N, &out.n}, {"K", &g.K, &out.k},
		{"A.RowStride", &g.A.RowStride, &out.a.row_stride}, {"A.ColStride", &g.A.ColStride, &out.a.col_stride},
		{"B.RowStride", &g.B.RowStride, &out.b.row_stride}, {"B.ColStride", &g.B.ColStride, &out.b.col_stride},
		{"C.RowStride", &c.RowStride, &out.c.row_stride}, {"C.ColStride", &c.ColStride, &out.c.col_stride},
		{"D.RowStride", &g.D.RowStride, &out.d.row_stride}, {"D.ColStride", &g.D.ColStride, &out.d.col_stride},
	} {
		var err error
		if *source.to, err = source.given.toC(source.name, g.Groups, host); err != nil {
			return out, err
		}
	}
	s.describeGroups(&out)
	out.epilogue.bias, out.epilogue.bias_dtype = C.ggemm_bias(g.Bias), C.ggemm_dtype(g.BiasDtype)
	return out, nil
}

// describeGroups adds what the options say.
func (s *call) describeGroups(desc *C.ggo_grouped) {
	desc.epilogue, desc.compute = s.desc.epilogue, s.desc.compute
	desc.config, desc.tune_key = s.desc.config, s.desc.tune_key
}

func (g *Grouped) setPointers(s *call, pointers Pointers) error {
	args := &s.args
	args.a.address, args.b.address, args.d.address = C.uintptr_t(pointers.A), C.uintptr_t(pointers.B), C.uintptr_t(pointers.D)
	args.c.address, args.bias.address = C.uintptr_t(pointers.C), C.uintptr_t(pointers.Bias)
	if pointers.C == 0 && s.readsC() {
		args.c = args.d
	}
	return s.setScalarType(g.A.Dtype, g.B.Dtype, g.D.Dtype)
}

// GroupedPlan is a grouped problem class bound to a kernel. Its arrays of sizes and strides are those of the [Grouped] that it was made
// from, as they are when a run is; they must stay until the plan and its work are done.
type GroupedPlan struct {
	planObject
	problem Grouped
	call    call // as it was when the plan was made: each run begins with it
}

// PlanGrouped binds a grouped problem to a kernel. What the options say holds for every run.
func (c *Context) PlanGrouped(problem *Grouped, options ...Option) (*GroupedPlan, error) {
	described := problem.problem(c.onHost(), options)
	plan := &GroupedPlan{problem: *problem, call: described.call}
	if err := plan.create(c, described); err != nil {
		return nil, err
	}
	runtime.AddCleanup(plan, (*handle).close, plan.handle)
	return plan, nil
}

// Run computes every group's product, as [Context.GroupedGemm] would. The options add to those that the plan was made with: [WithAlpha],
// [WithBeta], [WithStream], and device scalars where the plan has them.
func (p *GroupedPlan) Run(pointers Pointers, options ...Option) error {
	s := p.call
	if err := s.add(options); err != nil {
		return err
	}
	if s.hasC {
		return argumentError("C of a grouped problem belongs into Pointers")
	}
	if err := p.problem.setPointers(&s, pointers); err != nil {
		return err
	}
	if err := p.handle.use(); err != nil {
		return err
	}
	defer p.handle.release()
	return failure(C.ggo_plan_run_grouped(p.c, s.args))
}

// pinSources pins the Go slices that a grouped problem's numbers come from.
func (p *Problem) pinSources(pinner *runtime.Pinner) {
	g := &p.c.grouped
	for _, source := range [...]*C.ggo_source{
		&g.m, &g.n, &g.k, &g.a.row_stride, &g.a.col_stride, &g.b.row_stride, &g.b.col_stride,
		&g.c.row_stride, &g.c.col_stride, &g.d.row_stride, &g.d.col_stride,
	} {
		if source.data.host != nil {
			pinner.Pin(source.data.host)
		}
	}
}

// addressPointer makes the pointer of an address that is not Go's: C memory in an array of pointers.
func addressPointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}
