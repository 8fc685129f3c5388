#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins what run.sh's steps left in a folder into one report, as Markdown and JSON. Exit code 1 if a step failed."""
import argparse
import collections
import datetime
import json
import pathlib
import re
import sys

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
COUNTS = ("kernels", "exact", "real", "degenerate", "refused", "unfit", "failed")


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def parts_of(work):
    """What each command left, by name: exit code, seconds, its counts and its log."""
    parts = {}
    for file in sorted(work.glob("*.rc"), key=lambda f: f.stat().st_mtime):
        code, seconds = file.read_text().split()
        name = file.name[: -len(".rc")]
        log = work / (name + ".log")
        parts[name] = {
            "exit_code": int(code),
            "seconds": int(seconds),
            "result": read_json(work / (name + ".json")),
            "log": log.read_text(errors="replace") if log.exists() else "",
        }
    return parts


def steps_of(parts):
    """Steps by name, with the names of their parts: "random.0" and "random.1" are parts of "random"."""
    steps = {}
    for name in parts:
        steps.setdefault(name.split(".")[0], []).append(name)
    return steps


def results(parts, step):
    return [p["result"] for name, p in parts.items() if name.split(".")[0] == step and p["result"]]


def products_of(parts, date, commit, machine, kind):
    """What the conformance steps counted: rows (family, type, form), configurations that kernels were made of, and this run."""
    rows, used, legal, forms = {}, set(), 0, collections.Counter()
    for result in results(parts, "degenerate") + results(parts, "chosen") + results(parts, "random"):
        add_rows(rows, result["rows"])
        used.update(result["configurations"])
        forms.update(result["forms"])
        legal = max(legal, result["configurations_legal"])
    random = results(parts, "random")
    run = {"date": date, "commit": commit, "machine": machine, "kernels": sum(row["kernels"] for row in rows.values()), "products": sum(products(row) for row in rows.values()), "failed": sum(row["failed"] for row in rows.values())}
    if random:
        run |= {"seed": random[0]["seed"], "kind": kind, "first_kernel": random[0]["first_kernel"], "next_kernel": max(r["next_kernel"] for r in random)}
        run |= {key: sum(r[key] for r in random) for key in ("compiled", "by_engine", "spilled")} | {"seconds": max(r["seconds"] for r in random)}
        run["compile_seconds"] = sum(r["compile_seconds"] for r in random)
    return {"rows": [dict(zip(("family", "dtype", "form"), key)) | row for key, row in sorted(rows.items())], "configurations": sorted(used), "configurations_legal": legal, "forms": forms, "runs": [run]}


def add_rows(rows, more):
    for row in more:
        total = rows.setdefault((row["family"], row["dtype"], row["form"]), dict.fromkeys(COUNTS, 0))
        for count in COUNTS:
            total[count] += row[count]


def products(row):
    return row["exact"] + row["real"] + row["degenerate"] + row["failed"]


def joined(earlier, own):
    rows = {}
    add_rows(rows, earlier["rows"])
    add_rows(rows, own["rows"])
    return {
        "rows": [dict(zip(("family", "dtype", "form"), key)) | row for key, row in sorted(rows.items())],
        "configurations": sorted(set(earlier["configurations"]) | set(own["configurations"])),
        "configurations_legal": max(own["configurations_legal"], earlier["configurations_legal"]),
        "forms": own["forms"] + collections.Counter(earlier.get("forms", {})),
        "runs": earlier["runs"] + own["runs"],
    }


def sanitizer_words(log):
    """compute-sanitizer's own last word."""
    found = re.findall(r"=+ ((?:ERROR|RACECHECK) SUMMARY: .*)", log)
    return found[-1] if found else "no summary"


