#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins what run.sh's steps left in a folder into one report, as Markdown and JSON. Exit code 1 if a step failed."""
import argparse
import datetime
import json
import pathlib
import re
import sys


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def steps_of(work):
    """Every step by name: exit code, seconds, its counts and its log."""
    steps = {}
    for file in sorted(work.glob("*.rc"), key=lambda f: f.stat().st_mtime):
        code, seconds = file.read_text().split()
        log = work / (file.stem + ".log")
        steps[file.stem] = {
            "exit_code": int(code),
            "seconds": int(seconds),
            "result": read_json(work / (file.stem + ".json")),
            "log": log.read_text(errors="replace") if log.exists() else "",
        }
    return steps


def merged_counts(steps):
    """Rows (family, type, mode) with passed and failed, over the conformance steps."""
    rows = {}
    for name in ("degenerate", "configurations", "random"):
        for count in ((steps.get(name) or {}).get("result") or {}).get("counts", []):
            row = rows.setdefault((count["family"] or "-", count["dtype"], count["mode"]), [0, 0])
            row[0] += count["passed"]
            row[1] += count["failed"]
    return rows


def sanitizer_words(log):
    """compute-sanitizer's own last word."""
    found = re.findall(r"=+ ((?:ERROR|RACECHECK) SUMMARY: .*)", log)
    return found[-1] if found else "no summary"


def failure_of(name, step):
    """Why a step failed: its own words, cut."""
    if step["exit_code"] == 124:
        return "it took longer than it was given"
    if name == "sanitizer-missing":
        return "compute-sanitizer is not installed"
    lines = [line for line in step["log"].splitlines() if re.search(r"FAILED|ERROR SUMMARY|Error|Invalid|hazard|repeat:", line)]
    return "\n".join(lines[:12]) or "\n".join(step["log"].splitlines()[-12:])


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def markdown(report, steps):
    counts = merged_counts(steps)
    passed, failed = sum(r[0] for r in counts.values()), sum(r[1] for r in counts.values())
    lines = ["# GPU suite", ""]
    lines += [f"- date: {report['date']}", f"- machine: {report['machine']}", f"- commit: {report['commit']}", f"- time: {report['seconds']} s of a budget of {report['budget']} s"]
    lines += [f"- verdict: {'0 failures' if report['ok'] else 'FAILED'}", ""]
    lines += ["## Steps", ""]
    rows = []
    for name, step in steps.items():
        result = step["result"] or {}
        if name.startswith("sanitizer-"):
            cases = sum(c["passed"] + c["failed"] for c in result.get("counts", []))
            note = f"{cases} products; {sanitizer_words(step['log'])}"
        elif name == "capture":
            checks = result.get("checks", [])
            note = f"{len(checks)} checks, {sum(not c['ok'] for c in checks)} failed"
        else:
            cases = sum(c["passed"] + c["failed"] for c in result.get("counts", []))
            note = f"{cases} products, {result.get('failed', '?')} failed; {result.get('configurations_used', '?')} configurations of {result.get('configurations_legal', '?')}"
        rows.append((name, "passed" if step["exit_code"] == 0 else f"FAILED ({step['exit_code']})", f"{step['seconds']} s", note))
    lines += table(("step", "result", "time", "what"), rows) + [""]
    if counts:
        lines += [f"## Products against the reference: {passed + failed} run, {failed} wrong", ""]
        modes = sorted({key[2] for key in counts})
        kinds = sorted({key[:2] for key in counts})
        body = []
        for family, dtype in kinds:
            cells = [counts.get((family, dtype, mode)) for mode in modes]
            body.append((family, dtype, *("" if c is None else f"{c[0]}" + (f", **{c[1]} wrong**" if c[1] else "") for c in cells)))
        lines += table(("family", "A and B", *modes), body) + [""]
    capture = (steps.get("capture") or {}).get("result")
    if capture:
        lines += ["## Graphs, threads and streams", ""]
        lines += table(("check", "result", "time"), [(c["name"], "ok" if c["ok"] else "**FAILED**: " + c["what"], f"{c['seconds']:.1f} s") for c in capture["checks"]]) + [""]
    bad = {name: step for name, step in steps.items() if step["exit_code"] != 0}
    if bad:
        lines += ["## Failures", ""]
        for name, step in bad.items():
            lines += [f"### {name}", "", "```", failure_of(name, step), "```", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--budget", type=int, default=0)
    a = parser.parse_args()
    steps = steps_of(a.work)
    machine = a.work / "machine.txt"
    report = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": "; ".join(machine.read_text().split("\n")).strip("; ") if machine.exists() else "unknown",
        "commit": a.commit,
        "seconds": a.seconds,
        "budget": a.budget,
        "ok": bool(steps) and all(step["exit_code"] == 0 for step in steps.values()),
    }
    text = markdown(report, steps)
    out = pathlib.Path(a.out)
    report["steps"] = {name: {key: step[key] for key in ("exit_code", "seconds", "result")} | ({"summary": sanitizer_words(step["log"])} if name.startswith("sanitizer-") else {}) for name, step in steps.items()}
    pathlib.Path(str(out) + ".md").write_text(text)
    pathlib.Path(str(out) + ".json").write_text(json.dumps(report, indent=1) + "\n")
    print(text)
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
