# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Goes before every scene's script, which runs inside Blender, in the open window."""

import bpy


def new_flock(count=500, frames=60):
    """A flock in an otherwise empty scene, seen from a little above."""
    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)
    bpy.context.scene.frame_end = frames
    bpy.ops.flock.new(count=count)
    flock = bpy.context.view_layer.objects.active
    see(flock)
    return flock


def see(flock):
    region = bpy.context.space_data.region_3d
    region.view_distance = 90
    region.view_location = flock.location


def select(item):
    bpy.ops.object.select_all(action='DESELECT')
    item.select_set(True)
    bpy.context.view_layer.objects.active = item


def later(seconds, action):
    """Do something once the window has been drawn meanwhile; an error is printed, and ends in the log."""

    def once():
        window = bpy.context.window_manager.windows[0]
        area = next(area for area in window.screen.areas if area.type == 'VIEW_3D')
        region = next(region for region in area.regions if region.type == 'WINDOW')
        with bpy.context.temp_override(window=window, area=area, region=region):
            action()

    bpy.app.timers.register(once, first_interval=seconds)


def is_baked(flock):
    return len(flock.data.vertices) > 2 * flock.flock.count + 2
