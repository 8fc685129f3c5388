// SPDX-License-Identifier: Apache-2.0

package ggemm

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestHandleIsFreedOnceByItsLastUser(t *testing.T) {
	for range 200 {
		var freed, used atomic.Int64
		h := &handle{name: "thing"}
		h.free = func() {
			if freed.Add(1) != 1 || used.Load() != 0 {
				t.Errorf("freed %d times, with %d users", freed.Load(), used.Load())
			}
		}
		var group sync.WaitGroup
		for i := range 8 {
			group.Add(1)
			go func() {
				defer group.Done()
				for j := range 50 {
					if i == 0 && j == 25 {
						h.close()
						h.close()
					}
					if i%2 == 0 {
						if h.use() == nil {
							used.Add(1)
							used.Add(-1)
							h.release()
						}
					} else if room, err := h.enter(); err == nil {
						used.Add(1)
						room.args.m = 0
						room.args.m++
						runtime.Gosched()
						if room.args.m != 1 {
							t.Errorf("a room has %d users", room.args.m)
						}
						used.Add(-1)
						h.leave(room)
					}
				}
			}()
		}
		group.Wait()
		if freed.Load() != 1 || h.use() == nil {
			t.Fatalf("freed %d times after close", freed.Load())
		}
	}
}

// The first to enter has the handle's own room, others have rooms of their own until it leaves; a closed handle has none.
func TestRoomsOfCallsUnderWay(t *testing.T) {
	freed := false
	h := &handle{name: "thing", free: func() { freed = true }}
	enter := func() *numbers {
		room, err := h.enter()
		if err != nil {
			t.Fatal(err)
		}
		return room
	}
	for range 2 {
		first, second, third := enter(), enter(), enter()
		if first != &h.room || second == first || third == first || third == second {
			t.Fatalf("rooms %p, %p, %p; the handle's is %p", first, second, third, &h.room)
		}
		h.leave(second)
		h.leave(first)
		if again := enter(); again != &h.room {
			t.Fatal("the handle's room is not free again")
		} else {
			h.leave(again)
		}
		h.leave(third)
	}
	last := enter()
	h.close()
	if _, err := h.enter(); err == nil || freed {
		t.Fatalf("entered after close (%v), freed below a user: %v", err, freed)
	}
	if h.leave(last); !freed {
		t.Fatal("not freed by its last user")
	}
}

// What is dropped is closed by the garbage collector: a plan before its context, whichever is found first.
func TestUnreachableObjectsAreClosed(t *testing.T) {
	freed := make(chan string, 2)
	func() {
		c, err := OpenWith(Options{Device: Host, CacheDir: None})
		if err != nil {
			t.Fatal(err)
		}
		m := Of(F32).RowMajor(2, 2)
		sizes := []int32{2}
		f32 := GroupedMatrix{Dtype: F32}
		grouped, err := c.PlanGrouped(&Grouped{Groups: 1, M: Int32s(sizes, 1), N: Const(2), K: Const(2), A: f32, B: f32, D: f32})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Plan(m, m, m); err != nil {
			t.Fatal(err)
		}
		for _, h := range []*handle{c.handle, grouped.handle} {
			free, name := h.free, h.name
			h.free = func() {
				freed <- name
				free()
			}
		}
	}()
	deadline := time.After(5 * time.Minute)
	for i := 0; i < 2; {
		runtime.GC()
		select {
		case name := <-freed:
			if want := [...]string{"plan", "context"}[i]; name != want {
				t.Fatalf("the %s is freed before the %s", name, want)
			}
			i++
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatal("nothing is freed")
		}
	}
}

func TestFieldsOfOptionsReachC(t *testing.T) {
	options := Options{Device: CUDA(3), CUDAContext: 5, Threads: 7, CacheDir: "a", SharedCacheDir: None, CBLASPath: "b", CacheLimit: 9}
	given, err := options.toC()
	if err != nil {
		t.Fatal(err)
	}
	if given.ordinal != 3 || given.cuda_context != 5 || given.threads != 7 || given.cache_limit_bytes != 9 {
		t.Errorf("got %+v", given)
	}
	if given.nvrtc_path != nil || *given.shared_cache_dir != 0 || *given.cache_dir != 'a' || *given.cblas_path != 'b' {
		t.Errorf("paths: %+v", given)
	}
}
