# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a clip is still what its settings and effectors would give, and the names of what has changed where it is not.

The clip's record keeps the settings and how each effector moved. No attribute of the clip is read.
"""

from __future__ import annotations

import base64
import functools
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import bpy
import numpy as np

from ..core.settings import RULES, FlockError, Rule, Settings, label
from . import clip, properties, sampling

RANGE, RATE, PLACE = "Frame range", "Frame rate", "Flock object"
"""Names of changes that are neither a setting nor an effector; the last is where the flock stands at the clip's first frame."""

RELATIVE = 1e-6
"""Difference of two settings, relative, that still counts as none: properties are float32."""
ROUNDING, NEAR = 5e-7, 1e-5
"""The same of places: four roundings of a float32, and a share of the body length."""


# -- what acted on a clip --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Track:
    """One effector over time, in world space; sample k is frame `first + k / substeps`."""

    name: str
    is_target: bool
    place: np.ndarray | None
    """float32 (T, 3), lengths; None where it is not known without sampling the scene."""
    radius: np.ndarray
    """float32 (T,), lengths, the object's scale included; 0 for a target."""
    strength: np.ndarray
    """float32 (T,)."""
    mute: np.ndarray
    """float32 (T,), 0 or 1."""

    @property
    def heeded(self) -> bool:
        """Whether the flock sees it at any time."""
        return not self.mute.all()

    def cut(self, samples: slice | np.ndarray) -> Self:
        """Some samples of it."""
        return replace(self, **{name: getattr(self, name)[samples] for name in _ARRAYS})

    def followed_by(self, other: Track, sample: int) -> Track:
        """This one up to a sample, and another from there on."""
        return replace(
            other,
            **{name: np.concatenate((getattr(self, name)[:sample], getattr(other, name)[sample:])) for name in _ARRAYS},
        )

    def muted(self, samples: slice) -> Self:
        """The same, but not heeded at some samples."""
        mute = np.array(self.mute)
        mute[samples] = 1.0
        return replace(self, mute=mute)

    def resized(self, length: int) -> Self:
        """As long as this; at its end it holds what it was last."""
        return self.cut(np.minimum(np.arange(length), len(self.mute) - 1))


_ARRAYS = ("place", "radius", "strength", "mute")


@dataclass(frozen=True)
class Making:
    """All that acted on a clip from outside."""

    first: int
    substeps: int
    flock: np.ndarray
    """float64 (4, 4): the flock object's matrix at the first frame."""
    tracks: tuple[Track, ...]

    @classmethod
    def of(cls, samples: sampling.Samples) -> Self:
        """From a sampled scene."""
        count = len(samples.target)
        still = np.zeros(count)
        targets = [Track("Target", True, samples.target[:, 0], still, still, still)] if samples.target.shape[1] else []
        radii = sampling.world_radii(samples)
        repulsors = [
            Track(name, False, samples.matrices[:, k, :3, 3], radii[:, k], samples.strengths[:, k], samples.mutes[:, k])
            for k, name in enumerate(samples.names)
        ]
        return cls(samples.first, samples.substeps, samples.flock_matrix, (*targets, *repulsors))

    def to_dict(self) -> dict[str, Any]:
        """As a clip's record keeps it; `from_dict` reads it back."""
        tracks = [
            {"name": track.name, "is_target": track.is_target}
            | {name: packed(getattr(track, name)) for name in _ARRAYS}
            for track in self.tracks
        ]
        flock = [float(number) for number in self.flock.reshape(-1)]
        return {"first": self.first, "substeps": self.substeps, "flock": flock, "tracks": tracks}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote."""
        tracks = [
            Track(
                entry["name"],
                entry["is_target"],
                unpacked(entry["place"]).reshape(-1, 3),
                *(unpacked(entry[name]) for name in _ARRAYS[1:]),
            )
            for entry in data["tracks"]
        ]
        return cls(data["first"], data["substeps"], np.reshape(data["flock"], (4, 4)), tuple(tracks))

    def at(self, sample: int) -> Self:
        """One moment of it."""
        return self._cut(slice(sample, sample + 1))

    def until(self, sample: int) -> Self:
        """What is before a sample."""
        return self._cut(slice(sample))

    def _cut(self, samples: slice) -> Self:
        return replace(self, tracks=tuple(track.cut(samples) for track in self.tracks))

    def followed_by(self, other: Making, sample: int, samples: int, length: float) -> Making:
        """This one up to a sample, and another from there on, as seen from where the flock stands in that other.

        An effector that only one of the two has is mute in the time of the other.

        Args:
            samples: how many there are in all.
            length: the body length, which says what counts as near.
        """
        turn, before = other.flock @ np.linalg.inv(self.flock), self.until(sample).tracks
        if not np.array_equal(self.flock, other.flock):
            before = tuple(_moved(track, turn) for track in before)
        gone, come = list(before), list(other.until(sample).tracks)
        whole = dict(zip(come, other.tracks, strict=True))
        pairs = _paired(gone, come, _near(other, length))
        tracks = (
            *(one.followed_by(whole[two], sample) for one, two in pairs),
            *(whole[two].muted(slice(sample)) for two in come),
            *(one.resized(samples).muted(slice(sample, None)) for one in gone),
        )
        return replace(other, tracks=tracks)


def packed(array: np.ndarray) -> str:
    """Float32, compressed: what stands still takes next to nothing."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array, np.float32).tobytes())).decode()


