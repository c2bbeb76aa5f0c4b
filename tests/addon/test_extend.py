# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A clip is continued: more frames at its end, or again from a frame on. What is kept keeps its bits, and the clip knows what it is."""

import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from mathutils import Vector

NAMES = ("position", "velocity", "rotation", "flap")
OLDER = r", Flock [\d.]+$", ", Flock 0.0.9"
"""Turns the version of the engine here into that of an older release, whose model may be another."""


@pytest.fixture
def modules(fresh, flock_addon):
    names = ("bake", "clip", "plan", "stale", "cli", "properties", "sampling")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


@pytest.fixture
def flock(fresh):
    """A flock behind a target that flies on for 200 frames, past a repulsor that turns about a parent."""
    bpy.ops.flock.new(count=40)
    item = bpy.context.object
    own = item.flock
    own.pre_roll, own.substeps, own.use_scene_range = 0.25, 2, False
    for frame, place in ((1, (0, 20, 0)), (80, (30, 0, 10)), (200, (-20, -20, 0))):
        key(own.target, "location", frame, place)
    arm = bpy.data.objects.new("Arm", None)
    fresh.collection.objects.link(arm)
    own.repulsors.objects[0].parent = arm
    for frame, turn in ((1, 0.0), (200, 12.0)):
        key(arm, "rotation_euler", frame, (0, 0, turn))
    fresh.frame_set(1)
    return item


def bake(flock, first, last) -> None:
    flock.flock.frame_start, flock.flock.frame_end = first, last
    assert bpy.ops.flock.bake() == {"FINISHED"}


def bits(modules, flock, begin=0, end=None) -> dict[str, np.ndarray]:
    arrays = modules.clip.read(flock.data)
    return {name: getattr(arrays, name)[begin:end].copy().view(np.uint32) for name in NAMES}


def assert_same(one, two) -> None:
    for name in NAMES:
        np.testing.assert_array_equal(one[name], two[name])


def content(modules, flock) -> str:
    """The clip's hash, which is that of the numbers in its mesh."""
    known = modules.clip.record(flock.data)["hash"]
    assert known == modules.clip.content_hash(modules.clip.read(flock.data))
    return known


def stale(modules, flock) -> list[str]:
    return modules.stale.changes(flock, exact=True)


def extend(flock, frames) -> None:
    """As the user does: the range ends later, and then Extend."""
    flock.flock.frame_end += frames
    assert bpy.ops.flock.extend() == {"FINISHED"}


def key(item, name, frame, value) -> None:
    """A linear key: a new one moves nothing but what is between it and its neighbours."""
    setattr(item, name, value)
    item.keyframe_insert(name, frame=frame)
    action = item.animation_data.action
    if hasattr(action, "fcurves"):
        curves = list(action.fcurves)
    else:
        strips = [strip for layer in action.layers for strip in layer.strips]
        curves = [curve for strip in strips for bag in strip.channelbags for curve in bag.fcurves]
    for curve in curves:
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"


def move_target(flock, frame, place) -> None:
    key(flock.flock.target, "location", frame, place)
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)


# -- more frames -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [1, 1001])
def test_an_extended_clip_has_the_bits_of_one_that_was_baked_at_once(modules, flock, first):
    bake(flock, first, first + 99)
    kept = bits(modules, flock)
    extend(flock, 60)
    head, extended = modules.clip.header(flock.data), content(modules, flock)
    assert (head.first, head.frames) == (first, 160)
    assert_same(bits(modules, flock, 0, 100), kept)
    assert stale(modules, flock) == []
    steps = modules.clip.record(flock.data)["steps"]
    bake(flock, first, first + 159)
    assert (content(modules, flock), modules.clip.record(flock.data)["steps"]) == (extended, steps)


def test_extending_in_pieces_is_extending_at_once(modules, flock):
    bake(flock, 1, 10)
    for more in (1, 4, 15):
        assert bpy.ops.flock.extend(frames=more) == {"FINISHED"}
    extended = content(modules, flock)
    bake(flock, 1, 30)
    assert content(modules, flock) == extended


def test_the_reference_engine_goes_on_as_well(modules, flock, monkeypatch):
    monkeypatch.setattr(modules.bake.engine.__class__, "load", lambda self, folder, cancelled: "REFERENCE")
    bake(flock, 1, 6)
    bpy.ops.flock.extend(frames=5)
    extended = content(modules, flock)
    bake(flock, 1, 11)
    assert modules.clip.record(flock.data)["engine"] == "REFERENCE"
    assert content(modules, flock) == extended


