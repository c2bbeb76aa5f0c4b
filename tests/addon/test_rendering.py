# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendered pictures show each frame of a clip at its own moment, blurred as far as it flies, with the attributes that shaders read."""

import importlib
import math
import os
import subprocess
import sys
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from tests.addon.scenes import (
    SIDE,
    SPAN,
    WIDTH,
    centres,
    cube,
    dress,
    glow,
    key_input,
    picture,
    pixels,
    set_input,
    show,
    stage,
    streak,
)


@pytest.fixture
def flock(fresh, flock_addon):
    """The add-on's modules, and an empty scene at 24 frames per second."""
    names = ("clip", "nodes", "creature", "compat")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


# -- motion blur ----------------------------------------------------------------------------------------------------


def crosser(flock, speed=12.0):
    """One boid straight across the picture, in its middle at frame 5."""
    made = flock.clip.ClipArrays.zeros(9, 1)
    made.position[:, 0, 0] = (np.arange(9) - 4) * speed / 24
    made.velocity[:, 0, 0], made.rotation[..., 0] = speed, 1
    item = show(flock, made)
    flock.nodes.set_creature(item, cube(SIDE))
    return item


@pytest.mark.parametrize("speed", [1.0, 0.5, -1.0])
def test_the_blur_streak_is_speed_times_shutter(flock, tmp_path, speed):
    stage(tmp_path)
    item = crosser(flock)
    set_input(flock, item, "Speed", speed)
    frame = 5 if abs(speed) == 1 else 9
    middle, length = streak(frame)
    assert middle == pytest.approx(0.0, abs=0.01)
    assert length == pytest.approx(abs(speed) * 12.0 / 24 * 0.5, rel=0.05)


def test_a_keyframed_offset_blurs_and_a_held_clip_does_not(flock, tmp_path):
    stage(tmp_path)
    item = crosser(flock)
    for frame, value in ((1, -4.0), (9, 4.0)):  # one frame more for each frame: twice as fast
        key_input(flock, item, "Time Offset", value, frame)
    curve = item.animation_data.action.layers[0].strips[0].channelbags[0].fcurves[0]
    for point in curve.keyframe_points:
        point.interpolation = "LINEAR"
    middle, length = streak(5)
    assert middle == pytest.approx(0.0, abs=0.01)
    assert length == pytest.approx(2 * 12.0 / 24 * 0.5, rel=0.05)
    item.location.x = -2.0  # the last frame's place, back in the picture
    assert streak(30)[1] < 0.02  # two pixels, of sampling noise


@pytest.mark.parametrize(
    ("name", "value"),
    [("id", 1.0), ("flock", 3.0), ("speed", 13.0), ("bank", 0.5), ("flap", 0.75), ("random", None), ("part", 0.0)],
)
def test_shaders_read_the_attributes_of_instances(flock, tmp_path, name, value):
    item = two_boids(flock, tmp_path)
    glow(flock.compat.get_input(flock.nodes.find_modifier(item), "Creature"), name)
    if value is None:
        value = numbers(item, name)[1]
        assert 0.0 < value < 1.0 and value != numbers(item, name)[0]
    assert picture(1)[30, RIGHT, 0] == pytest.approx(value, rel=1e-3, abs=1e-6)


LEFT, RIGHT = WIDTH // 4, 3 * WIDTH // 4


def two_boids(flock, tmp_path):
    """One at rest on the left of the picture; on the right one that flies at 13 lengths a second, banked by half a radian."""
    stage(tmp_path)
    bpy.context.scene.render.use_motion_blur = False
    made = flock.clip.ClipArrays.zeros(1, 2)
    made.position[0, :, 0], made.velocity[0, 1] = (-1.0, 1.0), (3.0, 4.0, 12.0)
    made.rotation[0, 0, 0], made.rotation[0, 1] = 1.0, Quaternion((0.0, 1.0, 0.0), 0.5)
    made.flap[:] = 0.25, 0.75
    item = show(flock, made)
    flock.nodes.set_creature(item, cube(0.5))
    set_input(flock, item, "Flock Index", 3)
    return item


def numbers(item, name):
    """An attribute of the instances that a flock shows."""
    shown = item.evaluated_get(bpy.context.evaluated_depsgraph_get()).evaluated_geometry()
    return [entry.value for entry in shown.instances_pointcloud().attributes[name].data]


