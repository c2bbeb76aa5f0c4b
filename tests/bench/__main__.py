# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed beside peers and beside the limit, in one run: a table of ratios with their targets.

    python -m tests.bench [--quick] [--turns N] [--threads 1 2] [--json FILE]

FILE is for programs; a plot of time per boid against count is written beside it. FLOCK_LIMIT names the folder of the C++ step, else it is
looked for in ../shared/limit. FLOCK_BLENDER names a Python with `bpy`, and FLOCK_ZIP the extension that is installed there. What is missing
is left out, and said; Ctrl+C ends the run with what there is. It fails where the peers' outputs differ, not where a target is not met.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from core.simulation import cores

from . import measure, report, sizes, start, targets
from .measure import ROOT

BLENDER_PARTS = ("boids", "bake", "sampling")


def blender_python() -> str:
    """A Python with `bpy`; empty where there is none."""
    here = sys.executable if importlib.util.find_spec("bpy") else ""
    return os.environ.get("FLOCK_BLENDER") or here


class Run:
    """One run: asks one process after the other, and keeps what they answer."""

    def __init__(self, quick: bool, turns: int | None, threads: Sequence[int], folder: Path) -> None:
        self.size = sizes.chosen(quick, turns)
        self.threads = threads
        self._words = sizes.words(quick, turns, folder)
        self.measured = targets.Measured()
        self.missing: list[str] = []
        self.blender = ""

    def everything(self) -> None:
        """All parts, one after the other, until it is interrupted."""
        for label, part in self._parts():
            try:
                say(f"measuring {label}")
                self._take(part())
            except measure.Missing as why:
                self._miss(str(why))
            except KeyboardInterrupt:
                self._miss(f"{label}, and what comes after it: the run was interrupted")
                return

    def _parts(self) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
        for threads in self.threads:
            yield f"steps, threads: {threads}", partial(self._steps, threads)
        for name in ("uniform", "stray", "default"):
            for threads in self.threads:
                yield f"memory, {name}, threads: {threads}", partial(self._memory, name, threads)
        yield "the start", self._start
        for part in BLENDER_PARTS:
            yield f"{part} in Blender", partial(self._in_blender, part)
        for threads in self.threads:
            yield f"playing in Blender, cores: {threads}", partial(self._playing, threads)

    def _steps(self, threads: int) -> dict[str, Any]:
        return self._ask("steps", threads=[threads], OMP_NUM_THREADS=str(threads))

    def _memory(self, name: str, threads: int) -> dict[str, Any]:
        # glibc then keeps nothing that was given back, which would hide what is asked for next
        return self._ask("memory", name, threads=[threads], MALLOC_MMAP_THRESHOLD_="65536")

    def _start(self) -> dict[str, Any]:
        times = {name: {"any": value} for name, value in start.times(self.size).items()}
        return {"milliseconds": {"start": times}}

    def _playing(self, cores: int) -> dict[str, Any]:
        if not hasattr(os, "sched_setaffinity"):
            raise measure.Missing("playing: this system does not let a process choose its cores")
        return self._in_blender("playing", [cores], FLOCK_CORES=str(cores))

    def _in_blender(self, part: str, threads: Sequence[int] | None = None, **extra: str) -> dict[str, Any]:
        python = blender_python()
        if not python:
            raise measure.Missing("all that needs Blender: there is no Python with bpy here (FLOCK_BLENDER names one)")
        return self._ask("in_blender", part, threads=threads, python=python, **extra)

    def _ask(self, module: str, *words: str, threads: Sequence[int] | None = None, **extra: str) -> dict[str, Any]:
        return measure.ask(module, *words, "--threads", *(threads or self.threads), *self._words, **extra)

    def _take(self, answer: dict[str, Any]) -> None:
        for why in answer.pop("left out", ()):
            self._miss(why)
        self.blender = answer.pop("blender", self.blender)
        self.measured.add(answer)

    def _miss(self, why: str) -> None:
        if why not in self.missing:
            self.missing.append(why)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a little of everything: to see that all of it runs")
    parser.add_argument("--turns", type=int, help="how often each is measured; the median counts")
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, min(2, cores())}))
    parser.add_argument("--json", type=Path, default=ROOT / "out/bench.json")
    options = parser.parse_args()
    load = measure.load()
    with tempfile.TemporaryDirectory(prefix="flock-bench-") as folder:
        run = Run(options.quick, options.turns, options.threads, Path(folder))
        run.everything()
    machine = measure.machine() + (f", Blender {run.blender}" if run.blender else "")
    rows = list(targets.rows(run.measured, run.size))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    try:
        report.plot(options.json.with_suffix(".png"), machine, run.measured, run.size)
    except measure.Missing as why:
        run.missing.append(str(why))
    report.for_programs(options.json, machine, run.measured, rows, run.missing)
    print(report.table(rows))
    print(f"\n{machine}; load at the start {load:.1f}")
    if options.quick:
        print("a quick run: it shows that all of it works, and its figures say nothing about speed")
    for why in run.missing:
        print(f"left out: {why}")
    print(f"{options.json} and the plot beside it")


if __name__ == "__main__":
    main()
