// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import "time"

// CacheEntry is one entry of a context's disk cache.
type CacheEntry struct {
	Kind     string // "cubin" or "tuning"
	Name     string // kernel or problem
	Path     string
	NVRTC    string // version of the NVRTC that made it; "" for tuning records
	Bytes    uint64
	LastUsed time.Time
}

// CacheEntries lists the context's own cache folder. Without a folder there is nothing.
func (c *Context) CacheEntries() ([]CacheEntry, error) {
	if err := c.handle.use(); err != nil {
		return nil, err
	}
	defer c.handle.release()
	return collect[CacheEntry](func(h C.uintptr_t) C.ggo_result { return C.ggo_cache_visit(c.c, h) })
}

// ClearCache removes entries from the context's own cache folder and returns how many: the cubins that this NVRTC version made, such as
// "13.0", or, for "", all cubins and tuning records. Kernels that are loaded stay; with the records, what was chosen by them is forgotten
// too.
func (c *Context) ClearCache(nvrtc string) (int, error) {
	version, err := cText(nvrtc)
	if err != nil {
		return 0, err
	}
	if err := c.handle.use(); err != nil {
		return 0, err
	}
	defer c.handle.release()
	var removed C.size_t
	err = failure(C.ggo_cache_clear(c.c, version, &removed))
	return int(removed), err
}

// Finding is a part of the system that ggemm can use, there or missing.
type Finding struct {
	Component string // "driver", "device 0", "nvrtc", "cblas", "cache" ...
	Found     bool
	Needed    bool   // something does not work without it
	Detail    string // version and path, or every path that was tried
	Advice    string // what to install or set; "" when nothing is missing
}

// Diagnose looks for everything that a context with these options could use. What is missing is a finding, not an error.
func Diagnose(options Options) ([]Finding, error) {
	given, err := options.toC()
	if err != nil {
		return nil, err
	}
	return collect[Finding](func(h C.uintptr_t) C.ggo_result { return C.ggo_diagnose(given, h) })
}
