# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flight check finds each fault that is planted in a clip, says where it is worst, and takes the user there."""

import importlib
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

FIRST, LAST, COUNT = 11, 30, 8


@pytest.fixture
def modules(fresh, flock_addon):
    names = ("bake", "checking", "clip", "compat", "nodes", "stale")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


@pytest.fixture
def flock(modules):
    """A baked flock that flies well; its repulsor is far away."""
    bpy.ops.flock.new(count=COUNT)
    item = bpy.context.object
    item.flock.use_scene_range = False
    item.flock.frame_start, item.flock.frame_end = FIRST, LAST
    item.flock.repulsors.objects[0].location = (0.0, 0.0, 900.0)
    assert bpy.ops.flock.bake() == {"FINISHED"}
    return item


def edit(modules, flock, change):
    """The flock's clip with some numbers changed."""
    arrays = modules.clip.read(flock.data)
    change(arrays)
    header, record = modules.clip.header(flock.data), modules.clip.record(flock.data)
    flock.data = modules.clip.write("Edited", arrays, header, record)


def faults(modules, flock):
    """Name, count and the scene's frame of each fault that the check finds."""
    assert bpy.ops.flock.check_flight() == {"FINISHED"}
    found = modules.checking.findings(flock)
    return {
        line.name: (getattr(found, line.name).count, line.frame)
        for line in modules.checking.lines(flock)
        if line.is_fault
    }


def test_a_good_flight_has_no_faults(modules, flock):
    assert faults(modules, flock) == {}
    text = {line.name: line.text for line in modules.checking.lines(flock)}
    assert text["collisions"].startswith("Closest pair")


def found_by_the_bake_and_by_the_check(modules, flock):
    """Findings at each frame."""
    frames = modules.clip.header(flock.data).frames
    baked = modules.checking.rows(flock, frames)
    bpy.ops.flock.check_flight()
    return baked, modules.checking.rows(flock, frames)


def test_a_bake_checks_its_flight_also_where_it_goes_on_with_a_clip(modules, flock):
    flock.flock.repulsors.objects[0].location = (0.0, 9.0, 0.0)
    bpy.ops.flock.bake()
    np.testing.assert_array_equal(*found_by_the_bake_and_by_the_check(modules, flock))
    flock.flock.frame_end = LAST + 6
    bpy.ops.flock.extend()
    baked, checked = found_by_the_bake_and_by_the_check(modules, flock)
    assert len(baked) == LAST + 7 - FIRST
    np.testing.assert_array_equal(baked, checked)
    bpy.ops.flock.rebake(start=FIRST + 5)
    np.testing.assert_array_equal(*found_by_the_bake_and_by_the_check(modules, flock))


def test_a_check_that_fails_does_not_cost_the_bake(modules, flock, monkeypatch):
    def fail(*_):
        raise FloatingPointError("on purpose")

    monkeypatch.setattr(modules.checking.flight_check.Checker, "add", fail)
    assert bpy.ops.flock.bake() == {"FINISHED"}
    assert modules.bake.is_baked(flock) and modules.checking.lines(flock) == []


def test_a_near_pair(modules, flock):
    def collide(arrays):
        arrays.position[4, 0] = arrays.position[4, 1] + (0.0, 0.0, 0.05)
        arrays.position[7, 0] = arrays.position[7, 1] + (0.0, 0.0, 0.2)

    edit(modules, flock, collide)
    assert faults(modules, flock)["collisions"] == (2, FIRST + 4)


def test_boids_inside_an_obstacle_at_a_frame_and_between_two(modules, flock):
    repulsor = flock.flock.repulsors.objects[0]
    place = modules.clip.read(flock.data).position[6, 3]
    flock.location = (5.0, 6.0, 7.0)
    repulsor.location = flock.matrix_basis @ flock.location.__class__(place)
    repulsor.empty_display_size = 0.02  # so small that the boid, 0.2 further each frame, is in it at this frame alone
    assert faults(modules, flock) == {"inside": (1, FIRST + 6)}

    middle = modules.clip.read(flock.data).position[6:8, 3].mean(axis=0)
    repulsor.location = flock.matrix_basis @ flock.location.__class__(middle)
    assert faults(modules, flock) == {"inside_between": (1, FIRST + 6.5)}


def test_an_obstacle_that_moves_is_where_it_is_at_each_frame(modules, flock):
    repulsor = flock.flock.repulsors.objects[0]
    place = modules.clip.read(flock.data).position[10, 0]
    repulsor.empty_display_size = 0.02
    for frame, height in ((FIRST + 9, 50.0), (FIRST + 10, 0.0), (FIRST + 11, 50.0)):
        repulsor.location = flock.location.__class__(place) + flock.location.__class__((0.0, 0.0, height))
        repulsor.keyframe_insert("location", frame=frame)
    assert faults(modules, flock) == {"inside": (1, FIRST + 10)}


def test_a_roll_flip_and_a_turn_that_is_too_fast(modules, flock):
    def flip(arrays):
        w, x, y, z = arrays.rotation[8:, 2].T.copy()
        arrays.rotation[8:, 2] = np.stack((-y, -z, w, x), axis=1)  # times (0, 0, 1, 0): half a turn about its own +Y

    edit(modules, flock, flip)
    assert faults(modules, flock) == {"rolls": (1, FIRST + 7)}

    def turn(arrays):
        w, x, y, z = arrays.rotation[12:, 5].T.copy()
        arrays.rotation[12:, 5] = np.stack((-z, y, -x, w), axis=1)  # times (0, 0, 0, 1): half a turn about its own +Z

    edit(modules, flock, turn)
    found = faults(modules, flock)
    assert found["turns"] == (1, FIRST + 11) and found["rolls"][0] >= 1


