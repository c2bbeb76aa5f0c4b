# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flocks that are measured, and the settings they fly with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from core import Effectors, Rule, Settings, Simulation, State, attractor, spheres

NEIGHBOURS = 30
"""Within the largest radius in `uniform`."""
DT = 1 / 24
"""Of a step in the plain setting, seconds; the default flies two of them in that time."""

PLAIN = Settings(
    separation=Rule(4.2, 0.4), alignment=Rule(1.6, 1.0), cohesion=Rule(1.0, 1.0), neighbours=0, edge="HARD", acceleration="CONSTANT",
    max_acceleration=0.5, min_speed=0.0, max_speed=1.0, attraction=0.0, wander=0.0, level_flight=0.0, speed_control=0.0,
    speed_variation=0.0, weight_variation=0.0,
)  # fmt: skip
"""Hard edges, separation 1/d, normalised rules: the same work as the C++ step."""

NEAREST = replace(PLAIN, neighbours=7)
"""The same for the seven nearest."""

DEFAULT = Settings()
"""Seven nearest, field of view, smooth edges, wander, banking."""


def scenery() -> Effectors:
    """What the default flies with: a target and three repulsors."""
    obstacles = spheres([[0, 40, 0], [15, 60, 5], [-20, 80, 0]], [8, 5, 6])
    return Effectors(attractors=attractor((0.0, 200.0, 0.0)), spheres=obstacles)


def uniform(count: int) -> State:
    """A cube with 30 neighbours within radius 1, random velocities: the very numbers of the C++ step's own workload."""
    rng = np.random.default_rng(0)
    side = (count / (NEIGHBOURS / (4 / 3 * np.pi))) ** (1 / 3)
    return _state(rng.random((count, 3)) * side, rng.normal(size=(count, 3)))


def clumped(count: int) -> State:
    """All within one radius: every boid is everybody's neighbour."""
    flock = uniform(count)
    return replace(flock, position=flock.position / np.float32(2 * np.ptp(flock.position)))


def half_clumped(count: int) -> State:
    """Half of them within one radius, in the middle of the others, which are as loose as in `uniform`; every other boid is a loose one."""
    loose, clump = uniform(count - count // 2), clumped(count // 2)
    middle = loose.position.mean(axis=0)
    position, velocity = np.empty((count, 3)), np.empty((count, 3))
    position[::2], velocity[::2] = loose.position, loose.velocity
    position[1::2], velocity[1::2] = clump.position - clump.position.mean(axis=0) + middle, clump.velocity
    return _state(position, velocity)


def stray(count: int) -> State:
    """Uniform, and one boid a million units away."""
    flock = uniform(count)
    flock.position[0] = 1e6
    return flock


def flying(count: int, steps: int, folder: Path) -> State:
    """The default after so many steps, kept in the folder for whoever asks again."""
    kept = folder / f"flying-{count}-{steps}.npz"
    if not kept.exists():
        settings = replace(DEFAULT, count=count, pre_roll=steps / (24 * DEFAULT.substeps))
        state = next(iter(Simulation(settings, scenery()))).state
        np.savez(kept, position=state.position, velocity=state.velocity, rotation=state.rotation, flap=state.flap)
    return State(**np.load(kept), step=steps)


def _state(position: np.ndarray, velocity: np.ndarray) -> State:
    rotation = np.zeros((len(position), 4), np.float32)
    rotation[:, 0] = 1.0
    flap = np.zeros(len(position), np.float32)
    return State(position.astype(np.float32), velocity.astype(np.float32), rotation, flap)
