// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Form says how the operands of the groups are given.
type Form int32

const (
	// PointerGroups: each operand is an array of one address a group.
	PointerGroups Form = C.GGEMM_GROUPS_POINTERS
	// RaggedM: rows sorted by group. A, C and D are one matrix each, of M rows in all, of which group g has those from the end of group g-1 (the
	// first: 0) to Ends' g-th number. M, N and K are constants.
	RaggedM Form = C.GGEMM_GROUPS_RAGGED_M
	// RaggedK: weight gradients. A [m,k] and B [k,n] are one matrix each, of which group g has columns and rows from the end of group g-1 to
	// Ends' g-th number; each group has a D. M, N and K are constants.
	RaggedK Form = C.GGEMM_GROUPS_RAGGED_K
	// Masked: room for M rows in each group, of which as many count as Counts says. M, N and K are constants.
	Masked Form = C.GGEMM_GROUPS_MASKED
	// Batch: every matrix at a distance from the one before.
	Batch Form = C.GGEMM_GROUPS_BATCH
)

// Distance says where a group's matrix (its bias, its scales) is. The zero Distance: one behind the other without gaps; and what is one matrix
// of all groups, as ragged forms have them.
type Distance struct {
	Elements int  // from one group's to the next one's
	Shared   bool // all groups share it
	Pointers bool // the operand is an array of one address a group, whatever the form
}

func (d Distance) toC() C.ggo_distance {
	switch {
	case d.Pointers:
		return C.ggo_distance{kind: C.GGO_POINTERS}
	case d.Shared:
		return C.ggo_distance{kind: C.GGO_DISTANCE}
	case d.Elements != 0:
		return C.ggo_distance{kind: C.GGO_DISTANCE, elements: C.int64_t(d.Elements)}
	}
	return C.ggo_distance{}
}

// GroupedMatrix is a matrix of each group. A unit stride that is a constant (as the default, packed row-major, is) is the fast path.
type GroupedMatrix struct {
	Dtype                Dtype
	RowStride, ColStride Source
	Groups               Distance
}

// GroupedScale is the scales of each group's A or B. Along what is ragged they are one matrix, in which each group has its own rows, or its own
// blocks: group g's first is start/128 + g blocks on, so that there is room for a partial block of each. Shared stands for groups that all begin
// at multiples of 128 then, with no room between them.
type GroupedScale struct {
	Kind                 ScaleKind
	RowStride, ColStride Source
	Groups               Distance
}

// Grouped is a problem of many products whose sizes, strides and pointers are arrays in the device's memory, read when the launch runs. A
// captured launch may be replayed after they have changed. On the host the arrays may be Go slices ([Int32s], [Int64s]).
type Grouped struct {
	Groups       int
	Form         Form
	M, N, K      Source
	Ends, Counts Source        // of the forms that have them
	A, B, C, D   GroupedMatrix // C.Dtype 0: as D in all
	Bias         BiasKind
	BiasDtype    Dtype // 0: D's
	BiasGroups   Distance

	ScaleA, ScaleB GroupedScale

	// Of RaggedM: row i of the groups' order is row AIndex[i] of A, which has ARows rows; it goes to row DIndex[i] of D, which has DRows. An
	// index below 0 stands for a row of zeros, and for nowhere. Rows that go to one row of D are added up, in their order;
	// DIndexUnique says that there are none.
	AIndex, DIndex Source
	ARows, DRows   int
	DIndexUnique   bool

	// Checked mode: numbers and pointers of all groups are looked at before anything is computed. What is wrong is told by [Operands].Status,
	// and nothing is written then.
	Checked bool

	// Mean sizes of a group (of ragged m with ExpectedLargestM better of the groups that have rows), for the choice of configuration; 0: not known. They never change a result beyond rounding.
	ExpectedM, ExpectedN, ExpectedK int
	// Rows of the largest group, beside ExpectedM; 0: not known. As many as ExpectedM where groups are alike, all groups' rows where one has them all.
	ExpectedLargestM int
}

// BiasKind says along which side of D a bias lies.
type BiasKind int32

const (
	NoBias     BiasKind = C.GGEMM_BIAS_NONE
	ColumnBias BiasKind = C.GGEMM_BIAS_PER_COLUMN // bias[j], n elements
	RowBias    BiasKind = C.GGEMM_BIAS_PER_ROW    // bias[i], m elements
)

