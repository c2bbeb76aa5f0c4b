# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured in a real Blender, the extension installed: each part is a process of its own.

The extension is the zip that FLOCK_ZIP names, or else this checkout, which then needs a numba in Blender's own environment.
"""

from __future__ import annotations

import importlib
import os
import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from . import measure, sizes, workloads
from .sizes import Sizes

if CORES := int(os.environ.get("FLOCK_CORES", "0")):  # Blender makes a thread for each when it is imported
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-CORES:])

from tests.addon import conftest  # gives Blender a user folder of its own, before it is imported

import bpy  # isort: skip

PER_TURN = 10
"""Frames that are played in each turn."""

GATHERING = 30
"""Frames that Blender's Boids have behind them; they start at rest."""


def own(name: str) -> Any:
    """A module of the installed extension."""
    return importlib.import_module(f"{conftest.MODULE}.{name}")


def empty_file() -> bpy.types.Scene:
    """The only scene of a new file, with the add-on enabled."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    if conftest.MODULE not in bpy.context.preferences.addons:
        conftest.enable()
    try:
        import numba  # noqa: F401
    except ImportError as error:
        raise measure.Missing("Blender's part: there is neither a zip of the extension nor numba") from error
    return bpy.context.scene


def new_flock(count: int) -> bpy.types.Object:
    """The add-on's own new flock, with a target that flies, and the repulsors of `workloads.scenery`."""
    bpy.ops.flock.new(count=count)
    flock = bpy.context.object
    spheres = workloads.scenery().spheres
    for _ in spheres.radius[0, 1:]:
        bpy.ops.flock.repulsor_add()
    # apart: where several are at one place, as all new ones are, the rare boids that are at all of them take most of the time
    for item, place, radius in zip(flock.flock.repulsors.objects, spheres.centre[0], spheres.radius[0], strict=True):
        item.location, item.empty_display_size = place, radius
    target = flock.flock.target
    for frame, place in ((1, (0, 60, 0)), (250, (60, 200, 10))):
        target.location = place
        target.keyframe_insert("location", frame=frame)
    bpy.context.view_layer.objects.active = flock
    return flock


# -- Blender's own Boids ---------------------------------------------------------------------------------------------


def boids(options: Any) -> dict[str, float]:
    """One frame of Blender's Boids, beside a frame of the default, which is two steps, and a plain step."""
    scene = empty_file()
    from . import peers

    count, settled = options.sizes.slow, options.sizes.settled
    emitter = _boids_emitter(count)
    frames = iter(range(1, 1_000_000))

    def next_frame() -> None:
        scene.frame_set(next(frames))

    for _ in range(GATHERING):
        next_frame()
    _check_that_they_fly(emitter, count, next_frame)
    flock = workloads.flying(count, settled, options.folder)
    loose = workloads.uniform(count)
    runs: dict[str, Callable[[], object]] = {"Blender": next_frame}
    for threads in options.threads:
        step = peers.ours(workloads.DEFAULT, flock, threads, workloads.scenery(), workloads.DT / 2)
        runs[f"default/{threads}"] = lambda step=step: (step(), step())
        runs[f"plain/{threads}"] = peers.ours(workloads.PLAIN, loose, threads)
    return measure.interleaved(runs, options.sizes.patience)


def _boids_emitter(count: int) -> bpy.types.Object:
    """Particles with the rules Separate and Flock, which new Boids have, in a cube as dense as our spawn, as large as our boids."""
    half = 1.5 * count ** (1 / 3)
    bpy.ops.mesh.primitive_cube_add(size=2 * half)
    emitter = bpy.context.object
    emitter.modifiers.new("Boids", "PARTICLE_SYSTEM")
    (system,) = emitter.particle_systems
    particles = system.settings
    particles.count, particles.frame_start, particles.frame_end, particles.lifetime = count, 1, 1, 1_000_000
    particles.emit_from, particles.distribution, particles.physics_type = "VOLUME", "RAND", "BOIDS"
    particles.particle_size = 1.0
    assert [rule.type for rule in particles.boids.states[0].rules] == ["SEPARATE", "FLOCK"]
    system.point_cache.frame_end = 1_000_000
    return emitter


def _check_that_they_fly(emitter: bpy.types.Object, count: int, next_frame: Callable[[], object]) -> None:
    """Outputs before timings: particles that wait are quick."""
    before = _particles(emitter)
    next_frame()
    moved = np.linalg.norm(_particles(emitter) - before, axis=1)
    assert len(moved) == count and (moved > 0.01).mean() > 0.9, "Blender's Boids do not fly"


