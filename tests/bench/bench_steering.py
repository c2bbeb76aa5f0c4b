# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed of one step, side by side with peers in one run: a table of ratios, and with `--json FILE` the same for a program.

    python bench_steering.py [--counts 1000 10000 ...] [--threads 1 2] [--repetitions 5] [--settle 300]
                             [--json FILE] [--plot FILE]

The C++ step is looked for in `../shared/limit` beside the checkout, or where FLOCK_LIMIT says; peers that are missing are
left out with a word.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import platform
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from core import Effectors, Rule, Settings, Simulation, State, Traits, attractor, reference, spheres, steering  # noqa: E402

NEIGHBOURS = 30
"""Within the largest radius in `uniform`."""
SLOW = 10_000
"""Where peers in numpy stop."""
PAIRS = 2_000
"""Where the reference stops, which looks at every pair."""
CLUMP = 20_000
"""Largest clump: all its pairs are neighbours."""
DT = 1 / 24

PLAIN = Settings(
    separation=Rule(4.2, 0.4), alignment=Rule(1.6, 1.0), cohesion=Rule(1.0, 1.0), neighbours=0, edge="HARD", acceleration="CONSTANT",
    max_acceleration=0.5, min_speed=0.0, max_speed=1.0, attraction=0.0, wander=0.0, level_flight=0.0, speed_control=0.0,
    speed_variation=0.0, weight_variation=0.0,
)  # fmt: skip
"""Hard edges, separation 1/d, normalised rules: the same work as the C++ step."""


def state_of(position: np.ndarray, velocity: np.ndarray) -> State:
    rotation = np.zeros((len(position), 4), np.float32)
    rotation[:, 0] = 1.0
    return State(
        position.astype(np.float32), velocity.astype(np.float32), rotation, np.zeros(len(position), np.float32)
    )


def uniform(count: int) -> State:
    """A cube with 30 neighbours within radius 1, random velocities."""
    rng = np.random.default_rng(0)
    side = (count / (NEIGHBOURS / (4 / 3 * np.pi))) ** (1 / 3)
    return state_of(rng.random((count, 3)) * side, rng.normal(size=(count, 3)))


def clumped(count: int) -> State:
    """All within one radius."""
    flock = uniform(count)
    return replace(flock, position=flock.position / (np.ptp(flock.position) * 2))


def stray(count: int) -> State:
    """Uniform, and one boid a million units away."""
    flock = uniform(count)
    flock.position[0] = 1e6
    return flock


def default_flock(count: int) -> tuple[Settings, Effectors]:
    """The default, a target and three repulsors."""
    obstacles = spheres([[0, 40, 0], [15, 60, 5], [-20, 80, 0]], [8, 5, 6])
    return Settings(count=count), Effectors(attractors=attractor((0.0, 200.0, 0.0)), spheres=obstacles)


def flying(count: int, steps: int) -> State:
    """The default after so many steps."""
    flock, effectors = default_flock(count)
    flown = Simulation(replace(flock, pre_roll=steps * DT / flock.substeps), effectors, engine="NUMBA")
    return next(iter(flown)).state


