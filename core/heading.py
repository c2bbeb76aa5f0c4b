# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What bends and bounds a boid's heading: angular noise, the turn rate, the angles of climb and dive. Speeds stay.

Velocities are (N, 3), lengths per second; angles are radians.
"""

from __future__ import annotations

import numpy as np

from .noise import Purpose, stream
from .settings import Settings
from .vectors import any_side, cross, dot, length, unit


def noisy(velocity: np.ndarray, settings: Settings, step: int, dt: float) -> np.ndarray:
    """Velocities turned by a random angle about a random axis across the heading; in the plane, to the left or the right.

    The angles add up like a random walk: those of a step are the root of its length in seconds times `noise`, whatever the frame rate.
    """
    angle = noise_angle(settings, len(velocity), step) * np.sqrt(dt)
    heading = unit(velocity)
    right = any_side(heading)
    side = right
    if not settings.plane:
        around = 2 * np.pi * stream(settings.seed, len(velocity), step, Purpose.NOISE_AXIS)
        side = np.cos(around)[:, None] * right + np.sin(around)[:, None] * cross(right, heading)
    speed = length(velocity)[:, None]
    return np.where(speed > 0, speed * (np.cos(angle)[:, None] * heading + np.sin(angle)[:, None] * side), velocity)


def noise_angle(settings: Settings, count: int, step: int) -> np.ndarray:
    """Of one second: NORMAL (Box and Muller 1958), or UNIFORM over the whole width around 0, (N,)."""
    turn = stream(settings.seed, count, step, Purpose.NOISE_ANGLE)
    if settings.noise_shape == "UNIFORM":
        return settings.noise * (turn - 0.5)
    radius = np.sqrt(-2 * np.log1p(-stream(settings.seed, count, step, Purpose.NOISE_RADIUS)))
    return settings.noise * radius * np.cos(2 * np.pi * turn)


def turned(velocity: np.ndarray, before: np.ndarray, most: float) -> np.ndarray:
    """Velocities whose headings are at most `most` from those before, turned the short way; who turns right about goes by any side.

    Who was at rest had no heading, and may set out anywhere.
    """
    old, new = unit(before), unit(velocity)
    cosine = dot(old, new)
    across = new - cosine[:, None] * old
    size = length(across)
    too_far = (np.arctan2(size, cosine) > most) & (dot(old, old) > 0) & (dot(new, new) > 0)
    if not too_far.any():
        return velocity
    side = np.where((size > 1e-9)[:, None], unit(across), any_side(old))
    reached = length(velocity)[:, None] * (np.cos(most) * old + np.sin(most) * side)
    return np.where(too_far[:, None], reached, velocity)


def within_slopes(velocity: np.ndarray, before: np.ndarray, up: np.ndarray, settings: Settings) -> np.ndarray:
    """Velocities no steeper than `max_climb` and `max_dive`. What is straight up or down is laid down along the heading before."""
    climb = velocity @ up
    flat = velocity - climb[:, None] * up
    slope = np.arctan2(climb, length(flat))
    wanted = np.clip(slope, -settings.max_dive, settings.max_climb)
    steep = (slope != wanted) & ((climb != 0) | (length(flat) > 0))
    if not steep.any():
        return velocity
    for other in (before, any_side(np.broadcast_to(up, velocity.shape))):
        level = other - (other @ up)[:, None] * up
        flat = np.where((length(flat) > 1e-9 * length(velocity))[:, None], flat, level)
    laid = length(velocity)[:, None] * (np.cos(wanted)[:, None] * unit(flat) + np.sin(wanted)[:, None] * up)
    return np.where(steep[:, None], laid, velocity)
