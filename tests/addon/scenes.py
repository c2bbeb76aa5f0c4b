# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flocks with clips of known numbers, shown in a scene, and pictures of them that can be measured."""

import math

import bpy
import numpy as np


def show(flock, arrays, first=1, fps=24.0, name="Flock"):
    """A flock object that plays these frames."""
    header = flock.clip.Header(arrays.count, arrays.frames, first, fps)
    item = bpy.data.objects.new(name, flock.clip.write(name, arrays, header, {}))
    bpy.context.scene.collection.objects.link(item)
    flock.nodes.attach(item)
    return item


def dress(flock, item):
    bird = flock.creature.new_bird()
    flock.nodes.set_creature(item, bird)
    return bird


def cube(size=1.0, name="Cube"):
    half = size / 2
    corners = [(x, y, z) for x in (-half, half) for y in (-half, half) for z in (-half, half)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    return bpy.data.objects.new(name, mesh)


def set_input(flock, item, name, value):
    flock.compat.set_input(flock.nodes.find_modifier(item), name, value)


def key_input(flock, item, name, value, frame):
    """A keyframe of one input of the flock's modifier."""
    set_input(flock, item, name, value)
    owner, key = flock.compat.input_path(flock.nodes.find_modifier(item), name)
    assert owner.keyframe_insert(key, frame=frame)


def go_to(frame):
    whole = math.floor(frame)
    bpy.context.scene.frame_set(whole, subframe=frame - whole)


# -- pictures --------------------------------------------------------------------------------------------------------

WIDTH, SPAN, SIDE = 400, 4.0, 0.04  # pixels and lengths across the picture, the size of the boid


def stage(tmp_path):
    """A camera that looks down on 4 x 0.6 lengths, one pixel a hundredth of a length."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.data.type, camera.data.ortho_scale, camera.location = "ORTHO", SPAN, (0, 0, 5)
    scene.collection.objects.link(camera)
    scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples, scene.cycles.use_denoising = "CPU", 64, False
    scene.render.use_motion_blur, scene.render.motion_blur_shutter = True, 0.5
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = WIDTH, 60, 100
    scene.render.film_transparent = True
    scene.render.image_settings.file_format = "OPEN_EXR"
    scene.render.filepath = str(tmp_path / "streak.exr")


def picture(frame):
    scene = bpy.context.scene
    scene.frame_set(frame)
    bpy.ops.render.render(write_still=True)
    return pixels(scene.render.filepath)


def pixels(path):
    """Of a rendered picture, (60, WIDTH, 4)."""
    image = bpy.data.images.load(str(path))
    found = np.array(image.pixels[:]).reshape(60, WIDTH, 4)
    bpy.data.images.remove(image)
    return found


def streak(frame):
    """Middle and length of what one boid leaves in the picture, in lengths.

    A point that moves evenly leaves an even streak, whose variance is length² / 12; the boid's own width adds its own.
    """
    profile = picture(frame)[..., 3].sum(0)
    profile /= profile.sum()
    place = (np.arange(WIDTH) + 0.5) * SPAN / WIDTH - SPAN / 2
    middle = (profile * place).sum()
    variance = (profile * (place - middle) ** 2).sum()
    return middle, math.sqrt(max(0.0, 12 * variance - SIDE**2))


def glow(item, name, kind="INSTANCER"):
    """A material that shines as strongly as that attribute is large. Returns its node tree."""
    material = bpy.data.materials.new("Glow")
    if material.node_tree is None:
        material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    attribute, emission, output = (
        tree.nodes.new(f"ShaderNode{node}") for node in ("Attribute", "Emission", "OutputMaterial")
    )
    attribute.attribute_name, attribute.attribute_type = name, kind
    tree.links.new(attribute.outputs["Fac"], emission.inputs["Strength"])
    tree.links.new(emission.outputs[0], output.inputs["Surface"])
    item.data.materials.append(material)
    return tree


def centres(folder):
    """Where the boid is in each picture of the folder, in lengths across."""
    found = {}
    for path in sorted(folder.glob("*.exr")):
        profile = pixels(path)[..., :3].sum((0, 2))
        place = (np.arange(WIDTH) + 0.5) * SPAN / WIDTH - SPAN / 2
        found[int(path.stem)] = (profile * place).sum() / profile.sum()
    return found
