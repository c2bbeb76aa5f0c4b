# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wanted: one row for each target, read from what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .sizes import Sizes

Values = dict[str, float]
"""By the number of threads, in words, or 'any'."""


@dataclass(frozen=True)
class Row:
    """One target and what was measured for it."""

    what: str
    measured: Values
    target: float
    unit: str = "×"
    at_least: bool = False
    """The target is a lower bound, otherwise an upper one."""
    stretch: float | None = None
    """What is hoped for beyond the target."""
    count: int | None = None
    """Boids."""

    @property
    def met(self) -> bool | None:
        """On every number of threads; None where it was not measured."""
        return self._within(self.target) if self.measured else None

    @property
    def verdict(self) -> str:
        """In words."""
        if self.met and self.stretch is not None and self._within(self.stretch):
            return "met, stretch too"
        return {None: "left out", True: "met", False: "not met"}[self.met]

    def _within(self, bound: float) -> bool:
        values = self.measured.values()
        return all(value >= bound if self.at_least else value <= bound for value in values)


class Measured:
    """All figures of a run: kind, group, name, threads."""

    def __init__(self) -> None:
        self.figures: dict[str, dict[str, dict[str, Values]]] = {}

    def add(self, more: Mapping[str, Any]) -> None:
        """Takes in what a process answered."""
        for kind, groups in more.items():
            for group, names in groups.items():
                for name, values in names.items():
                    place = self.figures.setdefault(kind, {}).setdefault(group, {}).setdefault(name, {})
                    place.update({str(threads): value for threads, value in values.items()})

    def values(self, kind: str, group: str, name: str) -> Values:
        """Of one run; empty where it was left out."""
        return self.figures.get(kind, {}).get(group, {}).get(name, {})

    def ratio(self, group: str, name: str, other: str, kind: str = "milliseconds", factor: float = 1.0) -> Values:
        """One run over another of its group, for each number of threads."""
        top, bottom = self.values(kind, group, name), self.values(kind, group, other)
        return {threads: factor * value / bottom[threads] for threads, value in top.items() if threads in bottom}


def rows(measured: Measured, size: Sizes) -> Iterator[Row]:
    """All of them, in the order of the table."""
    yield from _steps(measured, size)
    yield from _crowds(measured, size)
    yield from _resources(measured, size)
    yield from _in_blender(measured, size)
    yield from _start(measured)


def _steps(measured: Measured, size: Sizes) -> Iterator[Row]:
    for count in size.counts[1:]:
        found = measured.ratio(str(count), "plain", "C++")
        yield Row("plain step on `uniform`, against the C++ step", found, 1.1, stretch=0.9, count=count)
    for count in (count for count in size.counts[1:] if count <= size.flying):
        found = measured.ratio(str(count), "default", "plain")
        yield Row("the default on `flying`, against the plain step on `uniform`", found, 2.2, count=count)
    found = measured.ratio(str(size.slow), "scipy", "plain")
    yield Row("scipy and numpy, against the plain step", found, 25, at_least=True, count=size.slow)
    found = measured.ratio("growth", str(size.large), str(size.slow), factor=size.slow / size.large)
    yield Row(f"time per boid, against that of {size.slow:,}", found, 1.5, count=size.large)


def _crowds(measured: Measured, size: Sizes) -> Iterator[Row]:
    for name, target in (("clumped", 1.5), ("half clumped", 3.0)):
        found = measured.ratio(f"nearest {size.crowd}", name, "uniform")
        yield Row(f"7 nearest: `{name}`, against `uniform`", found, target, count=size.crowd)
    for count in size.counts[1:]:
        found = measured.ratio(str(count), "stray", "plain")
        yield Row("`stray`, against `uniform`: time", found, 1.05, count=count)
    found = measured.ratio("memory", "stray", "uniform", "bytes")
    yield Row("`stray`, against `uniform`: memory", found, 1.05, count=size.large)


def _resources(measured: Measured, size: Sizes) -> Iterator[Row]:
    threads = measured.figures.get("milliseconds", {}).get("threads", {})
    for name in ("plain", "default"):
        most = [other for other in threads if other.startswith(f"{name}, ") and other != f"{name}, 1"]
        found = measured.ratio("threads", f"{name}, 1", most[0]) if most else {}
        label = "2 threads" if not most else f"{most[0].split()[-1]} threads"
        yield Row(f"{name} step: {label}, times as fast as 1", found, 1.8, at_least=True, count=size.flying)
    for name, label in (("uniform", "plain step"), ("default", "the default")):
        found = measured.values("bytes", "memory", name)
        yield Row(
            f"working memory for each boid, beyond state and output: {label}", found, 100, "bytes", count=size.large
        )
    differing = measured.figures.get("differing boids", {}).get("bits", {})
    found = {"any": float(sum(values["any"] for values in differing.values()))} if differing else {}
    yield Row("boids with other bits on 2 or 8 threads than on 1", found, 0, "boids", count=size.bits)


def _in_blender(measured: Measured, size: Sizes) -> Iterator[Row]:
    for name, label, target in (
        ("default", "a frame of ours, which is 2 steps of the default", 12),
        ("plain", "the plain step", 40),
    ):
        blender = measured.values("milliseconds", "boids", "Blender").get("any", 0.0)
        found = {threads: blender / value for threads, value in measured.values("milliseconds", "boids", name).items()}
        yield Row(f"a frame of Blender's own Boids, against {label}", found, target, at_least=True, count=size.slow)
    found = measured.ratio("bake", "bake", "steps")
    yield Row(
        f"whole bake of {size.frames} frames without its flight check, against its steps alone",
        found,
        1.25,
        count=size.slow,
    )
    found = measured.ratio("sampling", "heavy", "empty")
    yield Row(f"sampling effectors among {size.polygons:,} polygons, against an empty scene", found, 1.2)
    found = measured.ratio("playing", "ours", "fewest")
    yield Row("playing a clip, against the fewest nodes that pick a frame and instance", found, 1.5, count=size.played)


def _start(measured: Measured) -> Iterator[Row]:
    found = measured.ratio("start", "first step", "import numba")
    yield Row("process start to first step of the default, against `import numba`", found, 2.0)
    found = {key: value / 1e3 for key, value in measured.values("milliseconds", "start", "without cache").items()}
    yield Row("the same without the compiled cache", found, 10.0, "s")
