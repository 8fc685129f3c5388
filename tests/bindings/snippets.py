#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The code blocks of a page, so that all of them are run.

Usage: snippets.py check <page> <language> <source>...   every block stands in one of the sources, which the tests run (indentation aside)
       snippets.py show <page> <language> [<number>]     prints all blocks, or the one of a number, counted from 1
"""
import pathlib
import re
import sys


def blocks(page, language):
    found = re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", page.read_text(), flags=re.M | re.S)
    if not found:
        sys.exit(f"{page} has no block of {language}")
    return found


def lines(text):
    return "\n" + "\n".join(line.strip() for line in text.strip().splitlines()) + "\n"


def check(page, language, sources):
    texts = [lines(pathlib.Path(source).read_text()) for source in sources]
    strange = [block for block in blocks(page, language) if not any(lines(block) in text for text in texts)]
    for block in strange:
        print(f"{page} has a block that stands in none of {', '.join(sources)}:\n{block}")
    print(f"{page}: {len(blocks(page, language))} blocks of {language}, {len(strange)} that no test runs")
    return 1 if strange else 0


def main(command, page, language, *rest):
    page = pathlib.Path(page)
    if command == "check":
        return check(page, language, rest)
    found = blocks(page, language)
    print("\n".join(found) if not rest else found[int(rest[0]) - 1], end="")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("check", "show"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
