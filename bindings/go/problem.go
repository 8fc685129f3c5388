// SPDX-License-Identifier: Apache-2.0

package ggemm

// #include "shim.h"
import "C"

import (
	"context"
	"runtime"
	"time"
	"unsafe"
)

// Problem is a class of products, plain or grouped, without memory: what [Context.Prepare], [Context.Tune] and [Context.Configs] are about.
type Problem struct {
	c    C.ggo_problem
	call call
	err  error // what is wrong with it; the call that uses it returns it
}

// Product is the problem of [Context.Gemm] with these arguments. The matrices' memory is not looked at, and may be missing ([Of]).
func Product(a, b, d Matrix, options ...Option) Problem {
	var p Problem
	if p.err = p.call.begin(new(numbers), options, false); p.err == nil {
		p.err = p.call.describe(&a, &b, &d, true)
	}
	p.c.m, p.c.n, p.c.k = C.int64_t(d.rows), C.int64_t(b.cols), C.int64_t(a.cols)
	p.c.plain, p.c.config, p.c.tune_key = *p.call.product, p.call.config, p.call.tuneKey
	return p
}

// Problem is the problem of [Context.GroupedGemm] with these options. Arrays are not read.
func (g *Grouped) Problem(options ...Option) Problem { return g.problem(true, options) }

func (g *Grouped) problem(onHost bool, options []Option) Problem {
	var p Problem
	p.c.is_grouped = 1
	if p.err = p.call.begin(new(numbers), options, true); p.err == nil {
		p.c.grouped, p.err = g.describe(&p.call, onHost)
	}
	return p
}

// pin pins all Go memory that the problem names, so that C may be given an array of problems.
func (p *Problem) pin(pinner *runtime.Pinner) {
	p.pinSources(pinner)
	for _, text := range [...]*C.char{p.c.config, p.c.tune_key, p.c.grouped.config, p.c.grouped.tune_key} {
		if text != nil {
			pinner.Pin(text)
		}
	}
}

// Prepare compiles and loads the kernels of many problems at once, in as many threads as the context may use; it runs nothing. A problem
// that fails does not stop the others; the error is that of the one that failed first. `progress`, which may be nil, hears of each that is
// finished: what it is, or "" if it failed.
//
// When ctx ends, Prepare stops after the kernel that is being compiled, with an error that is [ErrCancelled] and ctx's own. What was
// finished by then stays.
func (c *Context) Prepare(ctx context.Context, problems []Problem, progress func(done, total int, what string)) error {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	array := make([]C.ggo_problem, len(problems))
	for i := range problems {
		if problems[i].err != nil {
			return problems[i].err
		}
		problems[i].pin(&pinner)
		array[i] = problems[i].c
	}
	if err := c.handle.use(); err != nil {
		return err
	}
	defer c.handle.release()
	w := watcher{ctx: ctx, progress: progress}
	return w.watch(func(h C.uintptr_t) C.ggo_result {
		return C.ggo_prepare(c.c, unsafe.SliceData(array), C.size_t(len(array)), h)
	})
}

// TuneOptions say how a problem is tuned. The zero value is all defaults.
type TuneOptions struct {
	Budget      time.Duration // time allowed; 0: 10 s. No candidate is begun after it
	Configs     []string      // candidates by name; none: the library's own
	SampleSizes [][3]int      // grouped: m, n, k of some groups; none: the problem's expected sizes
	Each        func(TuneRow) // hears of each candidate when it is finished, and again if it fails when it is timed once more; may be nil
}

// TuneRow is one candidate of a tuning.
type TuneRow struct {
	Index, Total int
	Config       string
	Time         time.Duration // median; 0 if it was not timed
	TFLOPS       float64       // 2 m n k over the time, summed over groups
	Rejected     string        // why it cannot win; "" if it can
}

// TuneResult is what a tuning came to.
type TuneResult struct {
	Best            string // configuration
	Time            time.Duration
	TFLOPS          float64
	Took            time.Duration // compiles included
	Timed, Rejected int
}

