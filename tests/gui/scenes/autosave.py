# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""Blender's own autosave, recovered: a clip beside the file plays as before."""

import tempfile
from pathlib import Path

import numpy as np

home, temporary = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
bpy.context.preferences.filepaths.temporary_directory = str(temporary)
bpy.context.preferences.filepaths.use_auto_save_temporary_files = True
bpy.context.preferences.filepaths.auto_save_time = 1
new_flock(50, 10)
bpy.ops.wm.save_as_mainfile(filepath=str(home / "shot.blend"))
bpy.context.view_layer.objects.active.flock.storage = 'SIDECAR'
start_bake()


def looks():
    bpy.context.scene.frame_set(7)
    graph = bpy.context.evaluated_depsgraph_get()
    return np.array([np.array(item.matrix_world) for item in graph.object_instances if item.is_instance])


def wait():
    assert bpy.context.view_layer.objects.active.data.library
    bpy.ops.ed.undo_push(message="Baked")
    expected = looks()
    assert len(expected) == 150
    when(lambda: list(temporary.glob("*autosave*.blend")), lambda: recover(expected))


def recover(expected):
    (saved,) = temporary.glob("*autosave*.blend")
    bpy.ops.wm.recover_auto_save(filepath=str(saved))
    with in_the_window():
        flock = next(item for item in bpy.data.objects if item.flock.is_flock)
        assert flock.data.library and not flock.data.is_missing
        np.testing.assert_array_equal(looks(), expected)
        done(f"recovered as {bpy.data.filepath}")


when(lambda: tab_is_open() and baked(), wait)
