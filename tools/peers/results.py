# SPDX-License-Identifier: Apache-2.0
"""Rows of results: the file that keeps them, of the form that `ggemm bench` writes, and the tables."""
from __future__ import annotations

import json
import math
import os
import pathlib
import statistics
from typing import Any, Iterable, Sequence

from cases import Case
from protocol import tally

FIELDS = ("suite", "category", "case", "dtype", "layout", "m", "n", "k", "groups", "config", "ours_us", "limit_us", "peers", "ratio", "sm_mhz", "device",
          "date", "commit")
Row = dict[str, Any]


def key(row: Row) -> str:
    """As Case.key."""
    size = row["groups"] if "groups" in row else f"{row['m']}x{row['n']}x{row['k']}"
    return "|".join((row["suite"], row["case"], row["dtype"], row["layout"], size))


def line(row: Row) -> str:
    """The fields in their order, times with four digits after the point."""
    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: rounded(each) for name, each in value.items()}
        return round(value, 4) if isinstance(value, float) else value

    return json.dumps({field: rounded(row[field]) for field in FIELDS if field in row}, separators=(",", ":"))


def read(path: pathlib.Path) -> list[Row]:
    """The rows of a file; one that is not there has none, and lines that are no rows are passed over."""
    rows = []
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(text)
            key(row)
        except (ValueError, KeyError, TypeError):
            continue
        rows.append(row)
    return rows


class ResultFile:
    """Each row is on disk before the next case begins; a row counts as done for the same commit, device and configuration."""

    def __init__(self, path: pathlib.Path | None, commit: str, device: str, config: str = "", keep_any: bool = False) -> None:
        self._path, self._commit, self._device, self._config, self._keep_any = path, commit, device, config, keep_any
        self.rows = read(path) if path else []

    def has(self, case: Case) -> bool:
        return any(key(row) == case.key and (not self._config or row["config"] == self._config) and
                   (self._keep_any or (row["commit"], row["device"]) == (self._commit, self._device)) for row in self.rows)

    def append(self, row: Row) -> None:
        row.update(device=self._device, commit=self._commit)
        self.rows.append(row)
        if not self._path:
            return
        torn = self._path.exists() and self._path.stat().st_size and not self._path.read_bytes().endswith(b"\n")
        with self._path.open("a") as file:
            file.write(("\n" if torn else "") + line(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def compact(self) -> None:
        """Keeps the latest row of each case, in the order of the first."""
        self.rows = list({key(row): row for row in self.rows}.values())
        if self._path:
            new = self._path.with_name(self._path.name + ".new")
            new.write_text("".join(line(row) + "\n" for row in self.rows))
            new.replace(self._path)


def limits(path: pathlib.Path) -> dict[str, tuple[str, float]]:
    """(device, limit_us) of each case that `ggemm bench` measured, by the key without the suite."""
    return {key(row).partition("|")[2]: (row["device"], row["limit_us"]) for row in read(path) if row.get("limit_us")}


# ----------------------------------------------------------------------------------------------------------------------------- tables
def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + " --- |" * len(head), *lines[1:]]) + "\n"


def _number(value: float | None, pattern: str) -> str:
    return "-" if value is None or math.isnan(value) else pattern % value


def report(rows: Sequence[Row], flops: dict[str, float]) -> str:
    """Markdown: a row a case with every provider's time, then the means by category."""
    names = list(dict.fromkeys(name for row in rows for name in row["peers"]))
    cells = []
    for row in rows:
        work = flops.get(key(row))
        cells.append([row["category"], row["case"], row["dtype"], row["layout"], row["config"], _number(row["ours_us"], "%.2f"),
                      _number(work / row["ours_us"] * 1e-6 if work else None, "%.4g"),
                      _number(row["limit_us"] / row["ours_us"] if row["limit_us"] else None, "%.2f"),
                      *(_number(row["peers"].get(name), "%.2f") for name in names), _number(row["ratio"], "%.3f"), _number(row["sm_mhz"], "%d")])
    text = _table(["category", "case", "dtype", "layout", "config", "us", "TFLOP/s", "share", *(f"{name} us" for name in names), "ratio", "SM MHz"], cells)
    return text + "\n" + _summary(rows)


def _summary(rows: Sequence[Row]) -> str:
    """The ratio is against the best peer, the last columns against each one by the medians that were taken."""
    names = list(dict.fromkeys(name for row in rows for name in row["peers"]))
    cells = []
    for category in sorted({row["category"] for row in rows}):
        of = [row for row in rows if row["category"] == category]
        best = tally([row["ratio"] for row in of if row["ratio"]])
        each = [[row["peers"][name] / row["ours_us"] for row in of if name in row["peers"]] for name in names]
        cells.append([category, str(len(of)), _number(best.mean, "%.3f"), _number(best.worst, "%.3f"), str(best.wins), str(best.ties), str(best.losses),
                      *(_number(tally(ratios).mean, "%.3f") for ratios in each)])
    return _table(["category", "cases", "geo. mean", "worst", "wins", "ties", "losses", *(f"against {name}" for name in names)], cells)


def median_mhz(telemetry: Sequence[tuple[int, float]]) -> int | None:
    return int(statistics.median(mhz for mhz, _ in telemetry)) if telemetry else None
