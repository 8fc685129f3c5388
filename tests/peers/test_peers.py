#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/peers without a GPU: cases, protocol, results and the course of a run; with torch (and Triton, in its interpreter) the operands and products too.

GGEMM names the command line, which lists the cases; without it those tests are left out.
"""
import argparse
import contextlib
import dataclasses
import io
import json
import math
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

os.environ["TRITON_INTERPRET"] = "1"
TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools/peers"))

import cases
import compare
import protocol
import results

try:
    import torch

    import ggemm  # noqa: F401
    import operands
    import providers
    import timing
except ImportError:
    torch = None
try:
    import triton

    import triton_products
except ImportError:
    triton = None

GGEMM = os.environ.get("GGEMM")
TORCH_ZEROS = torch.zeros if torch else None
PLAIN = cases.Case("s", "large", "square", "bf16", "nt", size=(4, 6, 8))
GROUPED = cases.Case("s", "grouped-general", "two", "bf16", "nt", groups=((1, 2, 3), (4, 5, 6)), generator="two of them")


def quietly(function, *arguments, **named):
    """(result, what was printed to stdout, to stderr)."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        result = function(*arguments, **named)
    return result, out.getvalue(), error.getvalue()


class TestCases(unittest.TestCase):
    def test_what_ggemm_bench_lists_is_read(self):
        text = json.dumps([{**PLAIN.row(), "padding": 3, "offset": 1}, {**GROUPED.row(), "sizes": GROUPED.groups}, {**GROUPED.row(), "sizes": GROUPED.groups, "form": "masked"},
                           {**PLAIN.row(), "padding": 0, "offset": 0, "scaling": "row"}, {**GROUPED.row(), "sizes": GROUPED.groups, "scaling": "block"}])
        plain, grouped, *scaled = cases.read(text)
        self.assertEqual(plain, dataclasses.replace(PLAIN, padding=3, offset=1))
        self.assertEqual(grouped, GROUPED)
        self.assertEqual(scaled, [dataclasses.replace(PLAIN, scaling="row"), dataclasses.replace(GROUPED, scaling="block")])
        self.assertEqual((plain.flops, grouped.flops), (2.0 * 4 * 6 * 8, 2.0 * (6 + 120)))

    def test_a_case_and_its_row_have_one_key(self):
        for case in (PLAIN, GROUPED):
            self.assertEqual(results.key(case.row()), case.key)

    def test_a_command_that_is_not_there(self):
        with self.assertRaisesRegex(SystemExit, "no-such-command: No such file or directory: --ggemm names"):
            cases.listed("no-such-command", [])

    @unittest.skipUnless(GGEMM, "needs GGEMM")
    def test_every_suite_is_listed(self):
        for suite, least in (("plain", 200), ("grouped", 200)):
            found = cases.listed(GGEMM, ["--suite", suite])
            self.assertGreater(len(found), least)
            self.assertEqual(len({case.key for case in found}), len(found))
            self.assertTrue(all(case.flops > 0 for case in found))
            self.assertEqual({case.suite for case in found}, {suite})
            self.assertEqual({case.scaling for case in found}, {"", "tensor", "row", "block"})
        self.assertEqual(cases.listed(GGEMM, ["--suite", "grouped", "--filter", "grouped-forms"]), [])
        self.assertTrue(any(case.padding or case.offset for case in cases.listed(GGEMM, ["--suite", "plain", "--filter", "*odd-*"])))
        with self.assertRaisesRegex(SystemExit, "size nonsense is not MxNxK"):
            cases.listed(GGEMM, ["--shape", "nonsense"])

    @unittest.skipUnless(GGEMM, "needs GGEMM")
    def test_the_recorded_results_are_of_these_cases(self):
        listed = {case.key for case in cases.listed(GGEMM, ["--suite", "plain"])}
        rows = results.read(TOP / "docs/results/plain.jsonl")
        self.assertGreater(len(rows), 10)
        self.assertEqual({results.key(row) for row in rows} - listed, set())


