# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake: a job without user interface, which samples the scene, flies the flock in a thread, and writes the clip.

Only `Job.tick` touches Blender; the thread knows nothing of it.
"""

from __future__ import annotations

import importlib.util
import logging
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import bpy

from ..core.effectors import Effectors
from ..core.settings import FlockError, Settings
from ..core.simulation import Cancelled, Simulation, load_engine
from ..core.state import State, spawn
from . import clip, compat, nodes, preferences, properties, sampling, stale

log = logging.getLogger(__name__)

BAKE, SPAWN = "BAKE", "SPAWN"
"""What a clip's record says it is: a baked one, or the flock before its first bake."""

running: dict[int, Job] = {}
"""The jobs under way, by their flock's session uid; never saved in a file."""


# -- the engine ------------------------------------------------------------------------------------------------------


@dataclass
class Engine:
    """What is known of numba, without importing it before it is needed."""

    ready: bool = False
    """It has been loaded, and compiled if it had to be."""
    problem: str = ""
    """A sentence where the flock flies without numba."""

    def look(self) -> None:
        """Asks whether numba is installed at all."""
        if importlib.util.find_spec("numba") is None:
            self.problem = (
                "numba is missing here: bakes are slower, and fly differently in detail. Reinstall Flock to get it"
            )

    def load(self, folder: str) -> str:
        """Imports the fastest engine and returns its name; what it compiles is kept in the folder."""
        with _cache_in(folder):
            name, _ = load_engine()
        if name != "NUMBA":
            self.problem = (
                "numba does not work here: bakes are slower, and fly differently in detail. Reinstall Flock to get it"
            )
        return name


engine = Engine()


