# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flock at one moment, and how it starts."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .noise import Purpose, stream
from .settings import Settings

RECORD = 11
"""Numbers of one boid: position, velocity, rotation and flap."""


@dataclass(frozen=True)
class State:
    """All that the next step reads: from it the flight goes on bit for bit."""

    position: np.ndarray
    """float32 (N, 3), lengths, in the flock's space."""
    velocity: np.ndarray
    """float32 (N, 3), lengths per second."""
    rotation: np.ndarray
    """float32 (N, 4), unit quaternions w x y z: +Y flies forward, +Z is the boid's up."""
    flap: np.ndarray
    """float32 (N,), wing beats since the start, turns, never wrapped."""
    step: int = 0
    """Steps flown since the spawn, pre-roll included: the counter of the random numbers, and, times the length of a step, the time of
    wander, sources and release. So a flight goes on as it was only with the same frame rate and substeps."""

    def __len__(self) -> int:
        return len(self.position)

    records: ClassVar[np.ndarray | None] = None
    """float32 (N, RECORD), of which the four are views where a compiled step has made them, else None."""

    @classmethod
    def of(cls, records: np.ndarray, step: int) -> State:
        """The four as views of `records` float32 (N, RECORD), where they lie boid by boid."""
        made = cls(records[:, :3], records[:, 3:6], records[:, 6:10], records[:, 10], step)
        object.__setattr__(made, "records", records)  # not a field: who replaces one of the four is rid of it
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Of a copy or a pickle, whose four are no longer views of the records: it is rid of these."""
        return {name: value for name, value in vars(self).items() if name != "records"}

    def stored(self) -> State:
        """In float32, as the clip stores it, and boid by boid: what belongs together is then fetched together."""
        if self.records is not None:
            return self
        parts = (self.position, self.velocity, self.rotation, self.flap[:, None])
        return State.of(np.concatenate(parts, axis=1, dtype=np.float32, casting="same_kind"), self.step)


class Memory:
    """Lends records for new states, and takes them back when nobody looks at them any more: fresh memory has to be cleared first."""

    SPARE = 2

    def __init__(self) -> None:
        self._spare: list[np.ndarray] = []

    def records(self, count: int) -> np.ndarray:
        """float32 (count, RECORD), with anything in it."""
        kept = self._spare.pop() if self._spare else None
        if kept is None or len(kept) != count * RECORD:
            kept = np.empty(count * RECORD, np.float32)
        lent = np.frombuffer(kept.data, np.float32)  # all views of it, however made, keep this one alive
        weakref.finalize(lent, self._take_back, kept).atexit = False
        return lent.reshape(count, RECORD)

    def _take_back(self, kept: np.ndarray) -> None:
        if len(self._spare) < self.SPARE:
            self._spare.append(kept)


@dataclass(frozen=True)
class Traits:
    """What differs between boids, from the seed alone."""

    settings: Settings

    def _vary(self, purpose: Purpose, share: float) -> np.ndarray:
        settings = self.settings
        return 1.0 + share * (2.0 * stream(settings.seed, settings.count, 0, purpose) - 1.0)

    @cached_property
    def speed(self) -> np.ndarray:
        """float64 (N,), factor of cruise, min and max speed."""
        return self._vary(Purpose.SPEED, self.settings.speed_variation)

    @cached_property
    def size(self) -> np.ndarray:
        """float64 (N,), factor of the body length: for who draws them by itself."""
        return self._vary(Purpose.SIZE, self.settings.size_variation)

    @cached_property
    def weight(self) -> np.ndarray:
        """float64 (N,), factor of the three rules' weights."""
        return self._vary(Purpose.WEIGHT, self.settings.weight_variation)

    @cached_property
    def release(self) -> np.ndarray:
        """float64 (N,), seconds after the spawn at which each boid starts."""
        settings = self.settings
        return settings.release_duration * stream(settings.seed, settings.count, 0, Purpose.RELEASE)


def spawn(settings: Settings, dtype: Any = np.float32) -> State:
    """The flock at its start, around the origin of its space, heading +Y unless its headings are random.

    A boid keeps its place and heading when the seed does, whatever the others' number changes to in a BOX of fixed size;
    the volume grows with the count, `spacing` cubed (squared in the plane) for each boid.
    """
    count = settings.count
    unit = [stream(settings.seed, count, 0, purpose) for purpose in (Purpose.SPAWN_X, Purpose.SPAWN_Y, Purpose.SPAWN_Z)]
    place = _in_box(settings, unit) if settings.spawn_shape == "BOX" else _in_ball(settings, unit)
    vary = 2 * stream(settings.seed, count, 0, Purpose.START_SPEED) - 1
    speed = settings.initial_speed * (1 + settings.initial_speed_variation * vary)
    velocity = _headings(settings) * (0.0 if settings.start == "REST" else 1.0) * speed[:, None]
    rotation = np.zeros((count, 4))
    rotation[:, 0] = 1.0
    flap = stream(settings.seed, count, 0, Purpose.PHASE)
    place, velocity, rotation, flap = (
        np.ascontiguousarray(array, dtype) for array in (place, velocity, rotation, flap)
    )
    return State(place, velocity, rotation, flap)


def _in_box(settings: Settings, unit: list[np.ndarray]) -> np.ndarray:
    shape = np.array(settings.spawn_proportions)
    if settings.plane:
        side = settings.spacing * (settings.count / np.prod(shape[:2])) ** (1 / 2)
        return (np.stack(unit, axis=1) - 0.5) * side * shape * (1.0, 1.0, 0.0)
    side = settings.spacing * (settings.count / np.prod(shape)) ** (1 / 3)
    return (np.stack(unit, axis=1) - 0.5) * side * shape


def _in_ball(settings: Settings, unit: list[np.ndarray]) -> np.ndarray:
    if settings.plane:
        radius = settings.spacing * np.sqrt(settings.count / np.pi * unit[2])
        turn = 2 * np.pi * unit[0]
        return np.stack((radius * np.cos(turn), radius * np.sin(turn), np.zeros_like(turn)), axis=1)
    radius = settings.spacing * np.cbrt(settings.count * 3 / (4 * np.pi) * unit[2])
    return radius[:, None] * _on_sphere(unit[0], unit[1])


def _on_sphere(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Two uniform numbers to a uniform direction (Archimedes' hat box)."""
    height, turn = 2 * second - 1, 2 * np.pi * first
    ring = np.sqrt(1 - height**2)
    return np.stack((ring * np.cos(turn), ring * np.sin(turn), height), axis=1)


def _headings(settings: Settings) -> np.ndarray:
    if settings.start != "RANDOM":
        return np.tile((0.0, 1.0, 0.0), (settings.count, 1))
    x, y = (stream(settings.seed, settings.count, 0, purpose) for purpose in (Purpose.HEADING_X, Purpose.HEADING_Y))
    if settings.plane:
        return np.stack((np.cos(2 * np.pi * x), np.sin(2 * np.pi * x), np.zeros_like(x)), axis=1)
    return _on_sphere(x, y)
