// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import "math"

// Activation is the function that is applied last.
type Activation int32

const (
	NoActivation Activation = C.GGEMM_ACTIVATION_NONE
	ReLU         Activation = C.GGEMM_ACTIVATION_RELU      // max(x, 0); NaN stays NaN
	GELU         Activation = C.GGEMM_ACTIVATION_GELU      // x/2 (1 + erf(x / sqrt 2))
	GELUTanh     Activation = C.GGEMM_ACTIVATION_GELU_TANH // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
	SiLU         Activation = C.GGEMM_ACTIVATION_SILU      // x / (1 + exp(-x))
	Sigmoid      Activation = C.GGEMM_ACTIVATION_SIGMOID   // 1 / (1 + exp(-x))
	Tanh         Activation = C.GGEMM_ACTIVATION_TANH
)

// Option is a part of a call beyond its operands: what follows the product, how it is computed, on which stream.
type Option struct {
	kind    optionKind
	number  int32
	x, y    float64
	at, at2 uintptr
	matrix  Matrix // or, of its memory alone, a bias
	text    string
}

type optionKind uint8

const (
	optionActivation optionKind = iota
	optionCompute
	optionConfig
	optionTuneKey
	optionBias
	optionAlpha
	optionBeta
	optionC
	optionDeviceScalars
	optionGroupScalars
	optionStream
	optionGate
	optionScaleA
	optionScaleB
	optionMaxCTAs
)

var optionNames = [...]string{
	"an activation", "a compute mode", "WithConfig", "WithTuneKey", "a bias", "WithAlpha", "WithBeta", "WithC", "WithDeviceScalars", "WithGroupScalars",
	"WithStream", "WithGate", "WithScaleA", "WithScaleB", "WithMaxCTAs",
}

// WithActivation applies an activation to each element.
func WithActivation(activation Activation) Option {
	return Option{kind: optionActivation, number: int32(activation)}
}

// WithLeakyReLU applies x > 0 ? x : slope x to each element.
func WithLeakyReLU(slope float64) Option {
	return Option{kind: optionActivation, number: C.GGEMM_ACTIVATION_LEAKY_RELU, x: slope}
}

// WithClamp applies min(max(x, low), high) to each element; NaN stays NaN.
func WithClamp(low, high float64) Option {
	return Option{kind: optionActivation, number: C.GGEMM_ACTIVATION_CLAMP, x: low, y: high}
}

// WithColumnBias adds bias[j] to each element of column j, before the activation: n elements.
func WithColumnBias(bias Memory) Option {
	return Option{kind: optionBias, number: C.GGEMM_BIAS_PER_COLUMN, matrix: Matrix{memory: bias}}
}

// WithRowBias adds bias[i] to each element of row i, before the activation: m elements.
func WithRowBias(bias Memory) Option {
	return Option{kind: optionBias, number: C.GGEMM_BIAS_PER_ROW, matrix: Matrix{memory: bias}}
}

// WithAlpha multiplies the product. The factor is rounded to what the sums are in: f32, or f64 if A or B is; for int8 products stored as
// int32 it must be a whole number. NaN and infinity in A and B stay, also with 0.
func WithAlpha(alpha float64) Option { return Option{kind: optionAlpha, x: alpha} }

// WithBeta adds beta times what D holds before the call, or times another matrix if [WithC] or a group names one. Rounded as [WithAlpha]
// says; with 0 nothing is read.
func WithBeta(beta float64) Option { return Option{kind: optionBeta, x: beta} }

// WithC adds beta times a matrix of D's shape. It may be D itself, and must not overlap it otherwise. Where beta is in device memory it is 0
// here.
func WithC(c Matrix, beta float64) Option { return Option{kind: optionC, x: beta, matrix: c} }

// WithDeviceScalars takes alpha and beta from the device's memory, in the type that [WithAlpha] says; an address of 0 stands for 1 and 0.
// They are read when the work runs. No number may be given beside them.
func WithDeviceScalars(alpha, beta uintptr) Option {
	return Option{kind: optionDeviceScalars, at: alpha, at2: beta}
}

// WithGroupScalars takes an alpha and a beta of each group from arrays in the device's memory, one number behind the other, as [WithDeviceScalars]
// takes one for all; an address of 0 stands for 1 and 0. For groups alone.
func WithGroupScalars(alphas, betas uintptr) Option {
	return Option{kind: optionGroupScalars, at: alphas, at2: betas}
}

