# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The whole first flock in a window: new, bake, play, render, undo all, redo all."""

import time

frames_seen = []
bpy.app.handlers.frame_change_post.append(lambda scene, depsgraph=None: frames_seen.append(scene.frame_current))


def count_instances():
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return sum(instance.is_instance for instance in depsgraph.object_instances)


def render(engine, samples):
    scene = bpy.context.scene
    scene.render.engine = engine
    scene.render.resolution_x, scene.render.resolution_y = 320, 180
    if engine == 'CYCLES':
        scene.cycles.samples, scene.cycles.device = samples, 'CPU'
    start = time.monotonic()
    bpy.ops.render.render()
    print(f"FIRST FLOCK: {engine} in {time.monotonic() - start:.1f} s", flush=True)


flock = new_flock(count=300, frames=100)
bpy.ops.object.camera_add(location=(120, -40, 60), rotation=(1.2, 0, 1.0))
bpy.context.scene.camera = bpy.context.object
select(flock)
bpy.ops.ed.undo_push(message="Begin")
bpy.ops.flock.bake('INVOKE_DEFAULT')


def baked():
    if not is_baked(flock):
        later(1, baked)
        return
    print("FIRST FLOCK: baked", flush=True)
    frames_seen.clear()
    bpy.ops.screen.animation_play()
    later(30, played)


def played():
    bpy.ops.screen.animation_cancel(restore_frame=False)
    print(f"FIRST FLOCK: played, {len(set(frames_seen))} different frames seen", flush=True)
    bpy.context.scene.frame_set(50)
    render('BLENDER_EEVEE', 8)
    render('CYCLES', 4)
    later(1, undo_and_redo)


def undo_and_redo():
    name = flock.name
    before = len(bpy.data.objects[name].data.vertices)
    steps = 0
    while bpy.ops.ed.undo.poll() and name in bpy.data.objects and is_baked(bpy.data.objects[name]):
        bpy.ops.ed.undo()
        steps += 1
    print(f"FIRST FLOCK: undone in {steps} steps, {count_instances()} instances", flush=True)
    for _ in range(steps):
        bpy.ops.ed.redo()
    assert len(bpy.data.objects[name].data.vertices) == before
    print(f"FIRST FLOCK: done, {count_instances()} instances after redo", flush=True)


later(5, baked)