def test_a_shader_reads_the_velocity_as_a_vector(flock, tmp_path):
    item = two_boids(flock, tmp_path)
    tree = glow(flock.compat.get_input(flock.nodes.find_modifier(item), "Creature"), "velocity")
    nodes = {node.bl_idname: node for node in tree.nodes}
    tree.links.new(nodes["ShaderNodeAttribute"].outputs["Vector"], nodes["ShaderNodeEmission"].inputs["Color"])
    tree.links.remove(nodes["ShaderNodeEmission"].inputs["Strength"].links[0])
    nodes["ShaderNodeEmission"].inputs["Strength"].default_value = 1.0
    np.testing.assert_allclose(picture(1)[30, RIGHT, :3], (3.0, 4.0, 12.0), rtol=1e-3)


def test_the_manuals_example_gives_fast_birds_another_colour(flock, tmp_path):
    """Attribute, Map Range, Color Ramp: from 4 lengths a second to 22, the middle is 13."""
    item = two_boids(flock, tmp_path)
    tree = glow(flock.compat.get_input(flock.nodes.find_modifier(item), "Creature"), "speed")
    nodes = {node.bl_idname: node for node in tree.nodes}
    between, ramp = tree.nodes.new("ShaderNodeMapRange"), tree.nodes.new("ShaderNodeValToRGB")
    between.inputs["From Min"].default_value, between.inputs["From Max"].default_value = 4.0, 22.0
    for element, colour in zip(ramp.color_ramp.elements, ((0.0, 0.0, 1.0, 1.0), (1.0, 0.5, 0.0, 1.0)), strict=True):
        element.color = colour
    tree.links.new(nodes["ShaderNodeAttribute"].outputs["Fac"], between.inputs["Value"])
    tree.links.new(between.outputs["Result"], ramp.inputs["Fac"])
    tree.links.new(ramp.outputs["Color"], nodes["ShaderNodeEmission"].inputs["Color"])
    tree.links.remove(nodes["ShaderNodeEmission"].inputs["Strength"].links[0])
    nodes["ShaderNodeEmission"].inputs["Strength"].default_value = 1.0
    seen = picture(1)
    np.testing.assert_allclose(seen[30, LEFT, :3], (0.0, 0.0, 1.0), atol=1e-3)
    np.testing.assert_allclose(seen[30, RIGHT, :3], (0.5, 0.25, 0.5), atol=5e-3)


def test_wings_far_apart_do_not_smear_into_each_other(flock, tmp_path):
    stage(tmp_path)
    made = flock.clip.ClipArrays.zeros(9, 2)
    made.position[:, :, 0] = -1.5, 1.5
    made.rotation[..., 0] = 1.0
    made.flap[:] = np.linspace(0, 4, 9)[:, None]
    item = show(flock, made)
    dress(flock, item)
    set_input(flock, item, "Scale", 0.3)
    columns = picture(4)[..., 3].sum(0) > 0
    place = (np.arange(WIDTH) + 0.5) * SPAN / WIDTH - SPAN / 2
    assert columns[np.abs(np.abs(place) - 1.5) < 0.1].all()
    assert not columns[np.abs(np.abs(place) - 1.5) > 0.3].any()