@functools.lru_cache(maxsize=1024)
def unpacked(text: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.float32)


# -- what has changed ------------------------------------------------------------------------------------------------


def changes(flock: bpy.types.Object, exact: bool = False, scene: bpy.types.Scene | None = None) -> list[str]:
    """Names of what differs from what the flock's clip was made from: 'Separation weight', 'Target motion'.

    Args:
        exact: samples the scene over the whole clip; else the effectors are looked at where they are at the current frame.
        scene: the context's by default.

    Returns:
        Names; none where the clip is up to date, or there is no baked clip.
    """
    scene = scene or bpy.context.scene
    known, header = clip.record(flock.data), clip.header(flock.data)
    if header is None or "effectors" not in known:
        return []
    made = Making.from_dict(known["effectors"])
    try:
        now = properties.to_settings(flock.flock)
        parts = (*known.get("earlier", ()), known)  # a clip that was continued can have been made from several
        found = [changed_settings(Settings.from_dict(part["settings"]), now) for part in parts]
        names = list(dict.fromkeys(name for names in found for name in names))
    except FlockError:  # the panel says it
        names = ["Settings"]
    if not math.isclose(header.fps, properties.frame_rate(scene), rel_tol=RELATIVE):
        names.append(RATE)
    if not _covers(flock, scene, header):
        names.append(RANGE)
    length = float(flock.flock.body_length)
    if exact:
        samples = sampling.sample(flock, scene, header.first, header.frames, made.substeps)
        return names + changed_effectors(made, Making.of(samples), length)
    return names + changed_effectors(*_at_current_frame(flock, scene, made), length)


_looked: dict[int, tuple[str, list[str]]] = {}
"""What the last exact look at a flock found, with the hash of the clip it looked at; not saved."""


def check(flock: bpy.types.Object, scene: bpy.types.Scene | None = None) -> list[str]:
    """Looks exactly, and lets the panel say what it found until the next look or bake."""
    found = changes(flock, exact=True, scene=scene)
    _looked[flock.session_uid] = (clip.record(flock.data).get("hash", ""), found)
    return found


def sentence(flock: bpy.types.Object, scene: bpy.types.Scene) -> str:
    """What the panel says of a baked clip."""
    names = changes(flock, scene=scene)
    looked_at, found = _looked.get(flock.session_uid, ("", []))
    if looked_at == clip.record(flock.data).get("hash"):
        names += [name for name in found if name not in names]
    return f"Stale: {', '.join(names)}" if names else "Up to date"


def changed_settings(old: Settings, new: Settings) -> list[str]:
    """Names of the settings that differ, as the user reads them. Another body length scales others, which are not named."""
    names = []
    if not _same(old.body_length, new.body_length):
        names.append(label("body_length"))
        old = old.scaled(new.body_length)
    for entry in fields(Settings):
        before, after = getattr(old, entry.name), getattr(new, entry.name)
        if entry.name in RULES:
            parts = [
                part.name for part in fields(Rule) if not _same(getattr(before, part.name), getattr(after, part.name))
            ]
            names += [f"{label(entry.name)} {label(part).lower()}" for part in parts]
        elif not _same(before, after):
            names.append(label(entry.name))
    return names


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, float) or isinstance(two, float):
        return math.isclose(one, two, rel_tol=RELATIVE)
    return one == two


def _covers(flock: bpy.types.Object, scene: bpy.types.Scene, header: clip.Header) -> bool:
    """Whether the clip has the frames that are asked for. The scene may render fewer; a range of the flock's own is meant."""
    first, last = properties.frame_range(flock, scene)
    if flock.flock.use_scene_range:
        return header.first <= first and last <= header.last
    return (header.first, header.last) == (first, last)


def changed_effectors(old: Making, new: Making, length: float) -> list[str]:
    """Names of the effectors that act otherwise on the flock, and what of them.

    Where flock and effectors were moved together, nothing has changed; where only some were, the shorter list is given.

    Args:
        length: the body length, which says what counts as near.
    """
    near = _near(new, length)
    names = list(_compare(old.tracks, new.tracks, near))
    turn = new.flock @ np.linalg.inv(old.flock)
    if _close(old.flock[:3, 3], new.flock[:3, 3], near) and np.allclose(turn[:3, :3], np.eye(3), atol=NEAR):
        return names
    together = list(_compare([_moved(track, turn) for track in old.tracks], new.tracks, near))
    up = turn[:3, 2] / _scale(turn)
    if not np.allclose(up, (0.0, 0.0, 1.0), atol=NEAR):  # the world's up is another in the flock's space
        together.append(PLACE)
    return min(together, [*names, PLACE], key=len)


