// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import "fmt"

// FaultKind is what checked mode finds wrong with the numbers or pointers of a group.
type FaultKind int32

const (
	NoFault     FaultKind = C.GGEMM_FAULT_NONE
	SizeFault   FaultKind = C.GGEMM_FAULT_SIZE   // a size or count is below 0, a count above the room, or n is odd with gated pairs
	EndFault    FaultKind = C.GGEMM_FAULT_END    // a group ends before it begins, or above the size in all
	NullFault   FaultKind = C.GGEMM_FAULT_NULL   // a pointer that is followed is NULL
	AlignFault  FaultKind = C.GGEMM_FAULT_ALIGN  // a pointer is not a multiple of its element's size
	StrideFault FaultKind = C.GGEMM_FAULT_STRIDE // elements of D coincide: a stride is 0, or too short for the rows or columns that it leads over
	SpanFault   FaultKind = C.GGEMM_FAULT_SPAN   // a matrix spans 2^63 bytes or more
	IndexFault  FaultKind = C.GGEMM_FAULT_INDEX  // an index of a row of A or D is not below its number of rows
)

// Fault is the first thing that checked mode found. It is an error, which is [ErrArgument].
type Fault struct {
	Kind  FaultKind
	Group int    // the lowest that is wrong
	Field string // "m", "n", "k", "a", "b", "c", "d", "bias", "scale_a" or "scale_b"
	Row   int    // of an index: the row in the groups' order
}

var faultTexts = [...]string{
	SizeFault:   "a size or count is below 0 or above the room, or n is odd with gated pairs",
	EndFault:    "it ends before it begins, or above the size in all",
	NullFault:   "a pointer that is followed is NULL",
	AlignFault:  "a pointer is not a multiple of its element's size",
	StrideFault: "elements of D coincide: a stride is 0, or too short for the rows or columns that it leads over",
	SpanFault:   "a matrix spans 2^63 bytes or more",
	IndexFault:  "it is not below the number of rows",
}

var faultFields = [...]string{"", "m", "n", "k", "a", "b", "c", "d", "bias", "scale_a", "scale_b"}

// ReadFault returns what a call left in the four numbers of its Status, as an error that is a *[Fault]; nil for nothing. On a GPU they must have
// been copied to the host first.
func ReadFault(status [4]int32) error {
	if FaultKind(status[0]) == NoFault {
		return nil
	}
	fault := &Fault{Kind: FaultKind(status[0]), Group: int(status[1]), Row: int(status[3])}
	if field := int(status[2]); field >= 0 && field < len(faultFields) {
		fault.Field = faultFields[field]
	}
	return fault
}

// Error says what is wrong.
func (f *Fault) Error() string {
	text := fmt.Sprintf("fault %d", f.Kind)
	if f.Kind > 0 && int(f.Kind) < len(faultTexts) {
		text = faultTexts[f.Kind]
	}
	if f.Kind == IndexFault {
		return fmt.Sprintf("%s_index[%d], group %d: %s", f.Field, f.Row, f.Group, text)
	}
	return fmt.Sprintf("%s of group %d: %s", f.Field, f.Group, text)
}

// Is says that it is [ErrArgument].
func (f *Fault) Is(target error) bool { return target == ErrArgument }
