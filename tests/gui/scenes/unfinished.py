# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""A bake that was ended is resumed, extended and baked again from a frame on, all in the window; Esc in between leaves the disk as it
was: without a scratch file, or with that of the bake that was ended before.

The picture shows what the panel says of a bake that was ended.
"""

import pathlib
import subprocess
import tempfile

operators = importlib.import_module("bl_ext.user_default.flock.flock_addon.operators")
clip = bake.clip

folder = pathlib.Path(tempfile.mkdtemp())
flock = new_flock(count=200, frames=150)
bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))


def end(then):
    """Ends the bake as quitting would, once it is under way."""

    def stop():
        job = next(iter(bake.running.values()))
        job.stop()
        when(lambda: not job._flight.is_alive() and not is_modal(), then)

    when(flying, stop)


def is_modal():
    return any(operator.bl_idname.startswith("FLOCK_OT") for operator in bpy.context.window.modal_operators)


def scratch_files():
    return list(folder.rglob("*.bake"))


def frames():
    return clip.header(flock.data).frames


def resume():
    assert operators.unfinished(flock) and len(scratch_files()) == 1
    assert not bake.is_baked(flock)
    bpy.ops.flock.resume('INVOKE_DEFAULT', True)
    when(baked, extend)


def extend():
    assert frames() == 150 and not scratch_files()
    bpy.context.scene.frame_end = 200
    bpy.ops.flock.extend('INVOKE_DEFAULT', True)
    when(lambda: baked() and frames() == 200, rebake)


def rebake():
    bpy.context.scene.frame_end = 3000
    bpy.context.scene.frame_set(120)
    before = clip.record(flock.data)["hash"]
    bpy.ops.flock.rebake('INVOKE_DEFAULT', True)
    when(flying, lambda: escape(before))


def escape(before):
    assert len(scratch_files()) == 1
    subprocess.Popen(["xdotool", "mousemove", "500", "500", "key", "Escape"])
    when(lambda: not bake.running and not is_modal(), lambda: again(before))


def again(before):
    global flock
    assert clip.record(flock.data)["hash"] == before and not scratch_files()
    flock = long_bake(count=2000, frames=5000)
    end(lambda: cancelled(bpy.ops.flock.bake, lambda: cancelled(bpy.ops.flock.resume, show)))


def cancelled(operator, then):
    """Esc leaves what the bake before has left."""
    left = operators.unfinished(flock)

    def press():
        subprocess.Popen(["xdotool", "mousemove", "500", "500", "key", "Escape"])
        when(lambda: not bake.running and not is_modal(), check)

    def check():
        found = operators.unfinished(flock)
        assert found.path == left.path and found.frames >= left.frames and scratch_files() == [left.path]
        then()

    operator('INVOKE_DEFAULT', True)
    when(flying, press)


def show():
    assert operators.unfinished(flock)
    when(tab_is_open, done)


start_bake()
end(resume)
