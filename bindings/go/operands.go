// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

// matrices is what a grouped problem says of one operand: a matrix of each group, or one of all, as it is stored.
type matrices struct {
	dtype                Dtype
	rows, cols           Source
	rowBlock, colBlock   int // so many of these sizes share a row, or a column, as scales by blocks do; 0: 1
	rowStride, colStride Source
	groups               Distance
	one                  bool
	inPlace              bool // also in the form of pointers
}

func (g *Grouped) matrices(m *GroupedMatrix, rows, cols Source, one bool) matrices {
	return matrices{dtype: m.Dtype, rows: rows, cols: cols, rowStride: m.RowStride, colStride: m.ColStride, groups: m.Groups, one: one}
}

// vector is numbers that follow each other.
func vector(dtype Dtype, length Source, groups Distance, one bool) matrices {
	return matrices{dtype: dtype, rows: Const(1), cols: length, groups: groups, one: one}
}

// bias is of the columns before they are paired. In a ragged m one by rows lies beside D's.
func (g *Grouped) bias() matrices {
	dtype := g.BiasDtype
	if dtype == 0 {
		dtype = g.D.Dtype
	}
	if g.Bias == RowBias {
		return vector(dtype, g.M, g.BiasGroups, g.Form == RaggedM)
	}
	return vector(dtype, g.N, g.BiasGroups, false)
}

// scales are those of A along its rows, and along k.
func (g *Grouped) scales(s *GroupedScale, along Source, ragged bool) matrices {
	const block = 128
	out := matrices{dtype: F32, rows: along, cols: Const(1), rowStride: s.RowStride, colStride: s.ColStride, groups: s.Groups, one: ragged}
	// Blocks begin anew with each group: where they are of what is ragged, each has room for a partial one.
	room := func(size Source, ragged bool) (Source, int) {
		if ragged && !s.Groups.Shared {
			return Const(int(size.value)/block + g.Groups), 1
		}
		return size, block
	}
	switch s.Kind {
	case TensorScale:
		numbers := vector(F32, Const(1), s.Groups, false)
		numbers.inPlace = true
		return numbers
	case Block128x128Scale:
		out.rows, out.rowBlock = room(along, ragged)
		fallthrough
	case Block1x128Scale:
		out.cols, out.colBlock = room(g.K, g.Form == RaggedK)
		out.one = ragged || g.Form == RaggedK
	}
	return out
}

// scalesOfB are those of B, along k and its columns.
func (g *Grouped) scalesOfB() matrices {
	s := g.scales(&g.ScaleB, g.N, false)
	s.rows, s.cols, s.rowBlock, s.colBlock = s.cols, s.rows, s.colBlock, s.rowBlock
	return s
}

// of returns a group's matrix, if the host knows its numbers. Sizes below 0 count as 0.
func (m *matrices) of(group int, memory *Memory) (view Matrix, known bool) {
	known = true
	number := func(source *Source) int {
		value, here := source.number(group)
		known = known && here
		return value
	}
	blocks := func(size, block int) int { return (max(size, 0) + max(block, 1) - 1) / max(block, 1) }
	view = Matrix{memory: *memory, rows: blocks(number(&m.rows), m.rowBlock), cols: blocks(number(&m.cols), m.colBlock)}
	if view.rowStride, view.colStride = number(&m.rowStride), number(&m.colStride); m.colStride.isPacked() {
		view.colStride = 1
	}
	if m.rowStride.isPacked() {
		view.rowStride = view.cols
	}
	switch {
	case m.one || m.groups.Shared:
	case m.groups.Elements != 0:
		view.offset = group * m.groups.Elements
	default:
		view.offset = group * int(max(magnitude(view.rows*view.rowStride), magnitude(view.cols*view.colStride)))
	}
	return view, known
}

