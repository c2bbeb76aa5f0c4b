# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Undo and redo after every operator."""

import bpy
import numpy as np
import pytest


@pytest.fixture
def scene(fresh):
    fresh.frame_start, fresh.frame_end = 1, 5
    bpy.context.preferences.edit.use_global_undo = True
    bpy.ops.ed.undo_push(message="Start")
    return fresh


def do(operator, **arguments) -> None:
    """What a click does: the operator, and one step of undo."""
    assert operator(**arguments) == {"FINISHED"}
    bpy.ops.ed.undo_push(message=operator.idname())


def undo() -> None:
    bpy.ops.ed.undo()


def redo() -> None:
    bpy.ops.ed.redo()


def names() -> list[str]:
    return sorted(bpy.data.objects.keys())


def shown() -> np.ndarray:
    graph = bpy.context.evaluated_depsgraph_get()
    return np.array([np.array(item.matrix_world) for item in graph.object_instances if item.is_instance])


def test_new_flock(scene):
    do(bpy.ops.flock.new)
    made = names()
    undo()
    assert names() == [] and not bpy.data.collections
    redo()
    assert names() == made
    assert len(shown()) >= bpy.data.objects["Flock"].flock.count


def test_bake_and_bake_again(scene, flock_addon):
    clip = flock_addon.bake.clip
    do(bpy.ops.flock.new, count=10)
    start = shown()
    do(bpy.ops.flock.bake)
    first = clip.record(bpy.data.objects["Flock"].data)["hash"]
    bpy.data.objects["Flock"].flock.seed = 4
    bpy.ops.ed.undo_push(message="Seed")
    do(bpy.ops.flock.bake)
    second = clip.record(bpy.data.objects["Flock"].data)["hash"]
    assert first != second
    undo()
    assert clip.record(bpy.data.objects["Flock"].data)["hash"] == first
    undo()
    undo()
    assert not flock_addon.bake.is_baked(bpy.data.objects["Flock"])
    np.testing.assert_array_equal(shown(), start)
    for _ in range(3):
        redo()
    assert clip.record(bpy.data.objects["Flock"].data)["hash"] == second
    assert bpy.ops.flock.bake() == {"FINISHED"}


def test_free_and_repulsors(scene, flock_addon):
    do(bpy.ops.flock.new, count=10)
    do(bpy.ops.flock.bake)
    do(bpy.ops.flock.free)
    do(bpy.ops.flock.repulsor_add)
    do(bpy.ops.flock.repulsor_remove)
    undo()
    assert len(flock_addon.properties.repulsors(bpy.data.objects["Flock"])) == 2
    undo()
    assert len(flock_addon.properties.repulsors(bpy.data.objects["Flock"])) == 1
    undo()
    assert flock_addon.bake.is_baked(bpy.data.objects["Flock"])


def test_cancel_undo_and_bake_again(scene, flock_addon):
    do(bpy.ops.flock.new, count=10)
    bpy.data.objects["Flock"].location.x = 3.0
    bpy.ops.ed.undo_push(message="Move")
    job = flock_addon.bake.Job(bpy.data.objects["Flock"], bpy.context.scene)
    job.tick(0.0)
    job.cancel()
    undo()
    assert bpy.ops.flock.bake() == {"FINISHED"}


def test_undo_during_a_bake_does_not_harm_it(scene, flock_addon):
    do(bpy.ops.flock.new, count=10)
    bpy.data.objects["Flock"].location.x = 3.0
    bpy.ops.ed.undo_push(message="Move")
    job = flock_addon.bake.Job(bpy.data.objects["Flock"], bpy.context.scene)
    while job.message.startswith("Sampling"):
        job.tick(0.0)
    undo()
    job.run()
    assert flock_addon.bake.is_baked(bpy.data.objects["Flock"])
