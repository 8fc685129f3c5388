// SPDX-License-Identifier: Apache-2.0

package ggemm

import (
	"sync"
	"sync/atomic"
)

// handle counts the users of an object of C's, so that closing it never takes it from a call that is under way: the last user frees it.
// A plan is a user of its context.
type handle struct {
	name  string // for the sentence that it is closed
	state atomic.Int64
	free  func()
	room  numbers // of the user that entered
}

const (
	handleClosed  = 1 << 62 // beside the number of users
	handleEntered = 1 << 61 // a user has the room
)

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

// enter is use with room for a call's numbers: the handle's own if no call has it, which takes less time than to look for another. It must be
// followed by leave, unless it fails.
func (h *handle) enter() (*numbers, error) {
	for {
		state := h.state.Load()
		if state&(handleClosed|handleEntered) != 0 {
			break
		}
		if h.state.CompareAndSwap(state, state+1+handleEntered) {
			return &h.room, nil
		}
	}
	if err := h.use(); err != nil {
		return nil, err
	}
	return rooms.Get().(*numbers), nil
}

func (h *handle) leave(room *numbers) {
	users := int64(1)
	if room == &h.room {
		users += handleEntered
	} else {
		rooms.Put(room)
	}
	if h.state.Add(-users) == handleClosed {
		h.free()
	}
}

// rooms are for calls beside another.
var rooms = sync.Pool{New: func() any { return new(numbers) }}

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