class TestProtocol(unittest.TestCase):
    def arm(self, name, us, log):
        def run(samples):
            log.append((name, samples))
            return [us] * samples

        return protocol.Arm(name, run)

    def test_turns_with_a_rest_before_each(self):
        log = []
        rests = []
        rules = protocol.Protocol(samples=10, turns=4, rest=0.25, sleep=lambda seconds: (rests.append(seconds), log.append("rest")))
        ours, peer = protocol.compare(rules, self.arm("a", 2.0, log), self.arm("b", 3.0, log))
        self.assertEqual([entry[0] for entry in log if entry != "rest"], list("abbaabba"))
        self.assertEqual(log[::2], ["rest"] * 8)
        self.assertEqual((rests, len(ours), len(peer)), ([0.25] * 8, 12, 12))
        self.assertEqual({samples for name, samples in log[1::2]}, {3})
        ours, peer = protocol.compare(rules, self.arm("a", 2.0, log), None)
        self.assertEqual((len(ours), peer), (12, []))

    def test_a_paired_ratio_is_blind_to_a_drift_that_both_share(self):
        drift = [1, 2, 4, 8, 16]
        self.assertEqual(protocol.paired_ratio([2.0 * d for d in drift], [3.0 * d for d in drift]), 1.5)

    def test_tally(self):
        found = protocol.tally([2.0, 0.5, 1.01, 0.985, 1.03])
        self.assertEqual((found.wins, found.ties, found.losses, found.worst), (2, 2, 1, 0.5))
        self.assertAlmostEqual(found.mean, (2 * 0.5 * 1.01 * 0.985 * 1.03) ** 0.2)
        self.assertTrue(math.isnan(protocol.tally([]).mean))

    def test_deadline(self):
        now = [0.0]
        deadline = protocol.Deadline(10, clock=lambda: now[0])

        def work():
            now[0] += 4

        done = 0
        while deadline.allows_another():
            deadline.timed(work)
            done += 1
        self.assertEqual(done, 2)  # a third would end at 12
        self.assertTrue(protocol.Deadline(0, clock=lambda: 1e9).allows_another())


def row_of(case, **changes):
    return {**case.row(), "config": "c", "ours_us": 2.0, "limit_us": None, "peers": {"torch": 3.0}, "ratio": 1.5, "sm_mhz": None, "device": "D",
            "date": "2026-01-01T00:00:00Z", "commit": "abc", **changes}


