# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moving a baked clip, deleting unused ones, exporting it and getting it back, by the operators."""

import importlib
from types import SimpleNamespace

import bpy
import numpy as np
import pytest


@pytest.fixture
def modules(fresh, flock_addon):
    names = ("bake", "clip", "nodes", "properties")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


@pytest.fixture
def flock(modules, tmp_path):
    """A baked flock of 12 boids and 5 frames in a saved file."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.flock.new(count=12)
    item = bpy.context.object
    item.flock.pre_roll = 0.0
    item.flock.use_scene_range = False
    item.flock.frame_start, item.flock.frame_end = 1, 5
    bpy.ops.flock.bake()
    assert modules.bake.is_baked(item)
    return item


def moment(item):
    bpy.context.scene.frame_set(3)
    graph = bpy.context.evaluated_depsgraph_get()
    return np.array(
        [
            np.array(entry.matrix_world)
            for entry in graph.object_instances
            if entry.is_instance and entry.parent.original == item
        ]
    )


def test_a_clip_moves_out_and_back_without_a_new_bake(modules, flock):
    expected, made = moment(flock), modules.clip.record(flock.data)
    assert len(expected) == 36
    assert bpy.ops.flock.clip_to_sidecar() == {"FINISHED"}
    assert modules.clip.is_sidecar(flock.data) and not bpy.ops.flock.clip_to_sidecar.poll()
    np.testing.assert_array_equal(moment(flock), expected)
    assert bpy.ops.flock.clip_to_file() == {"FINISHED"}
    assert not modules.clip.is_sidecar(flock.data) and not bpy.ops.flock.clip_to_file.poll()
    np.testing.assert_array_equal(moment(flock), expected)
    assert modules.clip.record(flock.data) == made


def test_moving_can_be_undone_and_redone(modules, flock):
    expected, name = moment(flock), flock.name
    bpy.ops.ed.undo_push(message="Baked")
    bpy.ops.flock.clip_to_sidecar()
    bpy.ops.ed.undo_push(message="Moved")
    bpy.ops.ed.undo()
    flock = bpy.data.objects[name]
    assert not modules.clip.is_sidecar(flock.data)
    np.testing.assert_array_equal(moment(flock), expected)
    bpy.ops.ed.redo()
    flock = bpy.data.objects[name]
    assert modules.clip.is_sidecar(flock.data)
    np.testing.assert_array_equal(moment(flock), expected)


def test_an_unsaved_file_cannot_have_a_sidecar(modules):
    bpy.ops.flock.new(count=3)
    bpy.context.object.flock.pre_roll = 0.0
    bpy.context.scene.frame_end = 2
    bpy.ops.flock.bake()
    with pytest.raises(RuntimeError, match="Save the file first"):
        bpy.ops.flock.clip_to_sidecar()


def edit(item):
    """Takes this object alone into Edit Mode."""
    for other in bpy.context.view_layer.objects:
        other.select_set(other == item)
    bpy.context.view_layer.objects.active = item
    assert bpy.ops.object.mode_set(mode="EDIT") == {"FINISHED"}


@pytest.fixture(params=["the flock", "another flock", "another scene's"])
def edited(flock, request):
    """The flock, whose clip somebody has in Edit Mode; it is the active object, or the only flock that is shown."""
    holder = flock
    if request.param != "the flock":
        holder = flock.copy()
        home = bpy.context.scene if request.param == "another flock" else bpy.data.scenes.new("Other")
        home.collection.objects.link(holder)
        bpy.context.window.scene = home
    edit(holder)
    yield flock
    bpy.context.window.scene = holder.users_scene[-1]
    bpy.context.view_layer.objects.active = holder
    assert bpy.ops.object.mode_set(mode="OBJECT") == {"FINISHED"}


def replacing(modules, flock):
    """Everything that puts another mesh in the place of the flock's, by what it is called."""
    ops, scene = bpy.ops.flock, bpy.context.scene
    return {
        "move": ops.clip_to_sidecar,
        "move without the operator": lambda: modules.clip.move_to_sidecar(flock.data),
        "bake": ops.bake,
        "bake for all": lambda: ops.bake(others=True),
        "rebake": lambda: ops.rebake(start=3),
        "extend": lambda: ops.extend(frames=2),
        "free": ops.free,
        "free without the operator": lambda: modules.bake.free(flock, scene),
    }


