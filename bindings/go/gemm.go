// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"runtime"
	"unsafe"
)

// Gemm computes D = act(alpha A B + beta C + bias), with A [m,k], B [k,n], C and D [m,n]. Sizes of 0 are right: with m or n 0 nothing
// happens, with k 0 D = act(beta C + bias).
//
// D must not overlap another operand, but for C, which may be D itself. On the host it is complete on return; on CUDA it is queued on
// [WithStream]. The first call of a problem class compiles or loads its kernel; while the stream is captured that is [ErrNotPrepared].
func (c *Context) Gemm(a, b, d Matrix, options ...Option) error {
	var s call
	if err := s.begin(options); err != nil {
		return err
	}
	if err := s.describe(&a, &b, &d, false); err != nil {
		return err
	}
	var o plainOperands
	if err := o.set(&s, c.onHost(), &a, &b, &d); err != nil {
		return err
	}
	if err := c.handle.use(); err != nil {
		return err
	}
	var result C.ggo_result
	if x, e := &s.args, &s.desc.epilogue; s.rare {
		result = C.ggo_gemm(c.c, s.desc, o.args(&s))
	} else {
		result = C.ggo_gemm_usual(c.c, o.a.host, o.b.host, o.c.host, o.d.host, o.bias.host, o.a.address, o.b.address, o.c.address, o.d.address, o.bias.address,
			x.alpha, x.beta, o.scalar, o.m, o.n, o.k, x.stream, s.desc.a.dtype, s.desc.a.row_stride, s.desc.a.col_stride, s.desc.b.dtype, s.desc.b.row_stride,
			s.desc.b.col_stride, s.desc.c.dtype, s.desc.c.row_stride, s.desc.c.col_stride, s.desc.d.dtype, s.desc.d.row_stride, s.desc.d.col_stride,
			e.activation, e.activation_p0, e.activation_p1, e.bias, e.bias_dtype, s.desc.compute)
	}
	c.handle.release()
	return failure(result)
}

// describe sets the description of D = A B. The runs of a plan may have a beta that it was made without.
func (s *call) describe(a, b, d *Matrix, forPlan bool) error {
	if err := s.checkSizes(a, b, d); err != nil {
		return err
	}
	desc := &s.desc
	desc.m, desc.n, desc.k = C.int64_t(d.rows), C.int64_t(b.cols), C.int64_t(a.cols)
	a.describe(&desc.a)
	b.describe(&desc.b)
	d.describe(&desc.d)
	switch {
	case s.hasC:
		s.c.describe(&desc.c)
	case desc.epilogue.gate == C.GGEMM_GATE_NONE && (forPlan || s.readsC()):
		d.describe(&desc.c)
	default:
		desc.c.row_stride, desc.c.col_stride = C.GGEMM_PACKED, C.GGEMM_PACKED
	}
	return nil
}

// checkSizes checks that the sizes of the operands belong together.
func (s *call) checkSizes(a, b, d *Matrix) error {
	switch {
	case a.rows < 0 || a.cols < 0 || b.rows < 0 || b.cols < 0:
		return argumentError("A is %dx%d, B is %dx%d: sizes must be 0 or more", a.rows, a.cols, b.rows, b.cols)
	case a.cols != b.rows:
		return argumentError("k differs: A is %dx%d (k=%d), B is %dx%d (k=%d)", a.rows, a.cols, a.cols, b.rows, b.cols, b.rows)
	case a.rows != d.rows:
		return argumentError("m differs: A is %dx%d (m=%d), D is %dx%d (m=%d)", a.rows, a.cols, a.rows, d.rows, d.cols, d.rows)
	case s.desc.epilogue.gate != C.GGEMM_GATE_NONE && d.cols != outputCols(s.desc.epilogue.gate, b.cols):
		return argumentError("n differs: B is %dx%d (n=%d, so %d pairs), D is %dx%d", b.rows, b.cols, b.cols, b.cols/2, d.rows, d.cols)
	case s.desc.epilogue.gate == C.GGEMM_GATE_NONE && b.cols != d.cols:
		return argumentError("n differs: B is %dx%d (n=%d), D is %dx%d (n=%d)", b.rows, b.cols, b.cols, d.rows, d.cols, d.cols)
	case s.hasC && (s.c.rows != d.rows || s.c.cols != d.cols):
		return argumentError("C is %dx%d, and D is %dx%d", s.c.rows, s.c.cols, d.rows, d.cols)
	}
	return nil
}

