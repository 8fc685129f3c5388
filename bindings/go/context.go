// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import (
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"runtime/cgo"
)

// Device names what a context runs on.
type Device int32

const (
	Best Device = 0  // the first CUDA device if there is a usable one, else the host
	Host Device = -1 // the CPU; operands are Go slices
)

// CUDA is the CUDA device of an ordinal; operands are in its memory.
func CUDA(ordinal int) Device {
	if ordinal < 0 || ordinal >= math.MaxInt32 {
		return noDevice
	}
	return Device(ordinal + 1)
}

const noDevice Device = math.MinInt32 // refused by Open

// String returns "host", "cuda:0" or "best".
func (d Device) String() string {
	switch d {
	case Best:
		return "best"
	case Host:
		return "host"
	case noDevice:
		return "no device"
	}
	return fmt.Sprintf("cuda:%d", int(d)-1)
}

// None as a path of [Options] means that there shall be none at all, where "" means the usual one.
const None = "\x00none"

// Options says how a context is made. The zero value is the best device there is, with all defaults.
type Options struct {
	Device      Device
	CUDAContext uintptr      // CUcontext to use; 0: the device's primary one
	Threads     int          // host threads for the host device and for compiling; 0: the cores that this process may use
	Logger      *slog.Logger // receives the log, at the levels that it is enabled for when it is given; nil: no log. It must not use the context
	Allocator   Allocator    // nil: the driver's stream-ordered one

	CacheDir       string // "": $GGEMM_CACHE_DIR, else $XDG_CACHE_HOME/ggemm, else $HOME/.cache/ggemm; None: memory only
	SharedCacheDir string // a second folder that is only read; "": $GGEMM_SHARED_CACHE_DIR, else none; None: none
	CacheLimit     uint64 // bytes; 0: 1 GiB. Least recently used entries go first
	NVRTCPath      string // the NVRTC library's file; "": $GGEMM_NVRTC, else searched for
	CBLASPath      string // a CBLAS library's file; "": $GGEMM_CBLAS, else searched for; None: own kernels only
}

// Allocator gives device memory to a context; the host does not use it. Its methods are called from any goroutine and must not panic.
type Allocator interface {
	// Allocate returns memory on a stream, aligned to 256 bytes; 0 if there is none. It is never called while that stream is captured.
	Allocate(bytes int, stream uintptr) uintptr
	// Deallocate takes back what Allocate gave.
	Deallocate(address uintptr, bytes int, stream uintptr)
}

// Context is one device with its caches and tuning state.
type Context struct {
	handle *handle
	c      C.uintptr_t
	log    *logSink
	info   DeviceInfo
}

// DeviceInfo is what a context runs on. What is of a GPU alone is 0 on the host.
type DeviceInfo struct {
	Device            Device // Host or CUDA(i)
	Name              string // "NVIDIA H200", or the CPU's model
	Arch              string // what kernels are compiled for, such as "sm_90a"; "" on the host
	ComputeCapability int    // major * 10 + minor
	Multiprocessors   int
	Threads           int // host threads that the context may use
	DriverVersion     int // the CUDA driver's, major * 1000 + minor * 10
	MemoryBytes       int64
	L2Bytes           int64
	SharedMemoryBytes int64  // largest per CTA
	BLAS              string // CBLAS in use on the host; "" if none
}

// Open makes a context on a device with all defaults.
func Open(device Device) (*Context, error) { return OpenWith(Options{Device: device}) }

// OpenWith makes a context. With [Best], [Context.Device] says what was found. It fails with [ErrDevice] where a CUDA device is demanded
// and cannot be used.
//
// A context is closed when it becomes unreachable, but Close it: the garbage collector knows nothing of work that is still queued on a GPU.
func OpenWith(options Options) (*Context, error) {
	given, err := options.toC()
	if err != nil {
		return nil, err
	}
	log := newLogSink(options.Logger)
	given.log, given.log_level = log.toC()
	if options.Allocator != nil {
		given.allocator = C.uintptr_t(cgo.NewHandle(options.Allocator))
	}
	free := func() {
		log.handle.Delete()
		if given.allocator != 0 {
			cgo.Handle(given.allocator).Delete()
		}
	}
	c := &Context{log: log}
	err = failure(C.ggo_open(given, &c.c))
	if err == nil {
		c.info, err = deviceInfo(c.c)
	}
	if err != nil {
		C.ggo_close(c.c)
		free()
		return nil, err
	}
	object := c.c
	c.handle = &handle{name: "context", free: func() {
		C.ggo_close(object)
		free()
	}}
	runtime.AddCleanup(c, (*handle).close, c.handle)
	return c, nil
}

// Close destroys the context once the calls under way and the plans made from it are done with it. The work that was queued on a GPU must
// be complete, and graphs that captured it must not be launched again. It returns nil, always.
func (c *Context) Close() error {
	c.handle.close()
	return nil
}

// Device describes what the context runs on.
func (c *Context) Device() DeviceInfo { return c.info }

func (c *Context) onHost() bool { return c.info.Device == Host }

func (o *Options) toC() (C.ggo_options, error) {
	given := C.ggo_options{cuda_context: C.uintptr_t(o.CUDAContext), cache_limit_bytes: C.uint64_t(o.CacheLimit)}
	given.threads = C.int32_t(max(math.MinInt32, min(o.Threads, math.MaxInt32)))
	if o.Device < Host {
		return given, argumentError("%v: ordinals are 0 or more", o.Device)
	}
	switch {
	case o.Device == Host:
		given.device = C.GGEMM_DEVICE_HOST
	case o.Device != Best:
		given.device, given.ordinal = C.GGEMM_DEVICE_CUDA, C.int32_t(o.Device-1)
	}
	for _, path := range []struct {
		text string
		to   **C.char
	}{{o.CacheDir, &given.cache_dir}, {o.SharedCacheDir, &given.shared_cache_dir}, {o.NVRTCPath, &given.nvrtc_path}, {o.CBLASPath, &given.cblas_path}} {
		if path.text == None {
			*path.to = &emptyText
			continue
		}
		var err error
		if *path.to, err = cText(path.text); err != nil {
			return given, err
		}
	}
	return given, nil
}

var emptyText C.char // "" for C

func deviceInfo(context C.uintptr_t) (DeviceInfo, error) {
	var info C.ggemm_device_info
	if err := failure(C.ggo_device(context, &info)); err != nil {
		return DeviceInfo{}, err
	}
	device := Host
	if info.kind == C.GGEMM_DEVICE_CUDA {
		device = CUDA(int(info.ordinal))
	}
	return DeviceInfo{
		Device:            device,
		Name:              goText(info.name[:]),
		Arch:              goText(info.arch[:]),
		ComputeCapability: int(info.compute_capability),
		Multiprocessors:   int(info.multiprocessors),
		Threads:           int(info.threads),
		DriverVersion:     int(info.driver_version),
		MemoryBytes:       int64(info.memory_bytes),
		L2Bytes:           int64(info.l2_bytes),
		SharedMemoryBytes: int64(info.shared_memory_bytes),
		BLAS:              goText(info.blas[:]),
	}, nil
}

// SetLogger replaces the logger; nil: no log. A line that is on its way may still reach the former one.
func (c *Context) SetLogger(logger *slog.Logger) error {
	if err := c.handle.use(); err != nil {
		return err
	}
	defer c.handle.release()
	c.log.logger.Store(logger)
	handle, level := c.log.toC()
	return failure(C.ggo_set_log(c.c, handle, level))
}
