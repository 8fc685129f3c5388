// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Group is one product of [Context.GemmGroups].
type Group struct {
	A, B, D    Matrix
	C          Matrix // the zero Matrix: D
	ColumnBias Memory // n elements, or the zero Memory
	RowBias    Memory // m elements; not beside a ColumnBias

	ScaleA, ScaleB Scale // of one kind in all groups
}

// GemmGroups computes D = act(alpha A B + beta C + bias) for every group, in one call. Groups may differ in sizes and strides, and be
// empty; dtypes and the kind of bias are the same in all. Of each what [Context.Gemm] refuses is refused; no D may overlap another group's
// operands, which is not looked at.
//
// It is for the host: a CUDA device takes its sizes and pointers from its own memory ([Context.GroupedGemm]).
func (c *Context) GemmGroups(groups []Group, options ...Option) error {
	var s call
	var n numbers
	if err := s.begin(&n, options, true); err != nil {
		return err
	}
	if !c.onHost() {
		return argumentError("GemmGroups takes groups in host memory, and the context runs on %s: use GroupedGemm", c.info.Name)
	}
	if s.hasC || s.product.epilogue.bias != C.GGEMM_BIAS_NONE || s.product.scale_a.kind != C.GGEMM_SCALE_NONE || s.product.scale_b.kind != C.GGEMM_SCALE_NONE {
		return argumentError("C, bias and scales of a group belong into its Group")
	}
	if len(groups) == 0 {
		return nil
	}
	list, err := newGroupList(groups, &s)
	if err != nil {
		return err
	}
	defer list.pinner.Unpin()
	args, err := s.groupedArgs(groups[0].A.memory.dtype, groups[0].B.memory.dtype, groups[0].D.memory.dtype)
	if err != nil {
		return err
	}
	if err := c.handle.use(); err != nil {
		return err
	}
	defer c.handle.release()
	return failure(C.ggo_grouped_gemm(c.c, list.desc, args, &list.pointers[0]))
}

// groupList is a list of groups as C takes it: an array of numbers, and one of pointers, whose Go memory is pinned.
type groupList struct {
	desc     C.ggo_grouped
	numbers  []int64          // m, n, k and six pairs of strides a group
	pointers []unsafe.Pointer // all of A, then of B, D, C, bias, scales of A, scales of B
	one      numbers          // of the group that is being added
	pinner   runtime.Pinner
}

const numbersPerGroup, arraysPerGroup = 15, 7

func newGroupList(groups []Group, s *call) (*groupList, error) {
	g := &groupList{numbers: make([]int64, 0, numbersPerGroup*len(groups)), pointers: make([]unsafe.Pointer, arraysPerGroup*len(groups))}
	for i := range groups {
		if err := g.add(i, groups, s); err != nil {
			g.pinner.Unpin()
			return nil, err
		}
	}
	first := &groups[0]
	s.bias = first.bias(s)
	g.desc = C.ggo_grouped{
		groups: C.int64_t(len(groups)), m: g.source(0), n: g.source(1), k: g.source(2),
		a: g.matrix(first.A, 3), b: g.matrix(first.B, 5), d: g.matrix(first.D, 7), c: g.matrix(*first.c(), 9),
		scale_a: g.scale(first.ScaleA, 11), scale_b: g.scale(first.ScaleB, 13),
	}
	if s.product.epilogue.gate != C.GGEMM_GATE_NONE {
		g.desc.c = C.ggo_grouped_matrix{_type: g.desc.c._type} // there is none
	}
	s.product.epilogue.bias_dtype = C.ggemm_dtype(s.bias.dtype)
	s.describeGroups(&g.desc)
	return g, nil
}

func (g *Group) c() *Matrix {
	if g.C.memory.dtype == 0 {
		return &g.D
	}
	return &g.C
}

// bias returns the group's bias and says of which kind it is.
func (g *Group) bias(s *call) Memory {
	switch {
	case g.ColumnBias.dtype != 0:
		s.product.epilogue.bias = C.GGEMM_BIAS_PER_COLUMN
		return g.ColumnBias
	case g.RowBias.dtype != 0:
		s.product.epilogue.bias = C.GGEMM_BIAS_PER_ROW
		return g.RowBias
	}
	s.product.epilogue.bias = C.GGEMM_BIAS_NONE
	return Memory{}
}

