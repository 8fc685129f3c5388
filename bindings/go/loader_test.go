// SPDX-License-Identifier: Apache-2.0

package ggemm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ggemm"
)

type loaderScenario struct {
	Name, Step, Status, Text string
	Environment              map[string]string
}

// takeStep prints what a step comes to: its status, and behind it the text.
func takeStep(t *testing.T, step string) {
	ctx, err := ggemm.OpenWith(ggemm.Options{Device: ggemm.CUDA(0)})
	if err == nil {
		defer ctx.Close()
		if step == "plan" {
			x := ggemm.Of(ggemm.F32).RowMajor(2, 2)
			_, err = ctx.Plan(x, x, x, ggemm.WithConfig("simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1"))
		}
	}
	status, text := "GGEMM_OK", ""
	if failed := (*ggemm.Error)(nil); errors.As(err, &failed) {
		status, text = failed.Status.Error(), failed.Text
	} else if err != nil {
		t.Fatal(err)
	}
	check(t, os.WriteFile(os.Getenv("GGEMM_TEST_OUTPUT"), []byte(status+"\n"+text), 0o600))
}

// The scenarios of tests/loader: what is said where the driver or NVRTC is missing or unfit, each in a process of its own. Go has no fork.
func TestLoaderScenarios(t *testing.T) {
	if step := os.Getenv("GGEMM_TEST_STEP"); step != "" {
		takeStep(t, step)
		return
	}
	driver := os.Getenv("GGEMM_FAKE_DRIVER")
	content, err := os.ReadFile("../../tests/loader/scenarios.json")
	if driver == "" || err != nil {
		t.Skip("needs $GGEMM_FAKE_DRIVER, the project's libcuda.so.1 for tests, and its tests/loader/scenarios.json")
	}
	var file struct {
		Format    int
		Scenarios []loaderScenario
	}
	check(t, json.Unmarshal(content, &file))
	if file.Format != 1 {
		t.Fatalf("format %d", file.Format)
	}
	folder, nvrtc := t.TempDir(), filepath.Join(filepath.Dir(filepath.Dir(driver)), "fake_nvrtc", "libnvrtc.so.13")
	check(t, os.Symlink(nvrtc, filepath.Join(folder, "libnvrtc.so.13")))
	check(t, os.WriteFile(filepath.Join(folder, "libcuda.so.1"), []byte("no library"), 0o600))
	values := strings.NewReplacer("{driver}", driver, "{nvrtc}", nvrtc, "{folder}", folder, "{LD_LIBRARY_PATH}", os.Getenv("LD_LIBRARY_PATH"))
	for _, scenario := range file.Scenarios {
		switch scenario.Step {
		case "context", "plan":
		case "fork":
			continue
		default:
			t.Fatalf("%s: unknown step %q", scenario.Name, scenario.Step)
		}
		output := filepath.Join(folder, "output")
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "GGEMM_TEST_STEP="+scenario.Step, "GGEMM_TEST_OUTPUT="+output, "GGEMM_LIBCUDA="+driver, "GGEMM_NVRTC="+nvrtc,
			"GGEMM_FAKE_DEVICES=90", "GGEMM_CACHE_DIR="+filepath.Join(folder, "cache"))
		for name, value := range scenario.Environment {
			child.Env = append(child.Env, fmt.Sprintf("%s=%s", name, values.Replace(value)))
		}
		if said, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", scenario.Name, err, said)
		}
		got := string(must(os.ReadFile(output))(t))
		if want := scenario.Status + "\n" + values.Replace(scenario.Text); got != want {
			t.Errorf("%s: got %q, want %q", scenario.Name, got, want)
		}
	}
}