def _particles(emitter: bpy.types.Object) -> np.ndarray:
    evaluated = emitter.evaluated_get(bpy.context.evaluated_depsgraph_get())
    found = evaluated.particle_systems[0].particles
    places = np.empty(3 * len(found), np.float32)
    found.foreach_get("location", places)
    return places.reshape(-1, 3)


# -- the bake --------------------------------------------------------------------------------------------------------


def bake(options: Any) -> dict[str, float]:
    """A whole bake without flight checks, beside its steps alone."""
    scene = empty_file()
    size: Sizes = options.sizes
    scene.frame_start, scene.frame_end = 1, size.frames
    flock = new_flock(size.slow)
    baking, sampling, core = own("flock_addon.bake"), own("flock_addon.sampling"), own("core")
    settings = own("flock_addon.properties").to_settings(flock.flock)
    samples = sampling.sample(flock, scene, 1, size.frames, settings.substeps)
    effectors = sampling.effectors(samples, settings.flock_width)  # the very flight that is baked

    def fly(threads: int) -> None:
        for _ in core.Simulation(settings, effectors, frames=size.frames, engine="NUMBA", threads=threads):
            pass

    def bake_unchecked(chosen: Any) -> None:
        with patch.object(own("flock_addon.flight").Flight, "_check", lambda flight: None):  # as where it cannot look
            baking.bake(flock, scene, options=chosen)
        assert own("flock_addon.checking").findings(flock) is None, "the flight was checked"

    # The first bake brings in the engine. Compiled code knows its module by name: the checkout's own cache is for another one.
    cache = str(options.folder / "compiled")
    runs: dict[str, Callable[[], object]] = {}
    for threads in options.threads:
        chosen = baking.Options(threads=threads, cache_folder=cache)
        runs[f"bake/{threads}"] = lambda chosen=chosen: bake_unchecked(chosen)
        runs[f"steps/{threads}"] = lambda threads=threads: fly(threads)
    return measure.interleaved(runs, size.patience)


# -- sampling --------------------------------------------------------------------------------------------------------


def sample(options: Any) -> dict[str, float]:
    """Sampling the effectors of a whole clip, in a scene with many polygons and in the same scene without them."""
    scene = empty_file()
    size: Sizes = options.sizes
    flock = new_flock(100)
    heavy = _heavy(size.polygons)
    sampling = own("flock_addon.sampling")

    def take() -> None:
        sampling.sample(flock, scene, 1, size.frames, 2)

    before = {"empty": lambda: _show(heavy, False), "heavy": lambda: _show(heavy, True)}
    patience = replace(size.patience, turns=min(5, size.patience.turns))  # to bring the polygons back takes seconds
    return measure.interleaved(dict.fromkeys(before, take), patience, before)


