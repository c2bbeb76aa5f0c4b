# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a clip: collisions, boids inside obstacles, flips, jerks, and who has left."""

from __future__ import annotations

from collections.abc import Iterator
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

BLOCK = 1_000_000
"""Pairs of boids that are measured at a time, to bound the memory."""


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


NAMES = ("collisions", "inside", "inside_between", "turns", "rolls", "leavers")
"""Of the findings."""


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
    if position.ndim != 3 or position.shape != velocity.shape or rotation.shape != (*position.shape[:2], 4):
        raise FlockError("Give positions and velocities as (frames, boids, 3) and rotations as (frames, boids, 4)")
    checker = Checker(settings, effectors or Effectors(), fps)
    for frame in zip(position, velocity, rotation, strict=True):
        checker.add(*frame)
    return checker.result()


class Checker:
    """Looks through a clip frame by frame, so that it need not lie in memory as a whole, and the caller can stop."""

    def __init__(self, settings: Settings, effectors: Effectors, fps: float) -> None:
        self._settings, self._effectors, self._fps = settings, effectors, fps
        self._turn_limit = orientation.turn_limit(settings) if settings.smoothing > 0 else settings.max_turn_rate
        self._before: tuple[np.ndarray, ...] | None = None
        self._found = {name: Finding() for name in NAMES}
        self.frames = 0
        """How many it has seen."""

    def add(self, position, velocity, rotation) -> None:
        """The next frame: (N, 3), (N, 3), (N, 4)."""
        now = tuple(np.asarray(array, float) for array in (position, velocity, rotation))
        index = float(self.frames)
        self._pairs(now[0][np.isfinite(now[0]).all(axis=1)], index)
        self._obstacles("inside", now[0], index)
        self._leavers(now[0], index)
        if self._before is not None:
            for share in BETWEEN:
                points = hermite(self._before, now, share, self._fps)
                self._obstacles("inside_between", points, index - 1 + share)
            turns, rolls = rates(self._before[2], now[2], self._fps)
            self._above("turns", turns, self._turn_limit, index - 1)
            self._above("rolls", rolls, self._settings.roll_rate, index - 1)
        self._before, self.frames = now, self.frames + 1

    def result(self) -> FlightCheck:
        """What was found so far."""
        return FlightCheck(**self._found)

    def _note(self, name: str, count: int, frame: float, value: float, is_worse: bool) -> None:
        """One more moment; where it is the worst yet, it is kept."""
        old = self._found[name]
        kept = (frame, value) if is_worse else (old.frame, old.worst)
        self._found[name] = Finding(old.count + count, *kept)

    def _pairs(self, points: np.ndarray, frame: float) -> None:
        if len(points) > 1:
            pairs, nearest = nearest_pairs(points, self._settings.body_length / 2)
            old = self._found["collisions"]
            self._note("collisions", pairs, frame, nearest, old.frame < 0 or nearest < old.worst)

    def _obstacles(self, name: str, points: np.ndarray, moment: float) -> None:
        settings = self._settings
        sample = int(np.floor(moment * settings.substeps))
        share = moment * settings.substeps - sample
        for one in avoidance.obstacles(self._effectors.at(sample), settings, 1.0 / self._fps):
            size = one.at(share)[1] if isinstance(one, avoidance.Sphere) else settings.body_length
            depth = -one.distance(points, share)[0]
            deepest = float(depth.max(initial=0.0))
            worse = deepest > max(self._found[name].worst, float(TOLERANCE * size))
            self._note(name, int((depth > TOLERANCE * size).sum()), moment, deepest, worse)

    def _above(self, name: str, values: np.ndarray, limit: float, frame: float) -> None:
        """Values (N,) beyond a limit, but for what rounding does."""
        if len(values):
            count, worst = int((values > limit * 1.001 + 1e-2).sum()), float(values.max())
            old = self._found[name]
            self._note(name, count, frame, worst, old.frame < 0 or worst > old.worst)

    def _leavers(self, points: np.ndarray, frame: float) -> None:
        if not len(points):
            return
        distance = _distance(points, np.nanmedian(points, axis=0))
        distance[np.isnan(distance)] = np.inf  # a place that is no number is as far away as can be
        gone = distance > LEFT * max(float(np.median(distance)), self._settings.body_length)
        old, worst = self._found["leavers"], float(distance.max())
        worse = (bool(gone.any()), worst) > (old.frame >= 0, old.worst)
        self._note("leavers", int(gone.sum()), frame if gone.any() else -1.0, worst, worse)


