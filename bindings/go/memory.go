// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import "unsafe"

// Dtype is the type of a matrix's elements.
type Dtype int32

const (
	F64  Dtype = C.GGEMM_F64
	F32  Dtype = C.GGEMM_F32
	F16  Dtype = C.GGEMM_F16  // IEEE 754 binary16
	BF16 Dtype = C.GGEMM_BF16 // the upper half of binary32
	E4M3 Dtype = C.GGEMM_E4M3 // OCP 8-bit float, 4 exponent bits, no infinity, largest 448
	E5M2 Dtype = C.GGEMM_E5M2 // OCP 8-bit float, 5 exponent bits, largest finite 57344
	I8   Dtype = C.GGEMM_I8
	I32  Dtype = C.GGEMM_I32 // C, D and bias only
)

var dtypeSizes = [...]int{F64: 8, F32: 4, F16: 2, BF16: 2, E4M3: 1, E5M2: 1, I8: 1, I32: 4}

// String returns the name that ggemm uses, such as "bf16".
func (t Dtype) String() string { return C.GoString(C.ggemm_dtype_name(C.ggemm_dtype(t))) }

// Size returns the bytes of one element; 0 for a number that is no dtype.
func (t Dtype) Size() int {
	if t < 0 || int(t) >= len(dtypeSizes) {
		return 0
	}
	return dtypeSizes[t]
}

// The elements that Go has no type for, as their bits. [Convert] makes them from Go's numbers, and back.
type (
	Float16    uint16 // F16
	BFloat16   uint16 // BF16
	Float8E4M3 uint8  // E4M3
	Float8E5M2 uint8  // E5M2
)

// Element is a Go type that a matrix can have. Bits in another type of the same size, as other packages have them, are given by [Bytes].
type Element interface {
	float64 | float32 | Float16 | BFloat16 | Float8E4M3 | Float8E5M2 | int8 | int32
}

// DtypeOf returns the dtype of a Go type.
func DtypeOf[T Element]() Dtype { return dtypeOf(*new(T)) }

func dtypeOf(element any) Dtype {
	switch element.(type) {
	case float64:
		return F64
	case float32:
		return F32
	case Float16:
		return F16
	case BFloat16:
		return BF16
	case Float8E4M3:
		return E4M3
	case Float8E5M2:
		return E5M2
	case int8:
		return I8
	default:
		return I32
	}
}

// Convert sets destination[i] = source[i] as the products convert theirs: rounded to nearest even; integers and the 8-bit floats saturate,
// NaN becomes 0 in integers; the 16-bit floats overflow to infinity. The slices must be of one length and must not overlap.
func Convert[To, From Element](destination []To, source []From) error {
	if len(destination) != len(source) {
		return argumentError("Convert: destination has %d elements, source %d", len(destination), len(source))
	}
	to := (*C.char)(unsafe.Pointer(unsafe.SliceData(destination)))
	from := (*C.char)(unsafe.Pointer(unsafe.SliceData(source)))
	return failure(C.ggo_convert(C.ggemm_dtype(DtypeOf[To]()), to, C.ggemm_dtype(DtypeOf[From]()), from, C.size_t(len(source))))
}

// Memory is a row of elements: a Go slice ([Slice], [Bytes]), or an address in the memory of a device ([At]). Matrices are views of it.
// The zero Memory is none.
type Memory struct {
	base    unsafe.Pointer // of a slice
	address uintptr        // of anything else
	length  int            // elements of a slice
	dtype   Dtype
	place   place
}

type place uint8

const (
	placeNone place = iota // a dtype alone
	placeSlice
	placeAddress
)

// Slice is the memory of a slice.
func Slice[T Element](s []T) Memory {
	return Memory{base: unsafe.Pointer(unsafe.SliceData(s)), length: len(s), dtype: dtypeOf(*new(T)), place: placeSlice}
}

// Bytes is the memory of a slice that holds elements of a dtype as bytes, such as a mapped file. A part of an element at its end is not used.
func Bytes(b []byte, dtype Dtype) Memory {
	return Memory{base: unsafe.Pointer(unsafe.SliceData(b)), length: len(b) / max(dtype.Size(), 1), dtype: dtype, place: placeSlice}
}

// At is memory of a context's device by its address: on CUDA a CUdeviceptr, or any other address that the device can use; on the host
// memory that is not Go's. Nothing is checked: the elements must be there until the work that uses them is complete.
func At(address uintptr, dtype Dtype) Memory {
	return Memory{address: address, dtype: dtype, place: placeAddress}
}

// Of is no memory but a dtype, for a [Problem] or a [Plan] that is made before its operands are there.
func Of(dtype Dtype) Memory { return Memory{dtype: dtype} }

// RowMajor views the memory from its start as rows that follow each other without a gap.
func (m Memory) RowMajor(rows, cols int) Matrix {
	return Matrix{memory: m, rows: rows, cols: cols, rowStride: cols, colStride: 1, packed: true}
}

// ColMajor views the memory from its start as columns that follow each other without a gap.
func (m Memory) ColMajor(rows, cols int) Matrix { return m.RowMajor(cols, rows).T() }

// Strided views the memory as a matrix whose element (i, j) is the one at offset + i rowStride + j colStride. Strides may be negative, and
// 0 to repeat a row or column (not in D).
func (m Memory) Strided(offset, rows, cols, rowStride, colStride int) Matrix {
	return Matrix{memory: m, offset: offset, rows: rows, cols: cols, rowStride: rowStride, colStride: colStride}
}

// pointer returns where element `offset` is, which has been checked: in Go's memory, or at an address of the device's.
func (m *Memory) pointer(offset int) (*C.char, C.uintptr_t) {
	bytes := offset * m.dtype.Size()
	switch m.place {
	case placeSlice:
		return (*C.char)(unsafe.Add(m.base, bytes)), 0
	case placeAddress:
		return nil, C.uintptr_t(m.address + uintptr(bytes))
	}
	return nil, 0
}

// check holds the memory against the device that is to use it. first and last are the lowest and highest element in use.
func (m *Memory) check(name string, host bool, first, last int) error {
	switch {
	case m.place == placeNone:
		return argumentError("%s has no memory", name)
	case m.place == placeAddress:
		return nil
	case !host:
		return argumentError("%s is a Go slice, and the context runs on a CUDA device: give device memory by its address", name)
	case first < 0 || last >= m.length:
		return argumentError("%s has elements %d to %d of a slice of %d", name, first, last, m.length)
	}
	return nil
}
