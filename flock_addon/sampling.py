# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the scene to core's effectors: where the target and the repulsors are at every step, in the flock's own space.

They are sampled as they are seen, evaluated, in a scene of their own that holds nothing but stand-ins. A stand-in copies one object's
evaluated transform by a constraint and its numbers by drivers, so that neither render geometry nor a hidden collection matters.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..core.effectors import Attractors, Effectors, Spheres
from ..core.settings import FlockError
from . import properties

UNIFORM = 1e-4
"""Relative difference of two axes' scales that still counts as none: Blender's matrices are float32."""

PIECE = 0.1
"""Seconds: much longer than it takes to make and remove the stand-ins, and hardly felt in a window."""

_DRIVEN = {"radius": "empty_display_size", "mute": "flock_repulsor.mute", "strength": "flock_repulsor.strength"}


@dataclass(frozen=True)
class Samples:
    """What the scene is at every step, in world space; frame `first + k / substeps` is sample k."""

    first: int
    substeps: int
    flock_matrix: np.ndarray
    """float64 (4, 4): the flock object's at the first frame."""
    target: np.ndarray
    """float64 (T, A, 3), A is 0 or 1."""
    names: tuple[str, ...]
    """Of the repulsors, R of them."""
    matrices: np.ndarray
    """float64 (T, R, 4, 4)."""
    radii: np.ndarray
    """float64 (T, R), of the sphere as drawn, before the object's scale."""
    strengths: np.ndarray
    """float64 (T, R)."""
    mutes: np.ndarray
    """bool (T, R)."""


@dataclass(frozen=True)
class _Known:
    """Something of the file that is found again after an undo, which puts another in its place."""

    uid: int
    name: str

    @classmethod
    def of(cls, item: Any) -> _Known:
        return cls(item.session_uid, item.name)


def _find(items: Iterable[Any], known: Sequence[_Known]) -> list[Any]:
    """Each of them as it is now.

    Raises:
        FlockError: one was deleted.
    """
    wanted = {one.uid for one in known}
    found = {item.session_uid: item for item in items if item.session_uid in wanted}
    for one in known:
        if one.uid not in found:
            raise _deleted(one.name)
    return [found[one.uid] for one in known]


def _deleted(name: str) -> FlockError:
    return FlockError(f"'{name}' was deleted while the scene was sampled: undo that, or start again without it")


class Sampler:
    """Samples a scene in pieces: iterate it; between two pieces it holds nothing of the file, and the file nothing of it.

    Args:
        piece: seconds that are spent on a piece, to make and remove the stand-ins not counted.

    Raises:
        FlockError: in a later piece, something was deleted that is sampled.
    """

    def __init__(
        self,
        flock: bpy.types.Object,
        scene: bpy.types.Scene,
        first: int,
        frames: int,
        substeps: int,
        piece: float = PIECE,
    ) -> None:
        target, self._piece = properties.target(flock), piece
        self._scene, self._plain = _Known.of(scene), [_Known.of(item) for item in (flock, target) if item]
        self._repulsors = [_Known.of(item) for item in properties.repulsors(flock)]
        self.first, self.substeps, self.count = first, substeps, (frames - 1) * substeps + 1
        self._rows: list[list[Any]] = []
        self._flock_matrix = np.eye(4)

    @property
    def progress(self) -> float:
        """Share that is done, 0 to 1."""
        return len(self._rows) / self.count

    def __iter__(self) -> Iterator[float]:
        while len(self._rows) < self.count:
            self._take(time.monotonic() + self._piece)
            yield self.progress

    def _take(self, end: float) -> None:
        """At least one sample, and others until that time."""
        (like,) = _find(bpy.data.scenes, [self._scene])
        items, border = _find(bpy.data.objects, [*self._plain, *self._repulsors]), len(self._plain)
        for target in items[1:border]:
            if not target.users_scene:  # the flock's pointer alone keeps a deleted target alive
                raise _deleted(target.name)
        with _stand_ins(items[:border], items[border:], like) as (scene, plain, spheres):
            for sample in range(len(self._rows), self.count):
                frame, part = divmod(sample, self.substeps)
                scene.frame_set(self.first + frame, subframe=part / self.substeps)
                graph = scene.view_layers[0].depsgraph
                matrices = [_matrix(item.evaluated_get(graph)) for item in plain]
                if sample == 0:
                    self._flock_matrix = matrices[0]
                self._rows.append([matrices[1:], [_sphere(item.evaluated_get(graph)) for item in spheres]])
                if time.monotonic() >= end:
                    return

    def samples(self) -> Samples:
        """All of them."""
        spheres = [row[1] for row in self._rows]
        shape = (len(spheres), len(self._repulsors))
        column = [np.array([[sphere[part] for sphere in row] for row in spheres], float) for part in range(4)]
        return Samples(
            self.first,
            self.substeps,
            self._flock_matrix,
            np.array([[matrix[:3, 3] for matrix in row[0]] for row in self._rows]).reshape(shape[0], -1, 3),
            tuple(one.name for one in self._repulsors),
            column[0].reshape(*shape, 4, 4),
            column[1].reshape(shape),
            column[2].reshape(shape),
            column[3].reshape(shape).astype(bool),
        )


