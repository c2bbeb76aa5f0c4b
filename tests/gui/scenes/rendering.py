# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""Render Animation in the window, with Cycles and EEVEE, Lock Interface on and off: each picture shows the clip at its own frame.

A streak of motion blur is as long as its boid flies while the shutter is open.
"""

import math
import tempfile
from pathlib import Path

import numpy as np

FRAMES = 300
JOBS = (
    ("CYCLES", False, FRAMES),
    ("CYCLES", True, 20),
    ("BLENDER_EEVEE", False, FRAMES),
    ("BLENDER_EEVEE", True, 4),
)
"""Engine, Lock Interface, and how many frames; EEVEE takes a second or two for each where there is no graphics card."""
WIDTH, HEIGHT, SPAN, SIDE, SHUTTER = 200, 20, 4.0, 0.1, 4.0  # pixels, lengths, the size of the boid, frames

clip, nodes = (importlib.import_module(f"bl_ext.user_default.flock.flock_addon.{name}") for name in ("clip", "nodes"))
folder = Path(tempfile.mkdtemp())
ended, told = [], []
PLACES = 1.5 * np.sin(np.arange(FRAMES) / 20.0)


def shining_cube():
    half = SIDE / 2
    mesh = bpy.data.meshes.new("Cube")
    corners = [(x, y, z) for x in (-half, half) for y in (-half, half) for z in (-half, half)]
    mesh.from_pydata(corners, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    material = bpy.data.materials.new("Light")
    if material.node_tree is None:
        material.use_nodes = True
    material.node_tree.nodes.clear()
    shader, output = (material.node_tree.nodes.new(f"ShaderNode{name}") for name in ("Emission", "OutputMaterial"))
    material.node_tree.links.new(shader.outputs[0], output.inputs["Surface"])
    mesh.materials.append(material)
    return bpy.data.objects.new("Cube", mesh)


def build():
    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)
    scene = bpy.context.scene
    made = clip.ClipArrays.zeros(FRAMES, 1)
    made.position[:, 0, 0], made.velocity[:, 0, 0], made.rotation[..., 0] = PLACES, np.gradient(PLACES) * 24.0, 1.0
    flock = bpy.data.objects.new("Flock", clip.write("Flock", made, clip.Header(1, FRAMES), {}))
    scene.collection.objects.link(flock)
    nodes.attach(flock)
    nodes.set_creature(flock, shining_cube())
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.data.type, camera.data.ortho_scale, camera.location = 'ORTHO', SPAN, (0.0, 0.0, 5.0)
    scene.collection.objects.link(camera)
    scene.camera, scene.world = camera, None
    render = scene.render
    render.resolution_x, render.resolution_y, render.resolution_percentage = WIDTH, HEIGHT, 100
    render.film_transparent, render.motion_blur_shutter = True, SHUTTER
    render.image_settings.file_format = 'OPEN_EXR'
    scene.cycles.use_denoising = False
    scene.view_settings.view_transform = 'Raw'
    bpy.context.preferences.view.render_display_type = 'NONE'


def profile(path):
    image = bpy.data.images.load(str(path))
    found = np.array(image.pixels[:]).reshape(HEIGHT, WIDTH, 4)[..., 3].sum(0)
    bpy.data.images.remove(image)
    return found / found.sum()


ACROSS = (np.arange(WIDTH) + 0.5) * SPAN / WIDTH - SPAN / 2


def is_over():
    """Whether the picture is there, and the job that made it has let go of the window."""
    return bool(ended) and not bpy.app.is_job_running('RENDER')


def variance(path):
    seen = profile(path)
    return (seen * (ACROSS - (seen * ACROSS).sum()) ** 2).sum()


def start(job, first, last, blur, samples):
    engine, lock, _ = JOBS[job]
    scene = bpy.context.scene
    scene.render.engine, scene.render.use_lock_interface, scene.render.use_motion_blur = engine, lock, blur
    scene.cycles.samples = scene.eevee.taa_render_samples = samples
    scene.frame_start, scene.frame_end = first, last
    name = f"{engine}-{lock}-{'blur' if blur else 'sharp'}"
    scene.render.filepath = str(folder / name / "####")
    ended.clear()
    bpy.ops.render.render('INVOKE_DEFAULT', animation=True)
    return folder / name


def render(job):
    began = time.monotonic()
    pictures = start(job, 1, JOBS[job][2], False, 1)

    def check():
        frames = JOBS[job][2]
        files = sorted(pictures.glob("*.exr"))
        assert [int(file.stem) for file in files] == list(range(1, frames + 1)), files
        seen = [float((profile(file) * ACROSS).sum()) for file in files]
        worst = float(np.abs(np.array(seen) - PLACES[:frames]).max())
        assert worst < SPAN / WIDTH, worst  # a pixel
        told.append(f"{JOBS[job][0]} lock={JOBS[job][1]}: {frames} frames, {time.monotonic() - began:.0f} s")
        print("RENDERED:", told[-1], f"within {worst:.4f}", flush=True)
        blurred(job, pictures)

    when(is_over, check)


def blurred(job, sharp):
    """Frame 3, while it flies evenly: a streak adds its length squared, over 12, to the variance of what the sharp picture shows."""
    pictures = start(job, 3, 3, True, 32)

    def check():
        length = math.sqrt(12.0 * (variance(pictures / "0003.exr") - variance(sharp / "0003.exr")))
        expected = PLACES[4] - PLACES[0]  # the shutter is open for four frames
        assert abs(length - expected) < 0.1 * expected, (length, expected)
        print("STREAK:", JOBS[job], f"{length:.3f} for {expected:.3f}", flush=True)
        if job + 1 < len(JOBS):
            render(job + 1)
        else:
            done("; ".join(told))

    when(is_over, check)


def ours(handlers):
    return [one for one in handlers if "flock" in one.__module__]


build()
assert not ours(bpy.app.handlers.frame_change_pre) and not ours(bpy.app.handlers.frame_change_post)
for kind in (bpy.app.handlers.render_complete, bpy.app.handlers.render_cancel):
    kind.append(lambda *_: ended.append(1))
when(tab_is_open, lambda: render(0))
