// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"ggemm"
)

func TestHostDevice(t *testing.T) {
	info := open(t).Device()
	if info.Device != ggemm.Host || info.Name == "" || info.Threads < 1 || info.MemoryBytes < 1 || info.Arch != "" || info.Multiprocessors != 0 {
		t.Errorf("%+v", info)
	}
	for device, name := range map[ggemm.Device]string{ggemm.Host: "host", ggemm.Best: "best", ggemm.CUDA(2): "cuda:2"} {
		if device.String() != name {
			t.Errorf("%v, want %s", device, name)
		}
	}
}

func TestOptions(t *testing.T) {
	ctx := must(ggemm.OpenWith(ggemm.Options{Device: ggemm.Host, Threads: 1, CacheDir: ggemm.None, CBLASPath: ggemm.None}))(t)
	defer ctx.Close()
	if info := ctx.Device(); info.Threads != 1 || info.BLAS != "" {
		t.Errorf("%+v", info)
	}
	for _, c := range []struct {
		options ggemm.Options
		text    string
	}{
		{ggemm.Options{Device: ggemm.Host, Threads: -1}, "threads=-1"},
		{ggemm.Options{Device: ggemm.CUDA(-1)}, "ordinals are 0 or more"},
		{ggemm.Options{Device: ggemm.Host, CacheDir: "a\x00b"}, "NUL"},
	} {
		_, err := ggemm.OpenWith(c.options)
		mustFail(t, err, ggemm.ErrArgument, c.text)
	}
}

func TestVersion(t *testing.T) {
	if parts := strings.Split(ggemm.Version(), "."); len(parts) != 3 {
		t.Errorf("version %q", ggemm.Version())
	}
	var major, minor, patch int
	if n, err := fmt.Sscanf(ggemm.Version(), "%d.%d.%d", &major, &minor, &patch); n != 3 || ggemm.VersionNumber() != major*10000+minor*100+patch {
		t.Errorf("version %q is number %d: %v", ggemm.Version(), ggemm.VersionNumber(), err)
	}
	if !ggemm.HasFeature("grouped") || ggemm.HasFeature("magic") || ggemm.HasFeature("") || ggemm.HasFeature("a\x00") {
		t.Error("features")
	}
}

func TestDtypes(t *testing.T) {
	for dtype, want := range map[ggemm.Dtype]string{ggemm.DtypeOf[float64](): "f64", ggemm.DtypeOf[float32](): "f32", ggemm.DtypeOf[ggemm.Float16](): "f16",
		ggemm.DtypeOf[ggemm.BFloat16](): "bf16", ggemm.DtypeOf[ggemm.Float8E4M3](): "e4m3", ggemm.DtypeOf[ggemm.Float8E5M2](): "e5m2",
		ggemm.DtypeOf[int8](): "i8", ggemm.DtypeOf[int32](): "i32"} {
		if dtype.String() != want {
			t.Errorf("%v, want %s", dtype, want)
		}
	}
	if ggemm.BF16.Size() != 2 || ggemm.F64.Size() != 8 || ggemm.Dtype(0).Size() != 0 || ggemm.Dtype(-1).Size() != 0 || ggemm.Dtype(99).Size() != 0 {
		t.Error("sizes")
	}
	mustFail(t, ggemm.Convert(make([]int8, 1), make([]float32, 2)), ggemm.ErrArgument, "destination has 1 elements, source 2")
	d := make([]int8, 4)
	check(t, ggemm.Convert(d, []float32{-300, 2.5, 3.5, 300}))
	equal(t, "rounded to even and saturated", d, []int8{-128, 2, 4, 127})
	check(t, ggemm.Convert([]int8(nil), []float32{}))
}

func TestErrors(t *testing.T) {
	_, err := ggemm.ParseConfig("nonsense")
	var e *ggemm.Error
	if !errors.As(err, &e) || e.Status != ggemm.ErrArgument || !strings.Contains(e.Text, "nonsense") || err.Error() != "ggemm: "+e.Text {
		t.Fatalf("%#v", err)
	}
	if errors.Is(err, ggemm.ErrUnsupported) || errors.Is(err, context.Canceled) || ggemm.ErrArgument.Error() != "GGEMM_ERROR_ARGUMENT" {
		t.Error("an error is more than one")
	}
}

// Goroutines move between threads while C keeps one text a thread: everyone gets his own.
func TestErrorTextsAreNotMixedUp(t *testing.T) {
	var group sync.WaitGroup
	for i := range 16 {
		group.Add(1)
		go func() {
			defer group.Done()
			name := strings.Repeat("x", i+1)
			for range 200 {
				_, err := ggemm.ParseConfig(name)
				if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
					t.Errorf("of %q: %v", name, err)
					return
				}
				runtime.Gosched()
			}
		}()
	}
	group.Wait()
}

