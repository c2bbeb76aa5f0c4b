# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flock's core: flocking in three dimensions with numpy and numba, without Blender.

Fly 100 boids for ten seconds to a target behind a sphere, and ask where they are and how well they agree:

>>> import numpy as np
>>> from core import Effectors, Settings, Simulation, attractor, spheres
>>> settings = Settings(count=100, seed=3)
>>> goal = attractor((0.0, 100.0, 0.0), arrival=20.0)
>>> ball = spheres([[0.0, 30.0, 0.0]], [5.0])
>>> for frame in Simulation(settings, Effectors(attractors=goal, spheres=ball), fps=24.0, frames=241):
...     position, velocity = frame.state.position, frame.state.velocity
...     assert np.linalg.norm(position - (0.0, 30.0, 0.0), axis=1).min() > 5.0  # nobody is inside, at any frame
>>> heading = velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
>>> frame.number, position.shape, bool(position[:, 1].mean() > 40.0), bool(np.linalg.norm(heading.mean(axis=0)) > 0.5)
(241, (100, 3), True, True)

`core` can stand anywhere on the path, also inside another package: its modules import one another relatively. Lengths are in the
caller's unit, times in seconds. It needs numpy alone; where numba can be imported, the same model flies compiled.
"""

from .effectors import Attractors, Boxes, Effectors, Path, Planes, Predators, Spheres, attractor, predator, spheres
from .flocks import Sight
from .settings import FlockError, Rule, Settings
from .simulation import Cancelled, Flocks, Frame, Simulation
from .state import State, Traits, spawn

__all__ = [
    "Attractors", "Boxes", "Cancelled", "Effectors", "FlockError", "Flocks", "Frame", "Path", "Planes", "Predators", "Rule", "Settings",
    "Sight", "Simulation", "Spheres", "State", "Traits", "attractor", "predator", "spawn", "spheres",
]  # fmt: skip
