# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is measured beside Flock: the same step by other means, each a function without arguments that gives new positions and velocities."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from core import Effectors, Settings, State, Traits, reference, steering

from .measure import ROOT, Missing
from .workloads import DT, PLAIN

LEARNT = 6
"""Steps: see `core.crew.Pace`."""

Step = Callable[[], tuple[np.ndarray, np.ndarray]]

TOLERANCE = 2e-5
"""Of a velocity, where a step changes it by 0.02. The C++ step takes 1/d² from an approximation that is good to 6e-5."""


def ours(settings: Settings, state: State, threads: int, effectors: Effectors | None = None, dt: float = DT) -> Step:
    """One step of the numba engine, which has flown some before: it compiles, and learns whether to fly with all threads."""
    step = _stepper(steering.Stepper, settings, state, threads, effectors, dt)
    for _ in range(LEARNT):
        step()
    return step


def in_reference(state: State) -> Step:
    """One plain step of the project's own numpy engine, which looks at every pair."""
    return _stepper(reference.Stepper, PLAIN, state, 1, None, DT)


def _stepper(
    kind: type, settings: Settings, state: State, threads: int, effectors: Effectors | None, dt: float
) -> Step:
    settings, state = replace(settings, count=len(state)), state.stored()
    stepper, now = kind(settings, Traits(settings), threads), (effectors or Effectors()).at(0)

    def step():
        flown = stepper.step(state, now, dt)
        return flown.position, flown.velocity

    return step


def in_scipy(state: State) -> Step:
    """What people write first: pairs from scipy's tree, sums with numpy.

    Raises:
        Missing: there is no scipy.
    """
    try:
        from scipy.spatial import cKDTree
    except ImportError as error:
        raise Missing("scipy") from error

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


def in_cpp(state: State) -> Step:
    """The hand-written C++ step, on as many threads as OMP_NUM_THREADS says.

    Raises:
        Missing: it is not here, or cannot be built.
    """
    folder = Path(os.environ.get("FLOCK_LIMIT") or ROOT.parent / "shared/limit")
    if not (folder / "limit.py").is_file():
        raise Missing(f"the C++ step: there is none in {folder} (FLOCK_LIMIT names its folder)")
    limit = _limit(folder).Limit(len(state))
    return lambda: limit.step(state.position, state.velocity)


_loaded: dict[Path, object] = {}


def _limit(folder: Path):
    """Its module, loaded once: it builds its library once."""
    if folder not in _loaded:
        spec = importlib.util.spec_from_file_location("limit", folder / "limit.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            module.Limit(1)
        except Exception as error:  # no compiler, no OpenMP, another system
            raise Missing(f"the C++ step: it cannot be built ({error})") from error
        _loaded[folder] = module
    return _loaded[folder]


def compare(steps: dict[str, Step]) -> None:
    """Outputs before timings: a loop that misses neighbours looks fast.

    A neighbour within rounding of a hard edge may be in for one and out for another, so one boid in a thousand may differ.

    Raises:
        SystemExit: two peers disagree.
    """
    (first, step), *others = steps.items()
    expected = step()
    for name, other in others:
        wrong = disagreeing(expected, other())
        if wrong > max(2, len(expected[0]) // 1000):
            raise SystemExit(
                f"'{first}' and '{name}' disagree about {wrong} of {len(expected[0])} boids: nothing is measured"
            )


def disagreeing(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> int:
    """How many boids fly otherwise."""
    position, velocity = (np.abs(mine - yours).max(axis=1) for mine, yours in zip(one, other, strict=True))
    return int(((velocity > TOLERANCE) | (position > 1e-4)).sum())