def test_wings_blur_as_they_beat(flock, tmp_path):
    stage(tmp_path)
    made = flock.clip.ClipArrays.zeros(9, 1)
    # looked at from above, a boid that flies down shows its wings from the front: what is across the picture is x,
    # what is up in it is the beat
    made.rotation[:] = Quaternion((1, 0, 0), -math.pi / 2)
    made.flap[:, 0] = np.arange(-4, 5) / 8.0
    item = show(flock, made)
    body, wing = cube(0.01), cube(SIDE, "Wing")
    wing.location = (0.0, 0.0, 0.0)
    for vertex in wing.data.vertices:
        vertex.co.x += 1.0
    body[flock.creature.RIGHT] = wing
    flock.nodes.set_creature(item, body)
    set_input(flock, item, "Flap Angle", 0.2)
    pixels = picture(5)[:, WIDTH // 2 + 50 :, 3]
    profile = pixels.sum(1) / pixels.sum()
    place = np.arange(60) * SPAN / WIDTH
    spread = 12 * ((profile * place**2).sum() - (profile * place).sum() ** 2)
    # angle = 0.2 sin(2 pi flap): within half a frame around flap 0 the tip, one length out, goes 0.2 * 2 pi / 8 / 2
    assert math.sqrt(spread - SIDE**2) == pytest.approx(0.2 * 2 * math.pi / 8 * 0.5, rel=0.05)


# -- rendering ------------------------------------------------------------------------------------------------------


@pytest.fixture
def shot(flock, tmp_path):
    """A shining boid that crosses the picture in nine frames, and is to be rendered from the second to the eighth."""
    stage(tmp_path)
    scene = bpy.context.scene
    item = crosser(flock, speed=SPEED)
    glow(flock.compat.get_input(flock.nodes.find_modifier(item), "Creature"), "flock")
    set_input(flock, item, "Flock Index", 1)
    scene.render.use_motion_blur, scene.cycles.samples = False, 4
    scene.frame_start, scene.frame_end = 2, 8
    return item


SPEED = 8.0


def check_places(folder, frames):
    seen = centres(folder)
    assert list(seen) == list(frames)
    for frame, middle in seen.items():
        assert middle == pytest.approx((frame - 5) * SPEED / 24, abs=0.01)  # a pixel


@pytest.mark.parametrize("way", ["frames", "sequencer", "locked"])
def test_every_rendered_frame_shows_its_own_moment(flock, shot, tmp_path, way):
    scene = bpy.context.scene
    scene.render.use_lock_interface = way == "locked"
    if way == "sequencer":
        settings = scene.render
        scene = bpy.data.scenes.new("Edit")
        bpy.context.window.scene = scene
        scene.sequence_editor_create().strips.new_scene("Shot", bpy.data.scenes["Scene"], 1, frame_start=2)
        for name in ("resolution_x", "resolution_y", "resolution_percentage"):
            setattr(scene.render, name, getattr(settings, name))
        scene.render.image_settings.file_format = "OPEN_EXR"
        scene.frame_start, scene.frame_end = 2, 8
    folder = tmp_path / "frames"
    folder.mkdir()
    scene.render.filepath = str(folder / "####")
    bpy.ops.render.render(animation=True, scene=scene.name)
    check_places(folder, range(2, 9))


# -- on a farm -------------------------------------------------------------------------------------------------------

AS_ON_A_FARM = """
import sys
import bpy

file, *words = sys.argv[1:]
bpy.ops.wm.open_mainfile(filepath=file)
assert not any("flock" in name for name in bpy.context.preferences.addons.keys())
scene = bpy.context.scene
if words[0] == "-f":
    scene.frame_start = scene.frame_end = int(words[1])
bpy.ops.render.render(animation=True)
"""


def farm(folder, file, *words):
    """Renders a file where there is no add-on: with the Blender that FLOCK_BLENDER names, else with this one as a module."""
    blender = os.environ.get("FLOCK_BLENDER")
    command = [blender, "-b", file] if blender else [sys.executable, "-c", AS_ON_A_FARM, file]
    environment = dict(os.environ, BLENDER_USER_RESOURCES=str(folder / "nobody"))
    done = subprocess.run([*map(str, command), *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("storage", ["in the file", "beside it, both moved"])
@pytest.mark.parametrize("words", [("-a",), ("-f", "4")])
def test_the_file_alone_renders_the_same_pictures(flock, shot, tmp_path, storage, words):
    scene, home = bpy.context.scene, tmp_path / "home"
    home.mkdir()
    scene.render.use_motion_blur, scene.cycles.samples = True, 16
    expected = picture(4)
    scene.render.filepath = "//frames/####"
    bpy.ops.wm.save_as_mainfile(filepath=str(home / "shot.blend"))
    if storage != "in the file":
        flock.clip.move_to_sidecar(shot.data)
        bpy.ops.wm.save_mainfile()
        home = home.rename(tmp_path / "elsewhere")
    farm(tmp_path, home / "shot.blend", *words)
    check_places(home / "frames", range(2, 9) if words == ("-a",) else [4])
    found = pixels(home / "frames" / "0004.exr")
    if "FLOCK_BLENDER" in os.environ:
        np.testing.assert_allclose(found, expected, atol=0.02)  # another build, and so other roundings
    else:
        np.testing.assert_array_equal(found, expected)


def test_three_hundred_frames_render_each_at_its_moment(flock, tmp_path):
    stage(tmp_path)
    scene = bpy.context.scene
    made = flock.clip.ClipArrays.zeros(300, 1)
    places = 1.8 * np.sin(np.arange(300) / 20.0)
    made.position[:, 0, 0], made.velocity[:, 0, 0], made.rotation[..., 0] = places, np.gradient(places) * 24, 1
    item = show(flock, made)
    body = cube(SIDE)
    glow(body, "flock")
    flock.nodes.set_creature(item, body)
    set_input(flock, item, "Flock Index", 1)
    scene.render.use_motion_blur, scene.cycles.samples = False, 1
    scene.frame_start, scene.frame_end = 1, 300
    handlers = [one for name in ("frame_change_pre", "frame_change_post") for one in getattr(bpy.app.handlers, name)]
    assert not [one for one in handlers if "flock" in one.__module__]
    scene.render.filepath = "//frames/####"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    farm(tmp_path, tmp_path / "shot.blend", "-a")
    seen = centres(tmp_path / "frames")
    assert list(seen) == list(range(1, 301))
    np.testing.assert_allclose(list(seen.values()), places, atol=0.02)  # two pixels, of one sample
