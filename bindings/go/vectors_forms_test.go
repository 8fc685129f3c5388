// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"encoding/binary"
	"runtime"
	"testing"
	"unsafe"

	"ggemm"
)

// vectorForm is a case in which one matrix, or one at a distance, holds all groups.
type vectorForm struct {
	vectorCase
	Groups       int
	Ends, Counts *vectorColumn
	AIndex       *vectorColumn `json:"a_index"`
	DIndex       *vectorColumn `json:"d_index"`
	ARows        int           `json:"a_rows"`
	DRows        int           `json:"d_rows"`
	DIndexUnique bool          `json:"d_index_unique"`
	RowWeights   *vectorScalar `json:"row_weights"`
}

// vectorColumn is int32 or int64 numbers.
type vectorColumn struct {
	Dtype string
	Data  vectorBytes
}

func (c *vectorColumn) source(t *testing.T) ggemm.Source {
	if c == nil {
		return ggemm.Source{}
	}
	switch c.Dtype {
	case "i32":
		numbers := make([]int32, len(c.Data)/4)
		for i := range numbers {
			numbers[i] = int32(binary.LittleEndian.Uint32(c.Data[4*i:]))
		}
		return ggemm.Int32s(numbers, 1)
	case "i64":
		numbers := make([]int64, len(c.Data)/8)
		for i := range numbers {
			numbers[i] = int64(binary.LittleEndian.Uint64(c.Data[8*i:]))
		}
		return ggemm.Int64s(numbers, 1)
	}
	t.Fatalf("unknown width %q", c.Dtype)
	return ggemm.Source{}
}

func distance(groupStride int) ggemm.Distance { return ggemm.Distance{Elements: groupStride} }

func (m *vectorMatrix) grouped() ggemm.GroupedMatrix {
	return ggemm.GroupedMatrix{
		Dtype: m.Dtype.Dtype, RowStride: ggemm.Const(m.RowStride), ColStride: ggemm.Const(m.ColStride), Groups: distance(m.GroupStride),
	}
}

func (m *vectorMatrix) groupedScale() ggemm.GroupedScale {
	if m == nil {
		return ggemm.GroupedScale{}
	}
	g := m.grouped()
	return ggemm.GroupedScale{Kind: vectorScales[m.Kind], RowStride: g.RowStride, ColStride: g.ColStride, Groups: g.Groups}
}

// memory is that of element (0, 0) of the first group on.
func (m *vectorMatrix) memory(data []byte) ggemm.Memory {
	if m == nil {
		return ggemm.Memory{}
	}
	return ggemm.Bytes(data[m.Offset*m.Dtype.Size():], m.Dtype.Dtype)
}

func (s *vectorScalar) memory() ggemm.Memory {
	if s == nil {
		return ggemm.Memory{}
	}
	return ggemm.Bytes(s.Data, s.Dtype.Dtype)
}

func (c *vectorForm) problem(t *testing.T) *ggemm.Grouped {
	form, known := map[string]ggemm.Form{
		"ragged_m": ggemm.RaggedM, "ragged_k": ggemm.RaggedK, "masked": ggemm.Masked, "batch": ggemm.Batch,
	}[c.Form]
	if !known {
		t.Fatalf("unknown form %q", c.Form)
	}
	grouped := &ggemm.Grouped{
		Groups: c.Groups, Form: form, M: ggemm.Const(c.M), N: ggemm.Const(c.N), K: ggemm.Const(c.K), Ends: c.Ends.source(t), Counts: c.Counts.source(t),
		A: c.A.grouped(), B: c.B.grouped(), D: c.D.grouped(), ScaleA: c.ScaleA.groupedScale(), ScaleB: c.ScaleB.groupedScale(),
		AIndex: c.AIndex.source(t), ARows: c.ARows, DIndex: c.DIndex.source(t), DRows: c.DRows, DIndexUnique: c.DIndexUnique, Checked: true,
	}
	if c.C != nil && !c.C.isD {
		grouped.C = c.C.grouped()
	}
	if c.BiasVector != nil {
		grouped.Bias = map[string]ggemm.BiasKind{"column": ggemm.ColumnBias, "row": ggemm.RowBias}[c.Bias]
		grouped.BiasDtype, grouped.BiasGroups = c.BiasVector.Dtype.Dtype, distance(c.BiasVector.GroupStride)
	}
	return grouped
}

// run runs the case as a call and as a plan, of Go slices.
func (c *vectorForm) run(t *testing.T, ctx *ggemm.Context) {
	options, _ := c.options(t)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	address := func(s *vectorScalar) uintptr {
		if s == nil {
			return 0
		}
		pinner.Pin(&s.Data[0])
		return uintptr(unsafe.Pointer(&s.Data[0]))
	}
	if c.Alpha != nil || c.Beta != nil {
		with := ggemm.WithDeviceScalars
		if c.Alpha != nil && len(c.Alpha.Data) > c.Alpha.Dtype.Size() {
			with = ggemm.WithGroupScalars
		}
		options = append(options, with(address(c.Alpha), address(c.Beta)))
	}
	data, status := c.buffer(), [4]int32{7, 7, 7, 7}
	operands := ggemm.Operands{
		A: c.A.memory(c.A.Data), B: c.B.memory(c.B.Data), D: c.D.memory(data), Bias: c.BiasVector.memory(), RowWeights: c.RowWeights.memory(),
		Status: ggemm.Slice(status[:]),
	}
	if c.C != nil && !c.C.isD {
		operands.C = c.C.memory(c.C.Data)
	}
	if c.ScaleA != nil {
		operands.ScaleA = c.ScaleA.memory(c.ScaleA.Data)
	}
	if c.ScaleB != nil {
		operands.ScaleB = c.ScaleB.memory(c.ScaleB.Data)
	}
	check(t, ctx.GroupedGemm(c.problem(t), operands, options...))
	check(t, ggemm.ReadFault(status))
	c.compare(t, "GroupedGemm", data)

	copy(data, c.D.Before)
	plan := must(ctx.PlanGrouped(c.problem(t), options...))(t)
	defer plan.Close()
	check(t, plan.Run(operands))
	c.compare(t, "GroupedPlan", data)
}
