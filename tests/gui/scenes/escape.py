# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""Esc during a bake: the flock is as it was, the window lives, and the next bake works."""

import subprocess

flock = long_bake(count=2000, frames=5000)
name, before = flock.name, flock.data.name_full


def press():
    drawing = redraw_seconds()
    pressed = time.monotonic()
    subprocess.Popen(["xdotool", "mousemove", "500", "500", "key", "Escape"])
    when(lambda: not bake.running, lambda: check(time.monotonic() - pressed, drawing))


def check(seconds, drawing):
    flock = bpy.data.objects[name]
    assert flock.data.name_full == before
    assert not bake.is_baked(flock)
    assert "FLOCK_OT_bake" not in [operator.bl_idname for operator in bpy.context.window.modal_operators]
    print(f"ESCAPE: the bake ended {seconds:.2f} s after the key; the window draws in {drawing:.2f} s", flush=True)
    assert seconds < 1.0 + 4 * drawing
    flock.flock.count = 200
    bpy.context.scene.frame_end = 20
    start_bake()
    when(baked, done)


when(lambda: tab_is_open() and flying(), press)
