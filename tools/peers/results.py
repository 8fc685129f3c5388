# SPDX-License-Identifier: Apache-2.0
"""Rows of results: the file that keeps them, of the form that `ggemm bench` writes, and the tables."""
from __future__ import annotations

import json
import math
import os
import pathlib
import shutil
import statistics
import tempfile
from typing import Any, Iterable, Sequence

from cases import Case
from protocol import tally

FIELDS = ("suite", "category", "case", "dtype", "layout", "m", "n", "k", "groups", "config", "choice", "alone", "ours_us", "limit_us", "peers", "ratio", "sm_mhz", "device",
          "date", "commit")  # choice and alone only where they say something
Row = dict[str, Any]


def key(row: Row) -> str:
    """As Case.key."""
    size = row["groups"] if "groups" in row else f"{row['m']}x{row['n']}x{row['k']}"
    return "|".join((row["suite"], row["case"], row["dtype"], row["layout"], size))


def measurement(row: Row) -> tuple[str, ...]:
    """What makes two rows measurements of the same thing: the case, the device, the commit, and what chose the configuration."""
    choice = row.get("choice", "")
    return key(row), row["device"], row["commit"], choice, row["config"] if choice == "forced" else ""


def line(row: Row) -> str:
    """The fields in their order, times with four digits after the point."""
    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: rounded(each) for name, each in value.items()}
        return round(value, 4) if isinstance(value, float) else value

    return json.dumps({field: rounded(row[field]) for field in FIELDS if field in row}, separators=(",", ":"))


def _row(text: str) -> Row | None:
    try:
        row = json.loads(text)
        return row if key(row) and {"config", "ours_us", "peers", "device", "commit"} <= row.keys() else None
    except (ValueError, KeyError, TypeError):
        return None


def _cut_off(text: str) -> bool:
    """Whether a run may have ended in writing this last line."""
    try:
        json.loads(text)
        return False
    except ValueError:
        return text.startswith('{"suite":'[:len(text)])


def read(path: pathlib.Path) -> list[Row]:
    """The rows of a file; one that is not there has none. A last line that was cut off is passed over, any other line that is no row is refused: it would be lost."""
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    rows = []
    for number, text in enumerate(lines, 1):
        row = _row(text)
        if row is not None:
            rows.append(row)
        elif text and not (number == len(lines) and _cut_off(text)):
            raise SystemExit(f"{path}: line {number} is no row; name another file")
    return rows


class ResultFile:
    """Each row is on disk before the next case begins; a row counts as done for the same commit, device and configuration."""

    def __init__(self, path: pathlib.Path | None, commit: str, device: str, config: str = "", keep_any: bool = False) -> None:
        self._path, self._commit, self._device, self._config, self._keep_any = path, commit, device, config, keep_any
        self.rows = read(path) if path else []

    def of(self, chosen: Sequence[Case]) -> list[Row]:
        """The latest row that counts of each case that has one."""
        return [next(row for row in reversed(self.rows) if self._counts(row, case)) for case in chosen if self.has(case)]

    def has(self, case: Case) -> bool:
        return any(self._counts(row, case) for row in self.rows)

    def _counts(self, row: Row, case: Case) -> bool:
        chosen = row["config"] == self._config if self._config else not row.get("choice")
        return key(row) == case.key and chosen and (self._keep_any or (row["commit"], row["device"]) == (self._commit, self._device))

    def append(self, row: Row) -> None:
        row.update(device=self._device, commit=self._commit, **({"choice": "forced"} if self._config else {}))
        self.rows.append(row)
        if not self._path:
            return
        last = self._path.read_bytes().rpartition(b"\n")[2] if self._path.exists() else b""
        unended = bool(last) and _row(last.decode(errors="replace")) is not None
        if last and not unended:  # it was cut off
            os.truncate(self._path, self._path.stat().st_size - len(last))
        with self._path.open("a") as file:
            file.write(("\n" if unended else "") + line(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def compact(self) -> None:
        """Keeps the latest row of each measurement, in the order of the first."""
        latest = list({measurement(row): row for row in self.rows}.values())
        superseded, self.rows = len(latest) < len(self.rows), latest
        if not self._path or not superseded:
            return
        target = self._path.resolve()  # a link stays one
        # Lines as they are, since other programs' say more.
        lines = {measurement(row): text for text in target.read_text(errors="replace").split("\n") if (row := _row(text)) is not None}
        with tempfile.NamedTemporaryFile("w", dir=target.parent, prefix=target.name + ".", delete=False) as file:
            try:
                file.write("".join(text + "\n" for text in lines.values()))
                file.close()
                shutil.copymode(target, file.name)
                os.replace(file.name, target)
            except OSError:
                os.unlink(file.name)
                raise


def limits(path: pathlib.Path, device: str = "") -> dict[str, tuple[str, float]]:
    """(device, limit_us) of each case that `ggemm bench` measured, by the key without the suite; of this device where there are several."""
    rows = sorted(read(path), key=lambda row: row["device"] == device)
    return {key(row).partition("|")[2]: (row["device"], row["limit_us"]) for row in rows if row.get("limit_us")}


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
