// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

// Gate says which columns of a product are a pair, as in SwiGLU ([SiLU]) and GeGLU ([GELU]): D = act(x_gate) x_up, where
// x = alpha scale A B + bias, has half as many columns as B.
type Gate int32

const (
	NoGate      Gate = C.GGEMM_GATE_NONE
	Halves      Gate = C.GGEMM_GATE_HALVES      // D's column j is of columns j (gate) and j + n/2 (up)
	Interleaved Gate = C.GGEMM_GATE_INTERLEAVED // of columns 2j (gate) and 2j + 1 (up)
)

// cols returns D's columns, of B's.
func outputCols(gate C.ggemm_gate, cols int) int {
	if gate == C.GGEMM_GATE_NONE {
		return cols
	}
	return cols / 2
}

// ScaleKind says how an operand is scaled, by float32 numbers that form a matrix of their own.
type ScaleKind int32

const (
	NoScale           ScaleKind = C.GGEMM_SCALE_NONE
	TensorScale       ScaleKind = C.GGEMM_SCALE_TENSOR        // one number
	VectorScale       ScaleKind = C.GGEMM_SCALE_VECTOR        // one for each row of A, [m,1]; for each column of B, [1,n]
	Block1x128Scale   ScaleKind = C.GGEMM_SCALE_BLOCK_1X128   // one for each 128 of k of a row of A, [m,ceil(k/128)]; of a column of B, [ceil(k/128),n]
	Block128x128Scale ScaleKind = C.GGEMM_SCALE_BLOCK_128X128 // one for each block: [ceil(m/128),ceil(k/128)]; of B, [ceil(k/128),ceil(n/128)]
)

// Scale is the scales of A or B: see [WithScaleA].
type Scale struct {
	Kind   ScaleKind
	Values Matrix // of float32
}

// counts returns how many numbers there are along A's rows (B's columns), and along k.
func (kind ScaleKind) counts(along, k int) (int, int) {
	const block = 128
	blocks := func(size int) int { return (size + block - 1) / block }
	switch kind {
	case TensorScale:
		return 1, 1
	case VectorScale:
		return along, 1
	case Block1x128Scale:
		return along, blocks(k)
	}
	return blocks(along), blocks(k)
}

func (m *Matrix) describeScale(desc *C.ggemm_scale) {
	if m.packed {
		desc.row_stride, desc.col_stride = C.GGEMM_PACKED, C.GGEMM_PACKED
	} else {
		desc.row_stride, desc.col_stride = C.int64_t(m.rowStride), C.int64_t(m.colStride)
	}
}

// sameStrides says whether scales may stand for those that a plan was made with.
func (m *Matrix) sameStrides(other *Matrix) bool {
	return m.packed && other.packed || m.packed == other.packed && m.rowStride == other.rowStride && m.colStride == other.colStride
}

// scaleOperand checks scales against a product whose sizes belong together, and returns where they are.
func scaleOperand(name string, kind C.ggemm_scale_kind, scale *Matrix, along, k int, host bool) (*C.char, C.uintptr_t, error) {
	if kind == C.GGEMM_SCALE_NONE {
		return nil, 0, nil
	}
	if scale.memory.dtype != F32 {
		return nil, 0, argumentError("%s is %v: scales are f32", name, scale.memory.dtype)
	}
	if err := checkScaleShape(name, kind, scale, along, k); err != nil {
		return nil, 0, err
	}
	return scale.operand(name, host)
}

func checkScaleShape(name string, kind C.ggemm_scale_kind, scale *Matrix, along, k int) error {
	rows, cols := ScaleKind(kind).counts(along, k)
	if name == "scale B" {
		rows, cols = cols, rows
	}
	if scale.rows != rows || scale.cols != cols {
		return argumentError("%s is %dx%d, and this product needs %dx%d", name, scale.rows, scale.cols, rows, cols)
	}
	return nil
}
