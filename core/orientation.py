# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From velocity to rotation: the heading with a smoothing time, banking by lateral acceleration, a limited roll; and the wing beat.

Quaternions are w x y z; +Y flies forward, +Z is the boid's up. A step turns the last rotation by small angles and never builds one anew:
so there is no flip in a loop or a dive, and no change of sign from frame to frame.
"""

from __future__ import annotations

import numpy as np

from .settings import Settings
from .vectors import cross, dot, unit

ROLL_TIME = 0.25
"""In which a boid rolls towards its bank, seconds."""

LAG = np.arccos(0.96)
"""How far the body may trail the velocity, radians."""

STEEP = (0.15, 0.5)
"""Cosines of the climb angle between which level flight comes to mean something: straight up there is no level."""


def multiply(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Product of quaternions (N, 4): first `other`, then `one`."""
    w, x, y, z = one.T
    a, b, c, d = other.T
    return np.stack(
        (
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ),
        axis=1,
    )


def about(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Quaternions (N, 4) that turn by angles (N,), radians, about unit axes (N, 3)."""
    half = angle / 2
    return np.concatenate((np.cos(half)[:, None], axis * np.sin(half)[:, None]), axis=1)


def forward_of(rotation: np.ndarray) -> np.ndarray:
    """Where the boids look, (N, 3)."""
    w, x, y, z = rotation.T
    return np.stack((2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)), axis=1)


def up_of(rotation: np.ndarray) -> np.ndarray:
    """The boids' own up, (N, 3)."""
    w, x, y, z = rotation.T
    return np.stack((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)), axis=1)


def angle_about(axis: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Signed angle (N,) from start to end about the unit axis, all (N, 3)."""
    return np.arctan2(dot(cross(start, end), axis), dot(start, end))


def swing(rotation: np.ndarray, heading: np.ndarray, most: np.ndarray | float, kept: np.ndarray | float) -> np.ndarray:
    """Turns the forward axis towards the heading, without roll, leaving a share `kept` of the angle, by at most `most` radians.

    A heading of zero leaves the rotation; one straight behind is reached by a yaw.
    """
    forward = forward_of(rotation)
    axis = cross(forward, heading)
    sine, cosine = np.sqrt(dot(axis, axis)), dot(forward, heading)
    angle = np.arctan2(sine, cosine)
    left = np.minimum(angle * kept, LAG)
    axis = np.where((sine > 1e-9)[:, None], unit(axis), up_of(rotation))
    resting = dot(heading, heading) == 0
    return multiply(about(axis, np.where(resting, 0.0, np.minimum(angle - left, most))), rotation)


def level_up(forward: np.ndarray, up: np.ndarray, bank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The up (N, 3) of a boid banked to the right by `bank` radians, and how much level means for it, 0 to 1 (N,)."""
    flat = up - dot(forward, np.broadcast_to(up, forward.shape))[:, None] * forward
    size = np.sqrt(dot(flat, flat))
    flat = unit(flat)
    right = cross(forward, flat)
    share = np.clip((size - STEEP[0]) / (STEEP[1] - STEEP[0]), 0, 1)
    return np.cos(bank)[:, None] * flat + np.sin(bank)[:, None] * right, share * share * (3 - 2 * share)


def bank_angle(forward: np.ndarray, acceleration: np.ndarray, up: np.ndarray, settings: Settings) -> np.ndarray:
    """tan(bank) = lateral acceleration / gravity, that is v²/(gR) in a level turn (Hildenbrandt 2010); right is positive, (N,)."""
    right = unit(cross(forward, np.broadcast_to(up, forward.shape)))
    return np.arctan(settings.banking * dot(acceleration, right) / settings.gravity)


def settle(velocity: np.ndarray, rotation: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Rotations (N, 4) along velocities (N, 3), wings level; boids at rest keep theirs."""
    velocity, rotation = np.asarray(velocity, float), np.asarray(rotation, float)
    turned = swing(rotation, unit(velocity), np.pi, 0.0)
    forward = forward_of(turned)
    wanted, means = level_up(forward, up, np.zeros(len(forward)))
    roll = np.where(means > 0, angle_about(forward, up_of(turned), wanted), 0.0)
    moving = dot(velocity, velocity)[:, None] > 0
    return np.where(moving, multiply(about(forward, roll), turned), rotation)


def turn_limit(settings: Settings) -> float:
    """How fast a body turns at most, radians per second: what steering can do at the lowest speed, unless a rate is set."""
    fastest = settings.max_speed if np.isfinite(settings.max_speed) else settings.cruise_speed
    slowest = max(settings.min_speed * (1 - settings.speed_variation), 0.2 * fastest, 1e-6)
    return min(settings.max_turn_rate, settings.max_acceleration / slowest)


def turn(rotation, velocity, acceleration, up, settings: Settings, dt: float) -> np.ndarray:
    """The rotations (N, 4) one step later, from velocities and accelerations (N, 3).

    The body follows the velocity within `smoothing`, no faster than `turn_limit`; without smoothing it follows at once.
    Roll goes towards the bank of the turn, no faster than `roll_rate`, the less the steeper the climb and the further it is from level:
    who flies a loop stays in its plane.
    """
    rate = turn_limit(settings) if settings.smoothing > 0 else np.inf
    kept = np.exp(-dt / settings.smoothing) if settings.smoothing > 0 else 0.0
    turned = swing(rotation, unit(velocity), rate * dt, kept)
    forward = forward_of(turned)
    wanted, means = level_up(forward, up, bank_angle(forward, acceleration, up, settings))
    error = angle_about(forward, up_of(turned), wanted)
    share = (1 - np.exp(-dt / ROLL_TIME)) * means * (1 + np.cos(error)) / 2
    most = settings.roll_rate * dt
    turned = multiply(about(forward, np.clip(error * share, -most, most)), turned)
    return turned / np.sqrt(dot(turned, turned))[:, None]


def beat(velocity, acceleration, up, settings: Settings) -> np.ndarray:
    """Wing beats per second, (N,): more in a climb and the harder the boid accelerates, hardly any in a glide."""
    speed = np.maximum(np.sqrt(dot(velocity, velocity)), 1e-9)
    climb = velocity @ up / speed
    most = (
        settings.max_acceleration
        if np.isfinite(settings.max_acceleration) and settings.max_acceleration > 0
        else np.inf
    )
    effort = np.minimum(np.sqrt(dot(acceleration, acceleration)) / most, 1.0)
    return settings.beat_rate * np.clip(0.7 + 0.6 * effort + 1.5 * climb, 0.1, 2.0)
