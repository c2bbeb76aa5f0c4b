# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The whole first flock in a window: new, bake, play 100 frames, render with both engines, undo all, redo all."""

import os
import tempfile
import time

FRAMES = 100
shown = set()
bpy.app.handlers.frame_change_post.append(lambda scene, depsgraph=None: shown.add(scene.frame_current))


def tell(text):
    print(f"FIRST FLOCK: {text}", flush=True)


def matrices():
    """Of all instances at frame 50."""
    bpy.context.scene.frame_set(50)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return [tuple(map(tuple, i.matrix_world)) for i in depsgraph.object_instances if i.is_instance]


def rendered(engine, with_flock):
    """The numbers of the picture, with the flock in it or without."""
    scene = bpy.context.scene
    scene.render.engine = engine
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 320, 180, 100
    scene.cycles.samples, scene.cycles.device = 4, 'CPU'
    bpy.data.objects["Flock"].hide_render = not with_flock
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = os.path.join(folder, "frame.png")
        bpy.ops.render.render(write_still=True)
        picture = bpy.data.images.load(scene.render.filepath)
        pixels = list(picture.pixels)
        bpy.data.images.remove(picture)
    bpy.data.objects["Flock"].hide_render = False
    return pixels


flock = new_flock(count=300, frames=FRAMES)
bpy.ops.object.camera_add('EXEC_DEFAULT', True, location=(120, 40, 20), rotation=(1.4, 0, 1.57))
bpy.context.scene.camera = bpy.context.object
select(flock)
start_bake()


def play():
    tell("baked")
    shown.clear()
    bpy.ops.screen.animation_play()
    when(lambda: set(range(1, FRAMES + 1)) <= shown, played)


def played():
    bpy.ops.screen.animation_cancel(restore_frame=False)
    tell(f"played {FRAMES} frames")
    bpy.context.scene.frame_set(50)
    for engine in ('BLENDER_EEVEE', 'CYCLES'):
        start = time.monotonic()
        pixels, empty = rendered(engine, True), rendered(engine, False)
        differing = sum(abs(a - b) > 0.05 for a, b in zip(pixels, empty, strict=True))
        tell(f"{engine} in {time.monotonic() - start:.1f} s for two pictures, {differing} numbers show the flock")
        assert differing > 300
    undo_and_redo()


def undo_and_redo():
    before = matrices()
    steps = 0
    while "Flock" in bpy.data.objects and bpy.ops.ed.undo() == {'FINISHED'}:
        steps += 1
    assert "Flock" not in bpy.data.objects
    tell(f"undone in {steps} steps")
    for _ in range(steps):
        bpy.ops.ed.redo()
    after = matrices()
    assert len(before) > 300
    assert after == before
    tell(f"redone: the same {len(after)} instances")
    done()


when(lambda: tab_is_open() and baked(), play)