class TestResults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "results.jsonl"

    def test_a_row_has_the_fields_of_ggemm_bench_in_their_order(self):
        for name in ("plain", "quick"):
            for text in (TOP / f"docs/results/{name}.jsonl").read_text().splitlines():
                theirs = json.loads(text)
                self.assertEqual(results.line(theirs), text)
                case = GROUPED if "groups" in theirs else PLAIN
                self.assertEqual(list(json.loads(results.line(row_of(case)))), list(theirs))

    def test_a_later_run_goes_on(self):
        file = results.ResultFile(self.path, "abc", "D")
        self.assertFalse(file.has(PLAIN))
        file.append(row_of(PLAIN))
        self.assertTrue(results.ResultFile(self.path, "abc", "D").has(PLAIN))
        self.assertFalse(results.ResultFile(self.path, "abc", "D").has(GROUPED))
        self.assertFalse(results.ResultFile(self.path, "def", "D").has(PLAIN))
        self.assertFalse(results.ResultFile(self.path, "abc", "other").has(PLAIN))
        self.assertFalse(results.ResultFile(self.path, "abc", "D", config="forced").has(PLAIN))
        self.assertTrue(results.ResultFile(self.path, "def", "other", keep_any=True).has(PLAIN))

    def test_a_line_that_was_cut_off(self):
        self.path.write_text(results.line(row_of(PLAIN)) + "\n" + '{"suite": "s", "ca')
        file = results.ResultFile(self.path, "abc", "D")
        self.assertEqual(len(file.rows), 1)
        file.append(row_of(GROUPED))
        self.assertEqual([results.key(row) for row in results.read(self.path)], [PLAIN.key, GROUPED.key])

    def test_a_cut_off_line_is_not_left_between_rows(self):
        self.path.write_text(results.line(row_of(PLAIN)) + "\n" + results.line(row_of(GROUPED))[:40])
        results.ResultFile(self.path, "abc", "D").append(row_of(GROUPED))
        self.assertEqual(self.path.read_text().count("\n"), 2)

    def test_a_file_of_something_else_stays_as_it_is(self):
        row = results.line(row_of(PLAIN))
        for text in "a note without an end", "name,us\nfirst,1\n", f"{row}\n{{}}\n{row}\n", '{"suite":"s"}', "[]":
            self.path.write_text(text)
            with self.assertRaisesRegex(SystemExit, r"results\.jsonl: line \d is no row"):
                results.ResultFile(self.path, "abc", "D")
            self.assertEqual(self.path.read_text(), text)
        self.path.write_bytes(b"\x7fELF\xff\n")
        with self.assertRaisesRegex(SystemExit, "line 1 is no row"):
            results.ResultFile(self.path, "abc", "D")

    def test_compacting_keeps_the_latest(self):
        file = results.ResultFile(self.path, "abc", "D")
        for row in (row_of(PLAIN), row_of(GROUPED), row_of(PLAIN, ours_us=7.0)):
            file.append(row)
        file.compact()
        self.assertEqual([(results.key(row), row["ours_us"]) for row in results.read(self.path)], [(PLAIN.key, 7.0), (GROUPED.key, 2.0)])

    def test_rows_of_other_commits_devices_and_choices_stay(self):
        for commit, device, config in (("abc", "D", ""), ("def", "D", ""), ("abc", "E", ""), ("abc", "D", "c"), ("abc", "D", "")):
            file = results.ResultFile(self.path, commit, device, config)
            file.append(row_of(PLAIN))
            file.compact()
        self.assertEqual([(row["commit"], row["device"], row.get("choice")) for row in results.read(self.path)],
                         [("abc", "D", None), ("def", "D", None), ("abc", "E", None), ("abc", "D", "forced")])
        self.assertEqual([(row["commit"], row["device"]) for row in results.ResultFile(self.path, "def", "D").of([PLAIN, GROUPED])], [("def", "D")])
        self.path.write_text("".join(results.line(row_of(PLAIN, limit_us=us, device=device)) + "\n" for us, device in ((1.0, "D"), (2.0, "E"))))
        self.assertEqual(results.limits(self.path, "D"), {PLAIN.key.partition("|")[2]: ("D", 1.0)})

    def test_lines_of_other_programs_are_not_touched(self):
        theirs = results.line(row_of(GROUPED))[:-1] + ',"note":"mine","exact":1.23456789}'
        self.path.write_text(theirs + "\n")
        file = results.ResultFile(self.path, "abc", "D")
        for row in (row_of(PLAIN), row_of(PLAIN, ours_us=7.0)):
            file.append(row)
        file.compact()
        self.assertEqual(self.path.read_text().splitlines(), [theirs, results.line(file.rows[-1])])
        self.assertEqual([entry.name for entry in self.path.parent.iterdir()], [self.path.name])

    def test_limits_of_other_results(self):
        self.path.write_text(results.line(row_of(PLAIN, limit_us=1.25)) + "\n" + results.line(row_of(GROUPED)) + "\n")
        self.assertEqual(results.limits(self.path), {PLAIN.key.partition("|")[2]: ("D", 1.25)})

    def test_tables(self):
        rows = [row_of(PLAIN, limit_us=1.0), row_of(GROUPED, peers={"triton": 4.0, "torch": 8.0}, ratio=2.0)]
        text = results.report(rows, {PLAIN.key: PLAIN.flops, GROUPED.key: GROUPED.flops})
        self.assertIn("| large | square | bf16 | nt | c | 2.00 | 0.000192 | 0.50 | 3.00 | - | 1.500 | - |", text)
        self.assertIn("| grouped-general | 1 | 2.000 | 2.000 | 1 | 0 | 0 | 4.000 | 2.000 |", text)


class FakeTools:
    """A machine where launches take the time that they say, and their results are right unless they say not."""

    def __init__(self, peers):
        self.log = []
        self.peers = {name: lambda case, operands, launches=launches: launches() for name, launches in peers.items()}

    class Operands:
        def __init__(self, case, device):
            self.poisoned = 0

        def poison(self):
            self.poisoned += 1

        def wrong(self, found):
            return found

    def ours(self, case, operands, config):
        if case.name == "broken":
            raise MemoryError("no memory\nfor this")
        return self.launch("ggemm", 2.0, config=config or "chosen")

    @staticmethod
    def launch(name, us, wrong=None, config=""):
        def run():
            if isinstance(wrong, Exception):
                raise wrong
            return wrong

        run.us = us
        return argparse.Namespace(name=name, run=run, config=config)

    def timer(self, device):
        def cold(samples, run):
            timer.telemetry.append((1500, 600.0))
            return [run.us] * samples

        timer = argparse.Namespace(cold=cold, telemetry=[], wait=lambda: None)
        return timer

    def where(self, device):
        return "cuda", "fake device"


class TestRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cases, self.path = pathlib.Path(folder.name) / "cases.json", pathlib.Path(folder.name) / "results.jsonl"
        self.write(PLAIN, GROUPED)

    def write(self, *chosen):
        self.cases.write_text(json.dumps([{**case.row(), **({"sizes": case.groups} if case.groups else {"padding": 0, "offset": 0})} for case in chosen]))

    def run_with(self, tools, *arguments):
        return quietly(compare.main, ["--cases", str(self.cases), "--rest", "0", "--jsonl", str(self.path), "--commit", "abc", *arguments], lambda: tools)

    def rows(self):
        return results.read(self.path)

    def test_the_best_right_peer_counts_and_the_others_are_said(self):
        launch = FakeTools.launch
        tools = FakeTools({"json": lambda: [launch("slow", 5.0), launch("quick but wrong", 0.1, wrong="element (0, 0)"), launch("fast", 3.0)],
                           "math": lambda: [launch("unable", 1.0, wrong=NotImplementedError("not for this\ndtype"))],
                           "sys": lambda: json.loads("{")})
        code, out, error = self.run_with(tools, "--providers", "json,math,sys,no_such_module")
        self.assertEqual(code, 0)
        first, second = self.rows()
        self.assertEqual((first["suite"], first["ours_us"], first["peers"], first["ratio"]), ("s-python", 2.0, {"slow": 5.0, "fast": 3.0}, 1.5))
        self.assertEqual((first["sm_mhz"], first["device"], first["commit"], first["config"]), (1500, "fake device", "abc", "chosen"))
        self.assertEqual((second["groups"], "m" in second), ("two of them", False))
        self.assertIn("no_such_module is not compared: pip install no_such_module (No module named", error)
        self.assertIn("quick but wrong left out: wrong result: element (0, 0)", error)
        self.assertIn("unable left out: NotImplementedError: not for this\n", error)
        self.assertIn("sys left out: JSONDecodeError", error)
        self.assertIn("| square | bf16 | nt | chosen | 2.00 |", out)

    def test_a_provider_that_cannot_be_loaded(self):
        self.path.with_name("made_for_another_torch.py").write_text("raise OSError('undefined symbol: at::sum\\nand more')")
        with unittest.mock.patch.object(sys, "path", [str(self.path.parent), *sys.path]):
            code, _, error = self.run_with(FakeTools({}), "--providers", "made_for_another_torch,quack_of_no_machine")
        self.assertEqual((code, len(self.rows())), (0, 2))
        self.assertIn("made_for_another_torch is not compared: it cannot be loaded: OSError: undefined symbol: at::sum\n", error)
        with unittest.mock.patch.dict(sys.modules, {"quack": None}):
            self.assertIn("quack is not compared: pip install quack-kernels (", quietly(compare.available, ["quack"])[2])

    def test_what_a_tuner_wrote_does_not_count(self):
        """The first launch compiles and tunes; D is poisoned between it and the one that is checked."""
        log = []

        def run():
            log.append("run")

        run.us = 1.0
        tools = FakeTools({})
        tools.ours = lambda case, operands, config: argparse.Namespace(name="ggemm", run=run, config="c")
        with unittest.mock.patch.object(FakeTools.Operands, "poison", lambda _: log.append("poison")):
            self.run_with(tools, "--providers", "")
        self.assertEqual(log[:3], ["run", "poison", "run"])

    def test_no_peer_at_all(self):
        code, out, _ = self.run_with(FakeTools({"json": lambda: []}), "--providers", "json")
        self.assertEqual((code, self.rows()[0]["ratio"], self.rows()[0]["peers"]), (0, None, {}))

    def test_wrong_numbers_of_ours_fail_the_case(self):
        tools = FakeTools({})
        tools.ours = lambda case, operands, config: FakeTools.launch("ggemm", 1.0, wrong="element (3, 1) is 0.0, must be 2.0", config="c")
        code, _, error = self.run_with(tools, "--providers", "")
        self.assertEqual((code, self.rows()), (1, []))
        self.assertIn("failed: ArithmeticError: wrong result of c: element (3, 1) is 0.0, must be 2.0", error)

    def test_a_case_that_fails_does_not_end_the_run_and_a_later_one_goes_on(self):
        self.write(dataclasses.replace(PLAIN, name="broken"), PLAIN)
        code, _, error = self.run_with(FakeTools({}), "--providers", "")
        self.assertEqual((code, len(self.rows())), (1, 1))
        self.assertIn("failed: MemoryError: no memory\n", error)
        self.write(PLAIN, GROUPED)
        code, _, error = self.run_with(FakeTools({}), "--providers", "")
        self.assertEqual((code, len(self.rows())), (0, 2))
        self.assertIn("square bf16 nt: there already", error)

    def test_limits_count_on_the_same_device_only(self):
        limits = self.path.with_name("limits.jsonl")
        limits.write_text(results.line(row_of(PLAIN, limit_us=1.0, device="fake device")) + "\n" + results.line(row_of(GROUPED, limit_us=1.0)) + "\n")
        self.run_with(FakeTools({}), "--providers", "", "--limits", str(limits))
        self.assertEqual([row["limit_us"] for row in self.rows()], [1.0, None])

    def test_listing(self):
        code, out, _ = self.run_with(FakeTools({}), "--list")
        self.assertEqual((code, out), (0, "large square bf16 nt\ngrouped-general two bf16 nt\n"))

    def test_torch_is_asked_for(self):
        with unittest.mock.patch.dict(sys.modules, {"torch": None}):
            with self.assertRaisesRegex(SystemExit, "needs torch: pip install torch"):
                compare.load_tools()