def test_a_mesh_that_is_edited_is_not_replaced(modules, edited):
    flock = edited
    objects, mesh, known = set(bpy.data.objects), flock.data, modules.clip.record(flock.data)
    for name, act in replacing(modules, flock).items():
        with pytest.raises((RuntimeError, ValueError), match="Leave Edit Mode of"):
            act()
        assert set(bpy.data.objects) == objects and flock.data == mesh, name
    assert modules.clip.record(mesh) == known and not bpy.data.libraries
    assert list(modules.clip.sidecar_folder().glob("*")) == []
    assert any("Leave Edit Mode" in sentence for sentence in modules.bake.problems(flock, bpy.context.scene))


def test_a_spawn_that_is_edited_is_not_replaced(modules):
    bpy.ops.flock.new(count=3)
    flock = bpy.context.object
    mesh = flock.data
    bpy.ops.object.mode_set(mode="EDIT")
    flock.flock.seed, flock.flock.count = 5, 7
    assert flock.data == mesh
    bpy.ops.object.mode_set(mode="OBJECT")
    flock.flock.seed = 6
    assert modules.clip.header(flock.data).count == 7


def test_a_clip_that_is_edited_while_it_is_baked_stays(modules, flock):
    """Whoever shows the old clip, and whoever is to have the new one."""
    twin = flock.copy()
    bpy.context.scene.collection.objects.link(twin)
    job = modules.bake.Job(flock, bpy.context.scene)
    job.take_along([twin])
    twin.data = flock.data.copy()
    old, other = flock.data, twin.data
    edit(twin)
    with pytest.raises(ValueError, match=f"Leave Edit Mode of '{twin.name}'"):
        job.run()
    assert (flock.data, twin.data) == (old, other)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = flock
    assert bpy.ops.flock.resume() == {"FINISHED"}


def test_a_clip_does_not_come_back_in_edit_mode(modules, flock):
    flock.data.copy().use_fake_user = True
    expected = moment(flock)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.delete(type="VERT")
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.mode_set(mode="EDIT")
    mesh = flock.data
    with pytest.raises(RuntimeError, match="Leave Edit Mode of"):
        bpy.ops.flock.clip_reclaim()
    assert flock.data == mesh
    bpy.ops.object.mode_set(mode="OBJECT")
    assert bpy.ops.flock.clip_reclaim() == {"FINISHED"}
    np.testing.assert_array_equal(moment(flock), expected)


def test_a_damaged_clip_is_not_moved_into_a_file_of_its_own(modules, flock):
    flock.data.vertices.add(1)
    with pytest.raises(RuntimeError, match="was edited"):
        bpy.ops.flock.clip_to_sidecar()
    assert not modules.clip.sidecar_folder().exists()


def test_only_unused_clips_are_deleted(modules, flock):
    bpy.ops.flock.clip_to_sidecar()
    old = flock.data.library.filepath
    flock.flock.seed = 5
    flock.flock.storage = "SIDECAR"
    bpy.ops.flock.bake()
    new = flock.data.library.filepath
    other = modules.clip.sidecar_folder() / "notes.txt"
    other.write_text("not a clip")
    assert old != new
    assert bpy.ops.flock.clips_remove_unused() == {"FINISHED"}
    left = {path.name for path in other.parent.iterdir()}
    assert left == {"notes.txt", new.rsplit("/", 1)[1]}


def files(modules):
    return {path.name for path in modules.clip.sidecar_folder().iterdir()}


