# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames and substeps: one flock or several flown through a range of frames, with progress, cancel and resume."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from . import flocks
from .effectors import Effectors
from .flocks import Sight
from .settings import FlockError, Settings
from .state import State, Traits, spawn

ENGINES = {"NUMBA": ".steering", "REFERENCE": ".reference"}
LOOKS = {"NUMBA": ".sight_sums", "REFERENCE": ".flocks"}


class Cancelled(Exception):
    """The caller asked the simulation to stop."""


@dataclass(frozen=True)
class Frame:
    """What one frame of the clip stores."""

    number: int
    state: State


def load_engine(name: str | None = None) -> tuple[str, ModuleType]:
    """The named engine, or the fastest that can be imported here.

    Raises:
        FlockError: the named engine cannot be imported.
    """
    for candidate in (name,) if name else ENGINES:
        try:
            return candidate, importlib.import_module(ENGINES[candidate], __package__)
        except Exception as error:  # a broken numba raises anything at all while it is imported
            reason = error
    raise FlockError(
        f"The {(name or 'reference').lower()} engine cannot run here ({reason}): choose another engine"
    ) from reason


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_resumed(state: State, settings: Settings) -> None:
    """Refuses a state from which these settings cannot be flown on.

    Raises:
        FlockError: it is of another number of boids, its arrays do not fit together, or not all of its numbers are finite.
    """
    count, parts = settings.count, (state.position, state.velocity, state.rotation, state.flap)
    if len(state) != count:
        raise FlockError(f"Set the count to {len(state)}, as many boids as the flight has that is resumed, not {count}")
    if [np.shape(part) for part in parts] != [(count, 3), (count, 3), (count, 4), (count,)]:
        raise FlockError(
            "Resume from a place, a velocity, a rotation and a flap for each boid: (N, 3), (N, 3), (N, 4), (N,)"
        )
    if not all(np.isfinite(part).all() for part in parts):
        raise FlockError(
            "Resume from an earlier frame: in this one some places, velocities or rotations are no finite numbers"
        )


def frames_of(number: int, states: list[State]) -> list[Frame]:
    """The same frame of several flocks."""
    return [Frame(number, state) for state in states]