// hold refuses memory of another type than an operand's, and a slice that ends before its matrices do, as far as the host knows them. A group
// that has none of one of the sizes is not looked at.
func (g *Grouped) hold(name string, memory *Memory, m *matrices, sizes []*Source) error {
	if m.groups.Pointers || g.Form == PointerGroups && !m.one && !m.inPlace {
		if bytes := memory.length * memory.dtype.Size(); memory.place == placeSlice && bytes/8 < g.Groups {
			return argumentError("%s has %d bytes, and the addresses of %d groups are 8 each", name, bytes, g.Groups)
		}
		return nil
	}
	if memory.dtype != m.dtype {
		return argumentError("%s is %v, and the problem takes %v", name, memory.dtype, m.dtype)
	}
	constant := m.rows.isConst() && m.cols.isConst() && m.rowStride.isConst() && m.colStride.isConst()
	if memory.place != placeSlice || !constant && (m.one || m.groups == Distance{}) {
		return nil // C refuses matrices that lie where nothing says
	}
	groups, step := g.Groups, 1
	for _, size := range sizes {
		constant = constant && size.isConst()
	}
	switch {
	case sizes == nil:
		groups = 1 // it is looked at even if there are no groups
	case m.one:
		groups = min(groups, 1)
	case constant:
		step = max(groups-1, 1) // the first and the last tell it of all
	}
	for group := 0; group < groups; group += step {
		view, known := m.of(group, memory)
		for _, size := range sizes {
			n, here := size.number(group)
			known = known && !(here && n <= 0)
		}
		if !known {
			continue
		}
		if _, _, err := view.operand(name, true); err != nil {
			if m.one {
				return err
			}
			return argumentError("group %d: %s", group, err.(*Error).Text)
		}
	}
	return nil
}

// args checks the operands, and makes the arguments of what the options say of them.
func (g *Grouped) args(s *call, o Operands, host bool) (args C.ggo_grouped_args, err error) {
	if args, err = s.groupedArgs(g.A.Dtype, g.B.Dtype, g.D.Dtype); err != nil {
		return args, err
	}
	readsC, c := s.readsC(), g.C
	if c.Dtype == 0 {
		c = g.D
	}
	raggedM, raggedK, aRows, dRows := g.Form == RaggedM, g.Form == RaggedK, g.M, g.M
	if !g.AIndex.isConst() {
		aRows = Const(g.ARows)
	}
	if !g.DIndex.isConst() {
		dRows = Const(g.DRows)
	}
	d := g.matrices(&g.D, dRows, g.N, raggedM)
	if s.product.epilogue.gate != C.GGEMM_GATE_NONE {
		d.colBlock = 2
	}
	product := []*Source{&g.M, &g.N, &g.K}
	output := product[:2]
	for _, operand := range [...]struct {
		name  string
		given *Memory
		to    *C.ggo_memory
		used  bool
		as    matrices
		sizes []*Source // it is not looked at where one of them is 0
	}{
		{"A", &o.A, &args.a, true, g.matrices(&g.A, aRows, g.K, raggedM || raggedK), product},
		{"B", &o.B, &args.b, true, g.matrices(&g.B, g.K, g.N, raggedK), product},
		{"C", &o.C, &args.c, readsC, g.matrices(&c, g.M, g.N, raggedM), output},
		{"D", &o.D, &args.d, true, d, output},
		{"the bias", &o.Bias, &args.bias, g.Bias != NoBias, g.bias(), output},
		{"ScaleA", &o.ScaleA, &args.scale_a, g.ScaleA.Kind != NoScale, g.scales(&g.ScaleA, aRows, raggedM), product},
		{"ScaleB", &o.ScaleB, &args.scale_b, g.ScaleB.Kind != NoScale, g.scalesOfB(), product},
		{"RowWeights", &o.RowWeights, &args.row_weights, true, vector(F32, g.M, Distance{}, true), output},
		{"Status", &o.Status, &args.status, true, vector(I32, Const(4), Distance{}, true), nil},
	} {
		given := operand.given
		if given.place == placeNone {
			continue
		}
		if given.place == placeSlice && !host {
			return args, given.check(operand.name, host, 0, 0)
		}
		if operand.used {
			if err := g.hold(operand.name, given, &operand.as, operand.sizes); err != nil {
				return args, err
			}
		}
		operand.to.host, operand.to.address = given.pointer(0)
	}
	if o.C.place == placeNone && readsC {
		args.c = args.d
	}
	return args, nil
}