func (g *groupList) source(number int) C.ggo_source {
	first := (*C.char)(unsafe.Pointer(&g.numbers[number]))
	return C.ggo_source{kind: C.GGO_SOURCE_I64, byte_stride: 8 * numbersPerGroup, data: C.ggo_memory{host: first}}
}

func (g *groupList) matrix(m Matrix, number int) C.ggo_grouped_matrix {
	return C.ggo_grouped_matrix{_type: C.int64_t(m.memory.dtype), row_stride: g.source(number), col_stride: g.source(number + 1)}
}

func (g *groupList) scale(s Scale, number int) C.ggo_grouped_matrix {
	out := C.ggo_grouped_matrix{_type: C.int64_t(s.Kind), row_stride: g.source(number), col_stride: g.source(number + 1)}
	out.groups.kind = C.GGO_POINTERS
	return out
}

// add checks a group as Gemm checks a product, and appends it.
func (g *groupList) add(i int, groups []Group, s *call) error {
	group, first := &groups[i], &groups[0]
	c := group.c()
	if group.ColumnBias.dtype != 0 && group.RowBias.dtype != 0 {
		return argumentError("group %d has a ColumnBias and a RowBias", i)
	}
	sameTypes := group.A.memory.dtype == first.A.memory.dtype && group.B.memory.dtype == first.B.memory.dtype &&
		group.D.memory.dtype == first.D.memory.dtype && c.memory.dtype == first.c().memory.dtype &&
		group.ColumnBias.dtype == first.ColumnBias.dtype && group.RowBias.dtype == first.RowBias.dtype &&
		group.ScaleA.Kind == first.ScaleA.Kind && group.ScaleB.Kind == first.ScaleB.Kind
	if !sameTypes {
		return argumentError("group %d has other dtypes, or another kind of bias or scales, than group 0", i)
	}
	own := s.copy(&g.one)
	own.c, own.hasC, own.bias = *c, own.product.epilogue.gate == C.GGEMM_GATE_NONE, group.bias(&own)
	if group.ScaleA.Kind != NoScale || group.ScaleB.Kind != NoScale {
		own.scales = &[2]Matrix{group.ScaleA.Values, group.ScaleB.Values}
	}
	own.product.scale_a.kind, own.product.scale_b.kind = C.ggemm_scale_kind(group.ScaleA.Kind), C.ggemm_scale_kind(group.ScaleB.Kind)
	var o plainMemory
	err := own.checkSizes(&group.A, &group.B, &group.D)
	if err == nil {
		err = o.set(&own, own.args, true, &group.A, &group.B, &group.D)
	}
	if err == nil {
		err = group.checkApart(&own)
	}
	if err != nil {
		e := err.(*Error)
		return argumentError("group %d: %s", i, e.Text)
	}
	g.numbers = append(g.numbers, int64(group.D.rows), int64(group.B.cols), int64(group.A.cols))
	for _, m := range [...]*Matrix{&group.A, &group.B, &group.D, c, &group.ScaleA.Values, &group.ScaleB.Values} {
		g.numbers = append(g.numbers, int64(m.rowStride), int64(m.colStride))
	}
	x := own.args
	for j, memory := range [...]C.ggo_memory{
		{o.a, x.a}, {o.b, x.b}, {o.d, x.d}, {o.c, x.c}, {o.bias, x.bias}, {o.scaleA, x.scale_a}, {o.scaleB, x.scale_b},
	} {
		g.pointers[j*len(groups)+i] = g.pin(memory)
	}
	return nil
}

// checkApart refuses a D that overlaps itself or another operand, as C does of a single product. Of groups it does not: their strides and addresses
// are arrays to it.
func (g *Group) checkApart(s *call) error {
	if g.D.coincides() {
		return argumentError("D is %dx%d with strides %d, %d: its elements must not coincide", g.D.rows, g.D.cols, g.D.rowStride, g.D.colStride)
	}
	for _, other := range [...]struct {
		name string
		*Matrix
	}{{"A", &g.A}, {"B", &g.B}, {"scale A", &g.ScaleA.Values}, {"scale B", &g.ScaleB.Values}} {
		if g.A.cols > 0 && g.D.overlaps(other.Matrix) {
			return argumentError("D overlaps %s: it must not", other.name)
		}
	}
	if c := g.c(); s.readsC() && g.D.overlaps(c) && !g.D.is(c) {
		return argumentError("D overlaps C: C must be D itself, or lie elsewhere")
	}
	return nil
}

