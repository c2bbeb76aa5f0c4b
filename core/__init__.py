# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flock's core: flocking in three dimensions with numpy and numba, without Blender."""

from .effectors import Attractors, Boxes, Effectors, Path, Planes, Predators, Spheres, attractor, spheres
from .settings import FlockError, Rule, Settings
from .simulation import Cancelled, Frame, Simulation
from .state import State, Traits, spawn

__all__ = [
    "Attractors", "Boxes", "Cancelled", "Effectors", "FlockError", "Frame", "Path", "Planes", "Predators", "Rule", "Settings",
    "Simulation", "Spheres", "State", "Traits", "attractor", "spawn", "spheres",
]  # fmt: skip