func TestClose(t *testing.T) {
	ctx := open(t)
	s := []float32{1, 2, 3, 4}
	d := make([]float32, 4)
	x, y := ggemm.RowMajor(s, 2, 2), ggemm.RowMajor(d, 2, 2)
	plan := must(ctx.Plan(x, x, y))(t)
	check(t, ctx.Close())
	check(t, ctx.Close())
	problem := ggemm.Product(x, x, y)
	_, planErr := ctx.Plan(x, x, y)
	_, tuneErr := ctx.Tune(t.Context(), problem, ggemm.TuneOptions{})
	_, configsErr := ctx.Configs(problem)
	_, listErr := ctx.CacheEntries()
	_, clearErr := ctx.ClearCache("")
	for _, err := range []error{
		ctx.Gemm(x, x, y), planErr, tuneErr, configsErr, listErr, clearErr, ctx.SetLogger(nil), ctx.Prepare(t.Context(), nil, nil),
		ctx.GemmGroups([]ggemm.Group{{A: x, B: x, D: y}}), ctx.GroupedGemm(&ggemm.Grouped{}, ggemm.Pointers{}),
	} {
		mustFail(t, err, ggemm.ErrArgument, "the context is closed")
	}
	check(t, plan.Run(x, x, y)) // a plan keeps what it needs of its context
	equal(t, "D", d, []float32{7, 10, 15, 22})
	check(t, plan.Close())
	_, explainErr := plan.Explain()
	_, configErr := plan.Config()
	for _, err := range []error{plan.Run(x, x, y), explainErr, configErr} {
		mustFail(t, err, ggemm.ErrArgument, "the plan is closed")
	}
}

func TestCloseWhileInUse(t *testing.T) {
	for range 20 {
		ctx := open(t)
		s := make([]float32, 64*64)
		var group sync.WaitGroup
		for range 4 {
			group.Add(1)
			go func() {
				defer group.Done()
				d := make([]float32, 64*64)
				for {
					if err := ctx.Gemm(ggemm.RowMajor(s, 64, 64), ggemm.RowMajor(s, 64, 64), ggemm.RowMajor(d, 64, 64)); err != nil {
						if !strings.Contains(err.Error(), "closed") {
							t.Error(err)
						}
						return
					}
				}
			}()
		}
		runtime.Gosched()
		check(t, ctx.Close())
		group.Wait()
	}
}

func TestLogger(t *testing.T) {
	var info, warn, later bytes.Buffer
	tune := func(ctx *ggemm.Context) {
		x := ggemm.Of(ggemm.F32).RowMajor(8, 8)
		must(ctx.Tune(t.Context(), ggemm.Product(x, x, x), ggemm.TuneOptions{}))(t)
	}
	logger := func(b *bytes.Buffer, level slog.Level) *slog.Logger {
		return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level}))
	}
	ctx := must(ggemm.OpenWith(ggemm.Options{Device: ggemm.Host, CacheDir: ggemm.None, Logger: logger(&info, slog.LevelInfo)}))(t)
	defer ctx.Close()
	tune(ctx)
	if got := info.String(); !strings.Contains(got, "level=INFO") || !strings.Contains(got, "tuned in") {
		t.Errorf("log: %q", got)
	}
	said := info.Len()
	check(t, ctx.SetLogger(logger(&warn, slog.LevelWarn)))
	tune(ctx)
	check(t, ctx.SetLogger(nil))
	tune(ctx)
	if info.Len() != said || warn.Len() != 0 {
		t.Errorf("what was replaced still hears: %q, %q", info.String()[said:], warn.String())
	}
	check(t, ctx.SetLogger(logger(&later, slog.LevelDebug)))
	tune(ctx)
	if !strings.Contains(later.String(), "tuned in") {
		t.Errorf("log: %q", later.String())
	}
}

func TestDiskCache(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "cache")
	ctx := must(ggemm.OpenWith(ggemm.Options{Device: ggemm.Host, CacheDir: folder}))(t)
	defer ctx.Close()
	x := ggemm.Of(ggemm.F32).RowMajor(8, 8)
	must(ctx.Tune(t.Context(), ggemm.Product(x, x, x), ggemm.TuneOptions{}))(t)
	entries := must(ctx.CacheEntries())(t)
	if len(entries) != 1 || entries[0].Kind != "tuning" || entries[0].Bytes == 0 || entries[0].NVRTC != "" || entries[0].LastUsed.IsZero() || entries[0].Name == "" {
		t.Fatalf("%+v", entries)
	}
	if _, err := os.Stat(entries[0].Path); err != nil || filepath.Dir(entries[0].Path) != folder {
		t.Errorf("%v: %v", entries[0].Path, err)
	}
	if n := must(ctx.ClearCache("13.0"))(t); n != 0 {
		t.Errorf("cleared %d entries of an NVRTC that made none", n)
	}
	if n := must(ctx.ClearCache(""))(t); n != 1 {
		t.Errorf("cleared %d entries", n)
	}
	if entries := must(ctx.CacheEntries())(t); len(entries) != 0 {
		t.Errorf("left over: %+v", entries)
	}
}

func TestDiagnose(t *testing.T) {
	findings := must(ggemm.Diagnose(ggemm.Options{CacheDir: ggemm.None}))(t)
	seen := map[string]bool{}
	for _, f := range findings {
		seen[f.Component] = true
		if f.Detail == "" || !f.Found && f.Advice == "" {
			t.Errorf("%+v", f)
		}
	}
	for _, component := range []string{"driver", "nvrtc", "cblas", "cache"} {
		if !seen[component] {
			t.Errorf("no finding about %s: %+v", component, findings)
		}
	}
}