// plainOperands is the memory of one product, and what goes with it.
type plainOperands struct {
	a, b, c, d, bias, scaleA, scaleB C.ggo_memory
	m, n, k                          C.int64_t
	scalar                           C.ggemm_dtype
}

// set checks the memory of operands whose sizes belong together.
func (o *plainOperands) set(s *call, host bool, a, b, d *Matrix) (err error) {
	if o.scalar, err = s.scalarType(a.memory.dtype, b.memory.dtype, d.memory.dtype); err != nil {
		return err
	}
	o.m, o.n, o.k = C.int64_t(d.rows), C.int64_t(b.cols), C.int64_t(a.cols)
	if d.rows == 0 || d.cols == 0 {
		return nil
	}
	if o.a, err = a.operand("A", host); err != nil {
		return err
	}
	if o.b, err = b.operand("B", host); err != nil {
		return err
	}
	if o.d, err = d.operand("D", host); err != nil {
		return err
	}
	if s.readsC() {
		o.c = o.d
		if s.hasC {
			o.c, err = s.c.operand("C", host)
		}
	}
	if kind := s.desc.epilogue.bias; err == nil && kind != C.GGEMM_BIAS_NONE {
		o.bias, err = biasOperand(s.bias, kind, host, a, b)
	}
	if kind := s.desc.scale_a.kind; err == nil && kind != C.GGEMM_SCALE_NONE {
		o.scaleA, err = scaleOperand("scale A", kind, &s.scales[0], a.rows, a.cols, host)
	}
	if kind := s.desc.scale_b.kind; err == nil && kind != C.GGEMM_SCALE_NONE {
		o.scaleB, err = scaleOperand("scale B", kind, &s.scales[1], b.cols, a.cols, host)
	}
	return err
}

// args is all of it for the general way.
func (o *plainOperands) args(s *call) C.ggo_args {
	args := s.args
	args.a, args.b, args.c, args.d, args.bias, args.scale_a, args.scale_b = o.a, o.b, o.c, o.d, o.bias, o.scaleA, o.scaleB
	args.m, args.n, args.k, args.scalar = o.m, o.n, o.k, o.scalar
	return args
}

func biasOperand(bias Memory, kind C.ggemm_bias, host bool, a, b *Matrix) (C.ggo_memory, error) {
	length := b.cols
	if kind == C.GGEMM_BIAS_PER_ROW {
		length = a.rows
	}
	if err := bias.check("bias", host, 0, length-1); err != nil {
		return C.ggo_memory{}, err
	}
	return bias.pointer(0), nil
}

// Plan is a problem class bound to a kernel: a run is a launch without a look-up, and never compiles.
type Plan struct {
	planObject
	call call // as it was when the plan was made: each run begins with it
	host bool
}

// planObject is what plain and grouped plans share.
type planObject struct {
	handle *handle
	c      C.uintptr_t
}

// Plan binds the problem of these matrices, of which the sizes, strides and dtypes count, to a kernel. The memory may be missing ([Of]).
// What the options say holds for every run.
func (c *Context) Plan(a, b, d Matrix, options ...Option) (*Plan, error) {
	problem := Product(a, b, d, options...)
	plan := &Plan{call: problem.call, host: c.onHost()}
	err := plan.create(c, problem)
	if err != nil {
		return nil, err
	}
	runtime.AddCleanup(plan, (*handle).close, plan.handle)
	return plan, nil
}