def test_a_released_boid_starts_when_it_would_have(modules, flock):
    flock.flock.release_duration = 1.0
    bake(flock, 1, 12)
    bpy.ops.flock.extend(frames=20)
    extended = content(modules, flock)
    bake(flock, 1, 32)
    assert content(modules, flock) == extended


def test_a_flock_without_boids_is_extended_too(modules, flock):
    flock.flock.count = 0
    bake(flock, 1, 4)
    assert bpy.ops.flock.extend(frames=3) == {"FINISHED"}
    assert modules.clip.header(flock.data).frames == 7


def test_a_sidecar_is_extended_into_a_new_one(modules, flock, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bake(flock, 1, 8)
    bpy.ops.flock.clip_to_sidecar()
    old = Path(bpy.path.abspath(flock.data.library.filepath))
    before = old.read_bytes()
    assert bpy.ops.flock.extend(frames=6) == {"FINISHED"}
    new, extended = Path(bpy.path.abspath(flock.data.library.filepath)), content(modules, flock)
    assert new != old and new.parent == old.parent and old.read_bytes() == before
    assert flock.data.name == "Flock Clip" and new.name.startswith("shot-Flock_Clip-")
    assert [library.filepath for library in bpy.data.libraries] == [flock.data.library.filepath]
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    flock = bpy.data.objects["Flock"]
    assert content(modules, flock) == extended
    bake(flock, 1, 14)
    assert content(modules, flock) == extended


def test_extending_can_be_undone_and_redone(modules, flock):
    bpy.context.preferences.edit.use_global_undo = True
    bake(flock, 1, 6)
    short = content(modules, flock)
    bpy.ops.ed.undo_push(message="Baked")
    bpy.ops.flock.extend(frames=3)
    long = content(modules, flock)
    bpy.ops.ed.undo_push(message="Extended")
    bpy.ops.ed.undo()
    assert content(modules, bpy.data.objects["Flock"]) == short
    bpy.ops.ed.redo()
    assert content(modules, bpy.data.objects["Flock"]) == long
    assert bpy.ops.flock.extend(frames=1) == {"FINISHED"}


# -- again from a frame on -------------------------------------------------------------------------------------------


def test_baking_again_from_50_keeps_1_to_49(modules, flock, fresh):
    bake(flock, 1, 80)
    kept, old = bits(modules, flock, 0, 49), bits(modules, flock, 49)
    flock.flock.target.location = (90, 90, 90)
    flock.flock.target.animation_data_clear()
    fresh.frame_set(50)
    assert bpy.ops.flock.rebake() == {"FINISHED"}
    assert modules.clip.header(flock.data).frames == 80
    assert_same(bits(modules, flock, 0, 49), kept)
    new = bits(modules, flock, 49)
    assert all((new[name][k] != old[name][k]).any() for name in NAMES[:2] for k in range(31))
    assert stale(modules, flock) == ["Target motion"], "the first frames do not follow this target"


def test_what_changes_later_only_gives_the_bits_of_a_new_bake(modules, flock):
    bpy.context.scene.frame_set(50)
    move_target(flock, 50, flock.flock.target.location)
    bake(flock, 1, 80)
    move_target(flock, 60, (50, 50, 50))
    assert stale(modules, flock) == ["Target motion"]
    assert bpy.ops.flock.rebake(start=50) == {"FINISHED"}
    assert stale(modules, flock) == []
    again = content(modules, flock)
    bake(flock, 1, 80)
    assert content(modules, flock) == again


@pytest.mark.parametrize("end", [4, 8, 12, 20])
def test_baking_again_never_cuts_the_clip(modules, flock, end, tmp_path):
    """Somebody plays, and so narrows the range, where the flock is to be mended."""
    bake(flock, 1, 20)
    whole = content(modules, flock)
    flock.flock.frame_end = end
    bpy.ops.flock.rebake(start=8)
    assert (modules.clip.header(flock.data).frames, content(modules, flock)) == (20, whole)
    assert modules.cli.run(["bake", "--from", "8", "--output", str(tmp_path / "out.blend")]) == 0
    assert (modules.clip.header(flock.data).frames, content(modules, flock)) == (20, whole)


@pytest.mark.parametrize("start", [13, 21])
def test_baking_again_goes_to_the_ranges_end_where_that_is_later(modules, flock, start):
    bake(flock, 1, 20)
    flock.flock.frame_end = 30
    bpy.ops.flock.rebake(start=start)
    assert modules.clip.header(flock.data).frames == 30
    extended = content(modules, flock)
    bake(flock, 1, 30)
    assert content(modules, flock) == extended


def test_a_clip_knows_the_settings_of_each_part(modules, flock):
    weight = flock.flock.separation.weight
    bake(flock, 1, 12)
    flock.flock.separation.weight = weight + 1.0
    assert bpy.ops.flock.rebake(start=7) == {"FINISHED"}
    assert modules.stale.changes(flock) == stale(modules, flock) == ["Separation weight"]
    bpy.ops.flock.rebake(start=3)
    assert stale(modules, flock) == ["Separation weight"]
    assert [part["frames"] for part in modules.clip.record(flock.data)["earlier"]] == [2]
    flock.flock.separation.weight = weight
    assert stale(modules, flock) == ["Separation weight"], "now the last frames have another"
    bpy.ops.flock.rebake(start=3)
    assert stale(modules, flock) == [] and "earlier" not in modules.clip.record(flock.data)
    again = content(modules, flock)
    bake(flock, 1, 12)
    assert content(modules, flock) == again


def test_a_third_part_keeps_the_first_two_apart(modules, flock):
    bake(flock, 1, 12)
    flock.flock.separation.weight += 1.0
    bpy.ops.flock.rebake(start=5)
    flock.flock.wander += 1.0
    bpy.ops.flock.rebake(start=9)
    assert [part["frames"] for part in modules.clip.record(flock.data)["earlier"]] == [4, 8]
    assert stale(modules, flock) == ["Separation weight", "Wander"]


def test_extending_says_what_has_changed_and_leaves_the_clip_stale(modules, flock, capfd):
    bake(flock, 1, 10)
    move_target(flock, 5, (-40, 0, 0))
    flock.flock.cohesion.radius += 1.0
    kept = bits(modules, flock)
    extend(flock, 4)
    said = capfd.readouterr()
    assert "Cohesion radius, Target motion" in said.out + said.err
    assert_same(bits(modules, flock, 0, 10), kept)
    assert stale(modules, flock) == ["Cohesion radius", "Target motion"]


def test_a_repulsor_that_came_later_did_not_act_before(modules, flock):
    bake(flock, 1, 12)
    bpy.ops.flock.repulsor_add()
    added = bpy.context.object
    bpy.context.view_layer.objects.active = flock
    bpy.ops.flock.rebake(start=7)
    assert stale(modules, flock) == [f"{added.name} mute"]
    for mute, frame in ((True, 6), (False, 6.5)):
        added.flock_repulsor.mute = mute
        added.keyframe_insert("flock_repulsor.mute", frame=frame)
    assert stale(modules, flock) == [], "keyframed like this it is what the clip was made from"


def test_a_repulsor_that_went_acted_before(modules, flock):
    bpy.ops.flock.repulsor_add()
    bpy.context.view_layer.objects.active = flock
    bake(flock, 1, 12)
    gone = flock.flock.repulsors.objects[1]
    name = gone.name
    bpy.data.objects.remove(gone)
    bpy.ops.flock.rebake(start=7)
    assert stale(modules, flock) == [f"{name} removed"]


def test_a_repulsor_may_be_renamed_between_two_bakes(modules, flock):
    bake(flock, 1, 10)
    flock.flock.repulsors.objects[0].name = "Rock"
    extend(flock, 5)
    assert stale(modules, flock) == []


def test_the_whole_set_may_be_moved_between_two_bakes(modules, flock):
    """Flock, target and repulsor under one parent: what the flock sees stays the same."""
    home = bpy.data.objects.new("Set", None)
    bpy.context.scene.collection.objects.link(home)
    for item in (flock, flock.flock.target, flock.flock.repulsors.objects[0].parent):
        item.parent = home
    bake(flock, 1, 10)
    home.location = Vector((64.0, -32.0, 16.0))
    assert stale(modules, flock) == []
    extend(flock, 5)
    assert stale(modules, flock) == []


# -- what does not fit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda flock, scene: setattr(flock.flock, "count", 41), "has 40 boids, and now there are 41"),
        (lambda flock, scene: setattr(flock.flock, "substeps", 3), "has 2 substeps, and now there are 3"),
        (lambda flock, scene: setattr(scene.render, "fps", 30), "has 24 frames per second, and now there are 30"),
    ],
)
def test_what_all_frames_have_in_common_cannot_change(modules, flock, fresh, change, sentence):
    bake(flock, 1, 6)
    before = content(modules, flock)
    change(flock, fresh)
    for attempt in (lambda: bpy.ops.flock.extend(frames=2), lambda: bpy.ops.flock.rebake(start=3)):
        with pytest.raises(RuntimeError, match=sentence):
            attempt()
    assert content(modules, flock) == before and not modules.bake.running


