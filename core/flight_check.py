# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a clip: collisions, boids inside obstacles, flips, jerks, and who has left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from . import avoidance, orientation
from .effectors import Effectors
from .settings import FlockError, Settings
from .vectors import cross, dot, unit

BETWEEN = (0.25, 0.5, 0.75)
"""Where the curves between two frames are looked at, shares of a frame."""

TOLERANCE = 0.001
"""Of a sphere's radius (of the body length for planes and boxes): less is not inside."""

LEFT = 20.0
"""Times the flock's median distance from its middle: further away, and further than that many body lengths, a boid has left."""

FLOWN_APART = 4.0
"""Times the distance that counts as near: pairs further apart are no guess at the nearest."""

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
"""Of the findings, in the order of a row."""


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
    return summary(np.array([checker.add(*frame) for frame in zip(position, velocity, rotation, strict=True)]))


def summary(rows: np.ndarray) -> FlightCheck:
    """The findings on a whole clip from those on its frames: (F, 6, 3), as `Checker.add` gives them."""
    rows = np.reshape(rows, (-1, len(NAMES), 3))
    return FlightCheck(**{name: _whole(rows[:, index], name) for index, name in enumerate(NAMES)})


def _whole(rows: np.ndarray, name: str) -> Finding:
    count, frame, worst = rows.T
    if not len(rows):
        return Finding()
    known = frame >= 0
    if name == "collisions":
        index = int(np.argmin(np.where(known, worst, np.inf)))
    else:
        index = int(np.argmax(np.where(known == known.any(), worst, -np.inf)))
    return Finding(int(count.sum()), float(frame[index]), float(worst[index]))


def _rows(findings: Iterable[Finding]) -> np.ndarray:
    return np.array([(one.count, one.frame, one.worst) for one in findings])


class Checker:
    """Looks through a clip frame by frame, so that it need not lie in memory as a whole, and the caller can stop.

    Args:
        first: index of the first frame that is added, where those before it were looked at already.
        before: position, velocity and rotation of the frame before it, then.
    """

    def __init__(
        self,
        settings: Settings,
        effectors: Effectors,
        fps: float,
        first: int = 0,
        before: tuple[np.ndarray, ...] | None = None,
    ) -> None:
        self._settings, self._effectors, self._fps = settings, effectors, fps
        self._turn_limit = orientation.turn_limit(settings) if settings.smoothing > 0 else settings.max_turn_rate
        self._index, self._before = first, before
        self._nearest: tuple[int, int] | None = None
        """The nearest pair of the frame before: it is seldom far apart in the next one."""

    def add(self, position, velocity, rotation) -> np.ndarray:
        """The next frame: (N, 3), (N, 3), (N, 4). Returns float64 (6, 3): count, frame and worst of each finding."""
        now = tuple(np.asarray(array, float) for array in (position, velocity, rotation))
        index = float(self._index)
        found = {
            "collisions": self._pairs(now[0], index),
            "inside": self._obstacles(now[0], index),
            "leavers": self._leavers(now[0], index),
        }
        if self._before is not None:
            before = tuple(np.asarray(array, float) for array in self._before)
            places = ((hermite(before, now, share, self._fps), index - 1 + share) for share in BETWEEN)
            found["inside_between"] = _whole(_rows(self._obstacles(*place) for place in places), "inside_between")
            turns, rolls = rates(before[2], now[2], self._fps)
            found["turns"] = self._above(turns, self._turn_limit, index - 1)
            found["rolls"] = self._above(rolls, self._settings.roll_rate, index - 1)
        self._before, self._index = now, self._index + 1
        return _rows(found.get(name, Finding()) for name in NAMES)

    def _pairs(self, points: np.ndarray, frame: float) -> Finding:
        guess, self._nearest, whole = self._nearest, None, np.isfinite(points).all()
        if not whole:  # who is left has other indices
            points, guess = points[np.isfinite(points).all(axis=1)], None
        if len(points) < 2:
            return Finding()
        pairs, nearest, found = _pairs_and_nearest(points, self._settings.body_length / 2, guess)
        self._nearest = found if whole else None
        return Finding(pairs, frame, nearest)

    def _obstacles(self, points: np.ndarray, moment: float) -> Finding:
        settings = self._settings
        sample = int(np.floor(moment * settings.substeps))
        share = moment * settings.substeps - sample
        count, worst = 0, 0.0
        for one in avoidance.obstacles(self._effectors.at(sample), settings, 1.0 / self._fps):
            if isinstance(one, avoidance.Sphere):  # most obstacles are, and the direction away is not asked for
                centre, size = one.at(share)
                depth = size - _distance(points, centre)
            else:
                size, depth = settings.body_length, -one.distance(points, share)[0]
            inside = depth > TOLERANCE * size
            count, worst = count + int(inside.sum()), max(worst, float(depth.max(initial=0.0, where=inside)))
        return Finding(count, moment if count else -1.0, worst)

    def _above(self, values: np.ndarray, limit: float, frame: float) -> Finding:
        """Values (N,) beyond a limit, but for what rounding does."""
        if not len(values):
            return Finding()
        return Finding(int((values > limit * 1.001 + 1e-2).sum()), frame, float(values.max()))

    def _leavers(self, points: np.ndarray, frame: float) -> Finding:
        if not len(points):
            return Finding()
        distance = _distance(points, np.nanmedian(points, axis=0))
        distance[np.isnan(distance)] = np.inf  # a place that is no number is as far away as can be
        gone = distance > LEFT * max(float(np.median(distance)), self._settings.body_length)
        return Finding(int(gone.sum()), frame if gone.any() else -1.0, float(distance.max()))