// Operands are the memory of a grouped call: of an operand by pointers the array of addresses (its dtype does not matter), else the elements of
// all groups, of the problem's dtypes. A slice must hold what the problem's constants, and its slices of sizes and strides, say that there is. What
// is at addresses, or has numbers there, must be as large as these say when the work runs.
type Operands struct {
	A, B, D        Memory
	C              Memory // the zero Memory: D
	Bias           Memory
	ScaleA, ScaleB Memory // float32
	RowWeights     Memory // with Grouped.DIndex: float32, one for each row of the groups' order, or the zero Memory
	Status         Memory // of checked mode: four int32 for [ReadFault]
}

// Pointers are the operands of the first form: addresses of arrays, in the device's memory, of one address a group.
type Pointers struct {
	A, B, D uintptr
	C       uintptr // 0: D
	Bias    uintptr // 0: none
}

// GroupOperands is [Operands], or [Pointers].
type GroupOperands interface {
	operands() Operands
}

func (o Operands) operands() Operands { return o }

func (p Pointers) operands() Operands {
	array := func(address uintptr) Memory {
		if address == 0 {
			return Memory{}
		}
		return At(address, 0)
	}
	return Operands{A: array(p.A), B: array(p.B), C: array(p.C), D: array(p.D), Bias: array(p.Bias)}
}

// GroupedGemm computes D = act(alpha scale A B + beta C + bias) for every group, in one call. The arrays, and what they name, must stay until
// the launch has run. It takes the options of [Context.Gemm] but for [WithC], biases and scales, which [Grouped] and [Operands] have.
func (c *Context) GroupedGemm(problem *Grouped, operands GroupOperands, options ...Option) error {
	var s call
	var n numbers
	if err := s.begin(&n, options, true); err != nil {
		return err
	}
	host := c.onHost()
	desc, err := problem.describe(&s, host)
	if err != nil {
		return err
	}
	args, err := problem.args(&s, operands.operands(), host)
	if err != nil {
		return err
	}
	if err := c.handle.use(); err != nil {
		return err
	}
	defer c.handle.release()
	return failure(C.ggo_grouped_gemm(c.c, desc, args, nil))
}

func (g *Grouped) describe(s *call, host bool) (C.ggo_grouped, error) {
	out := C.ggo_grouped{
		groups:     C.int64_t(g.Groups),
		expected_m: C.int64_t(g.ExpectedM), expected_n: C.int64_t(g.ExpectedN), expected_k: C.int64_t(g.ExpectedK), expected_largest_m: C.int64_t(g.ExpectedLargestM),
	}
	if s.hasC || s.product.epilogue.bias != C.GGEMM_BIAS_NONE || s.product.scale_a.kind != C.GGEMM_SCALE_NONE || s.product.scale_b.kind != C.GGEMM_SCALE_NONE {
		return out, argumentError("C, bias and scales of a grouped problem belong into Grouped and its operands")
	}
	if g.Groups < 0 {
		return out, argumentError("Groups=%d must be 0 or more", g.Groups)
	}
	c := g.C
	if c.Dtype == 0 && s.product.epilogue.gate == C.GGEMM_GATE_NONE {
		c = g.D
	}
	out.a._type, out.b._type, out.c._type, out.d._type = C.int64_t(g.A.Dtype), C.int64_t(g.B.Dtype), C.int64_t(c.Dtype), C.int64_t(g.D.Dtype)
	out.scale_a._type, out.scale_b._type = C.int64_t(g.ScaleA.Kind), C.int64_t(g.ScaleB.Kind)
	out.a.groups, out.b.groups, out.c.groups, out.d.groups = g.A.Groups.toC(), g.B.Groups.toC(), c.Groups.toC(), g.D.Groups.toC()
	out.scale_a.groups, out.scale_b.groups, out.bias = g.ScaleA.Groups.toC(), g.ScaleB.Groups.toC(), g.BiasGroups.toC()
	rows := int(g.M.value) // of the groups' order
	for _, source := range [...]struct {
		name  string
		given *Source
		to    *C.ggo_source
		count int
	}{
		{"M", &g.M, &out.m, g.Groups}, {"N", &g.N, &out.n, g.Groups}, {"K", &g.K, &out.k, g.Groups},
		{"Ends", &g.Ends, &out.ends, g.Groups}, {"Counts", &g.Counts, &out.counts, g.Groups},
		{"AIndex", &g.AIndex, &out.a_index, rows}, {"DIndex", &g.DIndex, &out.d_index, rows},
		{"A.RowStride", &g.A.RowStride, &out.a.row_stride, g.Groups}, {"A.ColStride", &g.A.ColStride, &out.a.col_stride, g.Groups},
		{"B.RowStride", &g.B.RowStride, &out.b.row_stride, g.Groups}, {"B.ColStride", &g.B.ColStride, &out.b.col_stride, g.Groups},
		{"C.RowStride", &c.RowStride, &out.c.row_stride, g.Groups}, {"C.ColStride", &c.ColStride, &out.c.col_stride, g.Groups},
		{"D.RowStride", &g.D.RowStride, &out.d.row_stride, g.Groups}, {"D.ColStride", &g.D.ColStride, &out.d.col_stride, g.Groups},
		{"ScaleA.RowStride", &g.ScaleA.RowStride, &out.scale_a.row_stride, g.Groups},
		{"ScaleA.ColStride", &g.ScaleA.ColStride, &out.scale_a.col_stride, g.Groups},
		{"ScaleB.RowStride", &g.ScaleB.RowStride, &out.scale_b.row_stride, g.Groups},
		{"ScaleB.ColStride", &g.ScaleB.ColStride, &out.scale_b.col_stride, g.Groups},
	} {
		var err error
		if *source.to, err = source.given.toC(source.name, source.count, host); err != nil {
			return out, err
		}
	}
	out.form, out.a_rows, out.d_rows = C.ggemm_grouped_form(g.Form), C.int64_t(g.ARows), C.int64_t(g.DRows)
	out.d_index_unique, out.checked = flag(g.DIndexUnique), flag(g.Checked)
	s.describeGroups(&out)
	out.epilogue.bias, out.epilogue.bias_dtype = C.ggemm_bias(g.Bias), C.ggemm_dtype(g.BiasDtype)
	return out, nil
}