class Simulation:
    """Flies one flock through frames `first` to `first + frames - 1`.

    Iterate it for the frames, in order. Effectors have one sample for each step of the range: sample k is the begin of step k, that is
    frame `first + k / substeps`, and the last sample is the last frame. Pre-roll flies before the first frame with sample 0 held.

    Args:
        fps: frames per second, as the scene has them (`fps / fps_base`).
        engine: 'NUMBA' or 'REFERENCE'; None takes the fastest there is.
        threads: number of threads; None takes all cores. The result does not depend on it.
        resume: the state at frame `first - 1`; instead of spawn and pre-roll. Sample 0 is then frame `first - 1`.
        cancelled: asked before every step; `Cancelled` is raised where it answers true.

    Raises:
        FlockError: a sentence; before anything is flown.
    """

    def __init__(
        self,
        settings: Settings,
        effectors: Effectors | None = None,
        *,
        fps: float = 24.0,
        first: int = 1,
        frames: int = 1,
        engine: str | None = None,
        threads: int | None = None,
        resume: State | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        if not (fps > 0 and np.isfinite(fps)):
            raise FlockError("Set the frame rate above 0")
        if frames < 1:
            raise FlockError("Set the end frame no earlier than the start frame")
        if resume is not None:
            check_resumed(resume, settings)
        self.settings, self.effectors, self.traits = settings, effectors or Effectors(), Traits(settings)
        self.fps, self.first, self.frames, self.cancelled = fps, first, frames, cancelled
        self.engine, module = load_engine(engine)
        self.dt = 1.0 / (fps * settings.substeps)
        self.pre_roll_steps = 0 if resume is not None else round(settings.pre_roll / self.dt)
        self.steps_done = 0
        self._resume = resume
        self._stepper = module.Stepper(settings, self.traits, threads or cores())

    @property
    def resumes(self) -> bool:
        """Whether it goes on from a state, instead of from the spawn."""
        return self._resume is not None

    @property
    def steps(self) -> int:
        """All steps there are to fly."""
        return self.pre_roll_steps + (self.frames if self.resumes else self.frames - 1) * self.settings.substeps

    @property
    def progress(self) -> float:
        """Share of the steps that are done, 0 to 1."""
        return self.steps_done / self.steps if self.steps else 1.0

    def __iter__(self) -> Iterator[Frame]:
        for (frame,) in Flocks([self]):
            yield frame

    def begin(self) -> State:
        """The state that the flight starts from: that of the spawn, before the pre-roll, or the one that it is resumed from."""
        self.steps_done = 0
        if self._resume is not None:
            return self._resume
        return self._stepper.settle(spawn(self.settings, self._stepper.dtype), self.effectors.at(-1))

    def step(self, own: int, states: list[State], sample: int, sights: Sequence[Sight]) -> State:
        """The flock one step later, from the states of all flocks, of which it is number `own`."""
        if self.cancelled():
            raise Cancelled
        effectors = flocks.with_hunters(own, states, self.effectors.at(sample), sights, self.dt)
        wish = flocks.wish(own, states, self.settings, self.traits, sights, self._look)
        state = self._stepper.step(states[own], effectors, self.dt, wish)
        self.steps_done += 1
        return state

    def _look(self, *seen) -> flocks.Seen:
        """What boids see of another flock, by this engine."""
        module = importlib.import_module(LOOKS[self.engine], __package__)
        return module.look(*seen)


class Flocks:
    """Flies several flocks together through the same frames; each has its own settings and effectors.

    Iterate it for the frames, in order: a list with one frame for each flock. In a step all see what all were at its begin.
    Where pre-rolls differ, a flock with a shorter one waits in its spawn volume.

    Args:
        simulations: one for each flock, of the same frames, frame rate and substeps; none of them flown before.
        sights: who sees whom; flocks that do not see one another fly as if alone, to the last bit.

    Raises:
        FlockError: a sentence; before anything is flown.
    """

    def __init__(self, simulations: Sequence[Simulation], sights: Sequence[Sight] = ()) -> None:
        if not simulations:
            raise FlockError("Give at least one flock to fly")
        ranges = {(one.first, one.frames, one.dt, one.settings.substeps, one.resumes) for one in simulations}
        if len(ranges) > 1:
            raise FlockError(
                "Give flocks that fly together the same frames, frame rate and substeps, and resume all or none"
            )
        for row in sights:
            if not (0 <= row.watcher < len(simulations) and 0 <= row.seen < len(simulations)):
                raise FlockError(f"Choose flocks that are there: they are numbered 0 to {len(simulations) - 1}")
        self.simulations, self.sights = list(simulations), tuple(sights)

    @property
    def steps(self) -> int:
        """All steps there are to fly, each flock's own."""
        return sum(one.steps for one in self.simulations)

    @property
    def progress(self) -> float:
        """Share of the steps that are done, 0 to 1."""
        return sum(one.steps_done for one in self.simulations) / self.steps if self.steps else 1.0

    def __iter__(self) -> Iterator[list[Frame]]:
        first, states = self.simulations[0], [one.begin() for one in self.simulations]
        numbers, sample = iter(range(first.first, first.first + first.frames)), 0
        if not first.resumes:
            for left in range(max(one.pre_roll_steps for one in self.simulations), 0, -1):
                states = self._step(states, -1, [one.pre_roll_steps >= left for one in self.simulations])
            states = [state.stored() for state in states]
            yield frames_of(next(numbers), states)
        for number in numbers:
            for _ in range(first.settings.substeps):
                states = self._step(states, sample, [True] * len(states))
                sample += 1
            states = [
                state.stored() for state in states
            ]  # it goes on from what the clip keeps, so that it can be resumed
            yield frames_of(number, states)

    def _step(self, states: list[State], sample: int, flies: list[bool]) -> list[State]:
        """All flocks one step later; those that do not fly yet stay as they are."""
        return [
            one.step(own, states, sample, self.sights) if flies[own] else states[own]
            for own, one in enumerate(self.simulations)
        ]