def _near(made: Making, length: float) -> float:
    """The distance in the world that still counts as none."""
    return NEAR * length * float(np.linalg.norm(made.flock[:3, 0]))


def _scale(matrix: np.ndarray) -> float:
    return float(np.cbrt(abs(np.linalg.det(matrix[:3, :3]))))


def _moved(track: Track, matrix: np.ndarray) -> Track:
    place = track.place @ matrix[:3, :3].T + matrix[:3, 3]
    return replace(track, place=place, radius=track.radius * _scale(matrix))


def _compare(old: Iterable[Track], new: Iterable[Track], near: float) -> Iterator[str]:
    """What differs in each pair; what is left has gone or has come."""
    before, after = list(old), list(new)
    for one, two in _paired(before, after, near):
        yield from (f"{two.name} {what}" for what in _differences(one, two, near))
    yield from (_left(track, "removed") for track in before if track.heeded)
    yield from (_left(track, "added") for track in after if track.heeded)


def _paired(before: list[Track], after: list[Track], near: float) -> list[tuple[Track, Track]]:
    """Takes pairs out of both lists: those that are the same, whatever their names; then those of one name."""
    matches = (
        lambda one, two: one.name == two.name and not _differences(one, two, near),
        lambda one, two: not _differences(one, two, near),
        lambda one, two: one.name == two.name,
    )
    return [pair for match in matches for pair in _take_pairs(before, after, match)]


def _take_pairs(before: list[Track], after: list[Track], match: Any) -> list[tuple[Track, Track]]:
    """Takes what matches out of both lists."""
    pairs = []
    for one in list(before):
        two = next((track for track in after if track.is_target == one.is_target and match(one, track)), None)
        if two is not None:
            before.remove(one)
            after.remove(two)
            pairs.append((one, two))
    return pairs


def _left(track: Track, what: str) -> str:
    return track.name if track.is_target else f"{track.name} {what}"


def _differences(one: Track, two: Track, near: float) -> list[str]:
    """What of an effector differs while it is heeded."""
    if two.place is None:
        return []
    if (one.mute != two.mute).any():
        return ["mute"]
    seen = one.mute == 0
    differ = {
        "motion": not _close(one.place[seen], two.place[seen], near),
        "radius": not _close(one.radius[seen], two.radius[seen], 0.0),
        "strength": not _close(one.strength[seen], two.strength[seen], NEAR),
    }
    return [name for name, differs in differ.items() if differs]


def _close(one: np.ndarray, two: np.ndarray, near: float) -> bool:
    if (one == two).all():  # most are, and panels look whenever they are drawn
        return True
    size = np.maximum(np.abs(one), np.abs(two)).max(axis=-1, keepdims=True, initial=0.0)
    return bool((np.abs(one - two) <= near + ROUNDING * size).all())


# -- the effectors where they are ------------------------------------------------------------------------------------


def _at_current_frame(flock: bpy.types.Object, scene: bpy.types.Scene, made: Making) -> tuple[Making, Making]:
    """The clip's making at the current frame, and what the scene shows there."""
    sample = round((scene.frame_current_final - made.first) * made.substeps)
    known = 0 <= sample < min((len(track.place) for track in made.tracks), default=0)
    whole = scene.frame_subframe == 0.0
    target = properties.target(flock)
    tracks = [_track(target, "Target", True, scene)] if target else []
    tracks += [_track(item, item.name, False, scene) for item in properties.repulsors(flock)]
    if not (known and whole):
        tracks = [replace(track, place=None) for track in tracks]
    at_first = scene.frame_current_final == made.first and _is_shown(flock, scene)
    matrix = _matrix(flock) if at_first or _stands_still(flock) else made.flock
    return made.at(sample if known else 0), replace(made, flock=matrix, tracks=tuple(tracks))


def _track(item: bpy.types.Object, name: str, is_target: bool, scene: bpy.types.Scene) -> Track:
    own = item.flock_repulsor
    matrix = _matrix(item)
    radius = item.empty_display_size * np.linalg.norm(matrix[:3, :3], axis=0).max()
    numbers = (0.0, 0.0, 0.0) if is_target else (radius, own.strength, own.mute)
    place = matrix[None, :3, 3] if _stands_still(item) or _is_shown(item, scene) else None
    return Track(name, is_target, place, *(np.array([number], np.float32) for number in numbers))


def _matrix(item: bpy.types.Object) -> np.ndarray:
    """Where it is: by its own numbers where nothing else moves it, for Blender evaluates only what is shown."""
    return np.array(item.matrix_basis if _stands_still(item) else item.matrix_world, float)


def _is_shown(item: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    return scene == bpy.context.scene and item.visible_get()


def _stands_still(item: bpy.types.Object) -> bool:
    """Whether nothing but its own numbers says where it is."""
    animation = item.animation_data
    animated = animation and (animation.action or len(animation.drivers) or len(animation.nla_tracks))
    delta = any(map(any, (item.delta_location, item.delta_rotation_euler))) or any(n != 1.0 for n in item.delta_scale)
    return not (item.parent or animated or len(item.constraints) or item.rigid_body or delta)
