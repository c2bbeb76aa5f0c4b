# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before a bake: which frames it flies and which it keeps, whether they fit together, and whether there is room for them."""

from __future__ import annotations

import hashlib
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy

from ..core.settings import FlockError, Settings
from ..core.state import State
from . import clip, memory, properties, scratch, stale

BAKE, SPAWN = "BAKE", "SPAWN"
"""What a clip's record says it is: a baked one, or the flock before its first bake."""

WRITING, READING = 1.3, 0.75
"""Memory that it takes to write a clip, and to read an old one for it, in sizes of the clip."""
MOST_VERTICES = 2**31 - 1
MOST_PLACES = 8
"""Names that a flock's scratch file may have in one folder: another Blender may be baking into one, and another keep an unfinished
bake."""

_FLOWN = ("settings", "effectors", "steps", "engine", "engine_version")
"""What a clip has to know of its flight, for it to be continued."""


@dataclass(frozen=True)
class Options:
    """What the user chose once for all files."""

    threads: int | None = None
    """None for all cores."""
    cache_folder: str = ""
    """Where compiled code goes; beside the extension's own code where it is empty."""
    scratch_folder: str = ""
    """Where the scratch files of unsaved files go; the system's folder for temporary files where it is empty."""
    sidecar_limit: int = 64_000_000
    """Bytes above which a clip is stored beside the file, where the flock's storage is automatic."""
    output: str = ""
    """The .blend that will be saved, beside which clips and scratch files go; the open one's path where it is empty."""

    @property
    def file(self) -> str:
        """Path of that .blend; empty where there is none yet."""
        return self.output or bpy.data.filepath


@dataclass(frozen=True)
class Plan:
    """Which frames a clip will have, and how many of them the present one has already."""

    first: int
    last: int
    keep: int = 0
    """Frames, from the first on, that keep their bits."""

    @property
    def frames(self) -> int:
        """Number of frames."""
        return self.last - self.first + 1

    @property
    def new_frames(self) -> int:
        """Those that are flown."""
        return self.frames - self.keep

    @property
    def start(self) -> int:
        """The first frame that is flown."""
        return self.first + self.keep


def is_baked(flock: bpy.types.Object) -> bool:
    """Whether the flock shows a baked clip."""
    return clip.is_clip(flock.data) and clip.record(flock.data).get("kind") == BAKE


def has_clip(flock: bpy.types.Object) -> bool:
    """Whether the flock was baked: also where its clip is in a file that is missing now, and only the link to it is there."""
    return is_baked(flock) or clip.missing(flock.data) is not None


def check_editable(flock: bpy.types.Object) -> None:
    """Raises a sentence where the flock's clip cannot be replaced."""
    if flock.library is not None:
        raise FlockError(
            f"The flock '{flock.name}' is linked from another file: make a library override, or bake it there"
        )
    problem = clip.being_edited(flock.data)
    if problem:
        raise FlockError(problem)


# -- which frames ----------------------------------------------------------------------------------------------------


def whole(flock: bpy.types.Object, scene: bpy.types.Scene, frames: tuple[int, int] | None = None) -> Plan:
    """All frames anew.

    Args:
        frames: first and last; the flock's own range by default.

    Raises:
        FlockError: the last frame lies before the first.
    """
    first, last = frames or properties.frame_range(flock, scene)
    if last < first:
        raise FlockError(
            f"The last frame ({last}) lies before the first ({first}): set the end no earlier than the start"
        )
    return Plan(first, last)


def extension(flock: bpy.types.Object, scene: bpy.types.Scene, more: int | None = None) -> Plan:
    """More frames behind the clip's last one.

    Args:
        more: how many; up to the end of the flock's own range by default.

    Raises:
        FlockError: there is no clip to go on with, or no frame to add.
    """
    last = int(_clip_to_go_on(flock).last)
    return continuation(
        flock, scene, last + 1, properties.frame_range(flock, scene)[1] if more is None else last + more
    )


