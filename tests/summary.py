#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up the JUnit files that ctest wrote; ends by a line "N passed, N failed[, N skipped]". Fails if a test failed, or, with CI=true,
if one was skipped for something that could have been installed."""
import os
import re
import sys
import xml.etree.ElementTree as xml

# What a machine may lack in CI; anything else is there, or tools/setup.sh installs it.
ALLOWED = re.compile(r"needs a GPU|needs a CPU with|needs root|the file system ignores|this machine has an? ")


def read(path):
    """(name, "passed" | "failed" | "skipped", output) of each test."""
    for case in xml.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        if case.get("status") == "run":
            yield case.get("name"), "passed", output
        elif skipped is not None and "SKIP_R" in (skipped.get("message") or ""):
            yield case.get("name"), "skipped", output
        else:
            yield case.get("name"), "failed", output


def reason(output):
    """The message of Catch2's SKIP, or the line of a command that says "skipped: ..."."""
    message = re.search(r"SKIPPED:\nexplicitly with message:\n\s*(.+(?:\n  .+)*)", output) or re.search(r"^skipped: (.+)$", output, re.M)
    return " ".join(message.group(1).split()) if message else "no reason given"


def main(paths):
    ci = os.environ.get("CI") == "true"
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in paths:
        suite = os.path.splitext(os.path.basename(path))[0]
        if not os.path.exists(path):  # ctest writes it at its end
            print(f"failed: {suite}: the run was cut off")
            counts["failed"] += 1
            continue
        for name, state, output in read(path):
            if state == "skipped":
                why = reason(output)
                if ci and not ALLOWED.search(why):
                    state, why = "failed", why + " (in CI nothing may be skipped that the machine can run)"
                print(f"{state}: {suite}: {name}: {why}")
            elif state == "failed":
                print(f"failed: {suite}: {name}")
            counts[state] += 1
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    print(line + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
