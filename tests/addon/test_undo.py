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


def little_by_little(flock_addon, monkeypatch):
    """Makes a job sample one frame at a time, as it does where a scene is slow."""
    monkeypatch.setattr(flock_addon.bake.sampling.Sampler.__init__, "__defaults__", (0.0,))


def in_the_middle_of_sampling(make):
    """A job that has sampled some frames, and has others before it."""
    job = make(bpy.data.objects["Flock"], bpy.context.scene)
    for _ in range(3):
        assert not job.tick(0.0)
    assert job.message.startswith("Sampling")
    return job


def moved(name):
    bpy.data.objects[name].location.x += 3.0
    bpy.ops.ed.undo_push(message="Move")


@pytest.mark.parametrize("then", [undo, lambda: (undo(), redo())], ids=["undo", "undo and redo"])
def test_undo_while_a_bake_samples_the_scene(scene, flock_addon, monkeypatch, then):
    little_by_little(flock_addon, monkeypatch)
    clip = flock_addon.bake.clip
    do(bpy.ops.flock.new, count=10)
    do(bpy.ops.mesh.primitive_cube_add)
    moved("Cube")
    job = in_the_middle_of_sampling(flock_addon.bake.Job)
    then()
    job.run()
    flown = clip.record(bpy.data.objects["Flock"].data)["hash"]
    bpy.context.view_layer.objects.active = bpy.data.objects["Flock"]
    bpy.ops.flock.bake()
    assert clip.record(bpy.data.objects["Flock"].data)["hash"] == flown


def test_undo_while_a_flight_check_samples_the_scene(scene, flock_addon, monkeypatch):
    little_by_little(flock_addon, monkeypatch)
    do(bpy.ops.flock.new, count=10)
    do(bpy.ops.flock.bake)
    known = flock_addon.checking.lines(bpy.data.objects["Flock"])
    do(bpy.ops.mesh.primitive_cube_add)
    moved("Cube")
    job = in_the_middle_of_sampling(flock_addon.checking.Check)
    undo()
    job.run()
    assert job.lines == known != []


def delete(*items):
    """As the user does."""
    bpy.ops.object.select_all(action="DESELECT")
    for item in items:
        item.select_set(True)
    bpy.ops.object.delete()


def another_scene():
    old = bpy.context.window.scene
    bpy.context.window.scene = bpy.data.scenes.new("Other")
    bpy.data.scenes.remove(old)


GONE = {
    "Flock": lambda: delete(bpy.data.objects["Flock"]),
    "Flock Target": lambda: delete(bpy.data.objects["Flock Target"]),
    "Flock Repulsor": lambda: delete(bpy.data.objects["Flock Repulsor"]),
    "Scene": another_scene,
}


@pytest.mark.parametrize("kind", ["bake", "check"])
@pytest.mark.parametrize("name", GONE)
def test_what_is_deleted_while_the_scene_is_sampled_is_named(scene, flock_addon, monkeypatch, name, kind):
    little_by_little(flock_addon, monkeypatch)
    do(bpy.ops.flock.new, count=10)
    do(bpy.ops.flock.bake)
    job = in_the_middle_of_sampling({"bake": flock_addon.bake.Job, "check": flock_addon.checking.Check}[kind])
    GONE[name]()
    with pytest.raises(ValueError, match=f"'{name}' was deleted while the scene was sampled: undo that"):
        job.run()
    assert not flock_addon.bake.running and len(bpy.data.scenes) == 1


# -- every operator --------------------------------------------------------------------------------------------------


def baked(flock_addon, tmp_path):
    """A saved file with a flock whose clip lies in it."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.flock.new(count=6)
    bpy.context.object.flock.pre_roll = 0.0
    bpy.ops.flock.bake()
    return bpy.context.object


def leave_unfinished(flock_addon, flock):
    """What a bake leaves that was ended by force."""
    flock.flock.seed = 7
    job = flock_addon.bake.Job(flock, bpy.context.scene)
    while job._flight is None:
        job.tick(0.0)
    job._flight.join()
    job.stop()
    job._flight.close()


def lengthen(flock_addon, flock):
    bpy.context.scene.frame_end = 8


def to_sidecar(flock_addon, flock):
    bpy.ops.flock.clip_to_sidecar()


def other_mesh(flock_addon, flock):
    flock.data = bpy.data.meshes.new("Cube")


def other_seed(flock_addon, flock):
    flock.flock.seed = 7


def nothing(flock_addon, flock):
    pass


CASES = {
    "new": (nothing, {}),
    "bake": (other_seed, {}),
    "resume": (leave_unfinished, {}),
    "extend": (lengthen, {}),
    "rebake": (other_seed, {"start": 3}),
    "free": (nothing, {}),
    "check_flight": (nothing, {}),
    "clip_to_sidecar": (nothing, {}),
    "clip_to_file": (to_sidecar, {}),
    "clip_reclaim": (other_mesh, {}),
    "export_points": (nothing, {}),
    "repulsor_add": (nothing, {}),
    "repulsor_remove": (nothing, {}),
}


def everything(flock_addon):
    """All that an operator may change: objects, what they show, what the clips know, where they lie."""
    clip = flock_addon.clip
    clips = sorted((item.name, str(clip.header(item.data)), clip.record(item.data), item.flock.flight_check)
                   for item in bpy.data.objects if clip.is_clip(item.data))  # fmt: skip
    libraries = sorted(item.data.library.filepath for item in bpy.data.objects if item.data and item.data.library)
    bpy.context.scene.frame_set(4)
    return names(), clips, libraries, shown().tolist()


def test_each_operator_that_changes_something_has_its_case(flock_addon):
    found = {
        kind.bl_idname.removeprefix("flock.")
        for name in dir(bpy.types)
        if name.startswith("FLOCK_OT_") and "UNDO" in getattr(kind := getattr(bpy.types, name), "bl_options", ())
    }
    assert {name.lower() for name in found} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_undo_and_redo_of_each_operator(scene, flock_addon, tmp_path, name):
    flock = baked(flock_addon, tmp_path)
    prepare, arguments = CASES[name]
    prepare(flock_addon, flock)
    bpy.ops.ed.undo_push(message="Prepared")
    before = everything(flock_addon)
    do(getattr(bpy.ops.flock, name), **arguments)
    after = everything(flock_addon)
    assert after != before
    undo()
    assert everything(flock_addon) == before
    redo()
    assert everything(flock_addon) == after
    assert not flock_addon.bake.running
    bpy.context.view_layer.objects.active = bpy.data.objects["Flock"]
    assert bpy.ops.flock.bake() == {"FINISHED"}