class _cache_in:
    """Sends what numba compiles meanwhile to our folder; its settings are the other add-ons' again afterwards."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        try:
            from numba.core import config
        except Exception as error:  # a broken numba raises anything at all
            log.info("numba cannot be imported: %s", error)
            self._config = None
            return
        self._config, self._before = config, config.CACHE_DIR
        config.CACHE_DIR = self._folder or self._before

    def __exit__(self, *_: object) -> None:
        if self._config:
            self._config.CACHE_DIR = self._before


# -- the job ---------------------------------------------------------------------------------------------------------


class Job:
    """One bake of one flock. Call `tick` until it answers true; `message` and `progress` tell how far it is.

    Args:
        frames: first and last frame; the flock's own range by default.

    Raises:
        FlockError: a sentence, before anything has begun.
    """

    def __init__(
        self,
        flock: bpy.types.Object,
        scene: bpy.types.Scene,
        frames: tuple[int, int] | None = None,
    ) -> None:
        check_editable(flock)
        sampling.check_repulsors(properties.repulsors(flock))
        self.settings = properties.to_settings(flock.flock)
        self.first, self.last = frames or properties.frame_range(flock, scene)
        if self.last < self.first:
            raise FlockError(
                f"The last frame ({self.last}) lies before the first ({self.first}): set the end no earlier than the start"
            )
        self.fps = properties.frame_rate(scene)
        self.uid, self.name, self.scene_name = flock.session_uid, flock.name, scene.name
        self.frames = self.last - self.first + 1
        self.stage, self.share = "Sampling the scene", 0.0
        self._cancel = threading.Event()
        self._thread: _Flight | None = None
        self._sampler = sampling.Sampler(flock, scene, self.first, self.frames, self.settings.substeps)
        self._pieces = iter(self._sampler)
        self._record: dict[str, Any] = {}
        self.warning = ""
        """A sentence where the clip is baked, but not stored where it was meant to."""
        running[self.uid] = self

    @property
    def progress(self) -> float:
        """Share of the whole that is done, 0 to 1."""
        return self.share

    @property
    def message(self) -> str:
        """What it is doing, in words."""
        return self.stage

    def cancel(self) -> None:
        """Gives up; the old clip stays as it is. The thread ends at its next step, and nobody waits for it."""
        self._cancel.set()
        running.pop(self.uid, None)

    def tick(self, seconds: float = 0.1) -> bool:
        """Does about that much work on the main thread. True once the clip is in place.

        Raises:
            FlockError: a sentence; the old clip is as it was.
        """
        try:
            if self._thread is None:
                self._sample(seconds)
                return False
            return self._wait(seconds)
        except BaseException:
            self.cancel()
            raise

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
            self.share = 0.1 * share
            if time.monotonic() > end:
                return
        samples = self._sampler.samples()
        effectors = sampling.effectors(samples)
        self._record = {"effectors": stale.Making.of(samples).to_dict()}
        self.stage = "Starting" if engine.ready else "Compiling, which only the first bake on a machine has to"
        self._thread = _Flight(self.settings, effectors, self.fps, self.first, self.frames, self._cancel)
        self._thread.start()

    def _wait(self, seconds: float) -> bool:
        flight = self._thread
        flight.join(seconds)
        if flight.is_alive():
            if flight.frames_done:
                self.stage = f"Flying: frame {self.first + flight.frames_done - 1} of {self.last}"
            elif flight.progress:
                self.stage = "Flying the pre-roll"
            self.share = 0.1 + 0.85 * flight.progress
            return False
        flight.result()
        self._write(flight)
        running.pop(self.uid, None)
        return True

    def _write(self, flight: _Flight) -> None:
        flock = _by_uid(self.uid)
        if flock is None:
            raise FlockError(f"The flock '{self.name}' was deleted while it was baked")
        check_editable(flock)
        self._record |= {
            "kind": BAKE,
            "settings": self.settings.to_dict(),
            "engine": flight.engine,
            "engine_version": flight.engine_version,
            "steps": flight.steps,
        }
        header = clip.Header(self.settings.count, self.frames, self.first, self.fps)
        replace_clip(flock, clip.write(_clip_name(flock), flight.arrays, header, self._record))
        try:
            store(flock)
        except FlockError as error:
            self.warning = f"{error}. The clip is in the file"


class _Flight(threading.Thread):
    """The simulation, in a thread that knows no Blender."""

    def __init__(
        self, settings: Settings, effectors: Effectors, fps: float, first: int, frames: int, cancel: threading.Event
    ) -> None:
        super().__init__(name="Flock bake", daemon=True)
        self._cache, threads = preferences.cache_folder(), preferences.threads()
        self._make = lambda name: Simulation(
            settings,
            effectors,
            fps=fps,
            first=first,
            frames=frames,
            engine=name,
            threads=threads,
            cancelled=cancel.is_set,
        )
        self.arrays = clip.ClipArrays.zeros(frames, settings.count)
        self.frames_done, self.steps = 0, 0
        self.engine, self.engine_version = "", ""
        self._simulation: Simulation | None = None
        self._error: BaseException | None = None

    @property
    def progress(self) -> float:
        """Share of the steps, 0 to 1."""
        return self._simulation.progress if self._simulation else 0.0

    def run(self) -> None:
        try:
            self.engine = engine.load(self._cache)
            self.engine_version = _version(self.engine)
            self._simulation = self._make(self.engine)
            for index, frame in enumerate(self._simulation):
                engine.ready = True
                self.arrays.set_frame(index, frame.state)
                self.frames_done, self.steps = index + 1, frame.state.step
        except BaseException as error:  # it is raised again where the user is told
            self._error = error

    def result(self) -> None:
        """Raises what went wrong, if anything did."""
        if self._error is None:
            return
        if isinstance(self._error, FlockError | Cancelled):
            raise self._error
        log.error("the bake stopped", exc_info=self._error)
        raise FlockError(f"The bake stopped, and the old clip is as it was: {self._error}") from self._error


def _version(name: str) -> str:
    if name != "NUMBA":
        import numpy as np

        return f"numpy {np.__version__}"
    import numba

    return f"numba {numba.__version__}"


def bake(
    flock: bpy.types.Object,
    scene: bpy.types.Scene,
    frames: tuple[int, int] | None = None,
    report: Callable[[float, str], None] = lambda share, message: None,
) -> None:
    """Bakes and waits.

    Raises:
        FlockError: a sentence; the old clip is as it was.
    """
    Job(flock, scene, frames).run(report)


# -- the clip of a flock ---------------------------------------------------------------------------------------------


def check_editable(flock: bpy.types.Object) -> None:
    """Raises a sentence where the flock's clip cannot be replaced."""
    if flock.library is not None:
        raise FlockError(
            f"The flock '{flock.name}' is linked from another file: make a library override, or bake it there"
        )
    if flock.mode == "EDIT":
        raise FlockError(f"Leave Edit Mode of '{flock.name}' first")


