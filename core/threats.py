# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a boid turns away from at once: predators, what its feelers touch, and the border of its space.

All answers are accelerations (N, 3), lengths per second squared, or directions where the settings ask for no more.
"""

from __future__ import annotations

import numpy as np

from . import avoidance
from .effectors import Effectors, Predators
from .goals import full_push
from .settings import Settings
from .space import Border, steer_back
from .state import State
from .vectors import any_side, cross, dot, length, smoothstep, unit

PANIC = 0.1
"""Of the flee radius, inside its edge: there fleeing sets in, smoothly; nearer it is in full."""

OFF_MIDDLE = 0.1
"""Of the flee radius: who would be passed nearer than this by a predator is given a side."""

FIRM = 2.0
"""Times the max acceleration: turning back at the border outdoes all other wishes together, which have one of it."""

MARCH, POLISH = 24, 8
"""Steps along a feeler: first as far as nothing can be nearer (sphere tracing, Hart 1996), which is slow where it grazes, then Newton's.
Away from what is nearest they are no shorter than a share of the feeler, so that they end; what is thinner may be overlooked there."""

TOUCH = 1e-6
"""Of a feeler's length: so near to a surface it has met it."""


def threatened(state: State, settings: Settings, effectors: Effectors, dt: float) -> np.ndarray | None:
    """All of it together; None where nothing of the kind is switched on."""
    total = None
    if effectors.predators.radius.shape[1]:
        total = fled(state, settings, effectors.predators, dt)
    if settings.feelers:
        total = _plus(total, felt(state, settings, effectors, dt))
    elif settings.space != "OPEN" and settings.boundary == "STEER":
        total = _plus(total, FIRM * full_push(settings) * steer_back(state.position, state.velocity, settings))
    return total


def _plus(total: np.ndarray | None, more: np.ndarray) -> np.ndarray:
    return more if total is None else total + more


def fled(state: State, settings: Settings, predators: Predators, dt: float) -> np.ndarray:
    """Away from where each predator would come nearest within the look-ahead time: off its way rather than along it, so that the flock
    parts before it, flows past, and closes behind (the fountain effect)."""
    total = np.zeros_like(state.position)
    for index in range(predators.radius.shape[1]):
        place, radius = predators.position[:, index], predators.radius[0, index]
        offset = state.position - place[0]
        distance = length(offset)
        if not (distance < radius).any():
            continue
        relative = state.velocity - (place[1] - place[0]) / dt
        square = dot(relative, relative)
        time = np.divide(-dot(offset, relative), square, out=np.zeros_like(square), where=square > 0)
        passing = offset + np.clip(time, 0.0, settings.look_ahead)[:, None] * relative
        given = np.maximum(OFF_MIDDLE * radius - length(passing), 0.0)
        away = unit(passing + given[:, None] * any_side(unit(relative)))
        fear = smoothstep((1.0 - distance / radius) / PANIC) * predators.strength[0, index]
        total += full_push(settings) * fear[:, None] * away
    return total


def felt(state: State, settings: Settings, effectors: Effectors, dt: float) -> np.ndarray:
    """Along the normal of the nearest surface that a feeler meets, weighted; fading in over the feeler's length unless edges are hard."""
    walls = avoidance.obstacles(effectors, settings, dt)
    if settings.space != "OPEN" and settings.boundary == "STEER":
        walls.append(Border(settings))
    nearest, normal = np.full(len(state), np.inf), np.zeros_like(state.position)
    for wall in walls:
        near = np.flatnonzero(wall.distance(state.position, 0.0)[0] < settings.feeler_length)
        reaching = np.array(feelers(unit(state.velocity[near]), settings, effectors.up))
        start = np.broadcast_to(state.position[near], reaching.shape).reshape(-1, 3)
        way, face = probe(start, reaching.reshape(-1, 3), settings.feeler_length, wall)
        way, face = way.reshape(reaching.shape[:2]), face.reshape(reaching.shape)
        first = np.argmin(way, axis=0), np.arange(len(near))
        sooner = way[first] < nearest[near]
        nearest[near[sooner]], normal[near[sooner]] = way[first][sooner], face[first][sooner]
    strength = np.where(np.isfinite(nearest), settings.feelers * full_push(settings), 0.0)
    if settings.edge == "SMOOTH" and settings.feeler_length > 0:
        strength = strength * smoothstep(1.0 - nearest / settings.feeler_length)
    return strength[:, None] * normal


def feelers(heading: np.ndarray, settings: Settings, up: np.ndarray) -> list[np.ndarray]:
    """Directions of the feelers, (N, 3) each: ahead, at 45 degrees to the left and the right, and, but for a plane flock, up and down."""
    if settings.plane:
        up = np.array((0.0, 0.0, 1.0))
    right = cross(heading, np.broadcast_to(up, heading.shape))
    right = np.where((length(right) > 1e-6)[:, None], unit(right), any_side(heading))
    sides = [right, -right] if settings.plane else [right, -right, cross(right, heading), cross(heading, right)]
    return [heading, *(unit(heading + side) for side in sides)]


def probe(start: np.ndarray, feeler: np.ndarray, reach: float, wall) -> tuple[np.ndarray, np.ndarray]:
    """How far (N,) along unit directions (N, 3) a surface is met, inf beyond `reach`; and the direction away from it there, (N, 3).

    It asks the surface nothing but how far it is and in which direction is away, so that whatever can answer that can be felt.
    """
    way = np.zeros(len(start))
    for step in range(MARCH + POLISH):
        gap, away = wall.distance(start + way[:, None] * feeler, 0.0)
        if (gap <= TOUCH * reach).all():
            break
        closing = -dot(feeler, away)
        newton = (step >= MARCH) & (closing > 1e-9)
        advance = np.divide(gap, closing, out=np.where(closing > 0, gap, np.maximum(gap, reach / MARCH)), where=newton)
        way = np.clip(way + advance, 0.0, 2 * reach)
    gap, away = wall.distance(start + way[:, None] * feeler, 0.0)
    met = (gap <= TOUCH * reach) & (way <= reach) & (dot(feeler, feeler) > 0)
    return np.where(met, way, np.inf), away
