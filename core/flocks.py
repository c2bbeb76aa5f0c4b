# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who sees whom among several flocks, and what a boid wants because of the boids of another flock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .effectors import Effectors, Predators
from .goals import steered
from .settings import FlockError, Settings
from .state import State, Traits
from .vectors import edge_weight, length

BLOCK = 256
"""Boids that look at all of another flock at a time, to bound the memory of the pair matrices."""

KINDS = ("ALIGN", "AVOID", "CHASE", "FLEE")

POWER = {"ALIGN": 0.0, "AVOID": -1.0, "CHASE": -2.0}
"""Of the distance, in how much the direction to one who is seen counts: the nearest of the prey far more than the rest."""


@dataclass(frozen=True)
class Sight:
    """One row of the table: the boids of the flock `watcher` see those of the flock `seen`, all round, within a radius."""

    watcher: int
    """Index of a flock."""
    seen: int
    """Index of another flock."""
    kind: str
    """ALIGN: fly as they do. AVOID: keep away, as separation does. CHASE: fly at them, the nearest above all. FLEE: as from predators."""
    weight: float = 1.0
    """Share in the blend, as a rule's; for FLEE the strength, a multiple of the max acceleration. No unit."""
    radius: float = 10.0
    """Reach, lengths."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FlockError(f"Set what a flock does about another to one of {', '.join(KINDS)}")
        if self.watcher == self.seen:
            raise FlockError("Choose another flock to be seen: a flock sees its own boids by its settings")
        if not (np.isfinite(self.weight) and 0 <= self.radius < np.inf):
            raise FlockError("Set the weight of what a flock sees to a finite number, and its radius to 0 or more")


@dataclass(frozen=True)
class Seen:
    """Sums over the boids of another flock within a radius, weighted by their distance's edge weight."""

    toward: np.ndarray
    """float64 (N, 3): Σ weight · direction · distance to some power; one in the same place has no direction."""
    velocity: np.ndarray
    """float64 (N, 3): Σ weight · velocity, lengths per second."""
    weight: np.ndarray
    """float64 (N,): Σ weight."""


Look = Callable[[np.ndarray, np.ndarray, np.ndarray, float, bool, float], Seen]


def look(place, there, velocity, radius: float, smooth: bool, power: float) -> Seen:
    """What boids at `place` (N, 3) see of others at `there` (M, 3) with velocities (M, 3), a block of boids at a time."""
    seen = Seen(np.zeros(place.shape), np.zeros(place.shape), np.zeros(len(place)))
    for begin in range(0, len(place), BLOCK):
        some = slice(begin, begin + BLOCK)
        offset = there[None] - place[some, None]
        distance = length(offset)
        weight = edge_weight(distance, np.full_like(distance, radius), smooth)
        scale = weight * np.power(distance, power - 1.0, out=np.zeros_like(distance), where=distance > 0)
        seen.toward[some] = np.einsum("nm,nmi->ni", scale, offset)
        seen.velocity[some] = weight @ velocity
        seen.weight[some] = weight.sum(axis=1)
    return seen


def wish(
    watcher: int, states: Sequence[State], settings: Settings, traits: Traits, sights: Sequence[Sight], look: Look
):
    """What the boids of one flock want because of the others, weighted, float64 (N, 3); None where they see nobody.

    Each wish is a steer as the flock's own: AVOID as its separation, ALIGN as its alignment, CHASE as it flies to attractors. It fades
    with those who are seen, so that nothing jumps when one comes into reach.
    """
    rows = [row for row in sights if row.watcher == watcher and row.kind != "FLEE" and len(states[row.seen])]
    if not rows or not len(states[watcher]):
        return None
    place, velocity = (np.asarray(array, float) for array in (states[watcher].position, states[watcher].velocity))
    total = np.zeros_like(place)
    for row in rows:
        there, speeds = (np.asarray(array, float) for array in (states[row.seen].position, states[row.seen].velocity))
        seen = look(place, there, speeds, row.radius, settings.edge == "SMOOTH", POWER[row.kind])
        direction, kind = _wanted(row.kind, seen, velocity, settings)
        steer = steered(direction, velocity, kind, settings.cruise_speed * traits.speed, settings)
        total += (row.weight * np.minimum(1.0, seen.weight))[:, None] * steer
    return total


def _wanted(kind: str, seen: Seen, velocity: np.ndarray, settings: Settings) -> tuple[np.ndarray, str]:
    """The vector that is steered along, and how."""
    if kind == "AVOID":
        return -seen.toward, settings.separation.steer
    if kind == "CHASE":
        return seen.toward, settings.attraction_steer
    weight = seen.weight[:, None]
    mean = np.divide(seen.velocity, weight, out=np.zeros_like(velocity), where=weight > 0)
    return (mean - velocity if settings.alignment.steer == "RAW" else mean), settings.alignment.steer


def with_hunters(
    watcher: int, states: Sequence[State], effectors: Effectors, sights: Sequence[Sight], dt: float
) -> Effectors:
    """The effectors of one step, and as predators the boids from which the flock flees: as they are, and as they will be if they fly on."""
    hunters = [(row, states[row.seen]) for row in sights if row.watcher == watcher and row.kind == "FLEE"]
    if not hunters:
        return effectors
    group = effectors.predators
    places = [np.stack((state.position, state.position + state.velocity * dt)) for _, state in hunters]
    radii, strengths = (
        [np.full((2, len(state)), getattr(row, name)) for row, state in hunters] for name in ("radius", "weight")
    )
    parts = ((group.position, places), (group.radius, radii), (group.strength, strengths))
    return replace(effectors, predators=Predators(*(np.concatenate((own, *more), axis=1) for own, more in parts)))