def nearest_pairs(points: np.ndarray, limit: float) -> tuple[int, float]:
    """How many pairs of (N, 3) are nearer than the limit, and the nearest distance; infinite where there is no pair."""
    if len(points) < 2:
        return 0, np.inf
    pairs, nearest = 0, _some_near_pair(points)
    for one, two in _pairs_within(points, max(limit, nearest)):
        distance = _distance(points[one], points[two])
        pairs += int((distance < limit).sum())
        nearest = min(nearest, float(distance.min(initial=np.inf)))
    return pairs, nearest


def _distance(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    offset = one - two
    return np.sqrt(np.einsum("ni,ni->n", offset, offset))


def _some_near_pair(points: np.ndarray) -> float:
    """A distance that the nearest pair's does not exceed: that of neighbours along the longest side."""
    ordered = points[np.argsort(points[:, int(np.argmax(np.ptp(points, axis=0)))])]
    return min(float(_distance(ordered[step:], ordered[:-step]).min()) for step in range(1, min(8, len(points))))


def _pairs_within(points: np.ndarray, reach: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of pairs, each once, among them all that are no further apart than the reach: those of neighbouring cells."""
    corner, extent = points.min(axis=0), np.ptp(points, axis=0)
    cell = max(reach, float(extent.max()) * 2.0**-20, 1e-30)  # so many cells at most that their numbers fit 64 bits
    index = np.floor((points - corner) / cell).astype(np.int64) + 1  # with an empty cell before and after each row
    width, height, _ = index.max(axis=0) + 2
    number = (index[:, 2] * height + index[:, 1]) * width + index[:, 0]
    order = np.argsort(number)
    number = number[order]
    alone = np.arange(1, len(points) + 1)
    yield from _expanded(order, alone, np.searchsorted(number, number + 1, "right"))  # the rest of its own row
    for row in (width, (height - 1) * width, height * width, (height + 1) * width):
        low = np.searchsorted(number, number + row - 1, "left")
        yield from _expanded(order, low, np.searchsorted(number, number + row + 1, "right"))


def _expanded(order: np.ndarray, low: np.ndarray, high: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each point with those from low to high, in blocks that bound the memory."""
    ends = np.cumsum(high - low)
    for begin in range(0, int(ends[-1]), BLOCK):
        pair = np.arange(begin, min(begin + BLOCK, int(ends[-1])))
        one = np.searchsorted(ends, pair, "right")
        yield order[one], order[high[one] - (ends[one] - pair)]


def hermite(before: tuple[np.ndarray, ...], after: tuple[np.ndarray, ...], share: float, fps: float) -> np.ndarray:
    """Places (N, 3) at a share of the way between two frames, by the cubic curves that the clip plays.

    Args:
        before, after: position and velocity of each, (N, 3).
    """
    u = share
    bend = ((u**3 - 2 * u**2 + u) * before[1] + (u**3 - u**2) * after[1]) / fps
    return (2 * u**3 - 3 * u**2 + 1) * before[0] + (3 * u**2 - 2 * u**3) * after[0] + bend


def rates(before: np.ndarray, after: np.ndarray, fps: float) -> tuple[np.ndarray, np.ndarray]:
    """How fast headings turn and bodies roll between two frames' rotations (N, 4): radians per second, (N,) each.

    The roll is what is left of a rotation when its swing, which takes the heading the short way, is taken off.
    """
    first, second = orientation.forward_of(before), orientation.forward_of(after)
    axis = orientation.cross(first, second)
    size = np.sqrt(orientation.dot(axis, axis))
    angle = np.arctan2(size, orientation.dot(first, second))
    swung = orientation.multiply(orientation.about(orientation.unit(axis), angle), before)
    roll = orientation.angle_about(second, orientation.up_of(swung), orientation.up_of(after))
    return angle * fps, np.abs(roll) * fps