@pytest.mark.parametrize(
    ("engine", "change"), [("REFERENCE", (".*", "numpy 2.3.1")), ("NUMBA", (".*", "numba 0.55.0")), ("NUMBA", OLDER)]
)
def test_another_engine_plays_the_clip_but_does_not_go_on(modules, flock, engine, change):
    bake(flock, 1, 6)
    known = modules.clip.record(flock.data)
    version = re.sub(*change, known["engine_version"], count=1)
    assert version != known["engine_version"]
    modules.clip._set_property(
        flock.data, modules.clip.header(flock.data), known | {"engine": engine, "engine_version": version}
    )
    with pytest.raises(RuntimeError, match=f"were flown by .*{version}.*, and here is numba"):
        bpy.ops.flock.extend(frames=2)
    with pytest.raises(RuntimeError, match="bake the whole clip again"):
        bpy.ops.flock.rebake(start=3)
    assert content(modules, flock) == known["hash"]
    graph = bpy.context.evaluated_depsgraph_get()
    assert sum(item.is_instance for item in graph.object_instances) >= 40


@pytest.mark.parametrize("start", [-5, 1, 8, 100])
def test_it_goes_on_only_from_a_frame_of_the_clip(modules, flock, start):
    bake(flock, 1, 6)
    with pytest.raises(RuntimeError, match="go on from a frame between 2 and 7"):
        bpy.ops.flock.rebake(start=start)