@unittest.skipUnless(torch, "needs torch and ggemm")
class TestCudaTimer(unittest.TestCase):
    """With stand-ins for what needs a GPU."""

    def cold(self, launch, samples=2):
        log = []

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                log.append("event")

            def elapsed_time(self, end):
                return 0.5

        def host():
            log.append("launch")
            launch()

        nvml = argparse.Namespace(read=lambda: [(1980, 600.0)])
        with unittest.mock.patch.multiple(torch.cuda, Event=Event, _sleep=lambda cycles: log.append(cycles), synchronize=lambda: log.append("wait")), \
                unittest.mock.patch.multiple(timing, Nvml=lambda properties: nvml, FLUSH_BYTES=64), \
                unittest.mock.patch.object(torch.cuda, "get_device_properties", lambda _: None), \
                unittest.mock.patch.object(torch, "zeros", lambda *size, device=None, **named: TORCH_ZEROS(*size, **named)), \
                unittest.mock.patch.object(torch, "sum", lambda *_, **__: log.append("read")):
            timer = timing.CudaTimer()
            times = timer.cold(samples, host)
        return times, log, timer.telemetry

    def test_a_launch_is_between_two_events_after_the_read(self):
        times, log, telemetry = self.cold(lambda: None)
        self.assertEqual((times, telemetry), ([500.0, 500.0], [(1980, 600.0)]))
        head_start = log[4]
        self.assertEqual(log, ["launch", "wait", "launch", "wait", *2 * [head_start, "read", "event", "launch", "event"], "wait"])

    def test_the_gpu_waits_for_a_slow_host(self):
        _, log, _ = self.cold(lambda: time.sleep(2e-3))
        self.assertGreater(log[4], 2e-3 * 1.98e9)  # in cycles of the fastest clock


RAGGED = ((5, 24, 16), (0, 24, 16), (11, 24, 16))
DEEP = ((24, 16, 5), (24, 16, 0), (24, 16, 11))
WIDE = ((130, 136, 272), (0, 136, 272), (257, 136, 272))
GENERAL = ((5, 7, 9), (0, 4, 4), (13, 3, 0), (16, 32, 48))


