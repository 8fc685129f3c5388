#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the bindings that tests/bindings/gpu.sh gathered beside this file, on a machine with a GPU, and writes a report.

Each part's outcome is kept in the results' folder, and the report made of all that are there: where one run may not take long, do the parts one by one.
Exit code 1 if something failed."""
import argparse
import concurrent.futures
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent


def environment():
    libraries = [str(HERE / "lib"), os.environ.get("LD_LIBRARY_PATH")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, libraries)), "GGEMM_SOURCE_DIR": str(HERE / "python"), "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(HERE / "python/site"), "GGEMM_VECTORS": str(HERE / "python/tests/vectors/vectors.json"), "GGEMM_CACHE_DIR": "/dev/null/none",
            "RUST_BACKTRACE": "0"}


def run(command, timeout, cwd=HERE, **more):
    """(exit code, output, seconds)"""
    start = time.monotonic()
    try:
        done = subprocess.run([str(word) for word in command], cwd=cwd, env={**environment(), **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=timeout)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as expired:
        output = expired.stdout or ""
        code, output = 124, (output if isinstance(output, str) else output.decode(errors="replace")) + f"\nstopped after {timeout} s"
    return code, output, round(time.monotonic() - start, 1)


def outcome(code, output, seconds, passed, failed, skipped, table=None):
    """failed counts at least a program that did not end well."""
    return {"passed": passed, "failed": failed or int(code != 0), "skipped": sorted(skipped), "seconds": seconds, "table": table,
            "log": output[-6000:] if code or failed else ""}


# ------------------------------------------------------------------------------------------------------------------------------ parts
def python_tests(timeout, results):
    """In several processes, as most of the time goes into compiling kernels."""
    shards = max(1, min(6, (os.cpu_count() or 1) // 2))
    files = [results / f"python.{i}.xml" for i in range(shards)]
    for file in files:
        file.unlink(missing_ok=True)
    with concurrent.futures.ThreadPoolExecutor(shards) as pool:
        done = list(pool.map(lambda i: run([sys.executable, "-m", "pytest", "-c", "../pyproject.toml", "-p", "no:cacheprovider", "-q", f"--junitxml={files[i]}"], timeout,
                                           HERE / "python/bindings/python/tests", GGEMM_TEST_SHARD=f"{i}/{shards}"), range(shards)))
    passed, failed, skipped = 0, 0, set()
    for case in (case for file in files if file.exists() for case in xml.etree.ElementTree.parse(file).iter("testcase")):
        found = {child.tag: child for child in case}
        if "failure" in found or "error" in found:
            failed += 1
        elif "skipped" in found:
            why = found["skipped"].get("message", "")
            if why == "collection skipped":  # a whole file: ('path', line, 'Skipped: why')
                why = (found["skipped"].text or "").rpartition("Skipped: ")[2].rstrip("')\" ")
            skipped.add(f"{case.get('classname') or case.get('name')}: {why.splitlines()[0][:160] if why else ''}")
        else:
            passed += 1
    wrong = [(code, output) for code, output, seconds in done if code]
    return outcome(max((code for code, output in wrong), default=0), "\n".join(output[-6000 // len(wrong):] for code, output in wrong), max(seconds for code, output, seconds in done), passed, failed, skipped)


def python_overhead(timeout, results):
    code, output, seconds = run([sys.executable, "overhead.py"], timeout, HERE / "python/bindings/python/tests")
    table = re.sub(r"(\|)\n(?!\|)", r"\1\n\n", output)  # what is said below it is no row of it
    return outcome(code, output, seconds, int(code == 0), 0, (), table)


def rust(program):
    def part(timeout, results):
        code, output, seconds = run([HERE / "rust" / program, "--nocapture", "--test-threads=1"], timeout, HERE / "rust")
        counts = [int(number) for number in re.findall(r"(\d+) passed; (\d+) failed", output)[-1]] if "passed;" in output else (0, 0)
        return outcome(code, output, seconds, *counts, {line for line in output.splitlines() if line.startswith("skipped")})

    return part


def rust_overhead(timeout, results):
    code, output, seconds = run([HERE / "rust/overhead"], timeout, HERE / "rust")
    return outcome(code, output, seconds, int(code == 0), 0, (), f"```text\n{output}```\n")


def go_counts(output):
    """Passed, failed, and why others were skipped: what such a test said last, which may stand far before its verdict."""
    said, verdicts, current = {}, [], ""
    for line in output.splitlines():
        if found := re.match(r"=== (?:RUN|NAME|CONT) +(\S+)", line):
            current = found[1]
        elif found := re.match(r" *--- (PASS|FAIL|SKIP): (\S+)", line):
            verdicts.append(found.groups())
        elif found := re.match(r" +\w+_test\.go:\d+: (.*)", line):
            said[current] = found[1]
    count = lambda wanted: sum(verdict == wanted for verdict, _ in verdicts)
    return count("PASS"), count("FAIL"), {f"{name}: {said.get(name, '')[:160]}" for verdict, name in verdicts if verdict == "SKIP"}


def go_tests(timeout, results):
    done = run([HERE / "go/ggemm.test", "-test.v"], timeout, HERE / "go")
    return outcome(*done, *go_counts(done[1]))


def go_overhead(timeout, results):
    code, output, seconds = run([HERE / "go/overhead.test", "-test.v", "-test.run", "Overhead"], timeout, HERE / "go", GGEMM_TEST_OVERHEAD="1")
    lines = "\n".join(re.sub(r"^ *\w+_test\.go:\d+: ", "", line) for line in output.splitlines() if ".go:" in line)
    return outcome(code, output, seconds, int(code == 0), 0, (), f"```text\n{lines}\n```\n")


PARTS = {"python": python_tests, "python-overhead": python_overhead, "rust-vectors": rust("vectors"), "rust-api": rust("api"), "rust-cuda": rust("cuda"),
         "rust-overhead": rust_overhead, "go": go_tests, "go-overhead": go_overhead}


# ----------------------------------------------------------------------------------------------------------------------------- report
def versions():
    found = []
    for name in ("numpy", "torch", "cupy", "cupy-cuda13x", "cupy-cuda12x", "jax", "ml_dtypes"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def machine():
    try:
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        gpu = "no GPU that nvidia-smi tells of"
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return gpu.splitlines()[0], cpu[1] if cpu else platform.machine()


def report(results):
    parts = {name: json.loads((results / f"{name}.json").read_text()) for name in PARTS if (results / f"{name}.json").exists()}
    gpu, cpu = machine()
    commit = (HERE / "commit").read_text().strip()
    lines = ["# The bindings on a GPU", "", f"{gpu}; {cpu}; {datetime.date.today()}; commit {commit}; Python {platform.python_version()}, {versions()}.", "",
             "| part | passed | failed | skipped | seconds |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {name} | {p['passed']} | {p['failed']} | {len(p['skipped'])} | {p['seconds']} |" for name, p in parts.items()]
    missing = [name for name in PARTS if name not in parts]
    if missing:
        lines += ["", f"Not run: {', '.join(missing)}."]
    for name, p in parts.items():
        if p["table"]:
            lines += ["", f"## {name}", "", p["table"].rstrip()]
    skipped = [f"- {name}: {reason}" for name, p in parts.items() for reason in p["skipped"]]
    if skipped:
        lines += ["", "## Skipped", "", *skipped]
    for name, p in parts.items():
        if p["log"]:
            lines += ["", f"## {name}: what failed", "", "```text", p["log"].rstrip(), "```"]
    (results / "bindings.md").write_text("\n".join(lines) + "\n")
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all of them by default")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results", help="folder for the outcomes and bindings.md (results beside this file)")
    parser.add_argument("--timeout", type=float, default=500, help="seconds that a part may take")
    options = parser.parse_args()
    strange = [name for name in options.parts if name not in PARTS]
    if strange:
        parser.error(f"unknown part {', '.join(strange)}")
    results = options.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    for program in [*HERE.glob("rust/*"), *HERE.glob("go/*"), HERE / "python/bin/ggemm"]:
        if program.exists() and not os.access(program, os.X_OK):  # as some ways of carrying a folder leave it
            program.chmod(0o755)
    for name in options.parts or PARTS:
        folder = HERE / name.split("-")[0]
        if not folder.is_dir():
            print(f"{name}: left out: not in this folder", flush=True)
            continue
        found = PARTS[name](options.timeout, results)
        (results / f"{name}.json").write_text(json.dumps(found))
        print(f"{name}: {found['passed']} passed, {found['failed']} failed, {len(found['skipped'])} skipped, {found['seconds']} s", flush=True)
    parts = report(results)
    print(results / "bindings.md")
    return int(any(part["failed"] for part in parts.values()))


if __name__ == "__main__":
    sys.exit(main())
