// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// Status says what a failed call came to, grouped by what the caller does next. Each is an error to compare with:
// errors.Is(err, ggemm.ErrUnsupported).
type Status int32

const (
	ErrArgument    Status = C.GGEMM_ERROR_ARGUMENT      // an argument is wrong: correct it
	ErrUnsupported Status = C.GGEMM_ERROR_UNSUPPORTED   // a right request that this device or build cannot serve
	ErrNotPrepared Status = C.GGEMM_ERROR_NOT_PREPARED  // needs a compile that is not allowed while a stream is captured: prepare first
	ErrOutOfMemory Status = C.GGEMM_ERROR_OUT_OF_MEMORY // host or device memory is used up
	ErrCompile     Status = C.GGEMM_ERROR_COMPILE       // NVRTC is missing or refused a kernel; the text has its log
	ErrLaunch      Status = C.GGEMM_ERROR_LAUNCH        // the driver refused a load or a launch
	ErrDevice      Status = C.GGEMM_ERROR_DEVICE        // no usable device or driver; the text lists what was tried
	ErrVersion     Status = C.GGEMM_ERROR_VERSION       // this package and libggemm are of incompatible versions
	ErrCancelled   Status = C.GGEMM_ERROR_CANCELLED     // the context.Context of the call ended
	ErrInternal    Status = C.GGEMM_ERROR_INTERNAL      // a defect of ggemm: please report it
)

// Error returns the status's name in C, such as "GGEMM_ERROR_ARGUMENT".
func (s Status) Error() string { return C.GoString(C.ggemm_status_string(C.ggemm_status(s))) }

// Error is what every failed call returns.
type Error struct {
	Status Status
	Text   string // ggemm's sentence: the field and the values
	cause  error  // why a context.Context ended
}

func (e *Error) Error() string { return "ggemm: " + e.Text }

// Unwrap makes errors.Is find the status, and what ended the call's context.Context.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Status}
	}
	return []error{e.Status, e.cause}
}

func argumentError(format string, values ...any) error {
	return &Error{Status: ErrArgument, Text: fmt.Sprintf(format, values...)}
}

// failure takes over the text of what C returned.
func failure(result C.ggo_result) error {
	if result.status == C.GGEMM_OK {
		return nil
	}
	e := &Error{Status: Status(result.status)}
	if text := addressPointer(uintptr(result.text)); text != nil {
		e.Text = C.GoString((*C.char)(text))
		C.free(text)
	} else {
		e.Text = e.Status.Error()
	}
	return e
}

// Version returns libggemm's version, such as "0.1.0".
func Version() string { return C.GoString(C.ggemm_version_string()) }

// VersionNumber returns the same as a number that grows from version to version: major * 10000 + minor * 100 + patch.
func VersionNumber() int { return int(C.ggemm_version()) }

// HasFeature says whether the loaded libggemm has the named feature, such as "grouped" or "tune"; ggemm.h lists the names.
func HasFeature(name string) bool {
	text, err := cText(name)
	return err == nil && C.ggemm_has_feature(text) != 0
}

// cText returns s with an end that C understands, in Go's memory; nil for "".
func cText(s string) (*C.char, error) {
	if s == "" {
		return nil, nil
	}
	if strings.IndexByte(s, 0) >= 0 {
		return nil, argumentError("%q holds a NUL byte", s)
	}
	bytes := append([]byte(s), 0)
	return (*C.char)(unsafe.Pointer(&bytes[0])), nil
}

// goText reads a field of fixed size that ends in NUL.
func goText(field []C.char) string {
	var b strings.Builder
	for _, c := range field {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}
