# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""A clip that is stale, shared, and flies through a repulsor that was moved into its way: the panel names all of it, and goes there."""

from mathutils import Vector

OPEN = ("FLOCK_PT_flock", "FLOCK_PT_bake", "FLOCK_PT_flight_check")
"""Panels whose inside is shown; the others make room for them."""


def show_panels():
    panels = importlib.import_module("bl_ext.user_default.flock.flock_addon.panels")
    panels.unregister()
    for kind in panels._classes:
        kind.bl_options = set() if kind.__name__ in OPEN else {'DEFAULT_CLOSED'}
    panels.register()


show_panels()
flock = new_flock(200, 40)
start_bake()


def spoil():
    flock = bpy.context.view_layer.objects.active
    bpy.ops.object.duplicate('EXEC_DEFAULT', True, linked=True)
    select(flock)
    clip = importlib.import_module("bl_ext.user_default.flock.flock_addon.clip")
    repulsor = flock.flock.repulsors.objects[0]
    repulsor.location = flock.matrix_world @ Vector(clip.read(flock.data).position[19].mean(axis=0))
    flock.flock.separation.weight += 1.0
    bpy.ops.flock.check_flight('INVOKE_DEFAULT', True)
    when(lambda: not bpy.context.window.modal_operators, jump)


def jump():
    checking = importlib.import_module("bl_ext.user_default.flock.flock_addon.checking")
    flock = bpy.context.view_layer.objects.active
    line = next(line for line in checking.lines(flock) if line.name == "inside")
    assert line.is_fault
    bpy.ops.flock.jump('EXEC_DEFAULT', frame=line.frame)
    assert bpy.context.scene.frame_current == line.frame
    done(line.text)


when(lambda: tab_is_open() and baked(), spoil)
