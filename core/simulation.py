# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames and substeps: the flock flown through a range of frames, with progress, cancel and resume."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from .effectors import Effectors
from .settings import FlockError, Settings
from .state import State, Traits, spawn

ENGINES = {"NUMBA": ".steering", "REFERENCE": ".reference"}


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
        self.settings, self.effectors, self.traits = settings, effectors or Effectors(), Traits(settings)
        self.fps, self.first, self.frames, self.cancelled = fps, first, frames, cancelled
        self.engine, module = load_engine(engine)
        self.dt = 1.0 / (fps * settings.substeps)
        self.pre_roll_steps = 0 if resume else round(settings.pre_roll / self.dt)
        self.steps_done = 0
        self._resume = resume
        self._stepper = module.Stepper(settings, self.traits, threads)

    @property
    def steps(self) -> int:
        """All steps there are to fly."""
        return self.pre_roll_steps + (self.frames if self._resume else self.frames - 1) * self.settings.substeps

    @property
    def progress(self) -> float:
        """Share of the steps that are done, 0 to 1."""
        return self.steps_done / self.steps if self.steps else 1.0

    def __iter__(self) -> Iterator[Frame]:
        substeps = self.settings.substeps
        sample = 0
        if self._resume is None:
            state = self._stepper.settle(spawn(self.settings, self._stepper.dtype), self.effectors.at(-1))
            for _ in range(self.pre_roll_steps):
                state = self._step(state, -1)
            state = state.stored()
            yield Frame(self.first, state)
            numbers = range(self.first + 1, self.first + self.frames)
        else:
            state = self._resume
            numbers = range(self.first, self.first + self.frames)
        for number in numbers:
            for _ in range(substeps):
                state = self._step(state, sample)
                sample += 1
            state = state.stored()  # the flight goes on from what the clip keeps, so that it can be resumed from it
            yield Frame(number, state)

    def _step(self, state: State, sample: int) -> State:
        if self.cancelled():
            raise Cancelled
        state = self._stepper.step(state, self.effectors.at(sample), self.dt)
        self.steps_done += 1
        return state