def continuation(flock: bpy.types.Object, scene: bpy.types.Scene, start: int, last: int | None = None) -> Plan:
    """The clip's frames before `start` stay; it and those after it are flown again.

    Args:
        last: the new last frame; by default that of the flock's own range, or the clip's where that is later: no frame is cut off.

    Raises:
        FlockError: there is no clip to go on with, or the frames do not fit it.
    """
    head = _clip_to_go_on(flock)
    last = max(int(head.last), properties.frame_range(flock, scene)[1]) if last is None else last
    if not head.first < start <= head.last + 1:
        raise FlockError(
            f"The clip has the frames {head.first} to {head.last:g}: go on from a frame between "
            f"{head.first + 1} and {head.last + 1:g}, or bake the whole clip again"
        )
    if last < start:
        raise FlockError(f"The range to bake ends at frame {last}: set its end to frame {start} or later")
    return Plan(head.first, last, start - head.first)


def is_possible(wanted: Callable[..., Plan], *arguments: Any) -> bool:
    """Whether there is such a plan (an `extension` or a `continuation`) for these arguments. Cheap."""
    try:
        wanted(*arguments)
    except FlockError:
        return False
    return True


def _clip_to_go_on(flock: bpy.types.Object) -> clip.Header:
    problem = why_not_go_on(flock)
    if problem:
        raise FlockError(problem)
    return clip.header(flock.data)


def why_not_go_on(flock: bpy.types.Object) -> str | None:
    """A sentence where the flock's clip cannot be continued, else None. Cheap."""
    problem = clip.missing(flock.data) or clip.damage(flock.data)
    if problem:
        return problem
    if not is_baked(flock):
        return "There is no clip to go on with: bake the flock"
    if clip.header(flock.data).step != 1.0 or not set(_FLOWN) <= clip.record(flock.data).keys():
        return "The clip does not know how it was flown: bake the whole clip again"
    return None


def last_state(flock: bpy.types.Object, plan: Plan) -> State:
    """The flock at the last frame that is kept, from which the flight goes on bit for bit."""
    known, head = clip.record(flock.data), clip.header(flock.data)
    back = (head.frames - plan.keep) * known["settings"]["substeps"]
    return State(**clip.read_frame(flock.data, plan.keep - 1), step=known["steps"] - back)


def check_continuity(flock: bpy.types.Object, settings: Settings, fps: float) -> None:
    """Raises a sentence where something is another now that all frames of a clip have in common."""
    head, substeps = clip.header(flock.data), clip.record(flock.data)["settings"]["substeps"]
    common = {
        "boids": (head.count, settings.count),
        "substeps": (substeps, settings.substeps),
        "frames per second": (head.fps, fps),
    }
    for name, (before, now) in common.items():
        if not math.isclose(before, now, rel_tol=stale.RELATIVE):
            raise FlockError(
                f"The clip has {before:g} {name}, and now there are {now:g}: set that back, or bake the whole clip again"
            )


def check_resumable(head: scratch.Head, flock: bpy.types.Object, settings: Settings, fps: float) -> None:
    """Raises a sentence where an unfinished bake cannot be gone on with as it was begun."""
    begun = head.about["record"]["settings"]
    names = stale.changed_settings(Settings.from_dict(begun), settings)
    if not math.isclose(head.about["fps"], fps, rel_tol=stale.RELATIVE):
        names.append(stale.RATE)
    _refuse_changes(flock.name, names)
    if head.about["keep"] and base(flock) != head.about["base"]:
        raise FlockError(
            f"The unfinished bake of '{flock.name}' goes on from another clip than it has now: "
            "undo back to that clip, or discard the unfinished bake"
        )


def check_same_effectors(head: scratch.Head, flock: bpy.types.Object, record: Mapping[str, Any]) -> None:
    """The same for what acts on the flock, once it is sampled."""
    begun, now = (stale.Making.from_dict(known["effectors"]) for known in (head.about["record"], record))
    _refuse_changes(flock.name, stale.changed_effectors(begun, now, flock.flock.body_length))


def _refuse_changes(name: str, changes: list[str]) -> None:
    if changes:
        raise FlockError(
            f"The unfinished bake of '{name}' was begun with something else: {', '.join(changes)}. "
            "Set that back to resume it, or discard it"
        )


# -- what a continued clip knows -------------------------------------------------------------------------------------


