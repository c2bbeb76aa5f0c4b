# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A large clip, in the file or beside it, plays and renders the same on a machine that has no add-on."""

import os
from pathlib import Path

import pytest

from tests.addon.processes import blender

COUNT, FRAMES = 20_000, 250

LOOK = """
import hashlib
import numpy as np

def look():
    '''What the scene shows: its matrices between and at frames, and a picture.'''
    digest, scene, number = hashlib.sha256(), bpy.context.scene, 0
    for frame in (1, 7.25, 250):
        scene.frame_set(int(frame), subframe=frame % 1)
        for item in bpy.context.evaluated_depsgraph_get().object_instances:
            if item.is_instance:
                digest.update(np.array(item.matrix_world, np.float32).tobytes())
                number += 1
    scene.frame_set(100)
    scene.render.filepath = str(Path(bpy.data.filepath).with_suffix(".exr"))
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(scene.render.filepath)
    pixels = np.array(image.pixels[:]).reshape(-1, 4)
    return {"matrices": digest.hexdigest(), "number": number, "picture": pixels.tobytes().hex(), "covered": float(pixels[:, 3].mean())}
"""
MAKE = """
enable()
clip, COUNT, FRAMES = own("clip"), int(sys.argv[3]), int(sys.argv[4])
flock = new_flock(10, FRAMES)
random = np.random.default_rng(1)
arrays = clip.ClipArrays.zeros(FRAMES, COUNT)
ahead = random.normal(size=(COUNT, 3)).astype(np.float32)
arrays.position[:] = 20 * random.normal(size=(COUNT, 3)) + ahead * np.arange(FRAMES)[:, None, None] / 24
arrays.velocity[:] = ahead
arrays.rotation[:] = random.normal(size=(COUNT, 4))
arrays.rotation[:] /= np.linalg.norm(arrays.rotation, axis=-1, keepdims=True)
arrays.flap[:] = random.random(COUNT) + np.arange(FRAMES)[:, None] / 8
own("bake").replace_clip(flock, clip.write("Flock Clip", arrays, clip.Header(COUNT, FRAMES), {"kind": "BAKE"}))

scene = bpy.context.scene
camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
camera.data.type, camera.data.ortho_scale, camera.data.clip_end, camera.location = "ORTHO", 60.0, 1000.0, (0, 0, 200)
scene.collection.objects.link(camera)
scene.camera, scene.render.engine, scene.cycles.device, scene.cycles.samples = camera, "CYCLES", "CPU", 4
scene.cycles.use_denoising, scene.render.film_transparent = False, True
scene.render.resolution_x = scene.render.resolution_y = 64
scene.render.image_settings.file_format = "OPEN_EXR"
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
seen = look()
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[2])
bpy.ops.flock.clip_to_sidecar()
bpy.ops.wm.save_mainfile()
answer(**seen)
"""
OPEN = """
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
answer(**look(), addon=MODULE in bpy.context.preferences.addons, missing=[entry.name for entry in bpy.data.meshes if entry.is_missing])
"""


@pytest.mark.long
def test_a_large_clip_is_the_same_in_the_file_and_beside_it_and_elsewhere(flock_addon, tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    inside, beside = folder / "inside.blend", folder / "beside.blend"
    made = blender(LOOK + MAKE, Path(os.environ["BLENDER_USER_RESOURCES"]), inside, beside, COUNT, FRAMES)
    assert made["number"] == 3 * 3 * COUNT, "a body and two wings for each, at three moments"
    assert 0.05 < made["covered"] < 1.0
    assert beside.stat().st_size < 2e6 < 5e7 < inside.stat().st_size, "220 MB, compressed as Blender saves"
    elsewhere = folder.rename(tmp_path / "elsewhere")
    for name in (inside.name, beside.name):
        found = blender(LOOK + OPEN, tmp_path / "empty", elsewhere / name)
        assert not found["addon"] and not found["missing"]
        for what in ("matrices", "number", "picture"):
            assert found[what] == made[what], f"{what} of {name}"
