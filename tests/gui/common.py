# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Goes before every scene's script, which runs inside Blender, in the open window.

A scene ends with `done`, once what the picture is to show is on the screen; `shoot.py` takes a scene that never said so for a failure.
Nothing waits for a number of seconds: `when` waits for a condition.
"""

import contextlib
import importlib
import time

import bpy

bake = importlib.import_module("bl_ext.user_default.flock.flock_addon.bake")


@contextlib.contextmanager
def in_the_window():
    """As if the mouse were over the 3D viewport."""
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == 'VIEW_3D')
    region = next(region for region in area.regions if region.type == 'WINDOW')
    with bpy.context.temp_override(window=window, area=area, region=region):
        yield


def when(condition, action):
    """Do something as soon as a condition holds; the window lives on meanwhile. An error is printed, and fails the scene."""

    def ask():
        with in_the_window():
            if not condition():
                return 0.1
            action()
            return None

    bpy.app.timers.register(ask, first_interval=0.1)


def tab_is_open():
    """Opens our tab of the sidebar, which Blender knows of once it has drawn the sidebar."""
    sidebar = next(region for region in bpy.context.area.regions if region.type == 'UI')
    try:
        sidebar.active_panel_category = "Flock"
    except TypeError:
        return False
    return sidebar.active_panel_category == "Flock"


def done(told=""):
    """The scene is on the screen."""
    bpy.context.area.tag_redraw()
    print(f"SCENE: done {told}".rstrip(), flush=True)


def new_flock(count=500, frames=60):
    """A flock in an otherwise empty scene, seen from a little above. Undo steps are made as when a user does it."""
    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)
    bpy.context.scene.frame_end = frames
    bpy.ops.flock.new('EXEC_DEFAULT', True, count=count)
    flock = bpy.context.view_layer.objects.active
    region = bpy.context.space_data.region_3d
    region.view_distance = 90
    region.view_location = flock.location
    return flock


def long_bake(count, frames):
    """Starts a bake that lasts longer than the scene; its flock."""
    flock = new_flock(count, frames)
    flock.flock.pre_roll = 0.0
    start_bake()
    return flock


def start_bake():
    bpy.ops.flock.bake('INVOKE_DEFAULT', True)


def redraw_seconds():
    """How long the window takes to draw once: long without a graphics card, and keys wait for it."""
    start = time.monotonic()
    bpy.ops.wm.redraw_timer(type='DRAW_WIN_SWAP', iterations=3)
    return (time.monotonic() - start) / 3


def select(item):
    bpy.ops.object.select_all(action='DESELECT')
    item.select_set(True)
    bpy.context.view_layer.objects.active = item


def flying():
    """Whether a bake is past its beginnings."""
    return any(job.message.startswith("Flying: frame") for job in bake.running.values())


def baked():
    return not bake.running and bake.is_baked(bpy.context.view_layer.objects.active)