def changes_before(old: Mapping[str, Any], new: Mapping[str, Any], plan: Plan) -> list[str]:
    """Names of what is another now than when the frames that are kept were flown, exactly.

    Args:
        old: the record of the present clip.
        new: settings and effectors of the present scene, as a record has them.
    """
    settings = Settings.from_dict(new["settings"])
    made_from = (Settings.from_dict(part["settings"]) for part in _parts(old, plan.keep))
    names = [name for earlier in made_from for name in stale.changed_settings(earlier, settings)]
    before, after = (_making(record).until(_samples_kept(plan, settings)) for record in (old, new))
    return list(dict.fromkeys(names + stale.changed_effectors(before, after, settings.body_length)))


def joined_record(old: Mapping[str, Any], new: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """What a clip knows whose first frames are those of an old one: each part says what it was made from."""
    settings = Settings.from_dict(new["settings"])
    samples = (plan.frames - 1) * settings.substeps + 1
    made = _making(old).followed_by(_making(new), _samples_kept(plan, settings), samples, settings.body_length)
    parts = _parts(old, plan.keep)
    while parts and Settings.from_dict(parts[-1]["settings"]) == settings:
        parts.pop()
    joined = {name: value for name, value in new.items() if name != "earlier"} | {"effectors": made.to_dict()}
    return joined | ({"earlier": parts} if parts else {})


def _parts(record: Mapping[str, Any], frames: int) -> list[dict[str, Any]]:
    """The settings of a clip's first frames: which, and up to which frame they hold, counted from the clip's first."""
    parts, begin = [], 0
    for part in (*record.get("earlier", ()), {"settings": record["settings"], "frames": frames}):
        if begin < frames:
            parts.append({"settings": part["settings"], "frames": min(part["frames"], frames)})
        begin = part["frames"]
    return parts


def _making(record: Mapping[str, Any]) -> stale.Making:
    return stale.Making.from_dict(record["effectors"])


def _samples_kept(plan: Plan, settings: Settings) -> int:
    """How many samples of the effectors made the frames that are kept."""
    return (plan.keep - 1) * settings.substeps + 1


# -- where it goes meanwhile -----------------------------------------------------------------------------------------


def scratch_places(flock: bpy.types.Object, options: Options) -> tuple[Path, ...]:
    """Where the flock's scratch file may lie, the best place first: beside the file, where that is saved and can be written.

    In each folder there is a choice of names: a new bake takes one that is free, and what is in the others stays. They tell
    nothing of the flock's name or the file's, which may be given later.
    """
    file, known = Path(options.file), flock.flock.identity
    own = Path(options.scratch_folder or tempfile.gettempdir())
    name = known + scratch.SUFFIX
    if not options.file:
        return _numbered(own / (name if known else _scratch_name("Unsaved", flock.name, "")))
    beside = name if known else _scratch_name(file.stem, flock.name, "")  # also once the folder is moved
    elsewhere = name if known else _scratch_name(file.stem, flock.name, str(file.parent))
    return *_numbered(file.parent / clip.FOLDER / beside), *_numbered(own / elsewhere)


def _numbered(path: Path) -> tuple[Path, ...]:
    return path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, MOST_PLACES + 1))


def _scratch_name(file: str, flock: str, folder: str) -> str:
    """For a flock of an older file, which has no identity."""
    exact = hashlib.sha256(f"{folder}/{file}/{flock}".encode()).hexdigest()[:8]
    return f"{bpy.path.clean_name(file)}-{bpy.path.clean_name(flock)}-{exact}{scratch.SUFFIX}"


def file_name(options: Options) -> str:
    """Of the file in which the clip will be, without its folder; empty while there is none."""
    return bpy.path.basename(options.file)


def orphans() -> list[Path]:
    """Scratch files beside this file of flocks that it has no more: they were deleted after a crash."""
    flocks, here = [item for item in bpy.data.objects if properties.is_flock(item)], file_name(Options())
    names = {item.name for item in flocks}
    known = {head.path for item in flocks for head in left(item, Options())}
    heads = filter(None, map(scratch.look, clip.sidecar_folder().glob(f"*{scratch.SUFFIX}")))
    lost = [head for head in heads if head.about.get("file") == here and head.about.get("flock") not in names]
    return [head.path for head in lost if head.path not in known]


def unfinished(flock: bpy.types.Object, options: Options) -> scratch.Head | None:
    """The flock's unfinished bake, where a crash left one; of several that which names the flock, and the newest. Cheap."""
    return next(iter(left(flock, options)), None)


