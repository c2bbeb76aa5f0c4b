# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What acts on a flock from outside, over time, in the flock's own space.

Every array has a leading time axis of T samples, one for each step and one more for the end of the last; T = 1 is at rest.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, fields

import numpy as np

from .settings import FlockError


def _empty(*shape: int):
    return field(default_factory=lambda: np.zeros(shape))


@dataclass(frozen=True)
class Attractors:
    """Points that boids fly to."""

    position: np.ndarray = _empty(1, 0, 3)
    """float64 (T, A, 3), lengths."""
    weight: np.ndarray = _empty(1, 0)
    """float64 (T, A), a factor of `Settings.attraction`."""
    radius: np.ndarray = _empty(1, 0)
    """float64 (T, A), lengths: reach, may be inf."""
    arrival: np.ndarray = _empty(1, 0)
    """float64 (T, A), lengths: inside it the pull eases off; 0 for never."""


@dataclass(frozen=True)
class Spheres:
    """Repulsors. No boid's centre is inside one at the end of a step."""

    centre: np.ndarray = _empty(1, 0, 3)
    """float64 (T, R, 3), lengths."""
    radius: np.ndarray = _empty(1, 0)
    """float64 (T, R), lengths."""
    strength: np.ndarray = _empty(1, 0)
    """float64 (T, R), scales the steering, not the guarantee."""


@dataclass(frozen=True)
class Predators:
    """Points that boids flee, strongly and only when they are near."""

    position: np.ndarray = _empty(1, 0, 3)
    """float64 (T, P, 3), lengths."""
    radius: np.ndarray = _empty(1, 0)
    """float64 (T, P), lengths: nearer than this boids flee; 0 for none."""
    strength: np.ndarray = _empty(1, 0)
    """float64 (T, P), a multiple of the max acceleration, on top of all other wishes."""


@dataclass(frozen=True)
class Planes:
    """Half spaces that boids keep out of; the normal points to the free side."""

    point: np.ndarray = _empty(1, 0, 3)
    """float64 (T, K, 3), lengths."""
    normal: np.ndarray = _empty(1, 0, 3)
    """float64 (T, K, 3), unit vectors."""


@dataclass(frozen=True)
class Boxes:
    """Solid boxes, turned any way."""

    centre: np.ndarray = _empty(1, 0, 3)
    """float64 (T, B, 3), lengths."""
    axes: np.ndarray = _empty(1, 0, 3, 3)
    """float64 (T, B, 3, 3), rows are the box's unit axes."""
    half_size: np.ndarray = _empty(1, 0, 3)
    """float64 (T, B, 3), lengths."""


@dataclass(frozen=True)
class Path:
    """A polyline to follow."""

    points: np.ndarray = _empty(0, 3)
    """float64 (K, 3), lengths."""
    radius: float = 1.0
    """Boids further from the line than this are drawn to it, lengths."""
    speed: float = 1.0
    """Along the path, lengths per second; for Reynolds steering."""
    closed: bool = False
    """Whether it leads from its last point back to its first; an open one goes straight on."""


@dataclass(frozen=True)
class Effectors:
    """All of them. `at` gives those of one step."""

    attractors: Attractors = field(default_factory=Attractors)
    spheres: Spheres = field(default_factory=Spheres)
    predators: Predators = field(default_factory=Predators)
    planes: Planes = field(default_factory=Planes)
    boxes: Boxes = field(default_factory=Boxes)
    path: Path = field(default_factory=Path)
    up: np.ndarray = field(default_factory=lambda: np.array((0.0, 0.0, 1.0)))
    """float64 (3,), unit: the world's up in the flock's space."""

    def __post_init__(self) -> None:
        for group in (getattr(self, name) for name in _GROUPS):
            for entry in fields(group):
                array = getattr(group, entry.name)
                endless = isinstance(group, Attractors) and entry.name == "radius"  # a reach without end is meant
                if np.isnan(array).any() or not (endless or np.isfinite(array).all()):
                    raise FlockError(f"Give every one of the {type(group).__name__.lower()} a finite {entry.name}")
        if any((array < 0).any() for array in (self.attractors.radius, self.attractors.arrival)):
            raise FlockError("Set radius and arrival of the attractors to 0 or more")
        if not (np.isfinite(self.path.points).all() and np.isfinite((self.path.radius, self.path.speed)).all()):
            raise FlockError("Give the path finite points, a finite radius and a finite speed")
        if min(self.path.radius, self.path.speed) < 0:
            raise FlockError("Set the path's radius and speed to 0 or more; turn its points round to fly the other way")

    def at(self, sample: int) -> Effectors:
        """The two samples around one step (T = 2: its begin and its end), held before the first and after the last.

        `sample` -1 and less is pre-roll: all stand still where they are at the first sample.
        """
        return self._cut(lambda array: _two(array, sample))

    def since(self, sample: int) -> Effectors:
        """All samples from one on: what a flight reads that goes on there. What is at rest stays so."""
        return self._cut(lambda array: array[min(sample, len(array) - 1) :])

    def _cut(self, part: Callable[[np.ndarray], np.ndarray]) -> Effectors:
        made = copy(self)  # whose numbers are not looked through again, in every step
        for name in _GROUPS:
            group = getattr(self, name)
            cut = type(group)(*(part(getattr(group, entry.name)) for entry in fields(group)))
            object.__setattr__(made, name, cut)
        return made


_GROUPS = ("attractors", "spheres", "predators", "planes", "boxes")


def _two(array: np.ndarray, sample: int) -> np.ndarray:
    last = len(array) - 1
    if 0 <= sample < last:
        return array[sample : sample + 2]
    return array[[min(max(sample, 0), last), min(max(sample + 1, 0), last)]]


def attractor(position, weight=1.0, radius=np.inf, arrival=0.0) -> Attractors:
    """One attractor, at rest (3,) or moving (T, 3)."""
    position = np.asarray(position, float).reshape(-1, 1, 3)
    shape = position.shape[:2]
    return Attractors(position, *(np.full(shape, float(value)) for value in (weight, radius, arrival)))


def predator(position, radius, strength=3.0) -> Predators:
    """One predator, at rest (3,) or moving (T, 3)."""
    position = np.asarray(position, float).reshape(-1, 1, 3)
    shape = position.shape[:2]
    return Predators(position, *(np.full(shape, float(value)) for value in (radius, strength)))


def spheres(centre, radius, strength=1.0) -> Spheres:
    """Repulsors at rest from centres (R, 3) and radii (R,), or moving from (T, R, 3) and (T, R)."""
    centre = np.asarray(centre, float)
    centre = centre.reshape((1, *centre.shape) if centre.ndim == 2 else centre.shape)
    shape = centre.shape[:2]
    return Spheres(centre, *(np.broadcast_to(np.asarray(value, float), shape).copy() for value in (radius, strength)))
