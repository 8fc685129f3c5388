// SPDX-License-Identifier: Apache-2.0

package ggemm

import "sync/atomic"

// handle counts the users of an object of C's, so that closing it never takes it from a call that is under way: the last user frees it.
// A plan is a user of its context.
type handle struct {
	name  string // for the sentence that it is closed
	state atomic.Int64
	free  func()
}

const handleClosed = 1 << 62 // beside the number of users

// use must be followed by a release, unless it fails.
func (h *handle) use() error {
	for {
		state := h.state.Load()
		if state&handleClosed != 0 {
			return argumentError("the %s is closed", h.name)
		}
		if h.state.CompareAndSwap(state, state+1) {
			return nil
		}
	}
}

func (h *handle) release() {
	if h.state.Add(-1) == handleClosed {
		h.free()
	}
}

// close may be called any number of times.
func (h *handle) close() {
	for {
		state := h.state.Load()
		if state&handleClosed != 0 {
			return
		}
		if h.state.CompareAndSwap(state, state|handleClosed) {
			if state == 0 {
				h.free()
			}
			return
		}
	}
}