def left(flock: bpy.types.Object, options: Options) -> list[scratch.Head]:
    """What unfinished bakes of the flock left, in the order in which they are offered. Cheap: it looks at a few paths."""
    heads = filter(None, map(scratch.frames_left, scratch_places(flock, options)))
    mine = [
        head
        for head in heads
        if _is_of_flock(head, flock) and (_is_of_file(head, options) or _was_saved_as(head, flock))
    ]
    return sorted(mine, key=lambda head: (head.about["flock"] == flock.name, head.changed), reverse=True)


def _is_of_flock(head: scratch.Head, flock: bpy.types.Object) -> bool:
    """Whether no copy of the flock has a better right to it, by its name. A name that nobody has is an earlier one."""
    named = head.about["flock"]
    other: Any = bpy.data.objects.get(named)
    return named == flock.name or not properties.is_flock(other) or other.flock.identity != flock.flock.identity


def _is_of_file(head: scratch.Head, options: Options) -> bool:
    """Whether a scratch file was begun in this file, or before it had a name."""
    return head.about["file"] in ("", file_name(options))


def _was_saved_as(head: scratch.Head, flock: bpy.types.Object) -> bool:
    """Whether this file may be that in which it was begun, under another name: the flock still has the clip that it had then.

    All files that override a flock share its identity, and none of them is the other.
    """
    return flock.override_library is None and head.about["base"] == base(flock)


def base(flock: bpy.types.Object) -> str:
    """The hash of the flock's clip, by which a scratch file tells what it was begun from; empty before the first bake."""
    return clip.record(flock.data).get("hash", "") if is_baked(flock) else ""


def discard_left(flock: bpy.types.Object, options: Options) -> None:
    """Deletes what unfinished bakes of the flock in this file left.

    Raises:
        FlockError: it cannot be deleted.
    """
    discard(head.path for head in left(flock, options) if _is_of_file(head, options))


def plan_of(head: scratch.Head) -> Plan:
    """What an unfinished bake was to fly."""
    return Plan(head.about["first"], head.about["last"], head.about["keep"])


def discard(paths: Iterable[Path]) -> None:
    """Deletes scratch files, but for those into which another Blender is baking.

    Raises:
        FlockError: one cannot be deleted.
    """
    for path in paths:
        with suppress(scratch.InUse):
            scratch.discard(path)


# -- whether there is room -------------------------------------------------------------------------------------------


def check_room(count: int, plan: Plan, old_frames: int = 0) -> None:
    """Raises a sentence where the clip would be larger than a mesh, or this machine's memory, can be.

    Args:
        old_frames: of the clip that is continued, which has to be read for that.
    """
    if count * plan.frames + clip.HEADER_VERTICES > MOST_VERTICES:
        raise FlockError(
            f"{count:,} boids over {plan.frames:,} frames are more than a clip can hold: bake fewer of either"
        )
    size = clip.size_in_bytes(count, plan.frames)
    needed = WRITING * size + READING * clip.size_in_bytes(count, old_frames)
    free = memory.available()
    if free is not None and needed > free:
        raise FlockError(
            f"The clip takes {megabytes(size)}, writing it {megabytes(needed)} of memory, and {megabytes(free)} are free: "
            "bake fewer boids or frames, or close what else is open"
        )


def with_room(places: tuple[Path, ...], count: int, plan: Plan) -> tuple[Path, ...]:
    """Those places of a scratch file that have room for it.

    Raises:
        FlockError: none has.
    """
    size = clip.size_in_bytes(count, plan.new_frames)
    free = {path: _free_on_disk(path) for path in places}
    found = tuple(path for path, room in free.items() if room >= size)
    if not found:
        path, room = next(iter(free.items()))
        raise FlockError(
            f"The bake takes {megabytes(size)} on the disk, and {path.parent} has room for {megabytes(room)}: "
            "make room there, or bake fewer boids or frames"
        )
    return found


def _free_on_disk(path: Path) -> float:
    folder = next((parent for parent in path.parents if parent.exists()), None)
    try:
        return shutil.disk_usage(folder).free if folder else 0
    except OSError:  # writing it will tell
        return math.inf


def megabytes(size: float) -> str:
    """A size as the panel writes it."""
    return f"{size / 1e6:.1f} MB" if size < 1e9 else f"{size / 1e9:.2f} GB"