def spawn_clip(flock: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Mesh:
    """A clip of one frame, the flock as it spawns."""
    settings = properties.to_settings(flock.flock)
    arrays = clip.ClipArrays.zeros(1, settings.count)
    arrays.set_frame(0, spawn(settings))
    first = properties.frame_range(flock, scene)[0]
    header = clip.Header(settings.count, 1, first, properties.frame_rate(scene))
    return clip.write(_clip_name(flock), arrays, header, {"kind": SPAWN})


def free(flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
    """Puts the spawned flock in the clip's place. A side-car stays on the disk."""
    check_editable(flock)
    replace_clip(flock, spawn_clip(flock, scene))


def refresh_spawn(flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
    """Shows the spawn as it is now, as long as the flock was never baked."""
    if not properties.is_flock(flock) or is_baked(flock) or flock.library or flock.mode == "EDIT":
        return
    try:
        mesh = spawn_clip(flock, scene)
    except FlockError:  # the panel says it
        return
    replace_clip(flock, mesh)


def is_baked(flock: bpy.types.Object) -> bool:
    """Whether the flock shows a baked clip."""
    return clip.is_clip(flock.data) and clip.record(flock.data).get("kind") == BAKE


def replace_clip(flock: bpy.types.Object, new: bpy.types.Mesh) -> None:
    """Gives the flock this mesh, and removes the old one where nobody else uses it."""
    old = flock.data
    library = old.library
    if not new.materials:
        for material in old.materials:
            new.materials.append(material)
    flock.data = new
    if old.users == 0:
        bpy.data.meshes.remove(old)
        if library:
            clip.release(library)
    if new.library is None and new.users == 1:
        new.name = _clip_name(flock)
    modifier = nodes.attach(flock)
    compat.set_input(modifier, "Seed", flock.flock.seed)


def store(flock: bpy.types.Object) -> None:
    """Moves the clip to where the flock's storage says it lives."""
    choice = flock.flock.storage
    if choice == "AUTO":
        head = clip.header(flock.data)
        large = clip.size_in_bytes(head.count, head.frames) > preferences.sidecar_limit()
        choice = "SIDECAR" if large and bpy.data.filepath else "FILE"
    if choice == "SIDECAR":
        clip.move_to_sidecar(flock.data)


def _clip_name(flock: bpy.types.Object) -> str:
    return f"{flock.name} Clip"


def _by_uid(uid: int) -> bpy.types.Object | None:
    return next((item for item in bpy.data.objects if item.session_uid == uid), None)


# -- what the panel says ---------------------------------------------------------------------------------------------


def problems(flock: bpy.types.Object, scene: bpy.types.Scene) -> Iterator[str]:
    """Sentences about what stands in the way of a bake, or will surprise."""
    own = flock.flock
    try:
        properties.to_settings(own)
        check_editable(flock)
        sampling.uniform_scale(flock.matrix_world)
        sampling.check_repulsors(properties.repulsors(flock))
    except FlockError as error:
        yield str(error)
    first, last = properties.frame_range(flock, scene)
    if last < first:
        yield f"The last frame ({last}) lies before the first ({first})"
    if own.count == 0:
        yield "The count is 0: nothing will be drawn"
    if properties.target(flock) is None:
        yield "Without a target the flock flies where it likes"
    if clip.is_clip(flock.data):
        yield from (sentence for sentence in (clip.missing(flock.data), clip.damage(flock.data)) if sentence)
    else:
        yield "This flock has lost its clip: bake it again"


def resume_state(mesh: bpy.types.Mesh, index: int) -> State:
    """The state at one stored frame, from which a flight goes on."""
    arrays, known, head = clip.read(mesh), clip.record(mesh), clip.header(mesh)
    back = (head.frames - 1 - index) * known["settings"]["substeps"]
    return State(
        arrays.position[index],
        arrays.velocity[index],
        arrays.rotation[index],
        arrays.flap[index],
        known["steps"] - back,
    )


def state_lines(flock: bpy.types.Object, scene: bpy.types.Scene) -> Iterator[str]:
    """What the clip is, and what a bake will take, in a line each."""
    first, last = properties.frame_range(flock, scene)
    size = clip.size_in_bytes(flock.flock.count, max(0, last - first + 1))
    yield f"{'Next bake' if is_baked(flock) else 'Bake'}: {megabytes(size)}"
    if not is_baked(flock):
        yield "Not baked yet: this is the start"
        return
    head, known = clip.header(flock.data), clip.record(flock.data)
    yield f"Clip: {head.count} boids, frames {head.first} to {head.last:g} at {head.fps:g} fps"
    place = "in a file beside it" if clip.is_sidecar(flock.data) else "in this file"
    yield f"{megabytes(clip.size_in_bytes(head.count, head.frames))} {place}, {known['engine'].lower()}, {known['hash'][:8]}"


def megabytes(size: int) -> str:
    """A size as the panel writes it."""
    return f"{size / 1e6:.1f} MB" if size < 1e9 else f"{size / 1e9:.2f} GB"


def wrapped(sentence: str, width: int) -> list[str]:
    """A sentence in lines for the panel."""
    return textwrap.wrap(sentence, width)
