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
// happens, with k 0 D = act(alpha 0 + beta C + bias).
//
// D must not overlap another operand, but for C, which may be D itself. On the host it is complete on return; on CUDA it is queued on
// [WithStream]. The first call of a problem class compiles or loads its kernel; while the stream is captured that is [ErrNotPrepared].
func (c *Context) Gemm(a, b, d Matrix, options ...Option) error {
	return c.gemm(&a, &b, &d, options) // the matrices are not copied once more where the compiler puts this into the caller
}

func (c *Context) gemm(a, b, d *Matrix, options []Option) error {
	n, err := c.handle.enter()
	if err != nil {
		return err
	}
	err = c.gemmWith(n, a, b, d, options)
	c.handle.leave(n) // not deferred, which takes some 10 ns
	return err
}

func (c *Context) gemmWith(n *numbers, a, b, d *Matrix, options []Option) error {
	var s call
	if err := s.begin(n, options, false); err != nil {
		return err
	}
	if err := s.describe(a, b, d, false); err != nil {
		return err
	}
	var o plainMemory
	if err := o.set(&s, s.args, c.onHost(), a, b, d); err != nil {
		return err
	}
	C.ggo_gemm(c.c, s.product, s.args, o.a, o.b, o.c, o.d, o.bias, o.scaleA, o.scaleB, s.config, s.tuneKey)
	return failure(s.args.result)
}

// describe sets the description of D = A B. The runs of a plan may have a beta that it was made without.
func (s *call) describe(a, b, d *Matrix, forPlan bool) error {
	if err := s.checkSizes(a, b, d); err != nil {
		return err
	}
	desc := s.product
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
	case s.product.epilogue.gate != C.GGEMM_GATE_NONE && d.cols != outputCols(s.product.epilogue.gate, b.cols):
		return argumentError("n differs: B is %dx%d (n=%d, so %d pairs), D is %dx%d", b.rows, b.cols, b.cols, b.cols/2, d.rows, d.cols)
	case s.product.epilogue.gate == C.GGEMM_GATE_NONE && b.cols != d.cols:
		return argumentError("n differs: B is %dx%d (n=%d), D is %dx%d (n=%d)", b.rows, b.cols, b.cols, d.rows, d.cols, d.cols)
	case s.hasC && (s.c.rows != d.rows || s.c.cols != d.cols):
		return argumentError("C is %dx%d, and D is %dx%d", s.c.rows, s.c.cols, d.rows, d.cols)
	}
	return nil
}

// plainMemory is the operands of one product, as far as they are in Go's memory.
type plainMemory struct {
	a, b, c, d, bias, scaleA, scaleB *C.char
}

// set checks the memory of operands whose sizes belong together, and completes the arguments.
func (o *plainMemory) set(s *call, args *C.ggo_args, host bool, a, b, d *Matrix) (err error) {
	if args.scalars._type, err = s.scalarType(a.memory.dtype, b.memory.dtype, d.memory.dtype); err != nil {
		return err
	}
	args.m, args.n, args.k = C.int64_t(d.rows), C.int64_t(b.cols), C.int64_t(a.cols)
	if d.rows == 0 || d.cols == 0 {
		return nil
	}
	if host && a.inSlice() && b.inSlice() && d.inSlice() {
		o.a, o.b, o.d = a.first(), b.first(), d.first()
	} else if err = o.setEach(args, host, a, b, d); err != nil {
		return err
	}
	if s.readsC() {
		o.c, args.c = o.d, args.d
		if s.hasC {
			o.c, args.c, err = s.c.operand("C", host)
		}
	}
	if kind := s.product.epilogue.bias; err == nil && kind != C.GGEMM_BIAS_NONE {
		o.bias, args.bias, err = biasOperand(s.bias, kind, host, a, b)
	}
	if kind := s.product.scale_a.kind; err == nil && kind != C.GGEMM_SCALE_NONE {
		o.scaleA, args.scale_a, err = scaleOperand("scale A", kind, &s.scales[0], a.rows, a.cols, host)
	}
	if kind := s.product.scale_b.kind; err == nil && kind != C.GGEMM_SCALE_NONE {
		o.scaleB, args.scale_b, err = scaleOperand("scale B", kind, &s.scales[1], b.cols, a.cols, host)
	}
	return err
}

func (o *plainMemory) setEach(args *C.ggo_args, host bool, a, b, d *Matrix) (err error) {
	if o.a, args.a, err = a.operand("A", host); err != nil {
		return err
	}
	if o.b, args.b, err = b.operand("B", host); err != nil {
		return err
	}
	o.d, args.d, err = d.operand("D", host)
	return err
}

func biasOperand(bias Memory, kind C.ggemm_bias, host bool, a, b *Matrix) (memory *C.char, address C.uintptr_t, err error) {
	length := b.cols
	if kind == C.GGEMM_BIAS_PER_ROW {
		length = a.rows
	}
	if err := bias.check("bias", host, 0, length-1); err != nil {
		return nil, 0, err
	}
	memory, address = bias.pointer(0)
	return memory, address, nil
}

// Plan is a problem class bound to a kernel: a run is a launch without a look-up, and compiles nothing unless an operand is less aligned than
// the plan expects.
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
func (p *Plan) Run(a, b, d Matrix, options ...Option) error { return p.run(&a, &b, &d, options) }

func (p *Plan) run(a, b, d *Matrix, options []Option) error {
	n, err := p.handle.enter()
	if err != nil {
		return err
	}
	err = p.runWith(n, a, b, d, options)
	p.handle.leave(n)
	return err
}

func (p *Plan) runWith(n *numbers, a, b, d *Matrix, options []Option) error {
	s, args := &p.call, &n.args
	if len(options) == 0 {
		*args = *s.args
	} else {
		own := s.copy(n)
		if err := own.add(options, false); err != nil {
			return err
		}
		s = &own
	}
	if err := s.checkFits(a, b, d); err != nil {
		return err
	}
	var o plainMemory
	if err := o.set(s, args, p.host, a, b, d); err != nil {
		return err
	}
	C.ggo_plan_run(p.c, args, o.a, o.b, o.c, o.d, o.bias, o.scaleA, o.scaleB)
	return failure(args.result)
}

// checkFits checks the operands of a run against what the plan was made for.
func (s *call) checkFits(a, b, d *Matrix) error {
	if err := s.checkSizes(a, b, d); err != nil {
		return err
	}
	if err := a.fits("A", &s.product.a); err != nil {
		return err
	}
	if err := b.fits("B", &s.product.b); err != nil {
		return err
	}
	if err := d.fits("D", &s.product.d); err != nil {
		return err
	}
	if s.readsC() && s.product.epilogue.gate == C.GGEMM_GATE_NONE { // of pairs C says that they have none
		c := d
		if s.hasC {
			c = &s.c
		}
		if err := c.fits("C", &s.product.c); err != nil {
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