def _heavy(polygons: int) -> bpy.types.Collection:
    """Subdivided grids that move, and so are made anew at every frame of their scene."""
    found = bpy.data.collections.new("Heavy")
    side, level = 36, 3
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=side, y_subdivisions=side)
    first = bpy.context.object
    for number in range(-(-polygons // (side * side * 4**level))):
        item = bpy.data.objects.new(f"Heavy {number}", first.data)
        found.objects.link(item)
        subdivision = item.modifiers.new("Subdivision", "SUBSURF")
        subdivision.levels = subdivision.render_levels = level
        item.modifiers.new("Wave", "WAVE")
    bpy.data.objects.remove(first)
    _show(found, True)
    graph = bpy.context.evaluated_depsgraph_get()
    assert sum(len(item.evaluated_get(graph).data.polygons) for item in found.objects) >= polygons
    return found


def _show(collection: bpy.types.Collection, shown: bool) -> None:
    children = bpy.context.scene.collection.children
    if shown != (collection.name in children):
        (children.link if shown else children.unlink)(collection)
    bpy.context.view_layer.update()


# -- playing ---------------------------------------------------------------------------------------------------------


def play(options: Any) -> dict[str, float]:
    """A frame of a clip, one instance for each boid, by our nodes and by the fewest that can do it: on FLOCK_CORES cores."""
    (threads,) = options.threads
    scene = empty_file()
    count: int = options.sizes.played
    bpy.ops.mesh.primitive_cone_add(vertices=4)
    creature = bpy.context.object
    creature.hide_viewport = True
    ours, fewest = (_clip_object(count, PER_TURN + 1) for _ in range(2))
    stored = own("flock_addon.clip").read_frame(ours.data, PER_TURN - 1)["position"]
    own("flock_addon.nodes").set_creature(ours, creature)
    fewest.modifiers.new("Fewest", "NODES").node_group = _fewest_nodes(count, creature)

    def frames(item: bpy.types.Object) -> list[float]:
        for other in (ours, fewest):
            other.hide_viewport = other != item
        scene.frame_set(1)
        return [measure.seconds(lambda frame=frame: scene.frame_set(frame)) * 1e3 for frame in range(2, 2 + PER_TURN)]

    for item in (ours, fewest):
        frames(item)
        scene.frame_set(PER_TURN)
        assert np.array_equal(_instances(), stored), "not the boids of this frame"

    # The first frames of a turn find other things in the caches, which is not so while a clip plays: they are not counted.
    # The median is that of single frames: where others are busy too, they interrupt some of them and not every one.
    taken: dict[str, list[float]] = {"ours": [], "fewest": []}
    for _ in range(options.sizes.patience.turns):
        for name, item in (("ours", ours), ("fewest", fewest)):
            frames(item)
            taken[name] += frames(item)
    return {f"{name}/{threads}": statistics.median(times) for name, times in taken.items()}


def _instances() -> np.ndarray:
    """Where they are, (count, 3)."""
    shown = bpy.context.evaluated_depsgraph_get().object_instances
    return np.array([tuple(item.matrix_world.translation) for item in shown if item.is_instance], np.float32)


def _clip_object(count: int, frames: int) -> bpy.types.Object:
    """Boids that fly straight on, a clip as the bake writes it."""
    clip, arrays = own("flock_addon.clip"), own("flock_addon.arrays").ClipArrays.zeros(frames, count)
    random = np.random.default_rng(0)
    velocity = random.normal(size=(count, 3))
    arrays.velocity[:] = velocity
    arrays.position[:] = random.normal(size=(count, 3)) * 50 + np.arange(frames)[:, None, None] / 24 * velocity
    arrays.rotation[..., 0] = 1.0
    mesh = clip.write("Clip", arrays, clip.Header(count, frames, 1, 24.0), {})
    item = bpy.data.objects.new("Flock", mesh)
    bpy.context.scene.collection.objects.link(item)
    return item


def _fewest_nodes(count: int, creature: bpy.types.Object) -> bpy.types.NodeTree:
    """Points at the positions that are stored for the scene's frame, and an instance on each of them."""
    group = bpy.data.node_groups.new("Fewest", "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    frame = _node(group, "GeometryNodeInputSceneTime", output="Frame")
    first = _node(group, "ShaderNodeMath", frame, 1.0, operation="SUBTRACT")
    row = _node(
        group, "ShaderNodeMath", first, float(count), _node(group, "GeometryNodeInputIndex"), operation="MULTIPLY_ADD"
    )
    clip, place = _node(group, "NodeGroupInput"), _node(group, "GeometryNodeInputPosition")
    stored = _node(group, "GeometryNodeSampleIndex", clip, place, row, data_type="FLOAT_VECTOR")
    points = _node(group, "GeometryNodePoints", count, stored)
    body = _node(group, "GeometryNodeObjectInfo", creature, True, output="Geometry")
    shown = _node(group, "GeometryNodeInstanceOnPoints", points, None, body)
    group.links.new(shown, group.nodes.new("NodeGroupOutput").inputs[0])
    return group


def _node(
    group: bpy.types.NodeTree, kind: str, *values: Any, output: str = "", **properties: Any
) -> bpy.types.NodeSocket:
    """An output of a new node, the first or the named one; links and plain values go to its inputs in order."""
    node = group.nodes.new(kind)
    for name, value in properties.items():
        setattr(node, name, value)
    for socket, value in zip((socket for socket in node.inputs if socket.enabled), values, strict=False):
        if isinstance(value, bpy.types.NodeSocket):
            group.links.new(value, socket)
        elif value is not None:
            socket.default_value = value
    return node.outputs[output] if output else next(socket for socket in node.outputs if socket.enabled)


# -- all parts -------------------------------------------------------------------------------------------------------

PARTS = {"boids": boids, "bake": bake, "sampling": sample, "playing": play}


def main() -> dict:
    options = sizes.worker(__doc__, "part")
    times: dict[str, dict[Any, float]] = {}
    for name, value in PARTS[options.part](options).items():
        run, _, threads = name.partition("/")
        times.setdefault(run, {})[threads or "any"] = value
    return {"milliseconds": {options.part: times}, "blender": bpy.app.version_string}


if __name__ == "__main__":
    measure.answer(main)