def sample(flock: bpy.types.Object, scene: bpy.types.Scene, first: int, frames: int, substeps: int) -> Samples:
    """Everything at once."""
    sampler = Sampler(flock, scene, first, frames, substeps)
    for _ in sampler:
        pass
    return sampler.samples()


def effectors(samples: Samples, arrival: float = 0.0) -> Effectors:
    """Core's effectors, in the flock's space.

    Args:
        arrival: how far from the target its pull begins to ease off, lengths. A flock that is as wide would be crushed at a point.

    Raises:
        FlockError: the flock's scale is not uniform, a repulsor has no radius.
    """
    inverse, scale = _into_space(samples.flock_matrix)
    if not np.isfinite(samples.target).all():
        raise FlockError("Give the target a finite place")
    place = samples.target @ inverse[:3, :3].T + inverse[:3, 3]
    ones = np.ones(place.shape[:2])
    attractors = Attractors(place, ones, ones * math.inf, ones * arrival)
    up = inverse[:3, :3] @ (0.0, 0.0, 1.0)
    return Effectors(attractors=attractors, spheres=_spheres(samples, inverse, scale), up=up / np.linalg.norm(up))


def world_radii(samples: Samples) -> np.ndarray:
    """Radius of each repulsor in the world, times the largest axis of its scale: float64 (T, R), lengths."""
    return samples.radii * np.linalg.norm(samples.matrices[..., :3, :3], axis=-2).max(axis=-1, initial=0.0)


def uniform_scale(matrix: np.ndarray) -> float:
    """The one scale of a matrix.

    Raises:
        FlockError: it has several, or none.
    """
    axes = np.asarray(matrix, float)[:3, :3]
    sizes = np.linalg.norm(axes, axis=0)
    if not np.isfinite(matrix).all() or sizes.min() <= 0:
        raise FlockError("The flock object's scale is zero: give it a scale above 0")
    skew = np.abs(axes.T @ axes / sizes.mean() ** 2 - np.eye(3)).max()
    if skew > UNIFORM:
        raise FlockError(
            "The flock object's scale differs between its axes: apply it (Ctrl+A), or make it the same on all three"
        )
    return float(sizes.mean())


