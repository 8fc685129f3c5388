// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import (
	"context"
	"log/slog"
	"runtime/cgo"
	"sync/atomic"
	"time"
)

// The functions that C calls. None may leave with a panic, which would pass over C++'s frames.

// endsProgram is deferred where a panic has no caller to go to: it ends the program as one in a goroutine does.
func endsProgram() {
	if r := recover(); r != nil {
		go panic(r)
		select {}
	}
}

// logSink is where a context's log goes. It outlives each logger: a line may be on its way to the former one.
type logSink struct {
	logger atomic.Pointer[slog.Logger]
	handle cgo.Handle
}

func newLogSink(logger *slog.Logger) *logSink {
	sink := &logSink{}
	sink.logger.Store(logger)
	sink.handle = cgo.NewHandle(sink)
	return sink
}

var logLevels = [...]slog.Level{
	C.GGEMM_LOG_ERROR: slog.LevelError, C.GGEMM_LOG_WARNING: slog.LevelWarn, C.GGEMM_LOG_INFO: slog.LevelInfo, C.GGEMM_LOG_DEBUG: slog.LevelDebug,
}

// toC returns the handle, 0 without a logger, and the most verbose level that the logger wants.
func (s *logSink) toC() (C.uintptr_t, C.ggemm_log_level) {
	logger := s.logger.Load()
	if logger == nil {
		return 0, 0
	}
	level := C.ggemm_log_level(C.GGEMM_LOG_DEBUG)
	for level > C.GGEMM_LOG_ERROR && !logger.Enabled(context.Background(), logLevels[level]) {
		level--
	}
	return C.uintptr_t(s.handle), level
}

//export ggoLog
func ggoLog(sink C.uintptr_t, level C.ggemm_log_level, message *C.char) {
	defer endsProgram()
	logger := cgo.Handle(sink).Value().(*logSink).logger.Load()
	if logger != nil && level > 0 && int(level) < len(logLevels) {
		logger.Log(context.Background(), logLevels[level], C.GoString(message))
	}
}

//export ggoAllocate
func ggoAllocate(allocator C.uintptr_t, bytes C.size_t, stream C.uintptr_t) C.uintptr_t {
	defer endsProgram()
	return C.uintptr_t(cgo.Handle(allocator).Value().(Allocator).Allocate(int(bytes), uintptr(stream)))
}

//export ggoDeallocate
func ggoDeallocate(allocator, address C.uintptr_t, bytes C.size_t, stream C.uintptr_t) {
	defer endsProgram()
	cgo.Handle(allocator).Value().(Allocator).Deallocate(uintptr(address), int(bytes), uintptr(stream))
}

// watcher follows a long call: it reports what is finished and ends the call when its context.Context ends.
type watcher struct {
	ctx      context.Context
	progress func(done, total int, what string)
	row      func(TuneRow)
	panicked any // goes on where the call was made
}

// watch runs a call of C's that calls back. A panic of the user's function stops the call and is raised again after it.
func (w *watcher) watch(call func(C.uintptr_t) C.ggo_result) error {
	if err := w.ctx.Err(); err != nil {
		return &Error{Status: ErrCancelled, Text: "cancelled before it began", cause: context.Cause(w.ctx)}
	}
	h := cgo.NewHandle(w)
	defer h.Delete()
	err := failure(call(C.uintptr_t(h)))
	if w.panicked != nil {
		panic(w.panicked)
	}
	if e, ok := err.(*Error); ok && e.Status == ErrCancelled {
		e.cause = context.Cause(w.ctx)
	}
	return err
}

// step runs the user's function and returns what tells C whether to stop.
func (w *watcher) step(function func()) (stop C.int32_t) {
	defer func() {
		if r := recover(); r != nil {
			w.panicked, stop = r, 1
		}
	}()
	if w.panicked != nil {
		return 1
	}
	function()
	if w.ctx.Err() != nil {
		return 1
	}
	return 0
}

//export ggoProgress
func ggoProgress(handle C.uintptr_t, done, total C.size_t, what *C.char) C.int32_t {
	w := cgo.Handle(handle).Value().(*watcher)
	return w.step(func() {
		if w.progress != nil {
			w.progress(int(done), int(total), C.GoString(what))
		}
	})
}

//export ggoTuneRow
func ggoTuneRow(handle C.uintptr_t, row *C.ggemm_tune_row) C.int32_t {
	w := cgo.Handle(handle).Value().(*watcher)
	return w.step(func() {
		if w.row != nil {
			w.row(TuneRow{
				Index: int(row.index), Total: int(row.total), Config: C.GoString(row.config),
				Time: microseconds(row.microseconds), TFLOPS: float64(row.tflops), Rejected: C.GoString(row.rejected),
			})
		}
	})
}

func microseconds(us C.double) time.Duration {
	return time.Duration(float64(us) * float64(time.Microsecond))
}

//export ggoFinding
func ggoFinding(handle C.uintptr_t, finding *C.ggemm_finding) {
	findings := cgo.Handle(handle).Value().(*[]Finding)
	*findings = append(*findings, Finding{
		Component: C.GoString(finding.component), Found: finding.found != 0, Needed: finding.needed != 0,
		Detail: C.GoString(finding.detail), Advice: C.GoString(finding.advice),
	})
}

//export ggoCacheEntry
func ggoCacheEntry(handle C.uintptr_t, entry *C.ggemm_cache_entry) {
	entries := cgo.Handle(handle).Value().(*[]CacheEntry)
	*entries = append(*entries, CacheEntry{
		Kind: C.GoString(entry.kind), Name: C.GoString(entry.name), Path: C.GoString(entry.path), NVRTC: C.GoString(entry.nvrtc),
		Bytes: uint64(entry.bytes), LastUsed: time.Unix(int64(entry.last_used), 0),
	})
}

// collect gathers what C hands over one by one.
func collect[T any](call func(C.uintptr_t) C.ggo_result) ([]T, error) {
	var items []T
	h := cgo.NewHandle(&items)
	defer h.Delete()
	err := failure(call(C.uintptr_t(h)))
	return items, err
}
