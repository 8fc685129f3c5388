// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"ggemm"
)

// open makes a context on the host that keeps nothing on disk.
func open(t testing.TB) *ggemm.Context {
	t.Helper()
	ctx, err := ggemm.OpenWith(ggemm.Options{Device: ggemm.Host, CacheDir: ggemm.None})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ctx.Close() })
	return ctx
}

// mustFail checks an error's status and that its text has the parts.
func mustFail(t *testing.T, err error, status ggemm.Status, parts ...string) {
	t.Helper()
	if !errors.Is(err, status) {
		t.Fatalf("got %v, want %v", err, status)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

// must(f())(t) is f's value; the test ends if it failed.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: element %d is %v, want %v (got %v)", what, i, got[i], want[i], got)
		}
	}
}

func float32FromBits(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