// pin returns a pointer that C's array may hold.
func (g *groupList) pin(memory C.ggo_memory) unsafe.Pointer {
	if memory.host == nil {
		return addressPointer(uintptr(memory.address))
	}
	g.pinner.Pin(memory.host)
	return unsafe.Pointer(memory.host)
}

// Source says where a number of each group comes from. The zero Source is the default of its place: packed for a stride, 0 for a size.
type Source struct {
	memory Memory
	stride int // elements of a slice, bytes at an address
	value  int64
	kind   C.int64_t
}

// Const is the same number for every group.
func Const(value int) Source { return Source{value: int64(value), kind: C.GGO_SOURCE_CONST} }

// Int32s takes every step-th number of a slice, on the host: group g's is s[g*step].
func Int32s(s []int32, step int) Source {
	return Source{memory: Memory{base: unsafe.Pointer(unsafe.SliceData(s)), length: len(s), place: placeSlice}, stride: step, kind: C.GGO_SOURCE_I32}
}

// Int64s takes every step-th number of a slice, on the host: group g's is s[g*step].
func Int64s(s []int64, step int) Source {
	return Source{memory: Memory{base: unsafe.Pointer(unsafe.SliceData(s)), length: len(s), place: placeSlice}, stride: step, kind: C.GGO_SOURCE_I64}
}

// Int32At takes an int32 of the device's memory: group g's is at address + g*byteStride.
func Int32At(address uintptr, byteStride int) Source {
	return Source{memory: Memory{address: address, place: placeAddress}, stride: byteStride, kind: C.GGO_SOURCE_I32}
}

// Int64At takes an int64 of the device's memory: group g's is at address + g*byteStride.
func Int64At(address uintptr, byteStride int) Source {
	return Source{memory: Memory{address: address, place: placeAddress}, stride: byteStride, kind: C.GGO_SOURCE_I64}
}

func (s *Source) isConst() bool { return s.memory.place == placeNone }

// isPacked says whether a stride follows the matrix's shape.
func (s *Source) isPacked() bool {
	return s.isConst() && (s.kind == C.GGO_SOURCE_DEFAULT || s.value == C.GGEMM_PACKED)
}

// number returns a group's, if the host can tell it: at an address it is the device's. A slice has one for each group, as toC checks.
func (s *Source) number(group int) (value int, known bool) {
	at := group * s.stride
	switch {
	case s.isConst():
		return int(s.value), true
	case s.memory.place == placeAddress:
		return 0, false
	case s.kind == C.GGO_SOURCE_I32:
		return int(*(*int32)(unsafe.Add(s.memory.base, 4*at))), true
	}
	return int(*(*int64)(unsafe.Add(s.memory.base, 8*at))), true
}

// toC checks that a slice has a number for each group.
func (s *Source) toC(name string, groups int, host bool) (C.ggo_source, error) {
	out := C.ggo_source{kind: s.kind, value: C.int64_t(s.value), byte_stride: C.int64_t(s.stride)}
	switch s.memory.place {
	case placeAddress:
		out.data.address = C.uintptr_t(s.memory.address)
	case placeSlice:
		if !host {
			return out, argumentError("%s is a Go slice, and the context runs on a CUDA device: give device memory by its address", name)
		}
		if s.stride < 0 || groups > 0 && (s.memory.length == 0 || s.stride > 0 && (s.memory.length-1)/s.stride < groups-1) {
			return out, argumentError("%s has %d numbers, %d apart, for %d groups", name, s.memory.length, s.stride, groups)
		}
		out.data.host = (*C.char)(s.memory.base)
		out.byte_stride *= 4
		if s.kind == C.GGO_SOURCE_I64 {
			out.byte_stride *= 2
		}
	}
	return out, nil
}