@unittest.skipUnless(torch, "needs torch and ggemm")
class TestOperands(unittest.TestCase):
    def every(self):
        for layout in ("nn", "nt", "tn", "tt"):
            for dtype in ("bf16", "f16", "f32", "f64", "i8", "e4m3", "tf32", "f32x3"):
                yield dataclasses.replace(PLAIN, dtype=dtype, layout=layout, size=(33, 17, 40), padding=3, offset=1)
            for groups in (RAGGED, DEEP, GENERAL):
                yield dataclasses.replace(GROUPED, layout=layout, groups=groups)
        yield from self.scaled()

    def scaled(self):
        for scaling in ("tensor", "row", "block"):
            yield dataclasses.replace(PLAIN, dtype="e4m3", size=(40, 136, 272), scaling=scaling)
            yield dataclasses.replace(GROUPED, dtype="e4m3", groups=WIDE, scaling=scaling)

    def test_shapes_layouts_and_places(self):
        for case in self.every():
            made = operands.Operands(case, "cpu")
            for (m, n, k), a, b, d in zip(case.problems, made.a, made.b, made.d):
                self.assertEqual((a.shape, b.shape, d.shape), ((m, k), (k, n), (m, n)), case)
                if min(m, n, k) > 1:
                    self.assertEqual((a.stride(1) == 1, b.stride(1) == 1, d.stride(1)), (case.layout[0] == "n", case.layout[1] == "n", 1), case)
            if not case.groups and not case.scaling:
                self.assertEqual(made.a[0].data_ptr() % operands.ALIGNMENT, made.a[0].element_size())
                self.assertEqual(max(made.b[0].stride()), (17 if case.layout[1] == "n" else 40) + 3)

    def multiply(self, made, scale=lambda g, a, b: (a, b)):
        for g, (a, b, d) in enumerate(zip(made.a, made.b, made.d)):
            a, b = a.to(torch.float64), b.to(torch.float64)
            if made.scales:
                scale_a, scale_b = scale(g, made.scale_a[g], made.scale_b[g])
                a, b = operands.scaled(a, scale_a), operands.scaled(b, scale_b)
            d.copy_(a @ b)

    def test_scales_and_wrong_ones(self):
        for case in self.scaled():
            made = operands.Operands(case, "cpu")
            for scales in made.scales:
                self.assertTrue(((scales > 0.24) & (scales < 4.1) & (scales != 1)).all())
            self.multiply(made, lambda g, a, b: (torch.ones_like(a), torch.ones_like(b)))
            self.assertRegex(made.wrong(), "element .* must be ", case)
            if case.scaling == "tensor":
                continue
            self.assertEqual(made.scale_b[0].shape, (3, 2) if case.scaling == "block" else (1, 136))
            self.assertEqual(made.scale_a[0].shape, (case.problems[0][0], 3 if case.scaling == "block" else 1))
            self.multiply(made, lambda g, a, b: (a.roll(1, 0), b))
            self.assertIsNotNone(made.wrong(), case)
            self.multiply(made, lambda g, a, b: (a, b.roll(1, 1)))
            self.assertIsNotNone(made.wrong(), case)
            if case.groups:
                self.multiply(made, lambda g, a, b: (a, made.scale_b[0]))
                self.assertIsNotNone(made.wrong(), case)
        for groups in (DEEP, GENERAL):
            with self.assertRaises(NotImplementedError):
                operands.Operands(dataclasses.replace(GROUPED, layout="tn" if groups == DEEP else "nt", groups=groups, dtype="e4m3", scaling="row"), "cpu")

    def test_what_is_ragged(self):
        for groups, layout, axis in ((RAGGED, "nt", "m"), (RAGGED, "nn", "m"), (RAGGED, "tn", None), (DEEP, "tn", "k"), (DEEP, "nt", None), (GENERAL, "nt", None)):
            made = operands.Operands(dataclasses.replace(GROUPED, layout=layout, groups=groups), "cpu")
            self.assertEqual(made.axis, axis)
            self.assertEqual(made.joined is not None, axis is not None)
            if axis:
                self.assertEqual(made.ends().tolist(), [5, 5, 16])

    def test_right_products_pass_and_one_wrong_element_does_not(self):
        for case in self.every():
            made = operands.Operands(case, "cpu")
            made.poison()
            if any(m and n for m, n, _ in case.problems):
                self.assertIsNotNone(made.wrong(), case)
            self.multiply(made)
            self.assertIsNone(made.wrong(), case)
            if not case.groups and not case.scaling:
                made.d[0][:, 3] += 1 if case.dtype == "i8" else 0.5
                self.assertRegex(made.wrong(), r"element \(\d+, 3\) is .*, must be ", case)


class FakeQuack(types.ModuleType):
    """What quack.gemm_interface promises of a product, computed by torch."""

    def __init__(self):
        super().__init__("quack.gemm_interface")

    @staticmethod
    def gemm(a, b, out, tuned, cu_seqlens_m=None, cu_seqlens_k=None):
        bounds = cu_seqlens_m if cu_seqlens_m is not None else cu_seqlens_k
        if bounds is None:
            return torch.mm(a, b, out=out)
        assert bounds.dtype == torch.int32 and bounds[0] == 0
        for g, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:])):
            if cu_seqlens_m is not None:
                out[begin:end] = a[begin:end] @ b[g]
            else:
                out[g] = a[:, begin:end] @ b[begin:end]
        return out