def interleaved(runs: dict, repetitions: int) -> dict[str, float]:
    """Median milliseconds of each, taken in turns so that a busy machine is busy for all; the first round compiles and warms up."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repetitions + 1):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            if turn:
                times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def ours(settings: Settings, state: State, effectors: Effectors, threads: int):
    settings = replace(settings, count=len(state))
    stepper, now = steering.Stepper(settings, Traits(settings), threads), effectors.at(0)
    return lambda: stepper.step(state, now, DT)


def in_numpy(state: State):
    """What people write first: pairs from scipy's tree, sums with numpy."""
    from scipy.spatial import cKDTree

    def add(pairs: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
        return np.stack([np.bincount(pairs, values[:, axis], count) for axis in range(3)], axis=1)

    def step():
        position, velocity, count = state.position.astype(float), state.velocity.astype(float), len(state)
        pairs = cKDTree(position).query_pairs(1.0, output_type="ndarray")
        first, second = np.concatenate((pairs, pairs[:, ::-1])).T
        offset = position[second] - position[first]
        square = np.einsum("ni,ni->n", offset, offset)
        close = (square < 0.16) & (square > 0)
        away = add(first[close], -offset[close] / square[close, None], count)
        wish = 4.2 * reference.unit(away)
        wish += 1.6 * reference.unit(add(first, velocity[second], count)) + reference.unit(add(first, offset, count))
        moved = reference.limited(velocity + 0.5 * DT * reference.unit(wish), 1.0)
        return position + moved * DT, moved

    return step


class Limit:
    """The hand-written C++ step, and its number of threads."""

    def __init__(self) -> None:
        folder = Path(os.environ.get("FLOCK_LIMIT") or ROOT.parent / "shared/limit")
        self.missing = "" if (folder / "limit.py").is_file() else f"no C++ step in {folder}"
        if self.missing:
            return
        spec = importlib.util.spec_from_file_location("limit", folder / "limit.py")
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        try:
            self.module.Limit(1)
            self.openmp = ctypes.CDLL("libgomp.so.1")
        except Exception as error:  # no compiler, or no OpenMP
            self.missing = f"the C++ step cannot be built: {error}"

    def run(self, state: State, threads: int):
        limit = self.module.Limit(len(state))

        def step():
            self.openmp.omp_set_num_threads(threads)
            return limit.step(state.position, state.velocity)

        return step


def measure(options: argparse.Namespace) -> list[dict]:
    """One row for each workload, count and number of threads: milliseconds of each peer."""
    limit = Limit()
    has_scipy = importlib.util.find_spec("scipy") is not None
    for word in (limit.missing, "" if has_scipy else "no scipy"):
        if word:
            print(f"left out: {word}")
    rows = []
    for count in options.counts:
        for threads in options.threads:
            loose = uniform(count)
            runs = {"plain": ours(PLAIN, loose, Effectors(), threads)}
            if not limit.missing:
                runs["C++"] = limit.run(loose, threads)
                check(runs["plain"](), runs["C++"](), count)
            runs["stray"] = ours(PLAIN, stray(count), Effectors(), threads)
            if count <= SLOW:
                flock, effectors = default_flock(count)
                runs["default, flying"] = ours(flock, flying(count, options.settle), effectors, threads)
            if count <= CLUMP and threads == 1:
                runs["7 nearest, uniform"] = ours(replace(PLAIN, neighbours=7), loose, Effectors(), threads)
            if count <= PAIRS:
                runs["plain, clumped"] = ours(PLAIN, clumped(count), Effectors(), threads)
            if count <= PAIRS and threads == 1:
                engine = reference.Stepper(replace(PLAIN, count=count), Traits(replace(PLAIN, count=count)))
                runs["reference"] = lambda engine=engine, loose=loose: engine.step(loose, Effectors().at(0), DT)
            if count <= SLOW and has_scipy and threads == 1:
                runs["scipy + numpy"] = in_numpy(loose)
            times = interleaved(runs, options.repetitions)
            rows.append({"count": count, "threads": threads, "milliseconds": times})
            show(rows[-1])
    return rows


def check(flown: State, expected: tuple[np.ndarray, np.ndarray], count: int) -> None:
    """Outputs before timings: a loop that misses neighbours looks fast."""
    wrong = np.abs(flown.position - expected[0]).max(axis=1) > 1e-4
    # a neighbour within rounding of a hard edge may be in for one and out for the other
    if wrong.sum() > max(2, count // 1000):
        raise SystemExit(f"The C++ step disagrees about {wrong.sum()} of {count} boids: nothing is measured")


def show(row: dict) -> None:
    plain = row["milliseconds"]["plain"]
    print(f"{row['count']:>9,} boids, {row['threads']} threads")
    for name, value in row["milliseconds"].items():
        per_boid = value * 1e6 / row["count"]
        print(f"    {name:<20} {value:>10.2f} ms {per_boid:>10.0f} ns a boid {value / plain:>8.2f} x plain", flush=True)


def draw(rows: list[dict], file: Path) -> None:
    """Time per boid against count."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("left out: the plot, for want of matplotlib")
        return
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel="boids", ylabel="nanoseconds per boid and step")
    for threads in sorted({row["threads"] for row in rows}):
        mine = [row for row in rows if row["threads"] == threads]
        for name in dict.fromkeys(name for row in mine for name in row["milliseconds"]):
            points = [
                (row["count"], row["milliseconds"][name] * 1e6 / row["count"])
                for row in mine
                if name in row["milliseconds"]
            ]
            axes.plot(*zip(*points, strict=True), marker="o", label=f"{name}, {threads} threads")
    axes.legend(fontsize="x-small")
    figure.savefig(file, dpi=120)
    print(f"plot: {file}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, min(2, os.cpu_count() or 1)}))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--settle", type=int, default=300, help="steps flown before the flying flock is measured")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, default=ROOT / "out/bench.png")
    options = parser.parse_args()
    rows = measure(options)
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    draw(rows, options.plot)
    if options.json:
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numba {steering.VERSION}"
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
