#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ggemm` with random and with spoilt command lines and files: whatever they say, the exit code is one of the manual's, and an error is said.

fuzz_cli.py <path of ggemm>
GGEMM_FUZZ_CASES says how many (150), GGEMM_SEED and GGEMM_FUZZ_CASE repeat one.
"""
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402

SEED = int(os.environ.get("GGEMM_SEED", 1))
# Right ones. What stands behind a bar stays as it is, so that none takes long.
LINES = [line.split() for line in """
doctor --json |
demo --runs 1 --seed 3 --explain | --tokens 8 --d-model 8 --d-ff 8 --experts 2 --sample 1
gemm a.npy b.npy -o d.npy --activation gelu --check |
gemm a.npy b.npy -o d.npy --c c.npy --beta 2 --alpha -1 --bias v.npy --out-dtype f16 --explain |
gemm a.npy b.npy -o d.npy --trans-a --trans-b --dtype bf16 --compute tf32 --threads 2 |
grouped --a a.npy a.npy --b b.npy b.npy -o d{}.npy --activation clamp --p0 0 --p1 1 |
grouped --a c.npy --b b.npy --ends e.npy -o d.npy --check |
bench --shape 8x8x8 --dtype f32 --layout nt --filter * --format csv --samples 3 | --list
configs --gemm 64x64x64 --dtype f16 --layout tn --json |
configs --grouped 8x8x8,4x4x4 --compute f32x3 --dtype f32 --device cuda |
tune --gemm 8x8x8 --dtype f32 --json --config host_f32_f32_f32_tn | --budget 5ms
tune --grouped 8x8x8,4x4x4 --out-dtype f32 --records r.txt | --budget 5ms
tiles --size 100x80 --tile 16x8 --raster 2 --pid 7 --svg t.svg |
tiles --groups 10x10,5x0 --config sm90_bf16_bf16_f32_tn_128x128x64_w4x1_s6_c2x1_r8 --swapped |
cache list --json |
cache clear |
cache path |
""".strip().splitlines()]
WORDS = ["", "-", "--", "-1", "0", "1", "2", "12", "1e400", "nan", "-inf", "0x10", "99999999999999999999", "1x1", "8x8x8", "8x8", "0x0x0", "-8x8x8", "8x8x", "9999999999999999999x1x1",
         "1/2", "2/1", "%s%n%d", "a.npy", "b.npy", "e.npy", "x.npy", "nothing.npy", ".", "/", "/dev/null", "..", "{}", "{", "f32", "i8", "e4m3", "none", "host", "cuda", "best", "quick\n", "\u00e9\u4e00",
         "\udcff\udcfe", "w" * 5000, "json", "gemm", "cache", "-v", "-h", "--help", "--version", "--json", "-ovx"]


def options_of(ggemm, command):
    text = subprocess.run([ggemm, *command, "--help"], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"(?<=[ ,])--?[a-z][a-z0-9-]*", text)))


def spoilt_word(rng, word):
    at = rng.randrange(len(word) + 1)
    return rng.choice([word[:at], word[at:], word[:at] + rng.choice("0-=x,{}%\t\\9") + word[at:], word + word, word.upper(), word + "=" + rng.choice(WORDS)])


def spoil(rng, words, options):
    words = list(words)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 6])):
        at = rng.randrange(len(words) + 1)
        change = rng.randrange(6)
        if change == 0:
            words.insert(at, rng.choice(WORDS))
        elif change == 1:
            words[at:at] = [rng.choice(options), rng.choice(WORDS)]
        elif change == 2:
            words.insert(at, rng.choice(options))
        elif at < len(words):
            if change == 3:
                del words[at]
            else:
                words[at] = rng.choice(WORDS) if change == 4 else spoilt_word(rng, words[at])
    return words


def write_inputs(rng, folder):
    """a [4,3], b [3,5], c [4,5] or [4,3], v [5], e the ends of groups of c; x is one of them spoilt."""
    for name, descr, shape in ("a", "<f4", (4, 3)), ("b", "<f4", (3, 5)), ("c", "<f4", rng.choice([(4, 5), (4, 3)])), ("v", "<f4", (5,)), ("e", "<i4", (3,)):
        npy.save(folder / f"{name}.npy", [rng.randint(0, 4) for _ in range(math.prod(shape))], descr, shape=shape)
    name = rng.choice(["a.npy", "b.npy", "c.npy", "e.npy"])
    content = bytearray((folder / name).read_bytes())
    for _ in range(rng.choice([0, 1, 3, 10])):
        at = rng.randrange(min(len(content), 90))
        content[at] = rng.choice([0, 255, 48, 57, 40, 44, content[at] ^ 1 << rng.randrange(8)])
    (folder / "x.npy").write_bytes(content[: rng.choice([len(content), len(content), rng.randrange(len(content))])])
    if rng.random() < 0.3:
        (folder / name).write_bytes((folder / "x.npy").read_bytes())


def play(ggemm, options, number):
    """What is wrong with the answer; "" if nothing."""
    rng = random.Random(SEED * 1000003 + number)
    line = rng.choice(LINES)
    bar = line.index("|")
    command = line[:2] if line[0] == "cache" else line[:1]
    words = spoil(rng, line[:bar], options[" ".join(command)]) + line[bar + 1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(rng, folder)
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("GGEMM_", "XDG_"))} | {"GGEMM_CACHE_DIR": str(folder / "cache")}
        try:
            done = subprocess.run([ggemm, *words], cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            return f"{words}: takes more than two minutes"
    said = done.stderr.decode(errors="replace")
    known = done.returncode in (0, 1, 2, 3)
    if known and (done.returncode == 0 or said.startswith("ggemm")):
        return ""
    return f"{words}: exit code {done.returncode}\n{said}"


def main():
    ggemm = os.path.abspath(sys.argv[1])
    options = {" ".join(command): options_of(ggemm, command) for command in {tuple(line[:2] if line[0] == "cache" else line[:1]) for line in LINES}}
    one = os.environ.get("GGEMM_FUZZ_CASE")
    for number in [int(one)] if one else range(int(os.environ.get("GGEMM_FUZZ_CASES", 150))):
        wrong = play(ggemm, options, number)
        if wrong:
            print(f"{wrong}\nagain: GGEMM_SEED={SEED} GGEMM_FUZZ_CASE={number} {sys.argv[0]} {ggemm}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