def _into_space(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    scale = uniform_scale(matrix)
    return np.linalg.inv(matrix), scale


def check_repulsors(items: list[bpy.types.Object]) -> None:
    """Raises a sentence about the first repulsor that has no sphere now; a bake looks at every frame."""
    for item in items:
        if not item.flock_repulsor.mute:
            matrix = _matrix(item)
            size = item.empty_display_size * np.linalg.norm(matrix[:3, :3], axis=0).max()
            _check_sphere(item.name, np.array([size]), matrix)


def unseen_motion(flock: bpy.types.Object, scene: bpy.types.Scene) -> list[str]:
    """A sentence for each object that rigid body physics moves, and an effector with it: stand-ins have no physics. Cheap."""
    world = scene.rigidbody_world
    if world is None or not world.enabled:
        return []
    heeded = [item for item in properties.repulsors(flock) if not item.flock_repulsor.mute]
    target = properties.target(flock)
    carriers = (link for item in (target, *heeded) if item for link in _with_parents(item) if _is_simulated(link))
    return [
        f"'{name}' is moved by rigid body physics, which a bake does not see: "
        "bake that to keyframes first (Object > Rigid Body > Bake to Keyframes)"
        for name in dict.fromkeys(link.name for link in carriers)
    ]


def _with_parents(item: bpy.types.Object | None) -> Iterator[bpy.types.Object]:
    while item:
        yield item
        item = item.parent


def _is_simulated(item: bpy.types.Object) -> bool:
    body = item.rigid_body
    return bool(body and body.type == "ACTIVE" and body.enabled and not body.kinematic)


def _spheres(samples: Samples, inverse: np.ndarray, scale: float) -> Spheres:
    heeded = ~samples.mutes
    radii = world_radii(samples)
    for index, name in enumerate(samples.names):
        _check_sphere(name, radii[:, index][heeded[:, index]], samples.matrices[:, index])
    centre = samples.matrices[..., :3, 3] @ inverse[:3, :3].T + inverse[:3, 3]
    # while a mute is keyframed on, the sphere has neither size nor strength
    sizes, strengths = np.where(heeded, radii / scale, 0.0), np.where(heeded, samples.strengths, 0.0)
    used = heeded.any(axis=0)
    return Spheres(centre[:, used], sizes[:, used], strengths[:, used])


def _check_sphere(name: str, radii: np.ndarray, matrices: np.ndarray) -> None:
    if not np.isfinite(radii).all() or not np.isfinite(matrices).all():
        raise FlockError(f"The repulsor '{name}' has a radius or a place that is no number: set its radius, or mute it")
    if (radii <= 0).any():
        raise FlockError(f"The repulsor '{name}' has no size: give it a radius and a scale above 0, or mute it")


# -- the stand-ins ---------------------------------------------------------------------------------------------------


@contextmanager
def _stand_ins(plain: list[bpy.types.Object], repulsors: list[bpy.types.Object], like: bpy.types.Scene):
    """A temporary scene that holds a stand-in for each object: yields the scene and the two lists of stand-ins."""
    scene = bpy.data.scenes.new("Flock Sampling")
    made: list[bpy.types.Object] = []
    try:
        scene.render.fps, scene.render.fps_base = like.render.fps, like.render.fps_base
        for item in (*plain, *repulsors):
            stand_in = bpy.data.objects.new("Flock Stand-In", None)
            made.append(stand_in)
            scene.collection.objects.link(stand_in)
            stand_in.constraints.new("COPY_TRANSFORMS").target = item
        for stand_in, item in zip(made[len(plain) :], repulsors, strict=True):
            _drive(stand_in, item)
        scene.view_layers[0].update()
        yield scene, made[: len(plain)], made[len(plain) :]
    finally:
        bpy.data.batch_remove([*made, scene])


def _drive(stand_in: bpy.types.Object, item: bpy.types.Object) -> None:
    for name, path in _DRIVEN.items():
        stand_in[name] = 0.0
        curve: Any = stand_in.driver_add(f'["{name}"]')
        driver = curve.driver
        driver.type = "SUM"
        variable = driver.variables.new()
        variable.targets[0].id = item
        variable.targets[0].data_path = path


def _matrix(item: bpy.types.Object) -> np.ndarray:
    return np.array(item.matrix_world, float)


def _sphere(item: bpy.types.Object) -> tuple[np.ndarray, float, float, float]:
    return _matrix(item), item["radius"], item["strength"], item["mute"]
