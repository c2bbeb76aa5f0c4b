# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time of one step on a number of threads, ours beside the peers': run as a process of its own, since OpenMP reads its number once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from core import Effectors, Settings, State, Traits, steering

from . import measure, peers, sizes, workloads
from .sizes import Sizes
from .workloads import DEFAULT, DT, NEAREST, PLAIN

THREADS_TRIED = (1, 2, 8)
"""By which the bits must not differ."""

STEPS = 10
"""After which they are compared; one thread flies the first few alone."""


class Steps:
    """What is measured on so many threads: groups of runs that are taken in turns."""

    def __init__(self, size: Sizes, threads: int, folder: Path) -> None:
        self.size, self.threads, self.folder = size, threads, folder
        self.missing: set[str] = set()

    def groups(self) -> Iterator[tuple[str, dict[str, peers.Step]]]:
        """Name of each group, and its runs by their names."""
        for count in self.size.counts:
            yield str(count), self._one_count(count)
        for count in sorted({count for count in self.size.counts if count < self.size.crowd} | {self.size.crowd}):
            yield f"nearest {count}", self._nearest(count)
        yield "growth", {str(count): self._plain(count) for count in (self.size.slow, self.size.large)}
        if self.threads > 1:
            yield "threads", self._on_one_and_on_all()

    def _one_count(self, count: int) -> dict[str, peers.Step]:
        loose = workloads.uniform(count)
        steps = {"plain": peers.ours(PLAIN, loose, self.threads)} | self._peers(loose)
        peers.compare(steps)
        steps["stray"] = peers.ours(PLAIN, workloads.stray(count), self.threads)
        if count <= self.size.flying:
            steps["default"] = self._default(count, self.threads)
        return steps

    def _peers(self, loose: State) -> dict[str, peers.Step]:
        wanted = {"C++": peers.in_cpp}
        if len(loose) <= self.size.slow:
            wanted["scipy"] = peers.in_scipy
        if len(loose) <= self.size.slow and self.threads == 1:
            wanted["reference"] = peers.in_reference
        found = {}
        for name, make in wanted.items():
            try:
                found[name] = make(loose)
            except measure.Missing as why:
                self.missing.add(str(why))
        return found

    def _nearest(self, count: int) -> dict[str, peers.Step]:
        flocks = {"uniform": workloads.uniform, "clumped": workloads.clumped, "half clumped": workloads.half_clumped}
        return {name: peers.ours(NEAREST, make(count), self.threads) for name, make in flocks.items()}

    def _on_one_and_on_all(self) -> dict[str, peers.Step]:
        runs = {}
        for threads in (1, self.threads):
            runs[f"plain, {threads}"] = self._plain(self.size.flying, threads)
            runs[f"default, {threads}"] = self._default(self.size.flying, threads)
        return runs

    def _plain(self, count: int, threads: int | None = None) -> peers.Step:
        return peers.ours(PLAIN, workloads.uniform(count), threads or self.threads)

    def _default(self, count: int, threads: int) -> peers.Step:
        state = workloads.flying(count, self.size.settled, self.folder)
        return peers.ours(DEFAULT, state, threads, workloads.scenery(), DT / DEFAULT.substeps)


def differing_boids(size: Sizes) -> dict[str, int]:
    """How many boids have other bits on 2 and 8 threads than on one, after a few steps."""
    cases = {
        "plain": (PLAIN, Effectors()),
        "7 nearest": (NEAREST, Effectors()),
        "default": (DEFAULT, workloads.scenery()),
    }
    start = workloads.half_clumped(size.bits)
    found = {}
    for name, (settings, effectors) in cases.items():
        settings = replace(settings, count=len(start))
        first, *others = (_flown(settings, effectors, start, threads) for threads in THREADS_TRIED)
        found[name] = int(sum((first != other).any(axis=1).sum() for other in others))
    return found


def _flown(settings: Settings, effectors: Effectors, state: State, threads: int) -> np.ndarray:
    """The bits of all that is known of each boid after some steps: uint32 (N, 11)."""
    stepper, now = steering.Stepper(settings, Traits(settings), threads), effectors.at(0)
    for _ in range(STEPS):
        state = stepper.step(state, now, DT)
    state = state.stored()
    parts = (state.position, state.velocity, state.rotation, state.flap[:, None])
    return np.concatenate(parts, axis=1).view(np.uint32)


def main() -> dict:
    options = sizes.worker(__doc__)
    (threads,) = options.threads
    steps = Steps(options.sizes, threads, options.folder)
    times = {
        group: {name: {threads: value} for name, value in measure.interleaved(runs, options.sizes.patience).items()}
        for group, runs in steps.groups()
    }
    result = {"milliseconds": times, "left out": sorted(steps.missing)}
    if threads == 1:
        result["differing boids"] = {
            "bits": {name: {"any": value} for name, value in differing_boids(options.sizes).items()}
        }
    return result


if __name__ == "__main__":
    measure.answer(main)
