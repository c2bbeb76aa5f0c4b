# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake: a job without user interface, which samples the scene, flies the flock in a thread, and writes the clip.

Only `Job.tick` touches Blender; the thread knows nothing of it. What is flown goes frame by frame into a scratch file. Whatever ends
a bake before its time leaves that file for *Resume*, a crash, a full disk, an error, another file that is opened; but for Esc, which
is somebody's will: who cancels a bake finds the disk as it was before. So a new bake has a file of its own beside one that was left,
which goes when the new clip is in place, and one that was resumed keeps its frames.
"""

from __future__ import annotations

import logging
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import bpy

from ..core.effectors import Effectors
from ..core.settings import FlockError
from ..core.state import spawn
from . import checking, clip, compat, nodes, plan, properties, sampling, scratch, stale
from .engine import engine, is_compiled
from .flight import Flight, Task
from .plan import BAKE, SPAWN, Options, Plan, check_editable, has_clip, is_baked, megabytes

__all__ = ["Job", "Options", "Plan", "engine"]

log = logging.getLogger(__name__)

WRITING = "Writing the clip"
"""The last stage of a job, during which a window is not drawn."""

running: dict[int, Job] = {}
"""The jobs under way, by their flock's session uid; never saved in a file."""


# -- the job ---------------------------------------------------------------------------------------------------------


