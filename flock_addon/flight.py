# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flight of a bake: the simulation in a thread that knows no Blender and writes each frame into the scratch file."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..core import flight_check
from ..core.effectors import Effectors
from ..core.settings import FlockError, Settings
from ..core.simulation import Cancelled, Frame, Simulation
from ..core.state import State
from . import scratch
from .engine import engine, version

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """What is to be flown, from what, and where it is kept meanwhile."""

    settings: Settings
    effectors: Effectors
    """Over the whole clip, from its first frame on."""
    fps: float
    first: int
    """The clip's first frame."""
    frames: int
    """Of the whole clip."""
    keep: int = 0
    """Frames that need not be flown, since the old clip has them."""
    start: State | None = None
    """The flock at the last of them."""
    made_by: tuple[str, str] | None = None
    """Name and version of the engine that has to go on, since it made the frames before."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the scratch file says of itself, but for the engine."""
    places: tuple[Path, ...] = ()
    """Where the scratch file may lie; the first that can be written is taken."""
    unfinished: scratch.Head | None = None
    """The scratch file to go on with."""
    threads: int | None = None
    cache_folder: str = ""


class Flight(threading.Thread):
    """Flies a task. Once it has ended, `result` gives the frames, or raises what went wrong."""

    def __init__(self, task: Task, cancelled: threading.Event) -> None:
        super().__init__(name="Flock bake", daemon=True)
        self.task = task
        self.frames_done = 0
        """Frames in the scratch file."""
        self.frames_checked = 0
        """Frames that were looked through, once all are flown."""
        self.findings: np.ndarray | None = None
        """What the flight check found at each frame that was flown, (F, 6, 3); None where it could not look."""
        self.engine, self.engine_version = "", ""
        self._cancelled, self._unwanted = cancelled, False
        self._simulation: Simulation | None = None
        self._writer: scratch.Writer | None = None
        self._resumed = 0
        self._error: BaseException | None = None

    @property
    def progress(self) -> float:
        """Share of the steps, 0 to 1; frames that were there already count as flown."""
        done = self._resumed / (self.task.frames - self.task.keep)
        return done + (1.0 - done) * (self._simulation.progress if self._simulation else 0.0)

    def run(self) -> None:
        # Python ends with all threads where they are, and one inside numba would hold up its end for ever.
        atexit.register(self._end)
        try:
            self._wait_for_others()
            self._load()
            self._open()
            for frame in self._frames():
                self._writer.append(frame.state)
                self.frames_done += 1
            self.findings = self._check()
        except BaseException as error:  # it is raised again where the user is told
            self._error = error
        finally:
            if self._error or self._cancelled.is_set():
                self.close()
            atexit.unregister(self._end)

    def _end(self) -> None:
        self._cancelled.set()
        self.join()

    def result(self) -> scratch.Head:
        """The scratch file, complete; it stays ours until `close`.

        Raises:
            FlockError: the flight ended before its time.
        """
        if self._error is None:
            return scratch.look(self._writer.path)
        if isinstance(self._error, FlockError | Cancelled):
            raise self._error
        log.error("the bake stopped", exc_info=self._error)
        raise FlockError(f"The bake stopped, and the old clip is as it was: {self._error}") from self._error

    @property
    def checksums(self) -> list[int]:
        """Of the frames in the scratch file."""
        return self._writer.checksums if self._writer else []

    def discard(self) -> None:
        """Deletes the scratch file, also where it is only just being made."""
        self._unwanted = True
        if self._writer:
            self._writer.discard()

    def close(self) -> None:
        """Leaves the scratch file to others."""
        if self._writer:
            self._writer.close()

    def _wait_for_others(self) -> None:
        """A cancelled flight ends at its next step: until then the scratch file is its own."""
        for other in threading.enumerate():
            if isinstance(other, Flight) and other is not self and set(other.task.places) & set(self.task.places):
                other.join()

    def _load(self) -> None:
        self.engine = engine.load(self.task.cache_folder, self._cancelled.is_set)
        self.engine_version = version(self.engine)
        made_by, present = self.task.made_by, (self.engine, self.engine_version)
        if made_by and made_by != present:
            raise FlockError(
                f"The frames before were flown by {_spoken(made_by)}, and here is {_spoken(present)}: "
                f"go on where they were flown, or bake the whole clip again"
            )

    def _open(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled
        if self.task.unfinished:
            self._writer = scratch.Writer.resume(self.task.unfinished)
            self._resumed = self.frames_done = self._writer.frames
        else:
            self._writer = self._create()
        if self._unwanted:  # whoever cancelled meanwhile did not see the file yet
            self._writer.discard()

    def _create(self) -> scratch.Writer:
        task = self.task
        about = dict(task.about) | {"engine": self.engine, "engine_version": self.engine_version}
        for path in task.places:
            try:
                return scratch.Writer(path, task.settings.count, about)
            except (OSError, scratch.Taken) as error:
                log.info("no scratch file at %s: %s", path, error)
                reason = error
        raise FlockError(f"The bake cannot be written to {path}: {reason}. Make room, or save the file elsewhere")

    def _frames(self) -> Iterator[Frame]:
        """Those that are still to be flown."""
        task = self.task
        known = task.keep + self._resumed
        if known == task.frames:
            return
        resume, at = task.start, max(0, known - 1)
        if self._resumed:
            resume = scratch.state(self.task.unfinished, self._resumed - 1)
        self._simulation = Simulation(
            task.settings,
            task.effectors.since(at * task.settings.substeps),
            fps=task.fps,
            first=task.first + known,
            frames=task.frames - known,
            engine=self.engine,
            threads=task.threads,
            resume=resume,
            cancelled=self._cancelled.is_set,
        )
        yield from self._simulation

    def _check(self) -> np.ndarray | None:
        """Looks through the frames in the scratch file. What goes wrong here must not cost the bake."""
        task, start = self.task, self.task.start
        before = (start.position, start.velocity, start.rotation) if start else None
        checker = flight_check.Checker(task.settings, task.effectors, task.fps, task.keep, before)
        arrays, rows = scratch.frames(scratch.look(self._writer.path), self.frames_done), []
        try:
            for frame in zip(arrays.position, arrays.velocity, arrays.rotation, strict=True):
                if self._cancelled.is_set():
                    raise Cancelled
                rows.append(checker.add(*frame))
                self.frames_checked += 1
        except Cancelled:
            raise
        except Exception:
            log.exception("the flight could not be checked")
            return None
        return np.array(rows)


def _spoken(engine: tuple[str, str]) -> str:
    name, exact = engine
    return exact if name == "NUMBA" else f"the {name.lower()} engine ({exact})"
