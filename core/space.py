# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The room a flock may fly in, a box or a sphere, and what happens at its border.

Points and velocities are float64 (N, 3), lengths and lengths per second, in the flock's own space. A plane flock knows the rectangle or the
circle alone. STEER and REFLECT let nobody out, but for who is pushed out by an obstacle that leaves no other way.
"""

from __future__ import annotations

import numpy as np

from .settings import Settings
from .vectors import any_side, dot, length, smoothstep, unit

BOUNCES = 16
"""Off the inside of a sphere in one step; who is not done then stops at the border."""

ONSET = 0.5
"""Of the way that a boid looks ahead: so far beyond the border, and a body length, it turns back in full."""

OFF_NORMAL = 0.1
"""Sine of the angle within which a boid that flies straight at the border is given a side."""


class Border:
    """The border seen from inside: it answers, like an obstacle, how far it is and in which direction is away."""

    def __init__(self, settings: Settings) -> None:
        self.centre = np.array(settings.space_centre, float)
        self.half = np.array(settings.space_size, float) / 2
        self.box = settings.space == "BOX"
        self.radius = self.half[0]
        if settings.plane:
            self.centre[2] = 0.0
            self.half[2] = np.inf

    def distance(self, points: np.ndarray, share=0.0) -> tuple[np.ndarray, np.ndarray]:
        """How far inside (N,), negative outside, and the direction to the inside (N, 3)."""
        offset = points - self.centre
        if not self.box:
            return self.radius - length(offset), -unit(offset)
        room = self.half - np.abs(offset)
        wall = np.argmin(room, axis=1)
        side = np.where(offset < 0, 1.0, -1.0) * np.eye(3)[wall]
        return np.take_along_axis(room, wall[:, None], axis=1)[:, 0], side

    def nearest(self, points: np.ndarray, room: float = 0.0) -> np.ndarray:
        """The points themselves inside, and the nearest ones of the border outside; `room` within it, where there is so much."""
        offset = points - self.centre
        if self.box:
            half = np.maximum(self.half - room, 0.0)
            return self.centre + np.clip(offset, -half, half)
        size, radius = length(offset)[:, None], max(self.radius - room, 0.0)
        return np.where(size > radius, self.centre + radius * unit(offset), points)


def steer_back(position: np.ndarray, velocity: np.ndarray, settings: Settings) -> np.ndarray:
    """How urgently each boid wants back in, 0 to 1 long (N, 3): as it would soon be outside, or nearer to the border than its room.

    It turns, and does not brake: who flies straight at a wall turns to one side.
    """
    border, heading = Border(settings), unit(velocity)
    room = settings.clearance + settings.body_length
    here = length(border.nearest(position, room) - position) / room
    ahead = position + velocity * settings.look_ahead
    missing = border.nearest(ahead, room) - ahead
    share = length(missing) / (ONSET * settings.look_ahead * length(velocity) + settings.body_length)
    inward = unit(missing)
    across = inward - dot(inward, heading)[:, None] * heading
    side = np.maximum(OFF_NORMAL - length(across), 0.0)[:, None] * any_side(heading)
    return smoothstep(np.maximum(share, here))[:, None] * unit(across + side)


def contain(before: np.ndarray, position: np.ndarray, velocity: np.ndarray, settings: Settings):
    """Begins of ways, their ends and velocities, once the border has done its part: where a boid met it, its way begins anew there."""
    border = Border(settings)
    inside = border.distance(position)[0] >= 0
    if inside.all():
        return before, position, velocity
    at = np.flatnonzero(~inside)
    before, position, velocity = before.copy(), position.copy(), velocity.copy()
    kind = settings.boundary
    if kind == "STEER":
        position[at], velocity[at] = stopped(position[at], velocity[at], border)
    elif kind == "REFLECT":
        bounce = folded if border.box else bounced
        position[at], velocity[at] = bounce(before[at], position[at], velocity[at], border)
    else:
        position[at] = carried_over(position[at], border, settings)
    before[at] = position[at]
    return before, position, velocity


def stopped(position: np.ndarray, velocity: np.ndarray, border: Border) -> tuple[np.ndarray, np.ndarray]:
    """Set back on the border, without the speed that leads out."""
    reached = border.nearest(position)
    if border.box:
        return reached, np.where((position - reached) * velocity > 0, 0.0, velocity)
    outward = unit(position - reached)
    return reached, velocity - np.maximum(dot(velocity, outward), 0.0)[:, None] * outward


def folded(before: np.ndarray, position: np.ndarray, velocity: np.ndarray, border: Border):
    """Mirrored in the walls of a box, as often as it takes."""
    finite = np.isfinite(border.half)
    half = np.where(finite, border.half, 1.0)
    phase = np.mod(position - border.centre + half, 4 * half)
    back = finite & (phase > 2 * half)
    place = border.centre - half + np.where(back, 4 * half - phase, phase)
    return np.where(finite, place, position), np.where(back, -velocity, velocity)


def bounced(before: np.ndarray, position: np.ndarray, velocity: np.ndarray, border: Border):
    """Reflected inside a sphere, chord by chord."""
    start, end, velocity = border.nearest(before), position, velocity.copy()
    for _ in range(BOUNCES):
        out = np.flatnonzero(length(end - border.centre) > border.radius)
        if not len(out):
            break
        offset, way = start[out] - border.centre, end[out] - start[out]
        along, square = dot(offset, way), dot(way, way)
        inside = np.maximum(border.radius**2 - dot(offset, offset), 0.0)
        share = (np.sqrt(along**2 + square * inside) - along) / np.maximum(square, 1e-300)
        hit = start[out] + share[:, None] * way
        normal = unit(hit - border.centre)
        start[out] = hit
        end[out] -= 2 * dot(end[out] - hit, normal)[:, None] * normal
        velocity[out] -= 2 * np.maximum(dot(velocity[out], normal), 0.0)[:, None] * normal
    return border.nearest(end), velocity


def carried_over(position: np.ndarray, border: Border, settings: Settings) -> np.ndarray:
    """In again on the other side: a whole period further (PERIODIC), else on the opposite face; a sphere has no period."""
    offset = position - border.centre
    if not border.box:
        return np.where(length(offset)[:, None] > border.radius, border.centre - border.radius * unit(offset), position)
    if settings.boundary == "PERIODIC":
        finite = np.isfinite(border.half)
        period = np.where(finite, 2 * border.half, 1.0)
        return np.where(finite, position - period * np.round(offset / period), position)
    return np.where(np.abs(offset) > border.half, border.centre - np.copysign(border.half, offset), position)


def settle(position: np.ndarray, settings: Settings) -> np.ndarray:
    """Starting points brought inside: folded over, so that they do not pile up at the border."""
    border = Border(settings)
    if border.box:
        return folded(position, position, np.zeros_like(position), border)[0]
    offset = position - border.centre
    phase = np.mod(length(offset), 2 * border.radius)
    return border.centre + np.minimum(phase, 2 * border.radius - phase)[:, None] * unit(offset)