def test_each_shot_of_a_folder_keeps_its_clips(modules, flock, tmp_path):
    flock.flock.storage = "SIDECAR"
    for seed, shot in enumerate(("shot_010", "shot_020")):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / f"{shot}.blend"))
        flock.flock.seed = seed
        bpy.ops.flock.bake()
        bpy.ops.wm.save_mainfile()
    before = files(modules)
    assert len(before) == 2
    bpy.ops.flock.clips_remove_unused()
    assert files(modules) == before
    flock.flock.seed = 2
    bpy.ops.flock.bake()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot_010.blend"))
    bpy.ops.flock.clips_remove_unused()
    assert files(modules) > before, "that bake may be open elsewhere, and not saved yet"


def test_versions_of_a_shot_share_a_clip_until_none_has_it(modules, flock, tmp_path):
    flock.flock.storage = "SIDECAR"
    bpy.ops.flock.bake()
    shared = files(modules)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot_v2.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.data.objects["Flock"].flock.seed = 5
    for _ in range(2):  # the first leaves a backup
        bpy.ops.flock.bake()
        bpy.ops.wm.save_mainfile()
    bpy.ops.flock.clips_remove_unused()
    assert files(modules) > shared
    (tmp_path / "shot_v2.blend").unlink()
    (tmp_path / "shot.blend1").unlink(missing_ok=True)
    bpy.ops.flock.clips_remove_unused()
    assert len(files(modules)) == 1 and not files(modules) & shared


def test_a_folder_that_cannot_be_looked_through_loses_nothing(modules, flock, tmp_path):
    bpy.ops.flock.clip_to_sidecar()
    bpy.ops.flock.clip_to_file()
    before = files(modules)
    (tmp_path / "broken.blend").write_bytes(b"\x1f\x8b no such thing")
    with pytest.raises(RuntimeError, match="cannot be looked into"):
        bpy.ops.flock.clips_remove_unused()
    assert files(modules) == before


@pytest.mark.parametrize("storage", ["side-car", "copied"])
def test_a_converted_flock_gets_its_clip_back(modules, flock, storage):
    if storage == "side-car":
        bpy.ops.flock.clip_to_sidecar()
    else:
        twin = flock.copy()
        bpy.context.scene.collection.objects.link(twin)
        twin.data = flock.data.copy()
        twin.select_set(False)
    expected = moment(flock)
    assert not bpy.ops.flock.clip_reclaim.poll()
    bpy.ops.object.convert(target="MESH")
    assert len(flock.data.vertices) == 0
    assert any("0 points instead of 62" in sentence for sentence in modules.bake.problems(flock, bpy.context.scene))
    assert bpy.ops.flock.clip_reclaim() == {"FINISHED"}
    np.testing.assert_array_equal(moment(flock), expected)


def test_a_clip_that_was_edited_comes_back_from_its_sidecar(modules, flock):
    bpy.ops.flock.clip_to_sidecar()
    expected = moment(flock)
    bpy.ops.flock.clip_to_file()
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.merge(type="CENTER")
    bpy.ops.object.mode_set(mode="OBJECT")
    assert len(moment(flock)) == 0
    assert bpy.ops.flock.clip_reclaim() == {"FINISHED"}
    assert modules.clip.is_sidecar(flock.data)
    np.testing.assert_array_equal(moment(flock), expected)


def test_a_flock_with_another_mesh_gets_its_clip_back(modules, flock):
    expected = moment(flock)
    flock.data = bpy.data.meshes.new("Cube")
    assert bpy.ops.flock.clip_reclaim() == {"FINISHED"}
    np.testing.assert_array_equal(moment(flock), expected)


def test_a_clip_without_a_copy_cannot_come_back(modules, flock):
    flock.data.vertices.add(1)
    assert not bpy.ops.flock.clip_reclaim.poll()
    with pytest.raises(ValueError, match="no other copy"):
        modules.clip.recover(flock.data)


def test_the_export_object_follows_the_flock(modules, flock):
    expected = modules.clip.read(flock.data).position
    assert bpy.ops.flock.export_points() == {"FINISHED"}
    twin = bpy.context.object
    assert twin.parent == flock and twin.select_get() and not flock.select_get()
    for frame in (1, 4):
        bpy.context.scene.frame_set(frame)
        mesh = twin.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        np.testing.assert_array_equal([vertex.co[:] for vertex in mesh.vertices], expected[frame - 1])