def sanitizer_rows(parts, listed):
    """What was run under each tool: of what is listed the products, of kernels that were drawn that they were run."""
    rows = []
    for number, line in enumerate(listed):
        what = line.split(": ")[0]
        ran = {tool: parts[name] for tool in TOOLS if (name := f"sanitizer-{tool}-listed.{number}") in parts}
        names = sorted({name for part in ran.values() for name in (part["result"] or {}).get("configurations", [])})
        counts = {tool: sum(map(products, (part["result"] or {}).get("rows", []))) for tool, part in ran.items()}
        if ran:
            rows.append((what, ", ".join(names), *(cell_of(ran.get(tool), counts.get(tool)) for tool in TOOLS)))
    drawn = {}
    for name, part in parts.items():
        words = name.split("-")
        if words[0] == "sanitizer" and len(words) == 3 and "." not in name:
            for config in (part["result"] or {}).get("configurations", []):
                drawn.setdefault(config, {})[words[1]] = part
    return rows + [("drawn", config, *(cell_of(ran.get(tool), "run") for tool in TOOLS)) for config, ran in sorted(drawn.items())]


def cell_of(part, passed):
    return "" if part is None else passed if part["exit_code"] == 0 else "**FAILED**"


def failure_of(name, part):
    """Why a part failed: its own words, cut."""
    if part["exit_code"] == 124:
        return "it took longer than it was given"
    if name == "sanitizer-missing":
        return "compute-sanitizer is not installed"
    lines = [line for line in part["log"].splitlines() if re.search(r"FAILED|ERROR SUMMARY|Error|Invalid|hazard|repeat:|^  failed:|^ggemm:", line)]
    return "\n".join(lines[:12]) or "\n".join(part["log"].splitlines()[-12:])


def benchmark_table(log):
    """The tables that `ggemm bench --format markdown` printed among its lines of progress."""
    return "\n".join(re.findall(r"^\|.*\|$|^$", log, re.M)).strip().splitlines()


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def note_of(step, parts, names):
    if step == "capture":
        checks = [check for result in results(parts, step) for check in result["checks"]]
        return f"{len(checks)} checks, {sum(not c['ok'] for c in checks)} failed"
    if step == "bench":
        return f"{len(re.findall(r'^  .*: [0-9.]+ us', parts[step]['log'], re.M))} cases measured"
    counted = [row for result in results(parts, step) for row in result["rows"]]
    note = f"{sum(map(products, counted))} products, {sum(row['failed'] for row in counted)} failed"
    if step == "random":
        compiled, by_engine, spent = (sum(r[key] for r in results(parts, step)) for key in ("compiled", "by_engine", "compile_seconds"))
        note += f"; {sum(row['kernels'] for row in counted)} kernels, {compiled} compiled, {by_engine} of them for calls by the copy engine alone, in {spent:.0f} s of all threads"
    if step.startswith("sanitizer-"):
        note += "; " + "; ".join(sorted({sanitizer_words(parts[name]["log"]) for name in names}))
    return note


def step_table(parts):
    rows = []
    for step, names in steps_of(parts).items():
        codes = sorted({parts[name]["exit_code"] for name in names} - {0})
        verdict = "passed" if not codes else "FAILED (" + ", ".join(map(str, codes)) + ")"
        rows.append((step, verdict, f"{max(parts[name]['seconds'] for name in names)} s", note_of(step, parts, names)))
    return table(("step", "result", "time", "what"), rows)


def product_tables(counted):
    rows = counted["rows"]
    failed = sum(row["failed"] for row in rows)
    grouped = sum(products(row) for row in rows if row["form"] == "grouped")
    lines = [f"## Products against the reference: {sum(map(products, rows))} run, {grouped} of them grouped, {failed} wrong", ""]
    lines += ["Products by kernel, but for corner cases at random: *exact* are integers, every bit of D compared; *real* are under the element-wise bound. Three of four lie against an unmapped page."]
    if counted["configurations_legal"]:
        lines += [f"Their kernels are of {len(counted['configurations'])} of the {counted['configurations_legal']} configurations that the library lists, by name (with types and layouts) and form."]
    if counted["forms"]:
        lines += ["Grouped products that were right, by form, and what some of them have besides: " + ", ".join(f"{form} {passed}" for form, passed in sorted(counted["forms"].items())) + "."]
    names = {"refused": "*refused*: the library said for a product that the forced configuration does not serve it.", "unfit": "*unfit*: no product was found that the kernel is legal for."}
    shown = [name for name in names if any(row[name] for row in rows)]
    lines += [names[name] for name in shown] + [""]
    header = ("family", "A and B", "form", "kernels", "products", "exact", "real", "degenerate", *shown, "wrong")
    body = [(row["family"], row["dtype"], row["form"], row["kernels"] or "", products(row), *(row[c] or "" for c in ("exact", "real", "degenerate", *shown)), f"**{row['failed']}**" if row["failed"] else 0) for row in rows]
    total = {count: sum(row[count] for row in rows) for count in COUNTS}
    body.append(("all", "", "", total["kernels"], sum(map(products, rows)), *(total[c] for c in ("exact", "real", "degenerate", *shown)), total["failed"]))
    lines += table(header, body) + ["", "| run | machine | commit | seed | kind | kernels of the seed | kernels | products | wrong |", "|---|---|---|---|---|---|---|---|---|"]
    for run in counted["runs"]:
        numbers = f"{run['first_kernel']} to {run['next_kernel'] - 1}" if "seed" in run else ""
        lines += [f"| {run['date']} | {run['machine']} | {run['commit']} | {run.get('seed', '')} | {run.get('kind', '')} | {numbers} | {run['kernels']} | {run['products']} | {run['failed']} |"]
    return lines + [""]


