# SPDX-License-Identifier: Apache-2.0
"""How two providers are compared, and what is made of their times: as in `ggemm bench` (tools/bench/protocol.*, stats.*)."""
from __future__ import annotations

import dataclasses
import math
import statistics
import time
from typing import Callable, NamedTuple, Sequence

TIE = 0.02  # a ratio so near to 1 is neither won nor lost


class Arm(NamedTuple):
    """Something that computes the problem: run(n) gives the microseconds of each of n launches."""

    name: str
    run: Callable[[int], list[float]]


@dataclasses.dataclass(frozen=True)
class Protocol:
    samples: int = 32  # of each arm at least
    turns: int = 4  # of each arm
    rest: float = 0.1  # seconds before each turn, so that all start from the same clock
    screen: int = 6  # samples by which the best of many is chosen
    sleep: Callable[[float], None] = time.sleep


def compare(protocol: Protocol, ours: Arm, peer: Arm | None) -> tuple[list[float], list[float]]:
    """Times of both, taken in turns A B, B A, A B, B A, so that drift falls on both alike and [i] and [i] are neighbours in time."""
    each = -(-protocol.samples // protocol.turns)
    taken: dict[str, list[float]] = {"ours": [], "peer": []}
    for turn in range(protocol.turns):
        order = [("ours", ours), ("peer", peer)]
        for side, arm in order if turn % 2 == 0 else reversed(order):
            if arm is not None:
                protocol.sleep(protocol.rest)
                taken[side] += arm.run(each)
    return taken["ours"], taken["peer"]


def paired_ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """Median of peer / ours: above 1 ours is the faster."""
    return statistics.median(theirs / mine for mine, theirs in zip(ours, peer))


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


class Tally(NamedTuple):
    mean: float  # geometric
    worst: float
    wins: int
    ties: int
    losses: int


def tally(ratios: Sequence[float]) -> Tally:
    wins = sum(ratio > 1 + TIE for ratio in ratios)
    losses = sum(ratio < 1 - TIE for ratio in ratios)
    return Tally(geometric_mean(ratios), min(ratios, default=math.nan), wins, len(ratios) - wins - losses, losses)


class Deadline:
    """Stops a run before a case that would end after the limit, going by the longest so far. 0: no limit."""

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock, self._begin, self._longest = limit, clock, clock(), 0.0

    def allows_another(self) -> bool:
        return self._limit <= 0 or self._clock() - self._begin + self._longest <= self._limit

    def timed(self, work: Callable[[], None]) -> None:
        begin = self._clock()
        try:
            work()
        finally:
            self._longest = max(self._longest, self._clock() - begin)