// Tune measures candidates for a problem on scratch memory with random data, each one verified against the reference before it may win, and
// records the best: later calls of the same class use it, in this process and, through the disk cache, in later ones. Plans keep the
// configuration that they have.
//
// When ctx ends, Tune stops after the candidate that is being measured. It returns the best of those that were right, without an error; if
// there is none yet, an error that is [ErrCancelled] and ctx's own.
func (c *Context) Tune(ctx context.Context, problem Problem, options TuneOptions) (TuneResult, error) {
	if problem.err != nil {
		return TuneResult{}, problem.err
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	given, err := options.toC(&pinner)
	if err != nil {
		return TuneResult{}, err
	}
	if err := c.handle.use(); err != nil {
		return TuneResult{}, err
	}
	defer c.handle.release()
	var result C.ggemm_tune_result
	w := watcher{ctx: ctx, row: options.Each}
	err = w.watch(func(h C.uintptr_t) C.ggo_result { return C.ggo_tune(c.c, problem.c, given, h, &result) })
	if err != nil {
		return TuneResult{}, err
	}
	return TuneResult{
		Best: goText(result.best[:]), Time: microseconds(result.microseconds), TFLOPS: float64(result.tflops),
		Took: time.Duration(float64(result.seconds) * float64(time.Second)), Timed: int(result.timed), Rejected: int(result.rejected),
	}, nil
}

func (o *TuneOptions) toC(pinner *runtime.Pinner) (C.ggo_tune_options, error) {
	given := C.ggo_tune_options{budget_seconds: C.double(o.Budget.Seconds())}
	given.config_count, given.sample_groups = C.size_t(len(o.Configs)), C.size_t(len(o.SampleSizes))
	if len(o.Configs) > 0 {
		names := make([]*C.char, len(o.Configs))
		for i, name := range o.Configs {
			if name == "" {
				return given, argumentError("Configs[%d] is empty", i)
			}
			var err error
			if names[i], err = cText(name); err != nil {
				return given, err
			}
			pinner.Pin(names[i])
		}
		given.configs = &names[0]
	}
	if len(o.SampleSizes) > 0 {
		sizes := make([]C.int64_t, 0, 3*len(o.SampleSizes))
		for _, s := range o.SampleSizes {
			sizes = append(sizes, C.int64_t(s[0]), C.int64_t(s[1]), C.int64_t(s[2]))
		}
		given.sample_sizes = &sizes[0]
	}
	return given, nil
}

// Config is one way to run a problem. Its name is unique and readable, such as "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8": kernel
// family, dtypes of A, B and the sums, layout (t: contiguous along k; n: along m or n; first A, then B), CTA tile, warps, stages of the
// shared-memory ring, raster group.
type Config struct {
	Name                string
	Family              string
	TileM, TileN, TileK int
	WarpsM, WarpsN      int
	Stages              int
	Raster              int  // rows of tiles that are walked together
	ClusterM, ClusterN  int  // CTAs of a cluster, down and across; 0 in the families that form none
	ClusterK            int  // CTAs of a cluster that share a tile along k, 1 where none do; likewise
	Swapped             bool // the product is computed transposed
	Slices              int  // parts of k that a tile's sums are added up from, each by a cluster of its own; 1: of the tiles left over alone; 0 where k is not cut
	Teams               int  // 2: so many teams of these warps take turns at tiles, one storing while the other multiplies; 0: one team has them all
	LargeAbove          int  // of a grouped problem: groups of more rows than this are computed beside, by a kernel of larger tiles; 0: by the same as all
}

// TileGrid returns the tiles of a product of m by n under the configuration.
func (c Config) TileGrid(m, n int) TileGrid {
	return TileGrid{
		M: Const(m), N: Const(n), TileM: c.TileM, TileN: c.TileN, Raster: c.Raster, ClusterM: c.ClusterM, ClusterN: c.ClusterN, Swapped: c.Swapped,
	}
}

func newConfig(c *C.ggemm_config) Config {
	return Config{
		Name: goText(c.name[:]), Family: goText(c.family[:]), TileM: int(c.tile_m), TileN: int(c.tile_n), TileK: int(c.tile_k),
		WarpsM: int(c.warps_m), WarpsN: int(c.warps_n), Stages: int(c.stages), Raster: int(c.raster),
		ClusterM: int(c.cluster_m), ClusterN: int(c.cluster_n), ClusterK: int(c.cluster_k), Swapped: c.swapped != 0, Slices: int(c.slices), Teams: int(c.teams), LargeAbove: int(c.large_above),
	}
}

// ParseConfig reads a configuration's name. It says nothing about whether it is legal for a problem. Its numbers are of the product that the name is for,
// which is the transposed one where D is contiguous along m alone; a plan's Config has D's.
func ParseConfig(name string) (Config, error) {
	text, err := cText(name)
	if err != nil {
		return Config{}, err
	}
	if text == nil {
		text = &emptyText
	}
	var config C.ggemm_config
	err = failure(C.ggo_config_parse(text, &config))
	return newConfig(&config), err
}

// Configs returns the configurations of the library's table that are legal for the problem on this device, best estimate first.
func (c *Context) Configs(problem Problem) ([]Config, error) {
	if problem.err != nil {
		return nil, problem.err
	}
	if err := c.handle.use(); err != nil {
		return nil, err
	}
	defer c.handle.release()
	var count C.size_t
	if err := failure(C.ggo_config_count(c.c, problem.c, &count)); err != nil {
		return nil, err
	}
	configs := make([]Config, count)
	for i := range configs {
		var config C.ggemm_config
		if err := failure(C.ggo_config_get(c.c, problem.c, C.size_t(i), &config)); err != nil {
			return nil, err
		}
		configs[i] = newConfig(&config)
	}
	return configs, nil
}