class Job:
    """One bake of one flock. Call `tick` until it answers true; `message` and `progress` tell how far it is.

    Args:
        wanted: which frames; the flock's own range by default.
        unfinished: the scratch file of a bake to go on with, which then says which frames.

    Raises:
        FlockError: a sentence, before anything has begun.
    """

    def __init__(
        self,
        flock: bpy.types.Object,
        scene: bpy.types.Scene,
        wanted: Plan | None = None,
        options: Options | None = None,
        unfinished: scratch.Head | None = None,
    ) -> None:
        check_editable(flock)
        sampling.check_repulsors(properties.repulsors(flock))
        self.settings, self.fps = properties.to_settings(flock.flock), properties.frame_rate(scene)
        self.options, self._unfinished = options or Options(), unfinished
        self.plan = plan.plan_of(unfinished) if unfinished else wanted or plan.whole(flock, scene)
        self.uid, self.name = flock.session_uid, flock.name
        self._check(flock, scene)
        places = plan.scratch_places(flock, self.options)
        self._places = (unfinished.path,) if unfinished else plan.with_room(places, self.settings.count, self.plan)
        self._base = plan.base(flock)
        self._kept = clip.record(flock.data) if self.plan.keep else {}
        """What the clip knows of the frames that are kept."""
        self._record: dict[str, Any] = {}
        self._cancel = threading.Event()
        self._flight: Flight | None = None
        self._sampler = sampling.Sampler(flock, scene, self.plan.first, self.plan.frames, self.settings.substeps)
        self._pieces = iter(self._sampler)
        self.message, self.progress = "Sampling the scene", 0.0
        """What it is doing, in words, and the share of the whole that is done, 0 to 1."""
        self.warnings = sampling.unseen_motion(flock, scene)
        """Sentences where the clip is baked, but something about it is not as it may be thought to be."""
        self._along: list[int] = []
        running[self.uid] = self

    def take_along(self, others: list[bpy.types.Object]) -> None:
        """Gives the new clip to these flocks too, once it is there."""
        self._along = [item.session_uid for item in others]

    def _check(self, flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
        if self._unfinished:
            plan.check_resumable(self._unfinished, flock, self.settings, self.fps)
        if self.plan.keep:
            plan.check_continuity(flock, self.settings, self.fps)
        self._check_room(flock)
        # what is wrong at the first frame is better said now
        sampling.effectors(sampling.sample(flock, scene, self.plan.first, 1, 1))

    def _check_room(self, flock: bpy.types.Object) -> None:
        plan.check_room(self.settings.count, self.plan, clip.header(flock.data).frames if self.plan.keep else 0)

    @property
    def warning(self) -> str:
        """What is to be said once it is done; empty where all is as it should be."""
        return ". ".join(self.warnings)

    def cancel(self) -> None:
        """Gives up for good: the old clip stays as it is, and nothing of this bake stays, unless it was resumed.

        The thread ends at its next step, and nobody waits for it.
        """
        self.stop()
        if self._flight and not self._unfinished:
            self._flight.discard()

    def stop(self) -> None:
        """Ends here, and leaves the frames so far in the scratch file. The old clip stays as it is."""
        self._cancel.set()
        running.pop(self.uid, None)
        if self._flight and not self._flight.is_alive():  # else it does so itself
            self._flight.close()

    def tick(self, seconds: float = 0.1) -> bool:
        """Does about that much work on the main thread. True once the clip is in place.

        Raises:
            FlockError: a sentence; the old clip is as it was.
        """
        if self._cancel.is_set():
            raise FlockError(f"The bake of '{self.name}' was ended before its time")
        try:
            if self._flight is None:
                self._sample(seconds)
                return False
            return self._wait(seconds)
        except BaseException as error:
            self.stop()
            if isinstance(error, FlockError) or not isinstance(error, Exception):
                raise
            log.error("the bake stopped", exc_info=error)
            raise FlockError(f"The bake stopped, and the old clip is as it was: {error}") from error

    def run(self, report: Callable[[float, str], None] = lambda share, message: None) -> None:
        """Blocks until it is done.

        Args:
            report: called with the progress and what is done, a few times a second.
        """
        while not self.tick(0.25):
            report(self.progress, self.message)
        report(1.0, "Done")

    def _sample(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for share in self._pieces:
            self.progress = 0.1 * share
            if time.monotonic() > end:
                return
        samples = self._sampler.samples()
        self._know(samples)
        compiled = engine.ready or is_compiled(self.options.cache_folder)
        self.message = "Starting" if compiled else "Compiling, which only the first bake on a machine has to"
        self._flight = Flight(self._task(sampling.effectors(samples, self.settings.flock_width)), self._cancel)
        self._flight.start()

    def _know(self, samples: sampling.Samples) -> None:
        """Keeps what the clip is made from, and compares it with what it goes on from."""
        self._record = {"settings": self.settings.to_dict(), "effectors": stale.Making.of(samples).to_dict()}
        if self._unfinished:
            plan.check_same_effectors(self._unfinished, self._flock(), self._record)
        changes = plan.changes_before(self._kept, self._record, self.plan) if self._kept else []
        if changes:
            self.warnings.append(
                f"Since the frames before {self.plan.start} were flown, this has changed: {', '.join(changes)}. "
                "They are as they were"
            )

    def _task(self, effectors: Effectors) -> Task:
        made = self._unfinished.about if self._unfinished else self._kept
        about = {"file": plan.file_name(self.options), "flock": self.name, "fps": self.fps} | asdict(self.plan)
        return Task(
            settings=self.settings,
            effectors=effectors,
            fps=self.fps,
            first=self.plan.first,
            frames=self.plan.frames,
            keep=self.plan.keep,
            start=plan.last_state(self._flock(), self.plan) if self.plan.keep else None,
            made_by=(made["engine"], made["engine_version"]) if made else None,
            about=about | {"base": self._base, "record": self._record},
            places=self._places,
            unfinished=self._unfinished,
            threads=self.options.threads,
            cache_folder=self.options.cache_folder,
        )

    def _wait(self, seconds: float) -> bool:
        flight = self._flight
        flight.join(seconds)
        if flight.is_alive():
            if flight.frames_checked:
                self.message = (
                    f"Checking the flight: frame {self.plan.start + flight.frames_checked - 1} of {self.plan.last}"
                )
            elif flight.frames_done:
                self.message = f"Flying: frame {self.plan.start + flight.frames_done - 1} of {self.plan.last}"
            elif flight.progress:
                self.message = "Flying the pre-roll"
            self.progress = 0.1 + 0.85 * flight.progress
            return False
        head = flight.result()
        if self.message != WRITING:  # which is shown before the window waits for it
            self.message, self.progress = WRITING, 0.95
            return False
        try:
            self._write(flight, head)
            flight.discard()
        finally:
            flight.close()
        self._tidy()
        running.pop(self.uid, None)
        return True

    def _tidy(self) -> None:
        """Deletes what older bakes left."""
        try:
            plan.discard_left(self._flock(), self.options)
        except FlockError as error:
            self.warnings.append(str(error))

    def _write(self, flight: Flight, head: scratch.Head) -> None:
        flock = self._flock()
        along = [item for item in bpy.data.objects if item.session_uid in self._along]
        for item in (flock, *along):
            check_editable(item)
        if self._kept and clip.record(flock.data).get("hash") != self._kept["hash"]:
            raise FlockError("The clip was replaced while it was continued: undo that, and resume the bake")
        self._check_room(flock)
        new = self._assemble(flock, flight, head)
        replace_clip(flock, self._in_sidecar(flock, new) if self._wants_sidecar(flock) else new)
        checking.forget(flock)
        for other in along:
            replace_clip(other, flock.data)

    def _assemble(self, flock: bpy.types.Object, flight: Flight, head: scratch.Head) -> bpy.types.Mesh:
        """The new clip's mesh, which nobody shows yet."""
        flown = self.plan.new_frames
        arrays, last = scratch.frames(head, flown), scratch.state(head, flown - 1)
        record = self._record | {
            "kind": BAKE,
            "engine": flight.engine,
            "engine_version": flight.engine_version,
            "steps": last.step,
        }
        if not self.plan.keep:
            header = clip.Header(self.settings.count, self.plan.frames, self.plan.first, self.fps)
            record |= checking.entry(flight.findings)
            return clip.write(clip_name(flock), arrays, header, record, flight.checksums)
        joined = plan.joined_record(self._kept, record, self.plan)
        joined |= checking.entry(flight.findings, checking.rows(flock, self.plan.keep))
        return clip.splice(flock.data, self.plan.keep, arrays, joined, flight.checksums)

    def _wants_sidecar(self, flock: bpy.types.Object) -> bool:
        """Whether the flock's storage asks for a file of its own; a clip that is continued stays where it is."""
        choice = flock.flock.storage
        if choice != "AUTO":
            return choice == "SIDECAR"
        large = clip.size_in_bytes(self.settings.count, self.plan.frames) > self.options.sidecar_limit
        return bool(large and self.options.file) or (self.plan.keep > 0 and clip.is_sidecar(flock.data))

    def _in_sidecar(self, flock: bpy.types.Object, new: bpy.types.Mesh) -> bpy.types.Mesh:
        """The new clip, linked from a file of its own, where that can be written."""
        try:
            path = clip.write_sidecar(new, clip_name(flock), self.options.file)
        except FlockError as error:
            self.warnings.append(f"{error}. The clip is in the file")
            return new
        bpy.data.meshes.remove(new)  # before it is linked, so that it does not lie in memory twice
        return clip.link(path)

    def _flock(self) -> bpy.types.Object:
        flock = next((item for item in bpy.data.objects if item.session_uid == self.uid), None)
        if flock is None:
            raise FlockError(f"The flock '{self.name}' was deleted while it was baked: undo that, and resume the bake")
        return flock


def bake(
    flock: bpy.types.Object,
    scene: bpy.types.Scene,
    wanted: Plan | None = None,
    options: Options | None = None,
    report: Callable[[float, str], None] = lambda share, message: None,
) -> Job:
    """Bakes and waits.

    Raises:
        FlockError: a sentence; the old clip is as it was.
    """
    job = Job(flock, scene, wanted, options)
    job.run(report)
    return job


# -- the clip of a flock ---------------------------------------------------------------------------------------------


def spawn_clip(flock: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Mesh:
    """A clip of one frame, the flock as it spawns."""
    settings = properties.to_settings(flock.flock)
    arrays = clip.ClipArrays.zeros(1, settings.count)
    arrays.set_frame(0, spawn(settings))
    first = properties.frame_range(flock, scene)[0]
    header = clip.Header(settings.count, 1, first, properties.frame_rate(scene))
    return clip.write(clip_name(flock), arrays, header, {"kind": SPAWN})


def free(flock: bpy.types.Object, scene: bpy.types.Scene, options: Options | None = None) -> None:
    """Puts the spawned flock in the clip's place, and deletes what an unfinished bake left. A side-car stays on the disk."""
    check_editable(flock)
    plan.discard_left(flock, options or Options())
    replace_clip(flock, spawn_clip(flock, scene))


def refresh_spawn(flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
    """Shows the spawn as it is now, as long as the flock was never baked and shows no mesh of somebody else."""
    if not properties.is_flock(flock) or not _shows_spawn(flock) or flock.library or clip.being_edited(flock.data):
        return
    try:
        mesh = spawn_clip(flock, scene)
    except FlockError:  # the panel says it
        return
    replace_clip(flock, mesh)


def _shows_spawn(flock: bpy.types.Object) -> bool:
    """Whether it shows a spawn, or has a new mesh; the mesh of a missing file looks new but for its link."""
    mesh: Any = flock.data
    is_new = mesh.library is None and not clip.is_clip(mesh) and not mesh.vertices
    return is_new or clip.record(mesh).get("kind") == SPAWN


def replace_clip(flock: bpy.types.Object, new: bpy.types.Mesh) -> None:
    """Gives the flock this mesh, and removes the old one where nobody else uses it."""
    old: Any = flock.data
    library = old.library
    if new.library is None and not new.materials:
        for material in old.materials:
            new.materials.append(material)
    flock.data = new
    if old.users == 0:
        bpy.data.meshes.remove(old)
        if library:
            clip.release(library)
    if new.library is None and new.users == 1:
        new.name = clip_name(flock)
    modifier = nodes.attach(flock)
    compat.set_input(modifier, "Seed", flock.flock.seed)


def sharers(flock: bpy.types.Object) -> list[bpy.types.Object]:
    """The other flocks of this file that show the same clip, and whose clip can be replaced. Cheap where there are none."""
    if flock.data is None or flock.data.users < 2:
        return []
    shown = (item for item in bpy.data.objects if item.data == flock.data and item != flock)
    return [item for item in shown if properties.is_flock(item) and item.library is None]


def clip_name(flock: bpy.types.Object) -> str:
    """The name of a flock's clip."""
    return f"{flock.name} Clip"


# -- what the panel says ---------------------------------------------------------------------------------------------


def problems(flock: bpy.types.Object, scene: bpy.types.Scene) -> Iterator[str]:
    """Sentences about what stands in the way of a bake, or will surprise."""
    own = flock.flock
    try:
        properties.to_settings(own)
        check_editable(flock)
        sampling.uniform_scale(flock.matrix_world)
        sampling.check_repulsors(properties.repulsors(flock))
        plan.check_room(own.count, plan.whole(flock, scene))
    except FlockError as error:
        yield str(error)
    if own.count == 0:
        yield "The count is 0: nothing will be drawn"
    if properties.target(flock) is None:
        yield "Without a target the flock flies where it likes"
    yield from sampling.unseen_motion(flock, scene)
    problem = clip.missing(flock.data) or clip.damage(flock.data)
    if problem:
        yield problem
    elif not clip.is_clip(flock.data):
        yield "This flock has lost its clip: bake it again"


def state_lines(flock: bpy.types.Object, scene: bpy.types.Scene) -> Iterator[str]:
    """What the clip is, and what a bake will take, in a line each."""
    first, last = properties.frame_range(flock, scene)
    size = clip.size_in_bytes(flock.flock.count, max(0, last - first + 1))
    yield f"{'Next bake' if has_clip(flock) else 'Bake'}: {megabytes(size)}"
    if not has_clip(flock):
        yield "Not baked yet: this is the start"
    if not is_baked(flock):
        return
    head, known = clip.header(flock.data), clip.record(flock.data)
    yield f"Clip: {head.count} boids, frames {head.first}–{head.last:g} at {head.fps:g} fps"
    place = "in a file beside it" if clip.is_sidecar(flock.data) else "in this file"
    yield f"{megabytes(clip.size_in_bytes(head.count, head.frames))} {place}, {known['engine'].lower()}, {known['hash'][:8]}"


def unfinished_line(head: scratch.Head) -> str:
    """What a bake left that was ended by force."""
    begun = plan.plan_of(head)
    return (
        f"A bake of the frames {begun.start} to {begun.last} was ended at {begun.start + head.frames - 1} "
        f"({megabytes(head.size)} on the disk)"
    )


def wrapped(sentence: str, width: int) -> list[str]:
    """A sentence in lines for the panel."""
    return textwrap.wrap(sentence, width)
