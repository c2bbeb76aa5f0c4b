# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both engines for tests that ask the same of each, and single steps of them from states that a test has made."""

import importlib.util

import numpy as np
import pytest

from core import Effectors, Rule, State, Traits
from core.simulation import load_engine

ENGINES = [
    "REFERENCE",
    pytest.param("NUMBA", marks=pytest.mark.skipif(not importlib.util.find_spec("numba"), reason="numba is not here")),
]
engines = pytest.mark.parametrize("engine", ENGINES)

ROUNDING = {"REFERENCE": 1e-12, "NUMBA": 1e-5}
"""What float64 and float32 may lose in a step, relative; some sums and a root long."""

DT = 1 / 24

OFF = Rule(weight=0.0, radius=0.0)
BARE = {
    "separation": OFF, "alignment": OFF, "cohesion": OFF, "neighbours": 0, "edge": "HARD", "wander": 0.0,
    "level_flight": 0.0, "speed_control": 0.0, "speed_variation": 0.0, "weight_variation": 0.0, "min_speed": 0.0,
}  # fmt: skip
"""Settings without any rule, limit or chance: a test adds the one that it is about."""


def at(position, velocity) -> State:
    """A flock at places and velocities, (N, 3) each."""
    count = len(position)
    rotation = np.tile((1.0, 0.0, 0.0, 0.0), (count, 1))
    return State(
        np.array(position, float).reshape(-1, 3), np.array(velocity, float).reshape(-1, 3), rotation, np.zeros(count)
    )


def flown(state, settings, steps=1, effectors=None, engine="REFERENCE", dt=DT, threads=2) -> State:
    """The flock some steps later, not rounded in between."""
    effectors = effectors or Effectors()
    stepper = load_engine(engine)[1].Stepper(settings, Traits(settings), threads)
    for step in range(steps):
        state = stepper.step(state, effectors.at(step), dt)
    return state


def accelerations(state, settings, effectors=None, engine="REFERENCE") -> np.ndarray:
    """What one step does to the velocities, float64 (N, 3)."""
    return (np.asarray(flown(state, settings, 1, effectors, engine).velocity, float) - state.velocity) / DT
