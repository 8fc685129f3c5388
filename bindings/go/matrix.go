// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import (
	"math"
	"math/bits"
	"unsafe"
)

// Matrix is a view of [Memory] with a row stride and a column stride in elements. Making one checks nothing: the call that it is given to does.
type Matrix struct {
	memory               Memory
	offset, rows, cols   int
	rowStride, colStride int
	packed               bool // made by RowMajor: a plan's row stride follows the columns of each run
}

// RowMajor views a slice as rows that follow each other without a gap.
func RowMajor[T Element](s []T, rows, cols int) Matrix {
	// One literal is little enough for the compiler to put into the caller, and this is a part of every warm call.
	return Matrix{
		memory: Memory{base: unsafe.Pointer(unsafe.SliceData(s)), length: len(s), dtype: dtypeOf(*new(T)), place: placeSlice},
		rows:   rows, cols: cols, rowStride: cols, colStride: 1, packed: true,
	}
}

// ColMajor views a slice as columns that follow each other without a gap.
func ColMajor[T Element](s []T, rows, cols int) Matrix { return Slice(s).ColMajor(rows, cols) }

// Strided views a slice as a matrix whose element (i, j) is s[offset + i rowStride + j colStride]; see [Memory.Strided].
func Strided[T Element](s []T, offset, rows, cols, rowStride, colStride int) Matrix {
	return Slice(s).Strided(offset, rows, cols, rowStride, colStride)
}

// T returns the transposed view: the same memory, with rows and columns exchanged.
func (m Matrix) T() Matrix {
	m.rows, m.cols = m.cols, m.rows
	m.rowStride, m.colStride = m.colStride, m.rowStride
	if m.packed {
		m.colStride, m.packed = max(m.colStride, 1), false // what has no columns must not look like a repeated one
	}
	return m
}

// Rows returns the number of rows.
func (m Matrix) Rows() int { return m.rows }

// Cols returns the number of columns.
func (m Matrix) Cols() int { return m.cols }

// Dtype returns the type of the elements.
func (m Matrix) Dtype() Dtype { return m.memory.dtype }

func (m *Matrix) describe(desc *C.ggemm_matrix) {
	desc.dtype = C.ggemm_dtype(m.memory.dtype)
	if m.packed {
		desc.row_stride, desc.col_stride = C.GGEMM_PACKED, C.GGEMM_PACKED
	} else {
		desc.row_stride, desc.col_stride = C.int64_t(m.rowStride), C.int64_t(m.colStride)
	}
}

// fits says whether the matrix may stand for the one that a plan was made for.
func (m *Matrix) fits(name string, described *C.ggemm_matrix) error {
	if m.packed && described.row_stride == C.GGEMM_PACKED && m.memory.dtype == Dtype(described.dtype) {
		return nil
	}
	return m.checkFit(name, described)
}

// checkFit is fits for any strides. Those that nothing is reached by do not count.
func (m *Matrix) checkFit(name string, described *C.ggemm_matrix) error {
	if m.memory.dtype != Dtype(described.dtype) {
		return argumentError("%s is %v, and the plan was made for %v", name, m.memory.dtype, Dtype(described.dtype))
	}
	rowStride, colStride := int(described.row_stride), int(described.col_stride)
	if described.row_stride == C.GGEMM_PACKED {
		rowStride, colStride = m.cols, 1
	}
	if m.rows > 1 && m.cols > 0 && m.rowStride != rowStride || m.cols > 1 && m.rows > 0 && m.colStride != colStride {
		return argumentError("%s has strides %d, %d, and the plan was made for %d, %d", name, m.rowStride, m.colStride, rowStride, colStride)
	}
	return nil
}

// inSlice says whether every element lies within a slice, if sizes and strides are such that nothing can overflow, as they nearly always are.
// Where it is false, operand looks closer.
func (m *Matrix) inSlice() bool {
	return uint(m.offset|(m.rows-1)|(m.cols-1)|m.rowStride|m.colStride) < 1<<30 && m.memory.place == placeSlice &&
		m.offset+(m.rows-1)*m.rowStride+(m.cols-1)*m.colStride < m.memory.length
}