def _pairs_and_nearest(
    points: np.ndarray, limit: float, guess: tuple[int, int] | None = None
) -> tuple[int, float, tuple[int, int] | None]:
    """How many pairs of (N, 3), two at least, are nearer than the limit, the nearest distance, and which pair that is.

    Args:
        guess: a pair that may be near: the nearer it is, the quicker.
    """
    nearest = float(_distance(points[[guess[0]]], points[[guess[1]]])[0]) if guess else np.inf
    pairs, which = 0, guess
    if nearest > FLOWN_APART * limit:
        nearest, which = min((nearest, guess), (_some_near_pair(points), None), key=lambda one: one[0])
    reach = max(limit, nearest)
    for one, two in _pairs_within(points, reach):
        if not len(one):
            continue
        distance = _distance(points[one], points[two])
        pairs += int(np.count_nonzero(distance < limit))
        least = int(np.argmin(distance))
        if distance[least] < nearest:
            nearest, which = float(distance[least]), (int(one[least]), int(two[least]))
    return pairs, nearest, which


def _distance(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    offset = one - two
    return np.sqrt(np.einsum("ni,ni->n", offset, offset))


def _some_near_pair(points: np.ndarray) -> float:
    """A distance that the nearest pair's does not exceed: that of neighbours along the longest side."""
    ordered = points[np.argsort(points[:, int(np.argmax(np.ptp(points, axis=0)))])]
    return min(float(_distance(ordered[step:], ordered[:-step]).min()) for step in range(1, min(8, len(points))))


def _pairs_within(points: np.ndarray, reach: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of pairs, each once, among them all that are no further apart than the reach: those of neighbouring cells."""
    axes = np.ascontiguousarray(points.T)  # (3, N): numpy goes through long rows several times as fast
    corner, extent = axes.min(axis=1), np.ptp(axes, axis=1)
    cell = max(reach, float(extent.max()) * 2.0**-20, 1e-30)  # so many cells at most that their numbers fit 64 bits
    index = (
        np.floor((axes - corner[:, None]) / cell).astype(np.int64) + 1
    )  # with an empty cell before and after each row
    width, height, _ = index.max(axis=1) + 2
    number = (index[2] * height + index[1]) * width + index[0]
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
    axis = cross(first, second)
    size = np.sqrt(dot(axis, axis))
    angle = np.arctan2(size, dot(first, second))
    swung = orientation.multiply(orientation.about(unit(axis), angle), before)
    roll = orientation.angle_about(second, orientation.up_of(swung), orientation.up_of(after))
    return angle * fps, np.abs(roll) * fps
