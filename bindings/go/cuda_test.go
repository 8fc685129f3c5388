// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"ggemm"
)

// The driver is chosen once in a process, so what depends on it runs in one of its own, which its environment tells what to be.
func inChild(t *testing.T, driver string, body func(*testing.T)) {
	t.Helper()
	if os.Getenv("GGEMM_TEST_CHILD") == t.Name() {
		body(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), "GGEMM_TEST_CHILD="+t.Name(), "GGEMM_LIBCUDA="+driver, "GGEMM_FAKE_DEVICES=90", "GGEMM_CACHE_DIR="+t.TempDir())
	if output, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

func TestNoDriver(t *testing.T) {
	if _, err := ggemm.Open(ggemm.CUDA(0)); err == nil {
		t.Skip("this machine has a GPU")
	}
	inChild(t, "/nonexistent/libcuda.so.1", func(t *testing.T) {
		_, err := ggemm.Open(ggemm.CUDA(0))
		mustFail(t, err, ggemm.ErrDevice, "/nonexistent/libcuda.so.1", "libcuda.so.1")
		var log bytes.Buffer
		ctx := must(ggemm.OpenWith(ggemm.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}))(t)
		defer ctx.Close()
		if ctx.Device().Device != ggemm.Host || !strings.Contains(log.String(), "no CUDA device, so the host is used") {
			t.Errorf("%+v, log %q", ctx.Device(), log.String())
		}
	})
}

// withFakeDriver runs the body with the project's driver for tests, in whose memory nothing is computed: what it shows is how calls reach a
// CUDA device.
func withFakeDriver(t *testing.T, body func(*testing.T, *ggemm.Context)) {
	driver := os.Getenv("GGEMM_FAKE_DRIVER")
	if driver == "" {
		t.Skip("needs $GGEMM_FAKE_DRIVER, the project's libcuda.so.1 for tests")
	}
	inChild(t, driver, func(t *testing.T) {
		ctx := must(ggemm.Open(ggemm.Best))(t)
		defer ctx.Close()
		body(t, ctx)
	})
}

func TestCUDADevice(t *testing.T) {
	withFakeDriver(t, func(t *testing.T, ctx *ggemm.Context) {
		info := ctx.Device()
		if info.Device != ggemm.CUDA(0) || info.Arch != "sm_90a" || info.ComputeCapability != 90 || info.Multiprocessors < 1 || info.MemoryBytes < 1 || info.DriverVersion < 12000 {
			t.Errorf("%+v", info)
		}
		_, err := ggemm.Open(ggemm.CUDA(7))
		mustFail(t, err, ggemm.ErrDevice, "7")
	})
}

func TestCUDATakesAddressesAndNoSlices(t *testing.T) {
	withFakeDriver(t, func(t *testing.T, ctx *ggemm.Context) {
		s := make([]float32, 4)
		slice, device := ggemm.RowMajor(s, 2, 2), func(address uintptr) ggemm.Matrix { return ggemm.At(address, ggemm.F32).RowMajor(2, 2) }
		a, b, d := device(0x1000), device(0x2000), device(0x3000)
		const refused = "is a Go slice, and the context runs on a CUDA device"
		mustFail(t, ctx.Gemm(slice, b, d), ggemm.ErrArgument, "A "+refused)
		mustFail(t, ctx.Gemm(a, slice, d), ggemm.ErrArgument, "B "+refused)
		mustFail(t, ctx.Gemm(a, b, slice), ggemm.ErrArgument, "D "+refused)
		mustFail(t, ctx.Gemm(a, b, d, ggemm.WithC(slice, 1)), ggemm.ErrArgument, "C "+refused)
		mustFail(t, ctx.Gemm(a, b, d, ggemm.WithColumnBias(ggemm.Slice(s))), ggemm.ErrArgument, "bias "+refused)
		mustFail(t, ctx.GemmGroups([]ggemm.Group{{A: slice, B: slice, D: slice}}), ggemm.ErrArgument, "use GroupedGemm")

		check(t, ctx.Gemm(a, b.T(), d, ggemm.WithColumnBias(ggemm.At(0x4000, ggemm.F32)), ggemm.WithDeviceScalars(0x5000, 0)))
		if err := ctx.Gemm(a, b.T(), d, ggemm.WithStream(0x6661)); err == nil {
			t.Error("a stream that is none reached nothing")
		}
		plan := must(ctx.Plan(a, b.T(), d))(t)
		defer plan.Close()
		check(t, plan.Run(a, b.T(), d, ggemm.WithAlpha(2)))
		mustFail(t, plan.Run(slice, b.T(), d), ggemm.ErrArgument, "A "+refused)
		if text := must(plan.Explain())(t); !strings.Contains(text, "registers") {
			t.Errorf("explained as %q", text)
		}
		if configs := must(ctx.Configs(ggemm.Product(a, b, d)))(t); len(configs) < 2 {
			t.Errorf("configurations: %+v", configs)
		}
	})
}

func TestCUDAGrouped(t *testing.T) {
	withFakeDriver(t, func(t *testing.T, ctx *ggemm.Context) {
		problem := ggemm.Grouped{Groups: 3, M: ggemm.Int32At(0x1000, 12), N: ggemm.Int32At(0x1004, 12), K: ggemm.Int32At(0x1008, 12), A: f32, B: f32, D: f32}
		pointers := ggemm.Pointers{A: 0x2000, B: 0x2100, D: 0x2200}
		check(t, ctx.GroupedGemm(&problem, pointers))
		plan := must(ctx.PlanGrouped(&problem))(t)
		defer plan.Close()
		check(t, plan.Run(pointers, ggemm.WithAlpha(2)))
		problem.M = ggemm.Int32s([]int32{1, 2, 3}, 1)
		mustFail(t, ctx.GroupedGemm(&problem, pointers), ggemm.ErrArgument, "M is a Go slice")
		_, err := ctx.PlanGrouped(&problem)
		mustFail(t, err, ggemm.ErrArgument, "M is a Go slice")
	})
}

type emptyAllocator struct{ asked atomic.Int64 }

func (a *emptyAllocator) Allocate(bytes int, _ uintptr) uintptr {
	a.asked.Add(int64(bytes))
	return 0
}
func (a *emptyAllocator) Deallocate(uintptr, int, uintptr) { panic("nothing was allocated") }

func TestCUDAAllocator(t *testing.T) {
	withFakeDriver(t, func(t *testing.T, _ *ggemm.Context) {
		allocator := &emptyAllocator{}
		ctx := must(ggemm.OpenWith(ggemm.Options{Device: ggemm.CUDA(0), Allocator: allocator}))(t)
		defer ctx.Close()
		x := ggemm.Of(ggemm.F32).RowMajor(16, 16)
		_, err := ctx.Tune(t.Context(), ggemm.Product(x, x, x), ggemm.TuneOptions{})
		mustFail(t, err, ggemm.ErrOutOfMemory)
		if allocator.asked.Load() < 16*16*4 {
			t.Errorf("asked for %d bytes", allocator.asked.Load())
		}
	})
}

func TestCUDAExample(t *testing.T) {
	withFakeDriver(t, func(t *testing.T, ctx *ggemm.Context) {
		check(t, attend(ctx, 0x10000, 0x20000, 0x30000, 0x40000, 0x50000, 0))
	})
}
