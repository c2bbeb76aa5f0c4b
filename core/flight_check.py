# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a clip: collisions, boids inside obstacles, flips, jerks, and who has left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import avoidance, orientation
from .effectors import Effectors
from .settings import FlockError, Settings

BETWEEN = (0.25, 0.5, 0.75)
"""Where the curves between two frames are looked at, shares of a frame."""

TOLERANCE = 0.001
"""Of a sphere's radius (of the body length for planes and boxes): less is not inside."""

LEFT = 20.0
"""Times the flock's median distance from its middle: further away, and further than that many body lengths, a boid has left."""

BLOCK = 512
"""Boids whose distances to all others are taken at a time, to bound the memory."""


@dataclass(frozen=True)
class Finding:
    """One kind of fault."""

    count: int = 0
    """Boids times frames that have it."""
    frame: float = -1.0
    """Where it is worst, frames from the first of the clip; -1 for nowhere."""
    worst: float = 0.0
    """The worst value."""


@dataclass(frozen=True)
class FlightCheck:
    """The findings on one clip."""

    collisions: Finding
    """Pairs nearer than half a body length; worst is the nearest distance of any pair, lengths."""
    inside: Finding
    """Boids inside an obstacle at a frame; worst is the depth, lengths."""
    inside_between: Finding
    """The same at quarters between frames, on the curves that the clip plays."""
    turns: Finding
    """Headings that turn faster than the limit; worst in radians per second, also where there is no fault."""
    rolls: Finding
    """Rolls faster than the limit, flips above all; worst in radians per second, also where there is no fault."""
    leavers: Finding
    """Boids far away from all the others; worst is the distance from the flock's middle, lengths."""


def check(position, velocity, rotation, settings: Settings, effectors: Effectors | None = None, fps: float = 24.0):
    """Looks through a clip.

    Args:
        position, velocity: (F, N, 3), lengths and lengths per second. rotation: (F, N, 4), quaternions w x y z.
        effectors: sampled as for `Simulation`, one for each step and one more.
        fps: frames per second.

    Returns:
        FlightCheck.

    Raises:
        FlockError: the arrays do not fit together.
    """
    position, velocity, rotation = (np.asarray(array, float) for array in (position, velocity, rotation))
    if position.ndim != 3 or position.shape != velocity.shape or rotation.shape != (*position.shape[:2], 4):
        raise FlockError("Give positions and velocities as (frames, boids, 3) and rotations as (frames, boids, 4)")
    effectors = effectors or Effectors()
    between = [frame + share for frame in range(len(position) - 1) for share in BETWEEN]
    turns, rolls = rates(rotation, fps)
    return FlightCheck(
        collisions=collisions(position, settings),
        inside=inside(position, velocity, range(len(position)), settings, effectors, fps),
        inside_between=inside(position, velocity, between, settings, effectors, fps),
        turns=above(turns, orientation.turn_limit(settings) if settings.smoothing > 0 else settings.max_turn_rate),
        rolls=above(rolls, settings.roll_rate),
        leavers=leavers(position, settings),
    )


def above(values: np.ndarray, limit: float) -> Finding:
    """Values (F, N) beyond a limit, but for what rounding does."""
    if not values.size:
        return Finding()
    frame = int(np.argmax(values.max(axis=1)))
    return Finding(int((values > limit * 1.001 + 1e-2).sum()), float(frame), float(values.max()))


def nearest_pairs(points: np.ndarray, limit: float) -> tuple[int, float]:
    """How many pairs of (N, 3) are nearer than the limit, and the nearest distance."""
    pairs, nearest = 0, np.inf
    for begin in range(0, len(points), BLOCK):
        some = points[begin : begin + BLOCK]
        offset = some[:, None] - points[None, begin:]
        distance = np.sqrt(np.einsum("ijk,ijk->ij", offset, offset))
        distance[np.tri(*distance.shape).astype(bool)] = np.inf  # each pair once
        pairs += int((distance < limit).sum())
        nearest = min(nearest, float(distance.min(initial=np.inf)))
    return pairs, nearest


def collisions(position: np.ndarray, settings: Settings) -> Finding:
    """See `FlightCheck`."""
    found = [nearest_pairs(points, settings.body_length / 2) for points in position]
    if position.shape[1] < 2 or not found:
        return Finding()
    frame = int(np.argmin([nearest for _, nearest in found]))
    return Finding(sum(pairs for pairs, _ in found), float(frame), found[frame][1])


def hermite(position: np.ndarray, velocity: np.ndarray, moment: float, fps: float) -> np.ndarray:
    """Places (N, 3) at a moment in frames, by the cubic curves that the clip plays."""
    first = min(int(moment), len(position) - 1)
    last = min(first + 1, len(position) - 1)
    u = moment - first
    bend = ((u**3 - 2 * u**2 + u) * velocity[first] + (u**3 - u**2) * velocity[last]) / fps
    return (2 * u**3 - 3 * u**2 + 1) * position[first] + (3 * u**2 - 2 * u**3) * position[last] + bend


def inside(position, velocity, moments, settings: Settings, effectors: Effectors, fps: float) -> Finding:
    """See `FlightCheck`; moments in frames from the first."""
    count, frame, worst = 0, -1.0, 0.0
    for moment in moments:
        points = hermite(position, velocity, moment, fps)
        sample = int(np.floor(moment * settings.substeps))
        share = moment * settings.substeps - sample
        for one in avoidance.obstacles(effectors.at(sample), settings, 1.0 / fps):
            size = one.at(share)[1] if isinstance(one, avoidance.Sphere) else settings.body_length
            depth = -one.distance(points, share)[0]
            count += int((depth > TOLERANCE * size).sum())
            if depth.max(initial=0.0) > max(worst, float(TOLERANCE * size)):
                frame, worst = float(moment), float(depth.max())
    return Finding(count, frame, worst)


def rates(rotation: np.ndarray, fps: float) -> tuple[np.ndarray, np.ndarray]:
    """How fast headings turn and bodies roll between frames, radians per second, (F - 1, N) each.

    The roll is what is left of a rotation when its swing, which takes the heading the short way, is taken off.
    """
    shape = (max(len(rotation) - 1, 0), rotation.shape[1])
    before, after = rotation[:-1].reshape(-1, 4), rotation[1:].reshape(-1, 4)
    first, second = orientation.forward_of(before), orientation.forward_of(after)
    axis = orientation.cross(first, second)
    size = np.sqrt(orientation.dot(axis, axis))
    angle = np.arctan2(size, orientation.dot(first, second))
    swung = orientation.multiply(orientation.about(orientation.unit(axis), angle), before)
    roll = orientation.angle_about(second, orientation.up_of(swung), orientation.up_of(after))
    return angle.reshape(shape) * fps, np.abs(roll).reshape(shape) * fps


def leavers(position: np.ndarray, settings: Settings) -> Finding:
    """See `FlightCheck`."""
    if not position.size:
        return Finding()
    offset = position - np.median(position, axis=1, keepdims=True)
    distance = np.sqrt(np.einsum("fni,fni->fn", offset, offset))
    limit = LEFT * np.maximum(np.median(distance, axis=1, keepdims=True), settings.body_length)
    gone = distance > limit
    frame = float(np.argmax(np.where(gone, distance, 0.0).max(axis=1))) if gone.any() else -1.0
    return Finding(int(gone.sum()), frame, float(distance.max()))
