# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is wrong is said in a sentence, and nothing is lost."""

import math
import os
from pathlib import Path

import bpy
import numpy as np
import pytest


@pytest.fixture
def flock(fresh):
    fresh.frame_start, fresh.frame_end = 1, 4
    bpy.ops.flock.new(count=20)
    found = bpy.context.object
    found.flock.pre_roll = 0.1
    bpy.ops.flock.bake()
    return found


@pytest.fixture
def repulsor(flock):
    return flock.flock.repulsors.objects[0]


@pytest.fixture
def bake(flock_addon):
    return flock_addon.bake


def said(bake, flock) -> str:
    """What the panel says."""
    return " | ".join(bake.problems(flock, bpy.context.scene))


def refused(flock, match: str) -> None:
    """A bake ends with this sentence, and the old clip is as it was."""
    before = flock.data, flock.data["flock_clip"]["record"]
    with pytest.raises(RuntimeError, match=match):
        bpy.ops.flock.bake()
    assert (flock.data, flock.data["flock_clip"]["record"]) == before


def test_nothing_is_said_of_a_good_flock(bake, flock):
    assert said(bake, flock) == ""


def test_without_a_target_it_flies(bake, flock):
    flock.flock.target = None
    assert "Without a target" in said(bake, flock)
    assert bpy.ops.flock.bake() == {"FINISHED"}


def test_a_deleted_target_is_no_target(bake, flock):
    target = flock.flock.target
    bpy.ops.object.select_all(action="DESELECT")
    target.select_set(True)
    bpy.ops.object.delete()
    assert "Without a target" in said(bake, flock)
    assert bpy.ops.flock.bake() == {"FINISHED"}


def test_a_deleted_repulsor_is_no_repulsor(bake, flock, repulsor, flock_addon):
    bpy.ops.object.select_all(action="DESELECT")
    repulsor.select_set(True)
    bpy.ops.object.delete()
    assert flock_addon.properties.repulsors(flock) == []
    bpy.context.view_layer.objects.active = flock
    assert bpy.ops.flock.bake() == {"FINISHED"}


def test_a_radius_that_is_no_number(bake, flock, repulsor):
    repulsor.empty_display_size = math.nan
    assert "'Flock Repulsor'" in said(bake, flock)
    refused(flock, "'Flock Repulsor' has a radius")


def test_a_repulsor_of_scale_zero(bake, flock, repulsor):
    repulsor.scale = (0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert "has no size" in said(bake, flock)
    refused(flock, "has no size")
    repulsor.flock_repulsor.mute = True
    assert said(bake, flock) == ""
    assert bpy.ops.flock.bake() == {"FINISHED"}


def test_a_repulsor_whose_scale_becomes_zero_later(bake, flock, repulsor):
    for frame, size in ((1, 1.0), (3, 0.0)):
        repulsor.scale = (size, size, size)
        repulsor.keyframe_insert("scale", frame=frame)
    bpy.context.scene.frame_set(1)
    refused(flock, "has no size")


def test_count_zero_bakes_an_empty_clip(bake, flock):
    flock.flock.count = 0
    assert "nothing will be drawn" in said(bake, flock)
    assert bpy.ops.flock.bake() == {"FINISHED"}
    assert len(flock.data.vertices) == 0


@pytest.mark.parametrize("rule", ["separation", "alignment", "cohesion"])
def test_a_negative_radius(bake, flock, rule):
    getattr(flock.flock, rule).radius = -1.0
    sentence = f"Set {rule.capitalize()} radius to 0 or more"
    assert sentence in said(bake, flock)
    refused(flock, sentence)


def test_speeds_that_contradict_each_other(bake, flock):
    flock.flock.min_speed = 20.0
    assert "Min speed no higher than Max speed" in said(bake, flock)
    refused(flock, "Min speed")


def test_an_end_before_the_start(bake, flock):
    own = flock.flock
    own.use_scene_range, own.frame_start, own.frame_end = False, 10, 5
    assert "lies before the first" in said(bake, flock)
    refused(flock, "lies before the first")


def test_a_scale_that_differs_between_axes(bake, flock):
    flock.scale = (1.0, 2.0, 1.0)
    bpy.context.view_layer.update()
    assert "differs between its axes" in said(bake, flock)
    refused(flock, "differs between its axes")


def test_a_flock_of_scale_zero(bake, flock):
    flock.scale = (0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert "scale is zero" in said(bake, flock)
    refused(flock, "scale is zero")


def test_edit_mode(bake, flock):
    bpy.ops.object.mode_set(mode="EDIT")
    assert "Edit Mode" in said(bake, flock)
    refused(flock, "Edit Mode")
    bpy.ops.object.mode_set(mode="OBJECT")


def test_an_exception_inside_the_bake(bake, flock, monkeypatch):
    def broken(*_args, **_more):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(f"{bake.Flight.__module__}.Simulation", broken)
    refused(flock, "The bake stopped, and the old clip is as it was: a fault of ours")
    monkeypatch.undo()
    assert bpy.ops.flock.bake() == {"FINISHED"}


def test_escape_in_the_middle_and_the_old_clip_plays(bake, flock):
    before = np.array(flock.data["flock_clip"]["record"])
    flock.flock.seed += 1
    job = bake.Job(flock, bpy.context.scene)
    job.tick(0.0)
    job.cancel()
    assert flock.data["flock_clip"]["record"] == before
    bpy.context.scene.frame_set(3)
    graph = bpy.context.evaluated_depsgraph_get()
    assert sum(item.is_instance for item in graph.object_instances) >= 20


def test_a_folder_that_cannot_be_written_keeps_the_clip_in_the_file(bake, flock, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    (tmp_path / "flock").write_text("a file where the folder should be")  # refuses even the superuser
    flock.flock.storage = "SIDECAR"
    flock.flock.seed += 1
    before = flock.data["flock_clip"]["record"]
    job = bake.Job(flock, bpy.context.scene)
    job.run()
    assert "The clip is in the file" in job.warning
    assert flock.data.library is None and flock.data["flock_clip"]["record"] != before


def test_a_sidecar_of_a_file_that_was_never_saved(bake, flock):
    flock.flock.storage = "SIDECAR"
    job = bake.Job(flock, bpy.context.scene)
    job.run()
    assert "Save the file first" in job.warning
    assert flock.data.library is None


def test_a_read_only_output(flock, flock_addon, tmp_path, capsys):
    folder = Path(tmp_path, "file")
    folder.write_text("")
    assert flock_addon.cli.run(["bake", "--output", os.fspath(folder / "scene.blend")]) == 1
    assert "cannot be saved" in capsys.readouterr().err


def test_a_removed_modifier_comes_back_with_the_next_bake(flock, flock_addon):
    flock.modifiers.clear()
    bpy.ops.flock.bake()
    assert len(flock.modifiers) == 1