// WithGate makes gated pairs of the product's columns: D has half as many as B, and there is no C.
func WithGate(gate Gate) Option { return Option{kind: optionGate, number: int32(gate)} }

// WithScaleA scales A.
func WithScaleA(scale Scale) Option {
	return Option{kind: optionScaleA, number: int32(scale.Kind), matrix: scale.Values}
}

// WithScaleB scales B.
func WithScaleB(scale Scale) Option {
	return Option{kind: optionScaleB, number: int32(scale.Kind), matrix: scale.Values}
}

// WithStream queues the work on a CUstream of the context's device; 0 is the legacy default stream. The host ignores it.
func WithStream(stream uintptr) Option { return Option{kind: optionStream, at: stream} }

// WithTF32 rounds f32 inputs to the nearest tf32 (10 explicit mantissa bits; which of two that are as near depends on the kernel), for tensor
// cores. The host rounds likewise.
func WithTF32() Option { return Option{kind: optionCompute, number: C.GGEMM_COMPUTE_TF32} }

// WithF32x3 multiplies f32 inputs on tensor cores, as three bf16 terms each, with an error no larger than that of f32 products and sums.
func WithF32x3() Option { return Option{kind: optionCompute, number: C.GGEMM_COMPUTE_F32_ACCURATE} }

// WithMaxCTAs lets so many CTAs multiply at once at most, so that other work may run beside; 0: as many as the device holds.
func WithMaxCTAs(ctas int) Option {
	return Option{kind: optionMaxCTAs, number: int32(max(min(ctas, math.MaxInt32), math.MinInt32))}
}

// WithFP8Fast sums products of 8-bit floats as fast as tensor cores can, which on compute capability 9.0 keep about 14 bits of a sum.
func WithFP8Fast() Option { return Option{kind: optionCompute, number: C.GGEMM_COMPUTE_FP8_FAST} }

// WithConfig forces a configuration by its name; see [Config].
func WithConfig(name string) Option { return Option{kind: optionConfig, text: name} }

// WithTuneKey uses only what was tuned under the caller's own key, whatever the sizes.
func WithTuneKey(key string) Option { return Option{kind: optionTuneKey, text: key} }

// call is a product on its way to C: what the options say, and then its operands.
type call struct {
	product         *C.ggo_product // a grouped call uses what does not speak of operands
	args            *C.ggo_args    // likewise of sizes and operands
	config, tuneKey *C.char
	c               Matrix // if hasC
	bias            Memory
	hasC            bool
	perGroup        bool       // alpha and beta are arrays
	scales          *[2]Matrix // of A and B, if the product has their kinds; apart, for every call begins with zeros
}

// numbers are what C takes of a plain product by address: as arguments of the call they would be copied, one by one, three times. Those that
// C is given are on the heap, for cgo gives nothing of the stack to a function that may call back.
type numbers struct {
	product C.ggo_product
	args    C.ggo_args
}

// begin sets the defaults, and then the options.
func (s *call) begin(n *numbers, options []Option, grouped bool) error {
	*n = numbers{}
	n.product.scale_a.row_stride, n.product.scale_a.col_stride = C.GGEMM_PACKED, C.GGEMM_PACKED
	n.product.scale_b.row_stride, n.product.scale_b.col_stride = C.GGEMM_PACKED, C.GGEMM_PACKED
	n.args.scalars.alpha = 1
	s.product, s.args = &n.product, &n.args
	for i := range options {
		if err := s.set(&options[i]); err != nil {
			return err
		}
	}
	return s.checkScalars(grouped)
}

// copy makes another call with numbers of its own.
func (s *call) copy(n *numbers) call {
	other := *s
	n.product, n.args = *s.product, *s.args
	other.product, other.args = &n.product, &n.args
	return other
}

// add sets more options for a run of a plan: they may change arguments alone.
func (s *call) add(options []Option, grouped bool) error {
	for i := range options {
		o := &options[i]
		var fixed bool
		switch o.kind {
		case optionActivation, optionCompute, optionConfig, optionTuneKey, optionGate, optionMaxCTAs:
			fixed = true
		case optionScaleA:
			fixed = !s.sameScale(o, s.product.scale_a.kind, 0)
		case optionScaleB:
			fixed = !s.sameScale(o, s.product.scale_b.kind, 1)
		case optionBias:
			fixed = C.ggemm_bias(o.number) != s.product.epilogue.bias || C.ggemm_dtype(o.matrix.memory.dtype) != s.product.epilogue.bias_dtype
		case optionDeviceScalars, optionGroupScalars:
			fixed = s.args.scalars.on_device == 0
		}
		if fixed {
			return argumentError("%s is not what the plan was made with: give it when the plan is made", optionNames[o.kind])
		}
		if err := s.set(o); err != nil {
			return err
		}
	}
	return s.checkScalars(grouped)
}