func flag(set bool) C.uint32_t {
	if set {
		return 1
	}
	return 0
}

// describeGroups adds what the options say.
func (s *call) describeGroups(desc *C.ggo_grouped) {
	desc.epilogue, desc.compute = s.product.epilogue, s.product.compute
	desc.config, desc.tune_key, desc.max_ctas = s.config, s.tuneKey, s.product.max_ctas
}

// groupedArgs makes the arguments of what the options say, for A, B and D of these types.
func (s *call) groupedArgs(a, b, d Dtype) (args C.ggo_grouped_args, err error) {
	args.scalars, args.stream = s.args.scalars, s.args.stream
	if args.scalars._type, err = s.scalarType(a, b, d); err != nil || !s.perGroup {
		return args, err
	}
	size := C.int64_t(Dtype(args.scalars._type).Size())
	if args.scalars.alpha_address != 0 {
		args.alpha_byte_stride = size
	}
	if args.scalars.beta_address != 0 {
		args.beta_byte_stride = size
	}
	return args, nil
}

// GroupedPlan is a grouped problem class bound to a kernel. Its arrays of sizes and strides are those of the [Grouped] that it was made
// from, as they are when a run is; they must stay until the plan and its work are done.
type GroupedPlan struct {
	planObject
	problem Grouped
	call    call // as it was when the plan was made: each run begins with it
	host    bool
}

// PlanGrouped binds a grouped problem to a kernel. What the options say holds for every run.
func (c *Context) PlanGrouped(problem *Grouped, options ...Option) (*GroupedPlan, error) {
	described := problem.problem(c.onHost(), options)
	plan := &GroupedPlan{problem: *problem, call: described.call, host: c.onHost()}
	if err := plan.create(c, described); err != nil {
		return nil, err
	}
	runtime.AddCleanup(plan, (*handle).close, plan.handle)
	return plan, nil
}

// Run computes every group's product, as [Context.GroupedGemm] would. The options add to those that the plan was made with: [WithAlpha],
// [WithBeta], [WithStream], and device scalars where the plan has them.
func (p *GroupedPlan) Run(operands GroupOperands, options ...Option) error {
	var n numbers
	s := p.call.copy(&n)
	if err := s.add(options, true); err != nil {
		return err
	}
	if s.hasC {
		return argumentError("C of a grouped problem belongs into its operands")
	}
	args, err := p.problem.args(&s, operands.operands(), p.host)
	if err != nil {
		return err
	}
	if err := p.handle.use(); err != nil {
		return err
	}
	defer p.handle.release()
	return failure(C.ggo_plan_run_grouped(p.c, args))
}

// pinSources pins the Go slices that a grouped problem's numbers come from.
func (p *Problem) pinSources(pinner *runtime.Pinner) {
	g := &p.c.grouped
	for _, source := range [...]*C.ggo_source{
		&g.m, &g.n, &g.k, &g.a.row_stride, &g.a.col_stride, &g.b.row_stride, &g.b.col_stride,
		&g.c.row_stride, &g.c.col_stride, &g.d.row_stride, &g.d.col_stride, &g.ends, &g.counts, &g.a_index, &g.d_index,
		&g.scale_a.row_stride, &g.scale_a.col_stride, &g.scale_b.row_stride, &g.scale_b.col_stride,
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