def test_a_range_that_ends_before_is_said(modules, flock):
    bake(flock, 1, 6)
    with pytest.raises(RuntimeError, match="set its end to frame 7 or later"):
        bpy.ops.flock.extend()


@pytest.mark.parametrize(
    ("end", "current", "extends", "rebakes"),
    [
        (6, 3, False, True),
        (7, 3, True, True),
        (5, 6, False, True),
        (9, 1, True, False),
        (6, 7, False, False),
        (9, 8, True, False),
    ],
)
def test_the_panel_offers_what_can_be_done(modules, flock, fresh, end, current, extends, rebakes):
    bake(flock, 1, 6)
    flock.flock.frame_end = end
    fresh.frame_set(current)
    plan = modules.plan
    assert plan.is_possible(plan.extension, flock, fresh) == extends == answers(bpy.ops.flock.extend)
    bake(flock, 1, 6)
    flock.flock.frame_end = end
    assert plan.is_possible(plan.continuation, flock, fresh, current) == rebakes == answers(bpy.ops.flock.rebake)


def answers(operator) -> bool:
    try:
        return operator() == {"FINISHED"}
    except RuntimeError:
        return False


def test_without_a_clip_there_is_nothing_to_go_on_with(modules, flock):
    assert not bpy.ops.flock.extend.poll() and not bpy.ops.flock.rebake.poll()
    with pytest.raises(ValueError, match="no clip to go on with"):
        modules.plan.extension(flock, bpy.context.scene, 3)


def test_a_damaged_clip_is_not_continued(modules, flock):
    bake(flock, 1, 6)
    flock.data.vertices.add(1)
    assert "was edited" in modules.plan.why_not_go_on(flock)
    assert not bpy.ops.flock.extend.poll()


# -- from the command line -------------------------------------------------------------------------------------------


def test_the_command_line_extends_and_bakes_again(modules, flock, tmp_path):
    out = str(tmp_path / "out.blend")
    bake(flock, 1, 10)
    assert modules.cli.run(["bake", "--extend", "6", "--output", out]) == 0
    assert modules.clip.header(flock.data).frames == 16
    move_target(flock, 12, (0, 0, 70))
    flock.flock.frame_end = 16
    kept, old = bits(modules, flock, 0, 10), bits(modules, flock, 10)
    assert modules.cli.run(["bake", "--from", "11", "--output", out]) == 0
    assert_same(bits(modules, flock, 0, 10), kept)
    assert (bits(modules, flock, 10)["position"] != old["position"]).any()


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--extend", "0"], 2, "give a whole number from 1"),
        (["--from", "99"], 1, "go on from a frame between 2 and 7"),
        (["--extend", "2", "--resume"], 2, "not allowed with"),
    ],
)
def test_what_the_command_line_cannot_continue_is_said(modules, flock, capsys, words, status, sentence):
    bake(flock, 1, 6)
    assert modules.cli.run(["bake", *words, "--output", "x.blend"]) == status
    assert sentence in capsys.readouterr().err
