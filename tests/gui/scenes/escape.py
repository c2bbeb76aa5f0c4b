# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""Esc during a bake: the flock is as it was, the window lives, and the next bake works. An Esc for something else ends only that."""

import subprocess

flock = long_bake(count=2000, frames=5000)
name, before = flock.name, flock.data.name_full


def keys(place, *names):
    """Pressed one after the other, with the mouse there, pixels from the upper left corner."""
    subprocess.Popen(["xdotool", "mousemove", *map(str, place), "key", *names])


def plays():
    return bpy.context.screen.is_animation_playing


def play():
    bpy.ops.screen.animation_play()
    assert plays()
    keys((500, 500), "Escape")
    when(lambda: not plays(), elsewhere)


def elsewhere():
    """Over an editor that has an Esc of its own, and with a modifier; the arrow key tells when these were handled."""
    assert bake.running, "the Esc was for the playback"
    other = next(area for area in bpy.context.screen.areas if area.type == 'PROPERTIES')
    other.type = 'IMAGE_EDITOR'
    frame = bpy.context.scene.frame_current
    keys((other.x + other.width // 2, bpy.context.window.height - other.y - other.height // 2), "Escape")
    keys((500, 500), "shift+Escape", "Right")
    when(lambda: bpy.context.scene.frame_current == frame + 1, press)


def press():
    assert bake.running
    drawing = redraw_seconds()
    pressed = time.monotonic()
    keys((500, 500), "Escape")
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


when(lambda: tab_is_open() and flying(), play)