// first returns the address of element (0, 0) of a slice.
func (m *Matrix) first() *C.char {
	return (*C.char)(unsafe.Add(m.memory.base, m.offset*m.memory.dtype.Size()))
}

// operand checks that every element lies within the memory, and returns where element (0, 0) is, as [Memory.pointer] does.
func (m *Matrix) operand(name string, host bool) (memory *C.char, address C.uintptr_t, err error) {
	if m.rows <= 0 || m.cols <= 0 {
		return nil, 0, nil // no element is looked at
	}
	if m.memory.place != placeSlice {
		memory, address = m.memory.pointer(m.offset)
		return memory, address, m.memory.check(name, host, 0, 0)
	}
	if m.offset < 0 || m.offset >= m.memory.length {
		return nil, 0, m.memory.check(name, host, m.offset, m.offset)
	}
	first, last := m.offset, m.offset
	if !extend(&first, &last, m.rows-1, m.rowStride) || !extend(&first, &last, m.cols-1, m.colStride) {
		return nil, 0, argumentError("%s: %dx%d elements with strides %d, %d fit in no slice", name, m.rows, m.cols, m.rowStride, m.colStride)
	}
	if err := m.memory.check(name, host, first, last); err != nil {
		return nil, 0, err
	}
	memory, address = m.memory.pointer(m.offset)
	return memory, address, nil
}

// extend moves the lower or the upper bound by so many steps of a stride; false if that is more than any slice holds.
func extend(first, last *int, steps, stride int) bool {
	high, low := bits.Mul64(uint64(steps), magnitude(stride))
	if high != 0 || low > math.MaxInt/4 {
		return false
	}
	if stride < 0 {
		*first -= int(low)
	} else {
		*last += int(low)
	}
	return true
}

func magnitude(stride int) uint64 {
	if stride < 0 {
		return -uint64(stride)
	}
	return uint64(stride)
}

// coincides says whether two elements have one place: (i, j) and (i + colStride / g, j - rowStride / g) do, if both are elements.
func (m *Matrix) coincides() bool {
	if m.packed || m.rows <= 0 || m.cols <= 0 {
		return false
	}
	down, across := magnitude(m.rowStride), magnitude(m.colStride)
	if down == 0 && across == 0 {
		return m.rows > 1 || m.cols > 1
	}
	g, rest := down, across
	for rest != 0 {
		g, rest = rest, g%rest
	}
	return across/g < uint64(m.rows) && down/g < uint64(m.cols)
}

// overlaps says whether an element of one matrix surely lies in the other. Between elements others may lie, so of a matrix with gaps the first
// counts alone.
func (m *Matrix) overlaps(other *Matrix) bool {
	begin, end := m.dense()
	otherBegin, otherEnd := other.dense()
	return begin < otherEnd && otherBegin < end
}

// dense returns the addresses of a matrix without gaps, or of its first element; none of an empty matrix.
func (m *Matrix) dense() (begin, end uintptr) {
	if m.rows <= 0 || m.cols <= 0 {
		return 0, 0
	}
	size := uintptr(m.memory.dtype.Size())
	begin, end = m.start(), size
	rowMajor := m.colStride == 1 && (m.rowStride == m.cols || m.rows == 1)
	colMajor := m.rowStride == 1 && (m.colStride == m.rows || m.cols == 1)
	if rowMajor || colMajor {
		end *= uintptr(m.rows) * uintptr(m.cols)
	}
	return begin, begin + end
}

// start returns the address of element (0, 0), to compare it.
func (m *Matrix) start() uintptr {
	return uintptr(m.memory.base) + m.memory.address + uintptr(m.offset*m.memory.dtype.Size()) // one of them is 0
}

// is says whether two matrices of one shape are the same elements of the same type.
func (m *Matrix) is(other *Matrix) bool {
	return m.start() == other.start() && m.memory.dtype == other.memory.dtype &&
		(m.rows == 1 || m.rowStride == other.rowStride) && (m.cols == 1 || m.colStride == other.colStride)
}
