// SPDX-License-Identifier: Apache-2.0

package overhead

import (
	"os"
	"strconv"
	"testing"
	"time"

	"ggemm"
)

// inGo is what InC does, in Go.
func inGo(t testing.TB, calls int, planned bool) time.Duration {
	ctx, err := ggemm.OpenWith(ggemm.Options{Device: ggemm.Host, CacheDir: ggemm.None})
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	a, d := []float32{1, 2, 3, 4}, make([]float32, 4)
	plan, err := ctx.Plan(ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(d, 2, 2))
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	start := time.Now()
	for range calls {
		if planned {
			err = plan.Run(ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(d, 2, 2))
		} else {
			err = ctx.Gemm(ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(a, 2, 2), ggemm.RowMajor(d, 2, 2))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(start)
}

// slack is how many times the promised cost is not a failure yet: what else the machine does is in the figures.
func slack(t *testing.T) float64 {
	text := os.Getenv("GGEMM_OVERHEAD_SLACK")
	if text == "" {
		return 10
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("GGEMM_OVERHEAD_SLACK=%s: %v", text, err)
	}
	return factor
}

// A warm call adds at most 200 ns to that of C. Both sides are taken at their best of many short rounds, which other work on the machine hardly changes.
func TestOverhead(t *testing.T) {
	if os.Getenv("GGEMM_TEST_OVERHEAD") == "" {
		t.Skip("needs a build without checks: set GGEMM_TEST_OVERHEAD=1")
	}
	const rounds, calls, promise = 300, 1000, 200.0
	for form, planned := range map[string]bool{"one call": false, "plan": true} {
		c, g := time.Hour, time.Hour
		for range rounds {
			c, g = min(c, InC(calls, planned)), min(g, inGo(t, calls, planned))
		}
		inC, inGo := float64(c.Nanoseconds())/calls, float64(g.Nanoseconds())/calls
		t.Logf("%s: C %.0f ns, Go %.0f ns, which is %.0f ns more; the promise is %.0f", form, inC, inGo, inGo-inC, promise)
		if most := promise * slack(t); inC <= 0 || inGo-inC > most {
			t.Errorf("%s: Go adds %.0f ns to C's %.0f ns, more than %.0f", form, inGo-inC, inC, most)
		}
	}
}

func BenchmarkGo(b *testing.B) {
	b.ReportAllocs()
	b.ReportMetric(float64(inGo(b, b.N, false).Nanoseconds())/float64(b.N), "ns/call")
}

func BenchmarkGoPlan(b *testing.B) {
	b.ReportAllocs()
	b.ReportMetric(float64(inGo(b, b.N, true).Nanoseconds())/float64(b.N), "ns/call")
}

func BenchmarkC(b *testing.B) {
	b.ReportMetric(float64(InC(b.N, false).Nanoseconds())/float64(b.N), "ns/call")
}

func BenchmarkCPlan(b *testing.B) {
	b.ReportMetric(float64(InC(b.N, true).Nanoseconds())/float64(b.N), "ns/call")
}