def markdown(report, parts, listed):
    lines = ["# GPU suite", ""]
    lines += [f"- date: {report['date']}", f"- machine: {report['machine']}", f"- commit: {report['commit']}", f"- time: {report['seconds']} s of a budget of {report['budget']} s"]
    lines += [f"- verdict: {'0 failures' if report['ok'] else 'FAILED'}", "", "## Steps", ""]
    lines += step_table(parts) + [""]
    if report["products"]["rows"]:
        lines += product_tables(report["products"])
    checks = [check for result in results(parts, "capture") for check in result["checks"]]
    if checks:
        lines += ["## Graphs, threads and streams", ""]
        lines += table(("check", "result", "time"), [(c["name"], ": ".join(filter(None, ("ok", c["figures"]))) if c["ok"] else "**FAILED**: " + c["what"], f"{c['seconds']:.1f} s") for c in sorted(checks, key=lambda c: c["name"])]) + [""]
    sanitized = sanitizer_rows(parts, listed)
    if sanitized:
        lines += ["## compute-sanitizer", "", "Products under each tool, of what tests/gpu/sanitized.txt lists; and the configurations of kernels that were drawn.", ""]
        lines += table(("what", "configuration", *TOOLS), sanitized) + [""]
    if "bench" in parts:
        lines += ["## Benchmark", ""] + benchmark_table(parts["bench"]["log"]) + [""]
    bad = {name: part for name, part in parts.items() if part["exit_code"] != 0}
    if bad:
        lines += ["## Failures", ""]
        for name, part in bad.items():
            lines += [f"### {name}", "", "```", failure_of(name, part), "```", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--kind", default="both", help="of the random kernels")
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--budget", type=int, default=0)
    parser.add_argument("--add", type=pathlib.Path, help="an earlier report's JSON")
    a = parser.parse_args()
    parts = parts_of(a.work)
    machine = a.work / "machine.txt"
    report = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": "; ".join(machine.read_text().split("\n")).strip("; ") if machine.exists() else "unknown",
        "commit": a.commit,
        "seconds": a.seconds,
        "budget": a.budget,
        "ok": bool(parts) and all(part["exit_code"] == 0 for part in parts.values()),
    }
    report["products"] = products_of(parts, report["date"], a.commit, report["machine"], a.kind)
    if a.add:
        report["products"] = joined(json.loads(a.add.read_text())["products"], report["products"])
    listed = a.work / "sanitized.txt"
    text = markdown(report, parts, listed.read_text().splitlines() if listed.exists() else [])
    kept = lambda name, result: {key: value for key, value in (result or {}).items() if key != "configurations" or name.startswith("sanitizer-")}
    report["steps"] = {name: {"exit_code": part["exit_code"], "seconds": part["seconds"], "result": kept(name, part["result"])} | ({"summary": sanitizer_words(part["log"])} if name.startswith("sanitizer-") else {}) for name, part in parts.items()}
    out = pathlib.Path(a.out)
    pathlib.Path(str(out) + ".md").write_text(text)
    pathlib.Path(str(out) + ".json").write_text(json.dumps(report, indent=1) + "\n")
    print(text)
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