def test_boids_that_left(modules, flock):
    def leave(arrays):
        arrays.position[15:, 4] += (0.0, 0.0, 400.0)

    edit(modules, flock, leave)
    assert faults(modules, flock)["leavers"][0] == 5


@pytest.mark.parametrize(("speed", "offset", "moved"), [(1.0, 0.0, 0), (0.5, 2.0, 0), (-1.0, 0.0, 101)])
def test_jump_there_shows_the_frame_also_where_the_clip_is_retimed(modules, flock, speed, offset, moved):
    edit(modules, flock, lambda arrays: arrays.position.__setitem__((4, 0), arrays.position[4, 1] + 0.01))
    modifier = modules.nodes.find_modifier(flock)
    for name, value in (("Speed", speed), ("Time Offset", offset), ("Move First Frame", moved > 0)):
        modules.compat.set_input(modifier, name, value)
    modules.compat.set_input(modifier, "First Frame", moved)
    _, frame = faults(modules, flock)["collisions"]
    assert bpy.ops.flock.jump(frame=frame) == {"FINISHED"}
    modules.compat.set_input(modifier, "Show", "Points")
    graph = bpy.context.evaluated_depsgraph_get()
    shown = flock.evaluated_get(graph).evaluated_geometry()  # it has to live as long as a part of it is read
    place = np.empty(3 * COUNT, np.float32)
    shown.pointcloud.attributes["position"].data.foreach_get("vector", place)
    np.testing.assert_allclose(place.reshape(-1, 3), modules.clip.read(flock.data).position[4], atol=1e-4)


def test_at_speed_0_there_is_nowhere_to_jump_to(modules, flock):
    modules.compat.set_input(modules.nodes.find_modifier(flock), "Speed", 0.0)
    with pytest.raises(RuntimeError, match="set another speed"):
        bpy.ops.flock.jump(frame=3.0)


def test_what_was_found_stays_in_the_file_and_leaves_the_clip_the_same(modules, flock, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.flock.clip_to_sidecar()
    bpy.ops.flock.clip_to_file()
    path = modules.clip.sidecar_path(flock.data, "Flock Clip")
    assert path.exists()
    bpy.ops.flock.check_flight()
    assert modules.clip.sidecar_path(flock.data, "Flock Clip") == path, "it is the same clip"
    assert modules.stale.changes(flock, exact=True) == []
    wanted = modules.checking.lines(flock)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    assert modules.checking.lines(bpy.data.objects["Flock"]) == wanted


def test_a_clip_beside_the_file_can_be_checked_too(modules, flock, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.flock.clip_to_sidecar()
    assert faults(modules, flock) == {}
    assert len(modules.checking.lines(flock)) == 6


def test_without_a_whole_clip_there_is_nothing_to_check(modules, flock):
    flock.data.vertices.add(1)
    with pytest.raises(RuntimeError, match="was edited"):
        bpy.ops.flock.check_flight()
    bpy.ops.flock.free()
    assert not bpy.ops.flock.check_flight.poll() and not bpy.ops.flock.check.poll()
    assert modules.checking.lines(flock) == []


def test_a_clip_that_is_replaced_during_its_check_ends_it_with_a_sentence(modules, flock):
    job = modules.checking.Check(flock, bpy.context.scene)
    assert not job.tick(0.0) and 0.0 < job.progress < 1.0 and job.message
    flock.flock.seed = 3
    bpy.ops.flock.bake()
    before = modules.clip.record(flock.data)
    with pytest.raises(ValueError, match="was replaced"):
        job.run()
    assert modules.clip.record(flock.data) == before


def test_a_cancelled_check_and_an_undo_during_one_do_no_harm(modules, flock):
    bpy.ops.ed.undo_push(message="Baked")
    flock.location.x = 3.0
    bpy.ops.ed.undo_push(message="Moved")
    job = modules.checking.Check(flock, bpy.context.scene)
    while job.message.startswith("Sampling"):
        job.tick(0.0)
    bpy.ops.ed.undo()
    job.run()
    assert len(job.lines) == 6
    job = modules.checking.Check(bpy.data.objects["Flock"], bpy.context.scene)
    job.tick(0.0)
    job.cancel()
    assert modules.checking.Check(bpy.data.objects["Flock"], bpy.context.scene).tick(60.0)


def test_one_boid_and_one_frame_are_checked(modules, flock):
    flock.flock.count, flock.flock.frame_end = 1, FIRST
    bpy.ops.flock.bake()
    assert faults(modules, flock) == {}
    flock.flock.count = 0
    bpy.ops.flock.bake()
    assert faults(modules, flock) == {}


def test_the_panel_says_what_the_last_exact_look_found(modules, flock, fresh):
    fresh.frame_set(FIRST + 5)
    assert modules.stale.sentence(flock, fresh) == "Up to date"
    target = flock.flock.target
    for frame, x in ((FIRST, 0.0), (FIRST + 1, 1.0), (FIRST + 2, 0.0)):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
    fresh.frame_set(FIRST + 5)
    assert modules.stale.sentence(flock, fresh) == "Up to date"
    assert bpy.ops.flock.check() == {"FINISHED"}
    assert modules.stale.sentence(flock, fresh) == "Stale: Target motion"
    flock.flock.separation.weight += 1.0
    assert modules.stale.sentence(flock, fresh) == "Stale: Separation weight, Target motion"
    bpy.ops.flock.bake()
    assert modules.stale.sentence(flock, fresh) == "Up to date"