// checkScalars refuses what nobody would read, once all options are set: they may come in any order.
func (s *call) checkScalars(grouped bool) error {
	scalars := &s.args.scalars
	switch {
	case scalars.on_device == 0:
		return nil
	case scalars.alpha != 1 || scalars.beta != 0:
		return argumentError("alpha=%g, beta=%g are numbers beside scalars in device memory: give both there", scalars.alpha, scalars.beta)
	case s.perGroup && !grouped:
		return argumentError("WithGroupScalars is for groups: a single product takes WithDeviceScalars")
	}
	return nil
}

// sameScale says whether an option's scales may stand for those of the plan. Where there are none, there is nothing to compare.
func (s *call) sameScale(o *Option, kind C.ggemm_scale_kind, operand int) bool {
	return C.ggemm_scale_kind(o.number) == kind && (kind == C.GGEMM_SCALE_NONE || o.matrix.sameStrides(&s.scales[operand]))
}

func (s *call) set(o *Option) (err error) {
	epilogue, scalars := &s.product.epilogue, &s.args.scalars
	switch o.kind {
	case optionActivation:
		epilogue.activation = C.ggemm_activation(o.number)
		epilogue.activation_p0, epilogue.activation_p1 = C.double(o.x), C.double(o.y)
	case optionCompute:
		s.product.compute = C.ggemm_compute(o.number)
	case optionConfig:
		s.config, err = cText(o.text)
	case optionTuneKey:
		s.tuneKey, err = cText(o.text)
	case optionBias:
		s.bias = o.matrix.memory
		epilogue.bias, epilogue.bias_dtype = C.ggemm_bias(o.number), C.ggemm_dtype(s.bias.dtype)
	case optionAlpha:
		scalars.alpha = C.double(o.x)
	case optionBeta:
		scalars.beta = C.double(o.x)
	case optionC:
		s.c, s.hasC, scalars.beta = o.matrix, true, C.double(o.x)
	case optionMaxCTAs:
		s.product.max_ctas = C.int32_t(o.number)
	case optionGate:
		epilogue.gate = C.ggemm_gate(o.number)
	case optionScaleA:
		s.setScale(0, o.matrix)
		s.product.scale_a.kind = C.ggemm_scale_kind(o.number)
		o.matrix.describeScale(&s.product.scale_a)
	case optionScaleB:
		s.setScale(1, o.matrix)
		s.product.scale_b.kind = C.ggemm_scale_kind(o.number)
		o.matrix.describeScale(&s.product.scale_b)
	case optionDeviceScalars, optionGroupScalars:
		s.perGroup = o.kind == optionGroupScalars
		epilogue.scalars_on_device, scalars.on_device = 1, 1
		scalars.alpha_address, scalars.beta_address = C.uintptr_t(o.at), C.uintptr_t(o.at2)
	case optionStream:
		s.args.stream = C.uintptr_t(o.at)
	}
	return err
}

// setScale leaves those of the plan that this call may begin with as they are.
func (s *call) setScale(operand int, values Matrix) {
	own := new([2]Matrix)
	if s.scales != nil {
		*own = *s.scales
	}
	own[operand], s.scales = values, own
}

// scalarType says what alpha and beta are given in when A, B and D are of these types.
func (s *call) scalarType(a, b, d Dtype) (C.ggemm_dtype, error) {
	switch {
	case a == F64 || b == F64:
		return C.GGEMM_F64, nil
	case a == I8 && b == I8 && d == I32:
		scalars := &s.args.scalars
		for _, x := range [...]C.double{scalars.alpha, scalars.beta} {
			if float64(x) != math.Trunc(float64(x)) || x < math.MinInt32 || x > math.MaxInt32 {
				return 0, argumentError("alpha=%g, beta=%g: int8 products stored as int32 take whole numbers of 32 bits", scalars.alpha, scalars.beta)
			}
		}
		return C.GGEMM_I32, nil
	}
	return C.GGEMM_F32, nil
}

// readsC says whether C may be looked at.
func (s *call) readsC() bool {
	if scalars := &s.args.scalars; scalars.on_device == 0 {
		return scalars.beta != 0
	}
	return s.args.scalars.beta_address != 0
}
