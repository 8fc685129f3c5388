#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command of `ggemm` on the host device, and the way to a GPU on a fake driver.

test_cli.py <path of ggemm> [name of a test ...]
GGEMM_FAKE_DRIVER names the fake driver's file, without which TestCuda is left out; GGEMM_SEED repeats a run with its numbers.
Exit code 4 if all tests that were asked for were skipped.
"""
import csv
import json
import math
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402

GGEMM = "ggemm"
KEPT = ("GGEMM_NVRTC", "GGEMM_CBLAS")  # where the machine's libraries are
SEED = int(os.environ.get("GGEMM_SEED", "20260701"))


def product(a, b):
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]


def transpose(rows):
    return [list(col) for col in zip(*rows)]


class Cli(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.cache = os.path.join(self.folder, "cache")

    def path(self, name):
        return os.path.join(self.folder, name)

    def matrix(self, rows, cols, low=-3, high=3):
        return [[self.random.randint(low, high) for _ in range(cols)] for _ in range(rows)]

    def run_tool(self, *words, code=0, host=False, environment=None, stderr=subprocess.PIPE):
        """Runs in the test's folder with its own cache; the exit code must be `code`, unless that is None."""
        words = [GGEMM, *map(str, words)] + (["--device", "host"] if host else [])
        variables = {key: value for key, value in os.environ.items() if key in KEPT or not key.startswith(("GGEMM_", "XDG_"))}
        variables["GGEMM_CACHE_DIR"] = self.cache
        variables.update(environment or {})
        done = subprocess.run(words, cwd=self.folder, env=variables, stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=120)
        if code is not None:
            self.assertEqual(done.returncode, code, f"seed {SEED}: {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done

    def fails(self, code, *words, says, host=False):
        """An error is one sentence on stderr that begins with the tool's name and says this."""
        done = self.run_tool(*words, code=code, host=host)
        self.assertTrue(done.stderr.startswith("ggemm: "), done.stderr)
        self.assertIn(says, done.stderr)
        return done

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def values(self, name, shape, descr="<f4"):
        got_shape, got_descr, flat = npy.load(self.path(name))
        self.assertEqual((got_shape, got_descr), (shape, descr))
        return npy.rows_of(flat, shape[-1]) if len(shape) == 2 else flat


class TestGeneral(Cli):
    COMMANDS = ["doctor", "demo", "gemm", "grouped", "bench", "tune", "configs", "tiles", "cache"]

    def test_help_names_every_command_and_the_exit_codes(self):
        text = self.run_tool("--help").stdout
        for command in self.COMMANDS:
            self.assertIn(f"\n  {command} ", text)
            self.assertIn("--help", self.run_tool(command, "--help").stdout)
        self.assertIn("Exit codes: 0", text)

    def test_the_manual_page_names_every_option(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "ggemm.1"), encoding="utf-8") as file:
            manual = file.read().replace("\\-", "-")
        commands = [command for command in self.COMMANDS if command != "cache"] + ["cache list", "cache clear", "cache path"]
        for command in commands:
            text = self.run_tool(*command.split(), "--help").stdout
            options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M)
            self.assertIn("--help", options)
            for option in options:
                self.assertTrue(re.search(re.escape(option) + r"(?![\w-])", manual), f"docs/ggemm.1 does not name {option} of {command}")

    def test_the_manual_page_says_what_names_of_configurations_are(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "ggemm.1"), encoding="utf-8") as file:
            section = file.read().partition(".SH NAMES OF CONFIGURATIONS")[2].partition(".SH ")[0]
        names = re.findall(r"\bsm\d+_\w+_r\d+", section)
        self.assertEqual(len(names), 2)
        for name in names:
            self.run_tool("tiles", "--size", "512x512", "--config", name)

    def test_version(self):
        self.assertRegex(self.run_tool("--version").stdout, r"^ggemm \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_2(self):
        self.fails(2, says="subcommand")
        self.fails(2, "no-such-command", says="there is no command 'no-such-command' (see ggemm --help)")
        self.fails(2, "--versionn", says="there is no option '--versionn' (see ggemm --help)")
        self.fails(2, "gemm", "a.npy", says="ggemm gemm --help")
        self.fails(2, "gemm", "a.npy", "b.npy", "-o", "d.npy", "--activation", "unknown", says="--activation: 'unknown' is none of none, relu, leaky-relu, gelu")
        self.fails(2, "tiles", "--size", "10", "--tile", "2x2", says="--size: '10'")
        self.fails(2, "gemm", "a.npy", "b.npy", "-o", "d.npy", "--threads", "-1", says="--threads: '-1' is not a number from 0 up")
        self.fails(2, "tiles", "--size", "8x8", "--tile", "2x2", "--raster", "x", says="--raster: 'x' is not a number from 1 up")
        self.fails(2, "tune", "--gemm", "8x8x8", "--budget", "-5s", says="is not a number from 0 up")

    def test_output_that_cannot_be_written_is_3(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([GGEMM, "tiles", "--size", "8x8", "--tile", "2x2"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (3, "ggemm: standard output: cannot be written\n"))


    def test_a_file_of_another_kind_is_no_output(self):
        for name in "a", "b":
            npy.save(self.path(f"{name}.npy"), self.matrix(4, 4))
        self.write("notes", "of mine\n")
        grouped = ("grouped", "--a", "a.npy", "--b", "b.npy", "-o")
        for words in (("gemm", "a.npy", "b.npy", "-o"), grouped, ("tiles", "--size", "8x8", "--tile", "2x2", "--svg"), ("demo", "-o"), ("demo", "--json"),
                      ("bench", "--shape", "8x8x8", "--plot")):
            host = words[0] != "tiles"
            done = self.fails(3, *words, "notes", says="notes is a file of another kind", host=host)
            self.assertEqual((done.stdout, self.read("notes")), ("", "of mine\n"))
            self.assertEqual(self.fails(3, *words, "missing/file", says="missing/file: No such file", host=host).stdout, "")
        # JSON of another program, or rows of a benchmark, are no report of the demo.
        for text in '{"suite":"plain"}\n', '{\n  "mine": 1\n}\n':
            self.write("mine.json", text)
            self.fails(3, "demo", "--json", "mine.json", says="mine.json is a file of another kind", host=True)
            self.assertEqual(self.read("mine.json"), text)
        os.symlink(os.path.join(self.path("missing"), "d.npy"), self.path("link.npy"))
        self.fails(3, "gemm", "a.npy", "b.npy", "-o", "link.npy", says="link.npy: No such file", host=True)
        # Two outputs in one file would leave one of them.
        self.fails(2, "demo", "-o", "new", "--json", "./new", says="-o and --json name the same file", host=True)
        self.fails(2, "bench", "--shape", "8x8x8", "--plot", "new", "--jsonl", "new", says="--plot and --jsonl name the same file", host=True)
        self.fails(2, "tune", "--suite", "quick", "--jsonl", "new", "--records", "new", says="--jsonl and --records name the same file", host=True)
        self.assertFalse(os.path.exists(self.path("new")))
        # What is of the kind is written anew, and so is what is empty.
        self.write("empty.npy", "")
        for name in "a.npy", "empty.npy":
            self.run_tool("gemm", "a.npy", "b.npy", "-o", name, host=True)


class TestGemm(Cli):
    def test_product_of_files(self):
        a, b = self.matrix(5, 7), self.matrix(7, 3)
        npy.save(self.path("a.npy"), a)
        npy.save(self.path("b.npy"), b)
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--check", host=True)
        self.assertEqual(self.values("d.npy", (5, 3)), product(a, b))

    def test_fortran_order_and_transposed_files_of_every_header_version(self):
        a, b = self.matrix(4, 6), self.matrix(6, 5)
        for version in (1, 2, 3):
            for fortran_a in (False, True):
                for trans_b in (False, True):
                    npy.save(self.path("a.npy"), a, fortran=fortran_a, version=version)
                    npy.save(self.path("b.npy"), transpose(b) if trans_b else b, fortran=not fortran_a, version=version)
                    self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", *(["--trans-b"] if trans_b else []), host=True)
                    self.assertEqual(self.values("d.npy", (4, 5)), product(a, b))
        npy.save(self.path("at.npy"), transpose(a))
        npy.save(self.path("b.npy"), b)
        self.run_tool("gemm", "at.npy", "b.npy", "-o", "d.npy", "--trans-a", host=True)
        self.assertEqual(self.values("d.npy", (4, 5)), product(a, b))

    def test_dtypes_as_stored(self):
        a, b = self.matrix(3, 8), self.matrix(8, 4)
        for descr, out in (("<f8", "<f8"), ("<f4", "<f4"), ("<f2", "<f2"), ("|i1", "<i4")):
            npy.save(self.path("a.npy"), a, descr)
            npy.save(self.path("b.npy"), b, descr)
            self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--check", host=True)
            self.assertEqual(self.values("d.npy", (3, 4), out), product(a, b))

    def test_raw_elements_are_what_dtype_says(self):
        a, b = self.matrix(3, 4), self.matrix(4, 2)
        for descr in ("<V2", "<u2"):
            npy.save(self.path("a.npy"), [[npy.bf16(x) for x in row] for row in a], descr)
            npy.save(self.path("b.npy"), [[npy.bf16(x) for x in row] for row in b], descr)
            self.fails(2, "gemm", "a.npy", "b.npy", "-o", "d.npy", says="a.npy: the elements are raw", host=True)
            if descr == "<V2":
                self.fails(2, "gemm", "a.npy", "b.npy", "-o", "d.npy", "--dtype", "f32", says="they cannot be f32", host=True)
            self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--dtype", "bf16", host=True)
            got = [[npy.from_bf16(bits) for bits in row] for row in self.values("d.npy", (3, 2), "<V2")]
            self.assertEqual(got, product(a, b))
        # e4m3: 0x38 is 1, 0x40 is 2
        npy.save(self.path("a.npy"), [[0x38, 0x40]], "|V1")
        npy.save(self.path("b.npy"), [[0x40], [0x40]], "|V1")
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--dtype", "e4m3", host=True)
        self.assertEqual(self.values("d.npy", (1, 1)), [[6.0]])

    def test_floats_are_converted_to_dtype(self):
        npy.save(self.path("a.npy"), [[1 + 2.0 ** -9, 1.0]], "<f8")  # rounds to 1 in bf16
        npy.save(self.path("b.npy"), [[1.0], [2.0]])
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--dtype", "bf16", "--out-dtype", "f32", host=True)
        self.assertEqual(self.values("d.npy", (1, 1)), [[3.0]])
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", host=True)  # f64 and f32: f64
        self.assertEqual(self.values("d.npy", (1, 1), "<f8"), [[3 + 2.0 ** -9]])

    def test_integers_are_converted_to_dtype(self):
        a, b = self.matrix(3, 4, 0, 1), self.matrix(4, 2, 0, 1)
        npy.save(self.path("b.npy"), b)
        for descr in ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"):
            npy.save(self.path("a.npy"), a, descr)
            npy.save(self.path("c.npy"), [row[:2] for row in a], descr)
            for words in ("--a-dtype", "f32"), ("--dtype", "f32"):
                self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", *words, "--check", host=True)
                self.assertEqual(self.values("d.npy", (3, 2)), product(a, b))
            self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--a-dtype", "f32", "--c", "c.npy", "--check", host=True)
            self.assertEqual(self.values("d.npy", (3, 2)), [[x + c for x, c in zip(row, more)] for row, more in zip(product(a, b), a)])
            done = self.run_tool("gemm", "a.npy", "a.npy", "--trans-b", "-o", "d.npy", code=0 if descr == "|i1" else 2, host=True)
            if descr != "|i1":
                self.assertIn("a.npy: the elements are ", done.stderr)
                self.assertIn("with --dtype or --a-dtype, such as ", done.stderr)
        npy.save(self.path("a.npy"), [[2**53, -(2**63)], [-300, 127]], "<i8")
        npy.save(self.path("one.npy"), [[1, 0], [0, 1]], "<u8")
        self.run_tool("gemm", "a.npy", "one.npy", "-o", "d.npy", "--dtype", "f64", host=True)
        self.assertEqual(self.values("d.npy", (2, 2), "<f8"), [[2.0**53, -(2.0**63)], [-300, 127]])
        self.fails(2, "gemm", "a.npy", "one.npy", "-o", "d.npy", "--dtype", "i8", says="a.npy: element 0 is 9007199254740992, which i8 does not hold", host=True)
        self.fails(2, "gemm", "a.npy", "one.npy", "-o", "d.npy", "--dtype", "i32", says="--dtype: 'i32' is none of f64, f32, f16, bf16, e4m3, e5m2, i8", host=True)
        self.fails(2, "grouped", "--a", "one.npy", "--b", "a.npy", "-o", "d.npy", "--a-dtype", "f32", says="a.npy: the elements are of type '<i8', which A and B cannot be: say what to convert them to with --dtype or --b-dtype", host=True)
        with open(self.path("a.npy"), "rb") as file:
            data = file.read()
        with open(self.path("bad.npy"), "wb") as file:
            file.write(data.replace(b"<i8", b"<c8"))
        self.fails(3, "gemm", "bad.npy", "a.npy", "-o", "d.npy", says="'<c8' are not supported: floating point of 2, 4 and 8 bytes, integers, bool, and raw", host=True)

    def test_alpha_beta_c_bias_and_activation(self):
        a, b, c = self.matrix(4, 5), self.matrix(5, 3), self.matrix(4, 3)
        for name, rows in (("a", a), ("b", b), ("c", c)):
            npy.save(self.path(name + ".npy"), rows)
        npy.save(self.path("row.npy"), [1, -2, 3, -4], shape=(4,))
        npy.save(self.path("column.npy"), [5, -6, 7], shape=(3,))
        x = product(a, b)
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--alpha", "-2", "--c", "c.npy", "--beta", "0.5", "--bias", "row.npy", "--bias-axis", "row", "--check", host=True)
        bias = [1, -2, 3, -4]
        self.assertEqual(self.values("d.npy", (4, 3)), [[-2 * x[i][j] + 0.5 * c[i][j] + bias[i] for j in range(3)] for i in range(4)])
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--c", "c.npy", "--bias", "column.npy", "--activation", "clamp", "--p0", "-3", "--p1", "4", "--check", host=True)
        bias = [5, -6, 7]
        self.assertEqual(self.values("d.npy", (4, 3)), [[min(max(x[i][j] + c[i][j] + bias[j], -3), 4) for j in range(3)] for i in range(4)])
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--alpha", "0.125", "--activation", "gelu", "--check", host=True)
        for got, wanted in zip(self.values("d.npy", (4, 3)), x):
            for value, sum_ in zip(got, wanted):
                self.assertAlmostEqual(value, sum_ / 16 * (1 + math.erf(sum_ / 8 / math.sqrt(2))), places=6)

    def test_activations_have_their_parameters_and_no_others(self):
        npy.save(self.path("a.npy"), self.matrix(4, 4))
        for command in ("gemm", "a.npy", "a.npy"), ("grouped", "--a", "a.npy", "--b", "a.npy"):
            command = (*command, "-o", "never.npy", "--activation")
            for words, says in ((("clamp",), "--activation clamp needs --p0, its low end"), (("clamp", "--p0", "1"), "--activation clamp needs --p1"),
                                (("leaky-relu",), "--activation leaky-relu needs --p0, its slope"), (("leaky-relu", "--p0", "1", "--p1", "1"), "--p1: --activation leaky-relu has no"),
                                (("relu", "--p0", "2"), "--p0: --activation relu has no such parameter"), (("none", "--p1", "0"), "--p1: --activation none has no")):
                self.fails(2, *command, *words, says=says, host=True)
        self.assertFalse(os.path.exists(self.path("never.npy")))

    def test_int8_takes_whole_scalars(self):
        a, b = self.matrix(3, 6, -128, 127), self.matrix(6, 4, -128, 127)
        npy.save(self.path("a.npy"), a, "|i1")
        npy.save(self.path("b.npy"), b, "|i1")
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--alpha", "3", "--check", host=True)
        self.assertEqual(self.values("d.npy", (3, 4), "<i4"), [[3 * x for x in row] for row in product(a, b)])
        self.fails(2, "gemm", "a.npy", "b.npy", "-o", "d.npy", "--alpha", "0.5", says="--alpha 0.5", host=True)

    def test_every_dtype_passes_its_own_check(self):
        size = 33
        rows = [[self.random.gauss(0, 1) for _ in range(size)] for _ in range(size)]
        npy.save(self.path("a.npy"), rows, "<f8")
        npy.save(self.path("b.npy"), [[x * 0.5 for x in row] for row in reversed(rows)], "<f8")
        for dtype in ("f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i8"):
            for activation in ("none", "relu", "leaky-relu", "gelu", "gelu-tanh", "silu", "sigmoid", "tanh"):
                out = ["--out-dtype", "f32"] if dtype == "i8" else []
                done = self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--dtype", dtype, "--activation", activation, *(["--p0", "0.1"] if activation == "leaky-relu" else []), "--check", *out, host=True)
                self.assertIn("pass", done.stdout)
        done = self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--dtype", "f32", "--compute", "tf32", "--check", host=True)
        self.assertIn("pass", done.stdout)

    def test_sizes_of_zero(self):
        npy.save(self.path("a.npy"), [], shape=(3, 0))
        npy.save(self.path("b.npy"), [], shape=(0, 2))
        npy.save(self.path("bias.npy"), [1, 2], shape=(2,))
        self.run_tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--bias", "bias.npy", "--check", host=True)
        self.assertEqual(self.values("d.npy", (3, 2)), [[1, 2]] * 3)
        self.run_tool("gemm", "b.npy", "a.npy", "-o", "d.npy", "--trans-a", "--trans-b", "--check", host=True)
        self.assertEqual(npy.load(self.path("d.npy"))[0], (2, 3))

    def test_explain_and_a_forced_configuration(self):
        npy.save(self.path("a.npy"), self.matrix(4, 4))
        listed = json.loads(self.run_tool("configs", "--gemm", "4x4x4", "--dtype", "f32", "--layout", "nn", "--json", host=True).stdout)
        name = listed[0]["configs"][0]["name"]
        done = self.run_tool("gemm", "a.npy", "a.npy", "-o", "d.npy", "--explain", "--config", name, host=True)
        self.assertIn(name, done.stdout)
        self.fails(2, "gemm", "a.npy", "a.npy", "-o", "e.npy", "--config", "sm80_nonsense", says="sm80_nonsense", host=True)
        self.assertFalse(os.path.exists(self.path("e.npy")))

    def test_shapes_that_do_not_fit(self):
        npy.save(self.path("a.npy"), self.matrix(4, 5))
        npy.save(self.path("b.npy"), self.matrix(4, 5))
        self.fails(2, "gemm", "a.npy", "b.npy", "-o", "d.npy", says="k differs: a.npy is 4x5 (k=5), b.npy is 4x5 (k=4)", host=True)
        self.fails(2, "gemm", "a.npy", "b.npy", "-o", "d.npy", "--trans-b", "--c", "a.npy", says="a.npy is 4x5, but the product is 4x4", host=True)
        npy.save(self.path("v.npy"), [1.0] * 5, shape=(5,))
        self.fails(2, "gemm", "a.npy", "v.npy", "-o", "d.npy", says="v.npy: 2 dimensions are wanted", host=True)
        self.fails(2, "gemm", "a.npy", "b.npy", "-o", "d.npy", "--trans-b", "--bias", "v.npy", says="v.npy has 5 elements, but the product has 4 columns", host=True)

    def test_damaged_files_are_3(self):
        npy.save(self.path("a.npy"), self.matrix(4, 4))
        self.fails(3, "gemm", "a.npy", "missing.npy", "-o", "d.npy", says="missing.npy: No such file", host=True)
        self.fails(3, "gemm", "a.npy", "a.npy", "-o", "no/such/folder/d.npy", says="no/such/folder/d.npy", host=True)
        with open(self.path("a.npy"), "rb") as file:
            good = file.read()
        for length in range(0, len(good), 7):  # every truncation, the header's among them
            with open(self.path("cut.npy"), "wb") as file:
                file.write(good[:length])
            self.fails(3, "gemm", "cut.npy", "a.npy", "-o", "d.npy", says="cut.npy: ", host=True)
        cases = {
            b"'<f4'": [b"'>f4'", b"'<c4'", b"'<f9'", b"'<f'", b"''", b"[]"],
            b"(4, 4)": [b"(4,-4)", b"4444444", b"(4, 4", b"(99999999999999999999, 4)", b"(4611686018427387904, 4)"],
            b"False": [b"Maybe"],
            b"'shape'": [b"'shade'"],
        }
        for old, news in cases.items():
            for new in news:
                changed = good.replace(old, new, 1)
                changed = changed.replace(b" " * max(0, len(new) - len(old)) + b"\n", b"\n", 1) if len(new) >= len(old) else changed.replace(new, new + b" " * (len(old) - len(new)), 1)
                with open(self.path("bad.npy"), "wb") as file:
                    file.write(changed)
                self.fails(3, "gemm", "bad.npy", "a.npy", "-o", "d.npy", says="bad.npy: ", host=True)
        self.assertFalse(os.path.exists(self.path("d.npy")))

    def test_random_bytes_never_crash_the_reader(self):
        npy.save(self.path("a.npy"), self.matrix(4, 4))
        with open(self.path("a.npy"), "rb") as file:
            good = bytearray(file.read())
        for _ in range(60):
            changed = bytearray(good)
            for _ in range(self.random.randint(1, 4)):
                changed[self.random.randrange(128)] = self.random.randrange(256)
            with open(self.path("odd.npy"), "wb") as file:
                file.write(changed)
            done = subprocess.run([GGEMM, "gemm", "odd.npy", "a.npy", "-o", "d.npy", "--device", "host"], cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=60)
            said = f"seed {SEED}: header {bytes(changed[:128])!r}\n{done.stderr}"
            self.assertIn(done.returncode, (0, 2, 3), said)
            if done.returncode:
                self.assertTrue(done.stderr.startswith("ggemm: "), said)


class TestGrouped(Cli):
    def test_pairs_of_files_of_any_size(self):
        sizes = [(3, 4, 5), (1, 7, 2), (0, 3, 3), (4, 1, 0), (6, 2, 9)]
        groups = [(self.matrix(m, k), self.matrix(k, n), m, n, k) for m, n, k in sizes]
        for i, (a, b, m, n, k) in enumerate(groups):
            npy.save(self.path(f"a{i}.npy"), [x for row in a for x in row], shape=(m, k))
            npy.save(self.path(f"b{i}.npy"), [x for row in b for x in row], shape=(k, n))
        count = range(len(sizes))
        self.run_tool("grouped", "--a", *[f"a{i}.npy" for i in count], "--b", *[f"b{i}.npy" for i in count], "-o", "out_{}.npy", "--check", host=True)
        for i, (a, b, m, n, k) in enumerate(groups):
            flat = npy.load(self.path(f"out_{i}.npy"))
            self.assertEqual(flat[0], (m, n))
            wanted = product(a, b) if k else [[0] * n] * m
            self.assertEqual(flat[2], [x for row in wanted for x in row])

    def test_fortran_order_and_transposed(self):
        a, b = self.matrix(4, 6), [self.matrix(6, 3), self.matrix(6, 3)]
        npy.save(self.path("a0.npy"), a)
        npy.save(self.path("a1.npy"), a, fortran=True)
        for i in range(2):
            npy.save(self.path(f"b{i}.npy"), transpose(b[i]), fortran=i == 0)
        self.run_tool("grouped", "--a", "a0.npy", "a1.npy", "--b", "b0.npy", "b1.npy", "--trans-b", "-o", "d{}.npy", host=True)
        for i in range(2):
            self.assertEqual(self.values(f"d{i}.npy", (4, 3)), product(a, b[i]))

    def test_rows_split_by_ends_with_empty_groups(self):
        counts, k, n = [3, 0, 5, 1], 4, 6
        tokens, experts = self.matrix(sum(counts), k), [self.matrix(k, n) for _ in counts]
        bias = self.matrix(len(counts), n)
        ends = [sum(counts[:i + 1]) for i in range(len(counts))]
        npy.save(self.path("x.npy"), tokens)
        npy.save(self.path("w.npy"), [v for expert in experts for row in expert for v in row], shape=(len(counts), k, n))
        npy.save(self.path("bias.npy"), bias)
        wanted = []
        for expert, (count, end) in enumerate(zip(counts, ends)):
            for row in tokens[end - count:end]:
                wanted.append([x + y for x, y in zip(product([row], experts[expert])[0], bias[expert])])
        for descr in ("<i4", "<i8"):
            npy.save(self.path("ends.npy"), ends, descr, shape=(len(ends),))
            self.run_tool("grouped", "--a", "x.npy", "--b", "w.npy", "--ends", "ends.npy", "--bias", "bias.npy", "-o", "d.npy", "--check", host=True)
            self.assertEqual(self.values("d.npy", (sum(counts), n)), wanted)
        npy.save(self.path("x.npy"), tokens, fortran=True)
        npy.save(self.path("w.npy"), [v for expert in experts for row in transpose(expert) for v in row], shape=(len(counts), n, k))
        npy.save(self.path("bias.npy"), bias[0], shape=(n,))
        done = self.run_tool("grouped", "--a", "x.npy", "--b", "w.npy", "--trans-b", "--ends", "ends.npy", "--bias", "bias.npy", "-o", "d.npy", "--explain", host=True)
        self.assertIn("grouped (ragged_m), 4 groups", done.stdout)
        shared = [[x - own + first for x, own, first in zip(row, bias[expert], bias[0])] for expert, count in enumerate(counts)
                  for row in wanted[ends[expert] - count:ends[expert]]]
        self.assertEqual(self.values("d.npy", (sum(counts), n)), shared)
        for bad, says in (([3, 2, 8, 9], "end 1 is 2"), ([3, 3, 8, 8], "the last end is 8, but there are 9 rows"), ([3, 3, 8, 10], "end 3 is 10")):
            npy.save(self.path("ends.npy"), bad, "<i4", shape=(4,))
            self.fails(2, "grouped", "--a", "x.npy", "--b", "w.npy", "--ends", "ends.npy", "-o", "d.npy", says=says, host=True)

    def test_stacks(self):
        a, b = [self.matrix(2, 3) for _ in range(3)], self.matrix(3, 4)
        npy.save(self.path("a.npy"), [v for group in a for row in group for v in row], shape=(3, 2, 3))
        npy.save(self.path("b.npy"), b)
        self.run_tool("grouped", "--a", "a.npy", "--b", "b.npy", "-o", "d.npy", "--activation", "relu", host=True)
        shape, _, flat = npy.load(self.path("d.npy"))
        self.assertEqual(shape, (3, 2, 4))
        self.assertEqual(flat, [max(v, 0) for group in a for row in product(group, b) for v in row])

    def test_wrong_lists(self):
        npy.save(self.path("a.npy"), self.matrix(2, 3))
        npy.save(self.path("b.npy"), self.matrix(3, 2))
        self.fails(2, "grouped", "--a", "a.npy", "a.npy", "a.npy", "--b", "b.npy", "b.npy", "-o", "d{}.npy", says="--a has 3 matrices and --b has 2", host=True)
        self.fails(2, "grouped", "--a", "a.npy", "a.npy", "--b", "b.npy", "-o", "d.npy", says="{}", host=True)
        self.fails(2, "grouped", "--a", "a.npy", "b.npy", "--b", "b.npy", "-o", "d{}.npy", says="k differs in group 1", host=True)


class TestTiles(Cli):
    def test_worked_examples(self):
        done = self.run_tool("tiles", "--size", "1024x768", "--tile", "128x64", "--raster", 2, "--pid", 60)
        self.assertEqual(done.stdout, "pid 60 -> tile (4, 6): rows 512..639, columns 384..447\n")
        done = self.run_tool("tiles", "--size", "64x64", "--tile", "16x16", "--raster", 2, "--pid", 15)
        self.assertEqual(done.stdout, "pid 15 -> tile (3, 3): rows 48..63, columns 48..63\n")

    def test_grid_as_text(self):
        lines = self.run_tool("tiles", "--size", "48x30", "--tile", "16x16", "--raster", 2).stdout.splitlines()
        self.assertIn("6 programs", lines[0])
        self.assertEqual(lines[1:], ["0 2", "1 3", "4 5"])

    def test_large_grid_is_cut(self):
        lines = self.run_tool("tiles", "--size", "1000000x1000000", "--tile", "64x64", "--raster", 8).stdout.splitlines()
        self.assertLess(len(lines), 60)
        self.assertTrue(lines[1].endswith("..."))
        self.assertEqual(lines[-1], "...")

    def test_groups(self):
        lines = self.run_tool("tiles", "--groups", "32x16,0x64,16x48", "--tile", "16x16").stdout.splitlines()
        self.assertEqual(lines[1:], ["group 0, 32x16", "0", "1", "group 1, 0x64: empty", "group 2, 16x48", "2 3 4"])
        done = self.run_tool("tiles", "--groups", "32x16,0x64,16x48", "--tile", "16x16", "--pid", 3)
        self.assertEqual(done.stdout, "pid 3 -> group 2, tile (0, 1): rows 0..15, columns 16..31\n")

    def test_configuration_gives_tile_and_raster(self):
        done = self.run_tool("tiles", "--size", "1024x768", "--config", "sm80_bf16_bf16_f32_tn_128x64x32_w2x2_s3_r2", "--pid", 60)
        self.assertEqual(done.stdout, "pid 60 -> tile (4, 6): rows 512..639, columns 384..447\n")
        self.fails(2, "tiles", "--size", "8x8", "--config", "nonsense", says="nonsense")

    def test_what_a_configuration_says_is_said_once(self):
        for words in ("--tile", "8x8"), ("--raster", 1), ("--cluster", "2x1"), ("--swapped",):
            says = "either --tile BMxBN or --config NAME" if words[0] == "--tile" else "--raster, --cluster and --swapped go with --tile"
            self.fails(2, "tiles", "--size", "64x64", "--config", "sm80_bf16_bf16_f32_tn_128x64x32_w2x2_s3_r2", *words, says=says)

    def test_clusters(self):
        grid = ("tiles", "--size", "40x25", "--tile", "16x10", "--raster", 2, "--cluster", "2x1")
        lines = self.run_tool(*grid).stdout.splitlines()
        self.assertEqual(lines[0], "40x25, clusters 2x1, tiles 16x10, raster group 2: 10 programs")
        self.assertEqual(lines[1:], ["0 2 6", "1 3 7", "4 5 8"])
        self.assertEqual(self.run_tool(*grid, "--pid", 9).stdout, "pid 9 -> tile (2, 3): past the edge, nothing to do\n")
        self.run_tool(*grid, "--svg", "order.svg")
        root = xml.parse(self.path("order.svg")).getroot()
        self.assertEqual(len(root.findall("{http://www.w3.org/2000/svg}rect")), 9)
        lines = self.run_tool("tiles", "--size", "40x25", "--tile", "16x10", "--swapped").stdout.splitlines()
        self.assertEqual(lines[1:], ["0 3 6", "1 4 7", "2 5 8"])
        lines = self.run_tool("tiles", "--size", "32x512", "--config", "sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s8_c1x2_swap_r1").stdout.splitlines()
        self.assertEqual(lines[1:], ["0 1 4 5", "2 3 6 7"])
        self.fails(2, "tiles", "--size", "8x8", "--tile", "2x2", "--cluster", "0x1", says="--cluster 0x1")

    def test_picture(self):
        self.run_tool("tiles", "--size", "100x70", "--tile", "16x16", "--raster", 3, "--svg", "order.svg")
        root = xml.parse(self.path("order.svg")).getroot()
        space = "{http://www.w3.org/2000/svg}"
        tiles = root.findall(space + "rect")
        self.assertEqual(len(tiles), 7 * 5)
        self.assertEqual(len({(tile.get("x"), tile.get("y")) for tile in tiles}), 7 * 5)
        self.assertEqual([text.text for text in root.findall(space + "text")], [str(i) for i in range(35)])
        self.assertEqual(len(root.find(space + "polyline").get("points").split()), 35)
        # Three raster groups, of 3, 3 and 1 rows of tiles.
        self.assertEqual(len({tile.get("fill").split(",")[0] for tile in tiles}), 3)

    def test_wrong_input(self):
        self.fails(2, "tiles", "--size", "64x64", "--tile", "16x16", "--pid", 16, says="there are 16 programs")
        self.fails(2, "tiles", "--size", "64x64", says="--tile")
        self.fails(2, "tiles", "--tile", "16x16", says="--size")
        self.fails(2, "tiles", "--size", "64x64", "--tile", "0x16", says="--tile 0x16")
        self.fails(2, "tiles", "--size", "64x64", "--tile", "16x16", "--raster", 0, says="--raster")
        self.fails(3, "tiles", "--size", "64x64", "--tile", "16x16", "--svg", "no/such/folder.svg", says="no/such/folder.svg")


class TestConfigurations(Cli):
    def test_configs(self):
        text = self.run_tool("configs", "--gemm", "256x256x256", "--dtype", "f16", host=True).stdout
        self.assertIn("256x256x256 f16 nt: ", text)
        listed = json.loads(self.run_tool("configs", "--gemm", "256x256x256", "64x64x64", "--grouped", "8x8x8,16x8x8", "--json", host=True).stdout)
        self.assertEqual([each["problem"] for each in listed], ["256x256x256 bf16 nt", "64x64x64 bf16 nt", "grouped, 2 groups bf16 nt"])
        for each in listed:
            self.assertGreaterEqual(len(each["configs"]), 1)
            self.assertEqual(each["configs"][0]["family"], "host")

    def test_tune_on_the_host(self):
        done = self.run_tool("tune", "--gemm", "64x48x32", "--dtype", "f32", "--budget", "500ms", host=True)
        self.assertIn("one configuration", done.stderr)
        self.assertIn("64x48x32 f32 nt: best host_f32_f32_f32_", done.stdout)
        self.assertNotIn("\r", done.stderr)  # no progress bar where there is no terminal
        said = re.search(r"best (\S+), ([\d.]+) us, ([\d.]+) TFLOP/s \(1 timed, 0 rejected", done.stdout)
        self.assertIn(list(said.groups()), [line.split() for line in done.stdout.splitlines()])  # the winner's row tells the same time

    def test_tune_shows_its_progress_on_a_terminal(self):
        terminal, end = pty.openpty()
        try:
            self.run_tool("tune", "--gemm", "64x48x32", "--dtype", "f32", "--budget", "500ms", host=True, stderr=end)
            shown = os.read(terminal, 1 << 16).decode()
        finally:
            os.close(terminal)
            os.close(end)
        self.assertIn("\r", shown)
        self.assertRegex(shown, r"\[\.+\] 0/1 64x48x32 f32 nt")
        self.assertRegex(shown, r"\[#+\] 1/1 64x48x32 f32 nt: host_f32_f32_f32_")

    def test_tune_a_suite(self):
        with open(self.path("shapes.txt"), "w") as file:
            file.write("# sizes\n64 48 32\n\n32 32 32 f16 nn  # others\ngrouped: 8,16,24 32,16,24 f32\n")
        results = json.loads(self.run_tool("tune", "--suite", "shapes.txt", "--budget", "2s", "--json", host=True).stdout)
        self.assertEqual([each["problem"] for each in results], ["64x48x32 bf16 nt", "32x32x32 f16 nn", "grouped, 2 groups f32 nt"])
        for each in results:
            self.assertTrue(each["best"].startswith("host_"))
            self.assertGreater(each["us"], 0)
            self.assertEqual(each["rows"][0]["config"], each["best"])
            self.assertIsNone(each["rows"][0]["rejected"])

    def test_tune_a_benchmark_suite(self):
        arguments = ("tune", "--suite", "quick", "--dtype", "f32", "--jsonl", "tuned.jsonl", "--records", "records.txt")
        first = self.run_tool(*arguments, host=True)
        self.assertRegex(first.stdout, r"all +3 +1\.000 +1\.000\n")
        self.assertRegex(first.stdout, r"3 tunings: median [\d.]+ s, longest [\d.]+ s\n")
        with open(self.path("tuned.jsonl")) as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual([row["case"] for row in rows], ["64x64x64", "256x256x256", "333x77x155"])
        for row in rows:
            self.assertTrue(row["key"].endswith(f"n {row['n']} k {row['k']}"), row["key"])
            self.assertEqual(row["candidates"], [{"config": row["best"], "us": row["best_us"]}])
            self.assertEqual((row["model"], row["model_us"]), (row["best"], row["best_us"]))
        with open(self.path("records.txt")) as file:
            # The host has one configuration, which is the model's choice: nothing that would be worth a record.
            self.assertRegex(file.read(), r"^# 0 tuning records, .*\n$")
        again = self.run_tool(*arguments, host=True)
        self.assertEqual(again.stderr.count("there already"), 3)
        self.assertEqual(again.stdout, first.stdout)
        # A run keeps the records that are there, of other problems.
        with open(self.path("records.txt"), "w") as file:
            file.write("of another GPU\tsm90_bf16_bf16_f32_tn_64x64x64_w4x1_s8_c1x1_r1\n")
        self.run_tool("tune", "--suite", "quick", "--dtype", "f64", "--filter", "64x64x64", "--records", "records.txt", host=True)
        with open(self.path("records.txt")) as file:
            self.assertEqual(file.readlines()[1:], ["of another GPU\tsm90_bf16_bf16_f32_tn_64x64x64_w4x1_s8_c1x1_r1\n"])

    def test_wrong_uses_of_a_benchmark_suite(self):
        self.fails(2, "tune", "--suite", "quick", "--gemm", "8x8x8", says="--gemm", host=True)
        self.fails(2, "tune", "--suite", "quick", "--dtype", "e5m2", says="no case of suite quick is selected", host=True)
        for of_suites in ("--shard", "1/2"), ("--commit", "abc"), ("--keep-any",):
            self.fails(2, "tune", "--gemm", "8x8x8", *of_suites, says="--suite plain, grouped or quick", host=True)
        for text in "no record\n", "a note without an end", "first\t1\nsecond\t2\n":
            self.write("records.txt", text)
            done = self.run_tool("tune", "--suite", "quick", "--filter", "fp32/64", "--records", "records.txt", code=3, host=True)
            self.assertIn("ggemm: records.txt: line 1 is none", done.stderr)
            self.assertNotIn("[1/1]", done.stderr)
            self.assertEqual(self.read("records.txt"), text)
        self.fails(3, "tune", "--suite", "quick", "--filter", "fp32/64", "--records", "missing/records.txt", says="missing/records.txt", host=True)

    def test_wrong_problems(self):
        self.fails(2, "tune", says="no problem given", host=True)
        self.fails(2, "tune", "--gemm", "64x64", says="--gemm: '64x64'", host=True)
        self.fails(3, "tune", "--suite", "missing.txt", says="missing.txt", host=True)
        self.fails(2, "configs", "--suite", "plain", says="--suite plain: a file of problems is wanted", host=True)
        with open(self.path("shapes.txt"), "w") as file:
            file.write("64 64 64\n64 64\n")
        self.fails(2, "tune", "--suite", "shapes.txt", says="shapes.txt:2: '64 64'", host=True)
        self.fails(2, "tune", "--gemm", "64x64x64", "--budget", "fast", says="--budget", host=True)
        self.fails(2, "tune", "--gemm", "64x64x64", "--config", "nonsense", says="nonsense", host=True)


class TestBench(Cli):
    CASES = ("bench", "--shape", "64x48x32,33x17x9", "--dtype", "f32,f64", "--samples", 4, "--rest", 0)

    def test_every_format_has_every_case(self):
        names = [("64x48x32", "f32"), ("64x48x32", "f64"), ("33x17x9", "f32"), ("33x17x9", "f64")]
        results = json.loads(self.run_tool(*self.CASES, "--format", "json", host=True).stdout)
        self.assertEqual(sorted((row["case"], row["dtype"]) for row in results), sorted(names))
        for row in results:
            self.assertGreater(row["ours_us"], 0)
            self.assertTrue(row["config"].startswith("host_"))
        rows = list(csv.DictReader(self.run_tool(*self.CASES, "--format", "csv", host=True).stdout.splitlines()))
        self.assertEqual(sorted((row["case"], row["dtype"]) for row in rows), sorted(names))
        self.assertTrue(all(float(row["us"]) > 0 for row in rows))
        for form, edge in (("markdown", "| "), ("table", "")):
            lines = self.run_tool(*self.CASES, "--format", form, "--no-peers", host=True).stdout.splitlines()
            for case, dtype in names:
                self.assertEqual(sum(line.startswith(edge) and case in line and f" {dtype} " in line for line in lines), 1, (form, case, dtype))

    def test_what_was_measured_is_not_measured_again(self):
        first = self.run_tool(*self.CASES, "--jsonl", "rows.jsonl", "--plot", "plot.svg", host=True)
        self.assertNotIn("there already", first.stderr)
        self.assertEqual(xml.parse(self.path("plot.svg")).getroot().tag, "{http://www.w3.org/2000/svg}svg")
        with open(self.path("rows.jsonl")) as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual(len(rows), 4)
        again = self.run_tool(*self.CASES, "--jsonl", "rows.jsonl", host=True)
        self.assertEqual(again.stderr.count("there already"), 4)
        self.assertEqual(again.stdout, first.stdout)

    def rows_in(self, name):
        return [json.loads(line) for line in self.read(name).splitlines()]

    def test_rows_of_other_commits_and_devices_stay(self):
        one = (*self.CASES, "--jsonl", "rows.jsonl", "--commit")
        self.run_tool(*one, "before", host=True)
        self.run_tool(*one, "after", "--shard", "1/2", host=True)
        rows = self.rows_in("rows.jsonl")
        self.assertEqual([row["commit"] for row in rows], ["before"] * 4 + ["after"] * 2)
        elsewhere = [{**row, "device": "another"} for row in rows]
        self.write("rows.jsonl", self.read("rows.jsonl") + "".join(json.dumps(row) + "\n" for row in elsewhere))
        # What is told is of this commit and device.
        done = self.run_tool(*one, "after", "--limit", "1e-9", "--format", "json", host=True)
        self.assertIn("2 cases are left", done.stderr)
        self.assertEqual(sorted(json.loads(done.stdout), key=str), sorted(rows[4:], key=str))
        self.run_tool(*one, "after", host=True)
        self.assertEqual(self.rows_in("rows.jsonl")[:12], rows + elsewhere)
        self.assertEqual(len(self.rows_in("rows.jsonl")), 14)

    def test_a_row_that_lacks_what_is_asked_for_is_measured_again(self):
        self.CASES = ("bench", "--shape", "16x16x16", "--dtype", "f32", "--samples", 4, "--rest", 0, "--jsonl", "rows.jsonl")

        def there(*words):
            return self.run_tool(*self.CASES, *words, host=True).stderr.count("there already")

        self.assertEqual([there("--no-peers"), there("--no-peers"), there(), there("--no-peers"), there()], [0, 1, 0, 1, 1])
        self.assertEqual(len(self.rows_in("rows.jsonl")), 1)  # with peers, which took the place of the other
        self.assertEqual([there("--tune", "--tune-budget", "0.01"), there("--tune"), there()], [0, 1, 1])
        config = self.rows_in("rows.jsonl")[0]["config"]
        self.assertEqual(there("--config", config), 1)  # whoever chose it
        self.assertEqual([(row.get("choice"), "alone" in row) for row in self.rows_in("rows.jsonl")], [(None, False), ("tuned", False)])

    def test_the_list_in_every_format(self):
        names = ["64x64x64", "256x256x256"] * 4 + ["333x77x155", "experts8_t64"]
        cases = ("bench", "--list", "--format")
        found = {"json": [case["case"] for case in json.loads(self.run_tool(*cases, "json", host=True).stdout)],
                 "csv": [case["case"] for case in csv.DictReader(self.run_tool(*cases, "csv", host=True).stdout.splitlines())],
                 "table": [line.split()[1] for line in self.run_tool(*cases, "table", host=True).stdout.splitlines()[1:]],
                 "markdown": [line.split("|")[2].strip() for line in self.run_tool(*cases, "markdown", host=True).stdout.splitlines()[2:]]}
        self.assertEqual(found, dict.fromkeys(found, names))

    def test_scales_and_forms_of_groups(self):
        shape = ("bench", "--shape", "40x24x300", "--dtype", "e4m3", "--scaling", "none,tensor,row,block", "--samples", 4, "--rest", 0, "--format", "json")
        found = json.loads(self.run_tool(*shape, host=True).stdout)
        self.assertEqual([(row["case"], row["category"]) for row in found],
                         [("40x24x300", "fp8"), ("40x24x300_tensor", "fp8"), ("40x24x300_row", "fp8"), ("40x24x300_block", "fp8-block")])
        listed = json.loads(self.run_tool("bench", "--shape", "40x24x300", "--dtype", "f32,bf16", "--scaling", "none,block", "--list", "--format", "json", host=True).stdout)
        self.assertEqual([case["category"] for case in listed], ["fp32", "fp32", "decode", "decode"])  # the mark of fp8-block is of e4m3
        listed = json.loads(self.run_tool("bench", "--suite", "grouped", "--scaling", "row,block", "--list", "--format", "json", host=True).stdout)
        self.assertEqual({case["scaling"] for case in listed}, {"row", "block"})
        listed = json.loads(self.run_tool("bench", "--suite", "grouped", "--list", "--format", "json", host=True).stdout)
        self.assertEqual({case["form"] for case in listed if case["category"] == "grouped-forms"}, {"masked", "batch", "gathered", "scattered", "ragged-k"})
        self.assertFalse([case for case in listed if ("form" in case) != (case["category"] == "grouped-forms")])
        self.fails(2, "bench", "--shape", "64", "--scaling", "rows", says="rows", host=True)

    def test_wrong_usage(self):
        self.fails(2, "bench", "--suite", "nonsense", says="nonsense", host=True)
        self.fails(2, "bench", "--shape", "64x", says="64x", host=True)
        self.fails(2, "bench", "--shape", "9999999999999x9999999999999x9999999999", says="is too large", host=True)
        self.fails(2, "bench", "--filter", "no such case", says="no case of suite quick is selected", host=True)
        self.fails(2, "bench", "--shape", "8", "--filter", "no such case", says="no case of --shape is selected", host=True)
        self.fails(2, "bench", "--shape", "8", "--suite", "quick", says="--suite excludes --shape", host=True)
        for words in ("--dtype", "f32"), ("--layout", "nn"), ("--scaling", "row"), ("--filter", "x"), ("--shard", "1/2"), ("--list",):
            self.fails(2, "bench", "--suite", "host", *words, says="--suite host has no cases", host=True)
        for suite in "host", "compile":
            for words in ("--tune",), ("--choice", "model"), ("--graph",):
                self.fails(2, "bench", "--suite", suite, *words, says=f"--suite {suite} does not time products", host=True)
        done = self.run_tool("bench", "--suite", "compile", "--filter", "square_256x", "--jsonl", "never.jsonl", code=2, host=True)
        self.assertIn("\nggemm: --suite compile needs a GPU", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn("\nggemm: cannot write missing/rows.jsonl", self.run_tool(*self.CASES, "--jsonl", "missing/rows.jsonl", code=3, host=True).stderr)
        for text in "name,us\nfirst,1\n", "a note without an end":
            self.write("other.csv", text)
            self.assertIn("\nggemm: other.csv: line 1 is none", self.run_tool(*self.CASES, "--jsonl", "other.csv", code=3, host=True).stderr)
            self.assertEqual(self.read("other.csv"), text)
        self.fails(3, *self.CASES, "--plot", "missing/plot.svg", says="missing/plot.svg", host=True)
        self.fails(3, *self.CASES, "--plot", ".", says="Is a directory", host=True)


class TestCache(Cli):
    def test_path_list_and_clear(self):
        self.assertEqual(self.run_tool("cache", "path").stdout, self.cache + "\n")
        self.assertEqual(self.run_tool("cache", "path", "--cache-dir", "/elsewhere").stdout, "/elsewhere\n")
        self.assertEqual(json.loads(self.run_tool("cache", "list", "--json").stdout), {"folder": self.cache, "entries": []})
        self.run_tool("tune", "--gemm", "32x32x32", "--dtype", "f32", "--budget", "200ms", host=True)
        entries = json.loads(self.run_tool("cache", "list", "--json").stdout)["entries"]
        self.assertEqual([entry["kind"] for entry in entries], ["tuning"])
        self.assertTrue(os.path.isfile(entries[0]["path"]))
        self.assertIn("1 entries", self.run_tool("cache", "list").stdout)
        self.assertEqual(self.run_tool("cache", "clear", "--nvrtc", "1.0").stdout, f"nothing removed: no kernel of NVRTC 1.0 in {self.cache}\n")
        self.fails(2, "cache", "clear", "--nvrtc", "", says="nvrtc")
        self.assertEqual(json.loads(self.run_tool("cache", "clear", "--json").stdout)["removed"], 1)
        self.assertEqual(json.loads(self.run_tool("cache", "list", "--json").stdout)["entries"], [])

    def test_a_folder_is_not_made_by_being_asked_for(self):
        for words in ("list",), ("clear",), ("clear", "--nvrtc", "1.0"), ("path",):
            done = self.run_tool("cache", *words, "--cache-dir", "new/folder")
            self.assertIn("new/folder, which is not there yet" if words != ("path",) else "new/folder", done.stdout)
            json.loads(self.run_tool("cache", *words, "--json").stdout)
        report = json.loads(self.run_tool("doctor", "--json", "--cache-dir", "new/folder").stdout)
        finding = next(finding for finding in report["findings"] if finding["component"] == "cache")
        self.assertEqual((finding["found"], finding["detail"], finding["advice"]), (True, "new/folder, which is not there yet: the first entry will make it", ""))
        self.run_tool("doctor")
        self.assertEqual(os.listdir(self.folder), [])
        self.fails(2, "cache", "clear", "--nvrtc", "", says="--nvrtc: a version")

    def test_a_folder_that_is_not_used_is_an_error(self):
        self.write("file", "mine\n")
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        os.mkdir(self.path("own"))
        os.symlink("own", self.path("link"))
        for name, says in (("file", "file: cannot be opened: Not a directory"), ("file/below", "Not a directory"), ("open", "open: can be written by others (mode 777)"),
                           ("link", "link: is a symbolic link")):
            for command in "list", "clear":
                self.assertEqual(self.fails(3, "cache", command, "--cache-dir", name, says=says).stdout, "")
            done = self.run_tool("doctor", "--cache-dir", name, code=1)
            self.assertIn("MISSING  cache", done.stdout)
            self.assertIn(says, done.stdout)
            self.assertIn("works    host", done.stdout)
            self.assertLessEqual(done.stderr.count("disk cache: "), 1)
            self.assertIn("none     cache", self.run_tool("doctor", environment={"GGEMM_CACHE_DIR": name}).stdout)

    def test_no_folder_at_all(self):
        nowhere = {"HOME": "", "XDG_CACHE_HOME": "", "GGEMM_CACHE_DIR": ""}
        done = self.run_tool("cache", "path", code=1, environment=nowhere)
        self.assertIn("there is no cache folder", done.stderr)


class TestDoctor(Cli):
    def test_host_works(self):
        done = self.run_tool("doctor")
        self.assertIn("works    host", done.stdout)
        report = json.loads(self.run_tool("doctor", "--json").stdout)
        self.assertTrue(report["works"])
        self.assertTrue(report["host"]["works"])
        components = {finding["component"]: finding for finding in report["findings"]}
        for component in ("driver", "nvrtc", "cblas", "cache"):
            self.assertIn(component, components)
        for finding in report["findings"]:
            self.assertTrue(finding["detail"], finding)
            self.assertTrue(finding["found"] or finding["advice"], finding)

    def test_what_is_wrong_is_said_once(self):
        done = self.run_tool("doctor", "--cblas", "/bad")
        self.assertEqual(done.stderr.count("the CBLAS that was named is not used"), 1)
        done = self.run_tool("doctor", "--cblas", "none")
        self.assertIn("none     cblas        not used, as --cblas none says", done.stdout)
        self.assertIn("-> leave out --cblas", done.stdout)

    def test_a_device_that_is_demanded_and_missing_is_1(self):
        report = json.loads(self.run_tool("doctor", "--json").stdout)
        if any(finding["component"] == "driver" and finding["found"] for finding in report["findings"]):
            self.skipTest("there is a GPU")
        done = self.run_tool("doctor", "--device", "cuda", code=1)
        self.assertIn("FAILS    default", done.stdout)
        self.fails(1, "configs", "--gemm", "8x8x8", "--device", "cuda", says="libcuda")


class TestCuda(Cli):
    """All but the kernels: the fake driver's do nothing, so a result is what D held before, and every check must say so."""

    def setUp(self):
        super().setUp()
        self.fake = {"GGEMM_LIBCUDA": os.environ["GGEMM_FAKE_DRIVER"], "GGEMM_FAKE_DEVICES": "90"}
        report = json.loads(self.tool("doctor", "--json", code=None).stdout)
        if not all(finding["found"] for finding in report["findings"] if finding["component"] == "nvrtc"):
            self.skipTest("there is no NVRTC: pip install nvidia-cuda-nvrtc")
        self.size = 40
        self.a, self.b = self.matrix(self.size, self.size, 1, 3), self.matrix(self.size, self.size, 1, 3)
        npy.save(self.path("a.npy"), self.a)
        npy.save(self.path("b.npy"), self.b)

    def tool(self, *words, code=0, environment=None):
        return self.run_tool(*words, code=code, environment={**self.fake, **(environment or {})})

    def test_doctor_compiles_for_the_gpu_and_says_what_is_missing(self):
        done = self.tool("doctor")
        self.assertIn("works    default      NVIDIA H200 (sm_90a)", done.stdout)
        done = self.tool("doctor", "--nvrtc", "/nowhere/libnvrtc.so.13", "--cache-dir", "empty", code=1)
        self.assertRegex(done.stdout, r"MISSING  nvrtc +NVRTC, which compiles the kernels, cannot be used. Tried:\n +/nowhere/libnvrtc.so.13: .*\n +-> Install it with `pip install nvidia-cuda-nvrtc`")
        self.assertIn("FAILS    default", done.stdout)
        self.assertIn("works    host", done.stdout)

    def test_doctor_without_a_device_says_how_to_get_one(self):
        done = self.tool("doctor", environment={"GGEMM_FAKE_DEVICES": "none"})
        self.assertRegex(done.stdout, r"none     driver +.*CUDA_ERROR_NO_DEVICE.*\n +-> .*nvidia-smi")
        self.assertIn("works    default      host", done.stdout)

    def test_wrong_results_are_found_and_are_1(self):
        done = self.tool("gemm", "a.npy", "b.npy", "-o", "d.npy", "--check", "--explain", code=1)
        self.assertIn("FAIL", done.stdout)
        self.assertIn("sm_90a", done.stdout)
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.values("d.npy", (self.size, self.size)), [[0] * self.size] * self.size)
        done = self.tool("grouped", "--a", "a.npy", "b.npy", "--b", "a.npy", "-o", "d{}.npy", "--check", code=1)
        self.assertIn("FAIL", done.stdout)
        entries = json.loads(self.tool("cache", "list", "--json").stdout)["entries"]
        # A kernel for each form, and perhaps those that copy operands first.
        self.assertEqual({entry["kind"] for entry in entries}, {"cubin"})
        self.assertGreaterEqual(len(entries), 2)
        version = entries[0]["nvrtc"]
        self.assertEqual(json.loads(self.tool("cache", "clear", "--nvrtc", "1.0", "--json").stdout)["removed"], 0)
        self.assertEqual(json.loads(self.tool("cache", "clear", "--nvrtc", version, "--json").stdout)["removed"], len(entries))

    def test_failures_of_the_driver_are_sentences_and_1(self):
        for rule, says in (("cuMemAllocAsync:1:2:-1", "memory"), ("cuModuleLoadData:1:209:-1", "cuModuleLoadData"), ("cuLaunchKernelEx:1:719:-1", "cuLaunchKernelEx"),
                           ("cuMemcpyDtoHAsync:1:719:-1", "cuMemcpyDtoHAsync"), ("cuStreamSynchronize:1:719:-1", "cuStreamSynchronize")):
            done = self.tool("gemm", "a.npy", "b.npy", "-o", "never.npy", code=1, environment={"GGEMM_FAKE_FAIL": rule})
            self.assertTrue(done.stderr.startswith("ggemm: "), done.stderr)
            self.assertIn(says, done.stderr)
        self.assertFalse(os.path.exists(self.path("never.npy")))
        done = self.tool("gemm", "a.npy", "b.npy", "-o", "never.npy", "--device", "cuda", "--ordinal", "3", code=1)
        self.assertIn("3", done.stderr)

    def test_tuning_lets_no_wrong_kernel_win(self):
        listed = json.loads(self.tool("configs", "--gemm", "64x64x64", "--json").stdout)[0]["configs"]
        self.assertGreater(len(listed), 2)
        self.assertIn("sm80", {each["family"] for each in listed})
        for each in listed:  # the name says the same
            down, across, along = each["cluster"]
            self.assertEqual("sm90" == each["family"], f"_c{down}x{across}{f'x{along}' if along > 1 else ''}_" in each["name"])
            self.assertEqual(each["teams"] > 1, f"_w{each['warps'][0]}x{each['warps'][1]}x{each['teams']}_" in each["name"])
            self.assertEqual(each["slices"] > 0, f"_k{'t' if each['slices'] == 1 else each['slices']}_" in each["name"])
            self.assertEqual(each["swapped"], "_swap_" in each["name"])
        self.assertTrue(any(each["cluster"][0] > 0 for each in listed))
        self.assertTrue(any(each["swapped"] for each in listed))
        done = self.tool("tune", "--gemm", "64x64x64", "--config", listed[0]["name"], "--budget", "30s", code=1)
        self.assertIn(listed[0]["name"], done.stderr)

    def test_demo_goes_all_the_way_and_fails(self):
        done = self.tool("demo", "--tokens", 64, "--d-model", 32, "--d-ff", 32, "--experts", 4, "--runs", 2, "--dtype", "f32", "--json", "report.json", code=1)
        if done.stderr:  # what the memory held may be no number
            self.assertIn("the router's product is wrong", done.stderr)
            return
        self.assertTrue(done.stdout.endswith("FAIL\n"))
        with open(self.path("report.json")) as file:
            report = json.load(file)
        self.assertEqual((report["kind"], report["passed"]), ("cuda", False))


class TestDemo(Cli):
    SMALL = ["--tokens", 300, "--d-model", 48, "--d-ff", 40, "--experts", 7, "--runs", 2]

    def report(self, *words):
        done = self.run_tool("demo", *self.SMALL, *words, "--json", "report.json", host=True)
        with open(self.path("report.json")) as file:
            return done.stdout, json.load(file)

    def test_small_layer(self):
        text, report = self.report("-o", "y.npy")
        self.assertTrue(text.endswith("PASS\n"))
        self.assertTrue(report["passed"])
        self.assertEqual(report["kind"], "host")
        self.assertEqual(sum(report["groups"]), 600)
        self.assertGreater(report["largest_over_mean"], 1.3)  # a real text: the groups are skewed
        self.assertEqual([each["name"] for each in report["products"]], ["router", "gate", "up", "down"])
        for each in report["products"]:
            self.assertTrue(each["passed"])
            self.assertGreater(each["max_error"], 0)  # random numbers never come out exact
            self.assertLess(each["share_of_bound"], 1)
            self.assertGreater(each["elements_checked"], 1000)
            self.assertGreater(each["tflops"], 0)
            self.assertIn(each["config"], each["explain"])
        self.assertLess(report["end_to_end_relative_rms"], 1e-5)
        for start in ("cold", "warm"):
            self.assertAlmostEqual(report[start]["total_s"], sum(value for key, value in report[start].items() if key != "total_s"))
        shape, _, flat = npy.load(self.path("y.npy"))
        self.assertEqual(shape, (300, 48))
        self.assertGreater(max(map(abs, flat)), 0.01)

    def test_a_text_of_ones_own(self):
        with open(self.path("same.txt"), "w") as file:
            file.write("a")
        # Every token is like the others, past the first three: all go to the same experts.
        _, report = self.report("same.txt")
        self.assertGreaterEqual(sorted(report["groups"])[-1], 297)
        self.assertIn(0, report["groups"])
        self.assertTrue(report["passed"])
        open(self.path("empty.txt"), "w").close()
        self.fails(3, "demo", "empty.txt", says="empty.txt: the text is empty", host=True)
        self.fails(3, "demo", "missing.txt", says="missing.txt", host=True)
        self.fails(3, "demo", ".", says=".: cannot be read", host=True)
        _, report = self.report("/dev/zero")  # which has no end
        self.assertTrue(report["passed"])

    def test_other_dtypes(self):
        for dtype, error in (("bf16", 2e-2), ("f16", 2e-3), ("f64", 1e-14)):
            _, report = self.report("--dtype", dtype)
            self.assertTrue(report["passed"])
            self.assertLess(report["end_to_end_relative_rms"], error)

    def test_same_seed_same_groups(self):
        groups = [self.report("--seed", seed)[1]["groups"] for seed in (1, 1, 2)]
        self.assertEqual(groups[0], groups[1])
        self.assertNotEqual(groups[0], groups[2])

    def test_wrong_sizes(self):
        self.fails(2, "demo", "--experts", 2, "--top-k", 3, says="--top-k 3", host=True)
        self.fails(2, "demo", "--tokens", 0, says="--tokens", host=True)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    global GGEMM
    GGEMM = os.path.abspath(sys.argv.pop(1))
    if not os.environ.get("GGEMM_FAKE_DRIVER"):
        global TestCuda
        del TestCuda
    result = unittest.main(exit=False).result
    for test, why in result.skipped:
        print(f"skipped {test}: {why}")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(4 if result.testsRun == len(result.skipped) else 0)


if __name__ == "__main__":
    main()