class FakeDeepGemm(types.ModuleType):
    """What DeepGEMM promises on compute capability 9.0, computed by torch."""

    def __init__(self):
        super().__init__("deep_gemm")

    def set_mk_alignment_for_contiguous_layout(self, rows):
        self.rows = rows

    def get_mn_major_tma_aligned_tensor(self, scales):
        return scales.t().contiguous().t()

    def bf16_gemm_nt(self, a, b, d):
        assert a.stride(-1) == b.stride(-1) == d.stride(-1) == 1
        d.copy_(a.float() @ b.float().mT)

    def fp8_gemm_nt(self, a, b, d):
        (a, a_scales), (b, b_scales) = a, b
        blocks = -(-a.shape[1] // 128)
        assert a_scales.shape == (len(a), blocks) and a_scales.stride(0) == 1 and b_scales.shape == (-(-len(b) // 128), blocks)
        self.bf16_gemm_nt(a.float() * a_scales.repeat_interleave(128, 1)[:, : a.shape[1]],
                          b.float() * b_scales.repeat_interleave(128, 0).repeat_interleave(128, 1)[: b.shape[0], : b.shape[1]], d)

    def m_grouped_bf16_gemm_nt_contiguous(self, a, b, d, group_of):
        self.grouped(group_of, lambda rows, g: self.bf16_gemm_nt(a[rows], b[g], d[rows]), b)

    def m_grouped_fp8_gemm_nt_contiguous(self, a, b, d, group_of):
        self.grouped(group_of, lambda rows, g: self.fp8_gemm_nt((a[0][rows], a[1].t()[:, rows].contiguous().t()), (b[0][g], b[1][g]), d[rows]), b[0])

    def grouped(self, group_of, product, b):
        assert group_of.dtype == torch.int32 and len(group_of) % self.rows == 0 and b.is_contiguous()
        for begin in range(0, len(group_of), self.rows):  # a tile of rows takes the group of its first
            rows = slice(begin, begin + self.rows)
            g = group_of[begin].item()
            assert g >= 0 and set(group_of[rows].tolist()) <= {g, -1}
            product(rows, g)


@unittest.skipUnless(torch, "needs torch and ggemm")
class TestProviders(unittest.TestCase):
    def check(self, case, launches, offered=True):
        made = operands.Operands(case, "cpu")
        for launch in launches(case, made):
            made.poison()
            self.assertIsNone(made.wrong(launch.run()), (launch.name, case))

    def test_ggemm(self):
        for case in TestOperands().every():
            self.check(case, lambda case, made: [providers.ours(case, made)])

    def test_torch(self):
        for dtype in ("bf16", "f16", "f32", "f64", "tf32", "i8", "e4m3"):
            self.check(dataclasses.replace(PLAIN, dtype=dtype, size=(32, 16, 48)), providers.of_torch)
        for case in TestOperands().scaled():
            if case.scaling == "tensor":  # on the CPU it has no others
                self.check(case, lambda case, made: providers.of_torch(case, made)[:1])
        names = set()
        for groups, layout in ((RAGGED, "nt"), (RAGGED, "nn"), (DEEP, "tn"), (GENERAL, "nt")):
            case = dataclasses.replace(GROUPED, layout=layout, groups=groups)
            self.check(case, providers.of_torch)
            names |= {launch.name for launch in providers.of_torch(case, operands.Operands(case, "cpu"))}
        self.assertEqual(names, {"torch loop", "torch._grouped_mm"})

    def test_quack(self):
        with unittest.mock.patch.dict(sys.modules, {"quack": types.ModuleType("quack"), "quack.gemm_interface": FakeQuack()}):
            for case in (PLAIN, dataclasses.replace(PLAIN, dtype="f16", layout="tn"), *(dataclasses.replace(GROUPED, layout=layout, groups=groups)
                                                                                     for groups, layout in ((RAGGED, "nt"), (RAGGED, "nn"), (DEEP, "tn")))):
                self.check(case, providers.of_quack)
                self.assertEqual([launch.name for launch in providers.of_quack(case, operands.Operands(case, "cpu"))], ["quack", "quack tuned"])
            for case in (dataclasses.replace(PLAIN, dtype="e4m3"), dataclasses.replace(GROUPED, groups=GENERAL)):
                with self.assertRaises(NotImplementedError):
                    providers.of_quack(case, operands.Operands(case, "cpu"))

    def test_deep_gemm(self):
        with unittest.mock.patch.dict(sys.modules, {"deep_gemm": FakeDeepGemm()}):
            for dtype in ("bf16", "e4m3"):
                self.check(dataclasses.replace(PLAIN, dtype=dtype, size=(40, 136, 272)), providers.of_deep_gemm)
                for groups, names in ((RAGGED, ["deep_gemm (rows to 64)", "deep_gemm (rows to 128)"]),
                                      (WIDE, ["deep_gemm (rows to 128)"])):
                    case = dataclasses.replace(GROUPED, dtype=dtype, groups=groups)
                    self.check(case, providers.of_deep_gemm)
                    self.assertEqual([launch.name for launch in providers.of_deep_gemm(case, operands.Operands(case, "cpu"))], names)
            for case in TestOperands().scaled():
                if case.scaling == "block":
                    self.check(case, providers.of_deep_gemm)
            for case in (dataclasses.replace(PLAIN, dtype="f16"), dataclasses.replace(PLAIN, layout="nn"), dataclasses.replace(GROUPED, groups=GENERAL),
                         *(case for case in TestOperands().scaled() if case.scaling != "block")):
                with self.assertRaises(NotImplementedError):
                    providers.of_deep_gemm(case, operands.Operands(case, "cpu"))

    @unittest.skipUnless(triton, "needs triton")
    def test_triton(self):
        """In the interpreter, with one candidate: there is nothing to time. bf16 is left out, whose bits it multiplies as integers."""
        plain = [triton.Config({"BM": 16, "BN": 32, "BK": 16, "RASTER": 2}, num_warps=1)]
        for layout in ("nn", "nt", "tn", "tt"):
            for dtype in ("f16", "f32", "i8"):
                case = dataclasses.replace(PLAIN, dtype=dtype, layout=layout, size=(67, 45, 50), padding=1, offset=1)
                self.check(case, lambda case, made: [providers.Launch("triton", triton_products.plain(case, made, plain))])
        grouped = [triton.Config({"BM": 16, "BN": 16, "BK": 16, "PROGRAMS": 3}, num_warps=1)]
        for layout in ("nn", "nt", "tn", "tt"):
            for groups in (RAGGED, DEEP, GENERAL):
                case = dataclasses.replace(GROUPED, dtype="f16", layout=layout, groups=groups)
                self.check(case, lambda case, made: [providers.Launch("triton", triton_products.grouped(case, made, grouped))])

    @unittest.skipUnless(triton, "needs triton")
    def test_candidates_of_triton(self):
        found = triton_products.configs(triton_products.TILES, 1)
        self.assertEqual(len(found), len(triton_products.TILES))
        self.assertEqual(found[0].kwargs, {"BM": 128, "BN": 256, "BK": 128, "RASTER": 8})
        found = triton_products.configs(triton_products.GROUPED_TILES, 2, (132, 264))
        self.assertEqual(len(found), 2 * len(triton_products.GROUPED_TILES))
        self.assertEqual(found[1].kwargs, {"BM": 128, "BN": 128, "BK": 64, "PROGRAMS": 264})
        with self.assertRaises(NotImplementedError):
            triton_products.plain(dataclasses.replace(PLAIN, dtype="f64"), operands.Operands(dataclasses.replace(PLAIN, dtype="f64"), "cpu"))

    @unittest.skipUnless(GGEMM, "needs GGEMM")
    def test_a_whole_run_on_the_cpu(self):
        arguments = ["--ggemm", GGEMM, "--device", "cpu", "--rest", "0", "--samples", "4", "--providers", "torch", "--commit", "abc"]
        code, out, error = quietly(compare.main, [*arguments, "--shape", "24x16x32", "--dtype", "f32,bf16", "--layout", "nn,tt"])
        self.assertEqual(code, 0, error)
        self.assertEqual(out.count("24x16x32"), 4)
        self.assertNotIn("left out", error)


if __name__ == "__main__":
    unittest.main()
