# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flight check of a clip: the scene as it is now and the clip's frames go in, findings come out.

What a bake finds is in its clip's record. What *Check Flight* finds later is kept on the flock, with the clip's hash: a clip beside
the file is never written again, and flocks that share one have obstacles of their own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import bpy
import numpy as np

from ..core import flight_check
from ..core.settings import FlockError, Settings
from . import clip, compat, nodes, sampling, stale

(RECORD,) = clip.LATER
"""Where a clip's record keeps what its bake found at each frame."""

_SENTENCES = {
    "collisions": ("Near collisions: {count}, {worst:.2g} apart", "Closest pair: {worst:.3g} apart"),
    "inside": ("Inside: {count}, {worst:.2g} deep", "Nobody inside an obstacle"),
    "inside_between": ("Between: {count}, {worst:.2g} deep", "Nobody between frames"),
    "rolls": ("Roll flips: {count}, {worst:.0f}°/s", "No roll flips"),
    "turns": ("Turns too fast: {count}, {worst:.0f}°/s", "No turn beyond the limit"),
    "leavers": ("Left: {count}, {worst:.3g} away", "Nobody has left"),
}
_ANGLES = ("rolls", "turns")
_NONE = np.zeros((0, len(flight_check.NAMES), 3))


@dataclass(frozen=True)
class Line:
    """What the panel says of one kind of fault."""

    name: str
    text: str
    is_fault: bool
    frame: float | None
    """The clip's frame where it is worst, in frames of the scene in which it was baked; None for nowhere."""


def lines(flock: bpy.types.Object) -> list[Line]:
    """What is known of the flight of the flock's clip; empty where it was not checked yet."""
    found, header = findings(flock), clip.header(flock.data)
    if found is None or header is None:
        return []
    return [_line(name, getattr(found, name), header) for name in _SENTENCES]


def _line(name: str, finding: flight_check.Finding, header: clip.Header) -> Line:
    fault, fine = _SENTENCES[name]
    worst = math.degrees(finding.worst) if name in _ANGLES else finding.worst
    alone = name == "collisions" and finding.frame < 0
    text = "No two boids" if alone else (fault if finding.count else fine).format(count=finding.count, worst=worst)
    frame = header.first + finding.frame * header.step if finding.frame >= 0 else None
    return Line(name, text, bool(finding.count), frame)


def findings(flock: bpy.types.Object) -> flight_check.FlightCheck | None:
    """Of the whole clip, or None where it was not checked yet."""
    header = clip.header(flock.data)
    found = rows(flock, header.frames) if header else None
    return flight_check.summary(found) if found is not None else None


def rows(flock: bpy.types.Object, frames: int) -> np.ndarray | None:
    """What was found last at the first frames of a flock's clip, float32 (F, 6, 3); None where they were not checked yet."""
    known = clip.record(flock.data)
    checked, _, text = flock.flock.flight_check.partition(" ")
    if checked != known.get("hash"):
        text = known.get(RECORD, "")
    if not text:
        return None
    found = stale.unpacked(text).reshape(-1, len(flight_check.NAMES), 3)[:frames]
    return found if len(found) == frames else None


def keep(flock: bpy.types.Object, found: np.ndarray) -> None:
    """Keeps what was found at each frame of the flock's clip, (F, 6, 3), in the place of what was found before."""
    flock.flock.flight_check = f"{clip.record(flock.data)['hash']} {stale.packed(found)}"


def forget(flock: bpy.types.Object) -> None:
    """Leaves what the clip's bake found: the clip is new, even where it has the bits of the old one."""
    flock.flock.flight_check = ""


def entry(found: np.ndarray | None, before: np.ndarray | None = _NONE) -> dict[str, str]:
    """What the record keeps of the findings at each frame, (F, 6, 3); nothing where they are not known.

    Args:
        before: those of the frames before, where there are such.
    """
    known = found is not None and before is not None
    return {RECORD: stale.packed(np.concatenate((before, found)))} if known else {}


class Check:
    """A flight check under way. Call `tick` until it answers true; `message` and `progress` tell how far it is.

    Raises:
        FlockError: there is no clip that could be checked.
    """

    def __init__(self, flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
        known, header = clip.record(flock.data), clip.header(flock.data)
        if header is None or "settings" not in known:
            raise FlockError("There is no baked clip to check: bake the flock")
        if flock.library is not None:  # which keeps nothing
            raise FlockError(
                f"The flock '{flock.name}' is linked from another file: make a library override, or check it there"
            )
        problem = clip.missing(flock.data) or clip.damage(flock.data)
        if problem:
            raise FlockError(problem)
        self.name, self._uid, self._hash = flock.name, flock.session_uid, known.get("hash")
        self.message, self.progress = "Sampling the scene", 0.0
        self.lines: list[Line] = []
        """What was found, once it is done."""
        self._header, self._settings = header, Settings.from_dict(known["settings"])
        self._sampler = sampling.Sampler(flock, scene, header.first, header.frames, self._settings.substeps)
        self._work = self._steps()

    def cancel(self) -> None:
        """Gives up; what was found before stays."""
        self._work.close()

    stop = cancel

    def tick(self, seconds: float = 0.1) -> bool:
        """Does about that much work. True once the findings are kept.

        Raises:
            FlockError: a sentence; what was found before stays.
        """
        end = time.monotonic() + seconds
        for share in self._work:
            self.progress = share
            if time.monotonic() > end:
                return False
        return True

    def run(self, report: Callable[[float, str], None] = lambda share, message: None) -> None:
        """Blocks until it is done.

        Args:
            report: called with the progress and what is done, a few times a second.
        """
        while not self.tick(0.25):
            report(self.progress, self.message)

    def _steps(self) -> Iterator[float]:
        for share in self._sampler:
            yield 0.3 * share
        self.message = "Checking the flight"
        effectors = sampling.effectors(self._sampler.samples())
        checker = flight_check.Checker(self._settings, effectors, self._header.fps)
        arrays, found = clip.read(self._flock().data), []
        for frame in zip(arrays.position, arrays.velocity, arrays.rotation, strict=True):
            found.append(checker.add(*frame))
            yield 0.3 + 0.7 * len(found) / self._header.frames
        flock = self._flock()
        keep(flock, np.array(found))
        self.lines = lines(flock)

    def _flock(self) -> bpy.types.Object:
        """Which may be elsewhere in memory after an undo."""
        flock = next((item for item in bpy.data.objects if item.session_uid == self._uid), None)
        if flock is None or clip.record(flock.data).get("hash") != self._hash:
            raise FlockError("The clip was replaced while it was checked: check the new one")
        return flock


# -- where a fault is seen -------------------------------------------------------------------------------------------


def scene_frame(flock: bpy.types.Object, frame: float) -> float:
    """The scene's frame at which a frame of the clip plays, by the modifier's time as it is now.

    Raises:
        FlockError: it never plays.
    """
    header, modifier = clip.header(flock.data), nodes.find_modifier(flock)
    if modifier is None:
        return frame
    speed, offset = (compat.get_input(modifier, name) for name in ("Speed", "Time Offset"))
    moved = compat.get_input(modifier, "Move First Frame")
    begin = compat.get_input(modifier, "First Frame") if moved else header.first
    if speed == 0:
        raise FlockError("At speed 0 one frame plays all the time: set another speed to see this one")
    into = frame - header.first - offset - (header.last - header.first if speed < 0 else 0.0)
    return begin + into / speed