// create makes the object. A grouped problem's arrays are looked at by every run, so those that are Go's are pinned until the plan goes.
func (p *planObject) create(c *Context, problem Problem) error {
	if problem.err != nil {
		return problem.err
	}
	if err := c.handle.use(); err != nil { // and so until the plan goes
		return err
	}
	if err := failure(C.ggo_plan(c.c, problem.c, &p.c)); err != nil {
		c.handle.release()
		return err
	}
	pinner := new(runtime.Pinner)
	problem.pinSources(pinner)
	object, context := p.c, c.handle
	p.handle = &handle{name: "plan", free: func() {
		C.ggo_plan_close(object)
		pinner.Unpin()
		context.release()
	}}
	return nil
}

// Run computes D = act(alpha A B + beta C + bias) as [Context.Gemm] would. The sizes may be others than the plan's, dtypes and strides must
// be the plan's; the row strides of [RowMajor] follow the sizes. The options add to those that the plan was made with: [WithAlpha],
// [WithBeta], [WithC], [WithStream], and a bias or device scalars where the plan has them.
func (p *Plan) Run(a, b, d Matrix, options ...Option) error {
	if len(options) == 0 {
		return p.run(&p.call, &a, &b, &d)
	}
	s := p.call
	if err := s.add(options); err != nil {
		return err
	}
	return p.run(&s, &a, &b, &d)
}

func (p *Plan) run(s *call, a, b, d *Matrix) error {
	if err := s.checkFits(a, b, d); err != nil {
		return err
	}
	var o plainOperands
	if err := o.set(s, p.host, a, b, d); err != nil {
		return err
	}
	if err := p.handle.use(); err != nil {
		return err
	}
	var result C.ggo_result
	if s.rare {
		result = C.ggo_plan_run(p.c, o.args(s))
	} else {
		result = C.ggo_plan_run_usual(p.c, o.a.host, o.b.host, o.c.host, o.d.host, o.bias.host, o.a.address, o.b.address, o.c.address, o.d.address,
			o.bias.address, s.args.alpha, s.args.beta, o.scalar, o.m, o.n, o.k, s.args.stream)
	}
	p.handle.release()
	return failure(result)
}

// checkFits checks the operands of a run against what the plan was made for.
func (s *call) checkFits(a, b, d *Matrix) error {
	if err := s.checkSizes(a, b, d); err != nil {
		return err
	}
	if err := a.fits("A", &s.desc.a); err != nil {
		return err
	}
	if err := b.fits("B", &s.desc.b); err != nil {
		return err
	}
	if err := d.fits("D", &s.desc.d); err != nil {
		return err
	}
	if s.readsC() {
		c := d
		if s.hasC {
			c = &s.c
		}
		if err := c.fits("C", &s.desc.c); err != nil {
			return err
		}
	}
	return nil
}

// Close destroys the plan once the runs under way are done with it. Work that it queued on a GPU may still run. It returns nil, always.
func (p *planObject) Close() error {
	p.handle.close()
	return nil
}

// Explain says for people why the plan is as it is: problem, configuration and where that came from, kernel, registers and shared memory.
func (p *planObject) Explain() (string, error) {
	if err := p.handle.use(); err != nil {
		return "", err
	}
	defer p.handle.release()
	var text *C.char
	err := failure(C.ggo_plan_explain(p.c, &text))
	defer C.free(unsafe.Pointer(text))
	if err != nil {
		return "", err
	}
	return C.GoString(text), nil
}

// Config returns the configuration that the plan is bound to.
func (p *planObject) Config() (Config, error) {
	if err := p.handle.use(); err != nil {
		return Config{}, err
	}
	defer p.handle.release()
	var config C.ggemm_config
	err := failure(C.ggo_plan_config(p.c, &config))
	return newConfig(&config), err
}
