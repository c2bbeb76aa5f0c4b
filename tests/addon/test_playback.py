# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node groups: a clip plays, scrubs, blurs, exports and renders by Blender alone, and as its numbers say."""

import importlib
import json
import math
import os
import subprocess
import sys
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Quaternion, Vector

from tests.addon.scenes import cube, dress, go_to, key_input, set_input, show

ATTRIBUTES = ("id", "velocity", "speed", "bank", "flap", "random", "flock", "part", "rotation")


@pytest.fixture
def flock(fresh, flock_addon):
    """The add-on's modules, and an empty scene at 24 frames per second."""
    names = ("clip", "nodes", "creature", "compat")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


def flight(flock, frames=6, count=5, seed=1):
    """A smooth flight with every number known: boids on circles, turning with them."""
    random = np.random.default_rng(seed)
    time = np.arange(frames)[:, None] / 24.0
    radius, rate, phase = random.uniform(2, 9, count), random.uniform(-2, 2, count), random.uniform(0, 6, count)
    angle = phase + rate * time
    made = flock.clip.ClipArrays.zeros(frames, count)
    made.position[:] = np.stack(
        (radius * np.cos(angle), radius * np.sin(angle), np.broadcast_to(phase, angle.shape)), -1
    )
    speed = radius * rate
    made.velocity[:] = np.stack((-speed * np.sin(angle), speed * np.cos(angle), np.zeros_like(angle)), -1)
    yaw = angle + np.where(rate < 0, np.pi, 0.0)
    made.rotation[..., 0], made.rotation[..., 3] = np.cos(yaw / 2), np.sin(yaw / 2)
    made.flap[:] = phase + 3.0 * time
    return made


def geometry(item):
    return item.evaluated_get(bpy.context.evaluated_depsgraph_get()).evaluated_geometry()


def points(flock, item, frame):
    """The attributes of the boids at that frame, by name."""
    set_input(flock, item, "Show", "Points")
    go_to(frame)
    return attributes(geometry(item), lambda shown: shown.pointcloud)


def attributes(shown, part):
    """Each attribute of one part of the geometry, as an array. The geometry has to live as long as its part is read."""
    data, found = part(shown), {}
    for name in ("position", *ATTRIBUTES):
        layer = data.attributes[name]
        key, width = {"FLOAT_VECTOR": ("vector", 3), "QUATERNION": ("value", 4)}.get(layer.data_type, ("value", 1))
        flat = np.empty(len(layer.data) * width, np.int32 if layer.data_type == "INT" else np.float32)
        layer.data.foreach_get(key, flat)
        found[name] = flat.reshape(-1, width) if width > 1 else flat
    return found


def instances(item):
    """Name and world matrix of each instance, in order."""
    graph = bpy.context.evaluated_depsgraph_get()
    return [
        (entry.object.name, np.array(entry.matrix_world))
        for entry in graph.object_instances
        if entry.is_instance and entry.parent.original == item
    ]


def matrices(item, name):
    return np.array([matrix for found, matrix in instances(item) if found == name])


def warnings(item):
    bpy.context.view_layer.update()
    return [warning.message for modifier in item.modifiers for warning in modifier.node_warnings]


def hermite(arrays, place, step=1 / 24.0):
    """Position and velocity by the textbook's basis functions, in double precision."""
    low = min(int(place), arrays.frames - 1)
    high = min(low + 1, arrays.frames - 1)
    t = place - low
    p0, p1 = arrays.position[low].astype(float), arrays.position[high].astype(float)
    m0, m1 = arrays.velocity[low].astype(float) * step, arrays.velocity[high].astype(float) * step
    position = (
        (2 * t**3 - 3 * t**2 + 1) * p0 + (t**3 - 2 * t**2 + t) * m0 + (3 * t**2 - 2 * t**3) * p1 + (t**3 - t**2) * m1
    )
    slope = (6 * t**2 - 6 * t) * (p0 - p1) + (3 * t**2 - 4 * t + 1) * m0 + (3 * t**2 - 2 * t) * m1
    return position, slope / step


# -- positions, rotations, attributes -------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [1, 1001, -10])
def test_stored_frames_are_exact(flock, first):
    made = flight(flock)
    item = show(flock, made, first)
    for frame in range(made.frames):
        seen = points(flock, item, first + frame)
        for name in ("position", "velocity", "flap"):
            np.testing.assert_array_equal(seen[name], getattr(made, name)[frame])
        stored = made.rotation[frame]
        same = seen["rotation"] * np.sign(np.sum(seen["rotation"] * stored, -1, keepdims=True))
        np.testing.assert_allclose(same, stored, atol=1e-7)  # one rounding of the quaternion's length


@pytest.mark.parametrize("frame", [1.25, 2.5, 4.875])
def test_between_frames_the_flight_is_a_cubic_through_positions_and_velocities(flock, frame):
    made = flight(flock)
    seen = points(flock, show(flock, made), frame)
    position, velocity = hermite(made, frame - 1)
    np.testing.assert_allclose(seen["position"], position, atol=2e-5)
    np.testing.assert_allclose(seen["velocity"], velocity, atol=2e-4)
    low = int(frame - 1)
    share = frame - 1 - low
    np.testing.assert_allclose(seen["flap"], made.flap[low] + share * (made.flap[low + 1] - made.flap[low]), rtol=1e-6)
    for boid, value in enumerate(seen["rotation"]):
        expected = Quaternion(made.rotation[low, boid]).slerp(Quaternion(made.rotation[low + 1, boid]), share)
        assert expected.rotation_difference(Quaternion(value)).angle % (2 * math.pi) == pytest.approx(0, abs=2e-3)


def test_the_attributes_say_who_and_how_fast_and_how_banked(flock):
    made = flight(flock, count=40)
    bank = 0.6
    made.rotation[:] = Quaternion((0, 1, 0), bank)  # +Y ahead, so this turns the right wing down
    item = show(flock, made)
    set_input(flock, item, "Flock Index", 3)
    seen = points(flock, item, 2)
    np.testing.assert_array_equal(seen["id"], np.arange(40))
    np.testing.assert_allclose(seen["speed"], np.linalg.norm(seen["velocity"], axis=1), rtol=1e-5)
    np.testing.assert_allclose(seen["bank"], bank, atol=1e-5)
    assert set(seen["flock"]) == {3} and set(seen["part"]) == {0}
    assert seen["random"].min() >= 0 and seen["random"].max() < 1 and len(set(seen["random"])) == 40
    again = points(flock, item, 5)["random"]
    np.testing.assert_array_equal(seen["random"], again)
    set_input(flock, item, "Seed", 1)
    assert not np.array_equal(points(flock, item, 5)["random"], again)


def test_the_bank_is_the_angle_of_right_and_up_against_the_horizon(flock):
    made = flight(flock, frames=1, count=200)
    random = np.random.default_rng(5).normal(size=(200, 4))
    made.rotation[0] = random / np.linalg.norm(random, axis=1, keepdims=True)
    axes = [np.array(Quaternion(value).to_matrix()) for value in made.rotation[0]]
    expected = [math.atan2(-own[2, 0], own[2, 2]) for own in axes]  # right is the first column, up the third
    seen = points(flock, show(flock, made), 1)["bank"]
    difference = (seen - expected + math.pi) % (2 * math.pi) - math.pi
    np.testing.assert_allclose(difference, 0, atol=1e-4)


@pytest.mark.parametrize("frame", [2, 2.5])
def test_instances_carry_the_attributes_too(flock, frame):
    item = show(flock, flight(flock))
    set_input(flock, item, "Flock Index", 3)
    expected = points(flock, item, frame)
    set_input(flock, item, "Show", "Creatures")
    for body, parts in ((cube(), 1), (dress(flock, item), 3)):
        flock.nodes.set_creature(item, body)
        go_to(frame)
        seen = attributes(geometry(item), lambda shown: shown.instances_pointcloud())
        assert list(seen.pop("part")) == [number for number in range(parts) for _ in range(5)]
        del seen["position"]  # a part of the matrices
        for name, values in seen.items():
            np.testing.assert_array_equal(values, np.concatenate([expected[name]] * parts))


def test_before_and_after_the_clip_it_holds_and_stands_still(flock):
    made = flight(flock)
    item = show(flock, made, first=10)
    for frame, stored in ((-50, 0), (9.5, 0), (15.5, 5), (900, 5)):
        seen = points(flock, item, frame)
        np.testing.assert_array_equal(seen["position"], made.position[stored])
        assert not seen["velocity"].any() and not seen["speed"].any()


def test_one_frame_is_a_clip(flock):
    made = flight(flock, frames=1)
    item = show(flock, made)
    for frame in (-3, 1, 7.5):
        np.testing.assert_array_equal(points(flock, item, frame)["position"], made.position[0])


def test_a_clip_without_boids_draws_nothing_and_does_not_complain(flock):
    item = show(flock, flight(flock, count=0))
    dress(flock, item)
    go_to(2)
    assert instances(item) == [] and warnings(item) == []


def test_an_edited_clip_warns_and_draws_nothing(flock):
    item = show(flock, flight(flock))
    dress(flock, item)
    assert warnings(item) == []
    item.data.vertices.add(1)
    item.data.update()
    bpy.context.view_layer.update()
    assert instances(item) == []
    assert any("was edited" in message for message in warnings(item))


# -- retiming -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("speed", "frame", "place"), [(0.5, 4, 1.5), (2, 3, 4), (-1, 2, 4), (-0.5, 4, 3.5), (0, 4, 0)])
def test_the_speed_factor_retimes_positions_and_velocities(flock, speed, frame, place):
    made = flight(flock)
    item = show(flock, made)
    set_input(flock, item, "Speed", speed)
    seen = points(flock, item, frame)
    position, velocity = hermite(made, place)
    np.testing.assert_allclose(seen["position"], position, atol=2e-5)
    np.testing.assert_allclose(seen["velocity"], velocity * speed, atol=2e-4)


def test_the_time_offset_can_be_keyframed(flock):
    made = flight(flock)
    item = show(flock, made)
    for frame, value in ((1, 0.0), (3, 2.0)):
        key_input(flock, item, "Time Offset", value, frame)
    for frame, place in ((1, 0), (3, 4)):
        np.testing.assert_array_equal(points(flock, item, frame)["position"], made.position[place])


def test_the_clip_can_begin_at_another_frame(flock):
    made = flight(flock)
    item = show(flock, made, first=1)
    set_input(flock, item, "Move First Frame", True)
    set_input(flock, item, "First Frame", 101)
    np.testing.assert_array_equal(points(flock, item, 103)["position"], made.position[2])


def test_frames_stored_further_apart_play_at_the_same_speed(flock):
    made = flight(flock)
    header = flock.clip.Header(5, 6, 1, 24.0, step=2.0)
    item = bpy.data.objects.new("Flock", flock.clip.write("Flock", made, header, {}))
    bpy.context.scene.collection.objects.link(item)
    flock.nodes.attach(item)
    position, velocity = hermite(made, 2.5, step=2 / 24)
    seen = points(flock, item, 6)
    np.testing.assert_allclose(seen["position"], position, atol=2e-5)
    np.testing.assert_allclose(seen["velocity"], velocity, atol=2e-4)


# -- creatures ------------------------------------------------------------------------------------------------------

AXES = {
    "X": (1, 0, 0),
    "Y": (0, 1, 0),
    "Z": (0, 0, 1),
    "-X": (-1, 0, 0),
    "-Y": (0, -1, 0),
    "-Z": (0, 0, -1),
}


@pytest.mark.parametrize("axis", AXES)
def test_the_chosen_axis_flies_ahead_and_up_stays_up(flock, axis):
    made = flight(flock)
    item = show(flock, made)
    flock.nodes.set_creature(item, cube())
    set_input(flock, item, "Forward Axis", axis)
    assert flock.compat.get_input(flock.nodes.find_modifier(item), "Forward Axis") == axis
    go_to(3)
    up = (0, 1, 0) if "Z" in axis else (0, 0, 1)
    for boid, matrix in enumerate(matrices(item, "Cube")):
        heading = made.velocity[2, boid] / np.linalg.norm(made.velocity[2, boid])
        np.testing.assert_allclose(matrix[:3, :3] @ AXES[axis], heading, atol=1e-5)
        np.testing.assert_allclose(matrix[:3, :3] @ up, (0, 0, 1), atol=1e-5)


NEARLY_UNIT = 2e-4  # between two rotations, Mix Rotation of Blender 4.5 gives quaternions that are 6e-5 too long


@pytest.mark.parametrize("frame", [3, 3.5])
@pytest.mark.parametrize("scale", [1.0, 0.4])
@pytest.mark.parametrize("variation", [0.0, 0.25])
def test_each_creature_stands_where_its_boid_does_turned_as_it_and_scaled(flock, frame, scale, variation):
    item = show(flock, flight(flock, count=50))
    seen = points(flock, item, frame)
    set_input(flock, item, "Show", "Creatures")
    set_input(flock, item, "Scale", scale)
    set_input(flock, item, "Scale Variation", variation)
    flock.nodes.set_creature(item, cube())
    go_to(frame)
    found = matrices(item, "Cube")
    sizes = np.linalg.norm(found[:, :3, 0], axis=1)
    assert (np.ptp(sizes) > 0.1 * scale) == bool(variation) and np.abs(
        sizes / scale - 1
    ).max() < variation + NEARLY_UNIT
    for matrix, place, turn, size in zip(found, seen["position"], seen["rotation"], sizes, strict=True):
        expected = Matrix.LocRotScale(Vector(place), Quaternion(turn), Vector((size, size, size)))
        np.testing.assert_allclose(matrix, expected, atol=NEARLY_UNIT)


def test_scale_and_its_variation(flock):
    item = show(flock, flight(flock, count=200))
    flock.nodes.set_creature(item, cube())
    set_input(flock, item, "Scale", 2.0)
    go_to(2)
    np.testing.assert_allclose(np.linalg.norm(matrices(item, "Cube")[:, :3, 0], axis=1), 2.0, rtol=1e-5)
    set_input(flock, item, "Scale Variation", 0.25)
    go_to(2)
    sizes = np.linalg.norm(matrices(item, "Cube")[:, :3, 0], axis=1)
    assert 1.5 <= sizes.min() < 1.6 and 2.4 < sizes.max() <= 2.5
    go_to(4)
    np.testing.assert_allclose(np.linalg.norm(matrices(item, "Cube")[:, :3, 0], axis=1), sizes, rtol=1e-5)


def test_moving_turning_and_scaling_the_object_does_so_to_the_flock(flock):
    item = show(flock, flight(flock))
    dress(flock, item)
    go_to(2.5)
    before = instances(item)
    item.matrix_world = Matrix.LocRotScale(Vector((10, -4, 2)), Euler((0.3, 0.2, 1.0)), Vector((2, 2, 2)))
    bpy.context.view_layer.update()
    for (name, old), (same, new) in zip(before, instances(item), strict=True):
        assert name == same
        np.testing.assert_allclose(new, np.array(item.matrix_world) @ old, atol=1e-4)


def test_the_wings_beat_about_their_hinges_by_the_phase(flock):
    made = flight(flock, count=1)
    made.position[:], made.rotation[:] = 0, (1, 0, 0, 0)
    made.flap[:, 0] = np.arange(made.frames) / 4  # rest, up, rest, down, ...
    item = show(flock, made)
    bird = dress(flock, item)
    left, right = flock.creature.wings(bird)
    set_input(flock, item, "Flap Angle", 0.5)
    set_input(flock, item, "Scale", 3.0)
    for frame, angle in ((1, 0.0), (2, 0.5), (3, 0.0), (4, -0.5)):
        go_to(frame)
        for wing, side in ((left, -1), (right, 1)):
            matrix = matrices(item, wing.name)[0]
            np.testing.assert_allclose(matrix[:3, 3], np.array(wing.location) * 3, atol=1e-5)
            tip = matrix[:3, :3] @ (side, 0, 0) / 3
            np.testing.assert_allclose(tip, (side * math.cos(angle), 0, math.sin(angle)), atol=1e-5)
    set_input(flock, item, "Flapping", False)
    go_to(2)
    np.testing.assert_allclose(matrices(item, left.name)[0][:3, :3], np.eye(3) * 3, atol=1e-5)


def test_the_bird_may_stand_anywhere_in_the_scene(flock):
    item = show(flock, flight(flock))
    bird = dress(flock, item)
    for part in flock.creature.parts(bird):
        bpy.context.scene.collection.objects.link(part)
    go_to(2)
    before = instances(item)
    bird.matrix_world = Matrix.Translation((5, 6, 7)) @ Euler((0.4, 0.5, 0.6)).to_matrix().to_4x4()
    go_to(2)
    for (_, old), (_, new) in zip(before, instances(item), strict=True):
        np.testing.assert_allclose(new, old, atol=2e-5)


def test_another_creature_has_no_wings_of_the_bird(flock):
    item = show(flock, flight(flock))
    dress(flock, item)
    flock.nodes.set_creature(item, cube())
    go_to(2)
    assert [name for name, _ in instances(item)] == ["Cube"] * 5


def test_each_boid_keeps_its_creature_of_a_collection(flock):
    item = show(flock, flight(flock, count=300))
    collection = bpy.data.collections.new("Kinds")
    for name in ("A", "B", "C"):
        collection.objects.link(cube(name=name))
    flock.nodes.set_creature(item, None, collection)
    kinds = []
    for frame in (1, 3.5, 6):
        go_to(frame)
        kinds.append([name for name, _ in instances(item)])
    assert kinds[0] == kinds[1] == kinds[2]
    assert all(70 < kinds[0].count(name) < 130 for name in "ABC")  # 100 each, and 8 is the standard deviation
    set_input(flock, item, "Seed", 5)
    go_to(1)
    assert [name for name, _ in instances(item)] != kinds[0]


def test_without_a_creature_the_boids_are_points(flock):
    item = show(flock, flight(flock))
    go_to(2)
    shown = geometry(item)
    assert len(shown.pointcloud.points) == 5


def test_the_bird_is_one_length_long_and_flies_along_y(flock):
    bird = flock.creature.new_bird()
    reach = np.array([vertex.co for vertex in bird.data.vertices])
    assert np.ptp(reach[:, 1]) == pytest.approx(1.0)
    assert reach[np.argmax(reach[:, 1]), 0] == 0.0, "the beak is in the middle"
    for wing, side in zip(flock.creature.wings(bird), (-1, 1), strict=True):
        tip = max(vertex.co.x * side for vertex in wing.data.vertices) + wing.location.x * side
        assert 0.6 < tip < 0.9
    for part in flock.creature.parts(bird):
        assert not part.data.validate() and part.data.materials[0]


# -- the node groups in a file --------------------------------------------------------------------------------------


def ours(flock):
    return sorted(group.name for group in bpy.data.node_groups if flock.nodes.VERSION_PROPERTY in group)


def test_there_is_one_of_each_group_however_many_flocks(flock):
    for _ in range(3):
        dress(flock, show(flock, flight(flock)))
    assert ours(flock) == sorted({flock.nodes.PLAYBACK, flock.nodes.BOIDS, flock.nodes.WING})


def test_an_older_group_is_brought_up_to_date_in_place(flock):
    made = flight(flock)
    item = show(flock, made)
    dress(flock, item)
    set_input(flock, item, "Scale", 1.5)
    set_input(flock, item, "Forward Axis", "-X")
    go_to(2.5)
    before = instances(item)
    for group in bpy.data.node_groups:
        group[flock.nodes.VERSION_PROPERTY]["version"] = 0
    old = flock.nodes.find_modifier(item).node_group
    old.nodes.clear()
    old.interface.new_socket("Long gone", in_out="INPUT", socket_type="NodeSocketFloat")
    assert flock.nodes.playback_group() == old
    assert "Long gone" not in [entry.name for entry in old.interface.items_tree]
    assert len(ours(flock)) == 3
    go_to(2.5)
    for (name, matrix), (same, new) in zip(before, instances(item), strict=True):
        assert name == same
        np.testing.assert_array_equal(matrix, new)


def test_appending_twice_leaves_one_group_of_each_kind(flock, tmp_path):
    dress(flock, show(flock, flight(flock)))
    path = str(tmp_path / "flock.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    for _ in range(2):
        with bpy.data.libraries.load(path) as (_, target):
            target.objects = ["Flock"]
        bpy.context.scene.collection.objects.link(target.objects[0])
    assert len(ours(flock)) == 3 and flock.nodes.tidy() == 0
    go_to(2.5)
    both = [instances(item) for item in bpy.context.scene.objects if item.name.startswith("Flock")]
    assert len(both) == 2 and len(both[0]) == len(both[1]) == 15
    for (_, one), (_, two) in zip(*both, strict=True):
        np.testing.assert_array_equal(one, two)


LOOK = """
import json, sys, bpy
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
found = {}
for frame, part in ((1, 0.0), (3, 0.25), (4, 0.5), (6, 0.0)):
    bpy.context.scene.frame_set(frame, subframe=part)
    graph = bpy.context.evaluated_depsgraph_get()
    found[frame] = [[value.hex() for row in entry.matrix_world for value in row] for entry in graph.object_instances if entry.is_instance]
warned = [warning.message for modifier in bpy.data.objects["Flock"].modifiers for warning in modifier.node_warnings]
print("FOUND" + json.dumps([found, warned, bool(bpy.context.preferences.addons.get("bl_ext.user_default.flock"))]))
"""


def test_without_the_add_on_it_plays_the_same_matrices(flock, tmp_path):
    item = show(flock, flight(flock))
    dress(flock, item)
    path = str(tmp_path / "flock.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    expected = {}
    for frame in (1, 3.25, 4.5, 6):
        go_to(frame)
        expected[str(int(frame))] = [
            [float(value).hex() for value in matrix.reshape(-1)] for _, matrix in instances(item)
        ]
    bare = dict(os.environ, BLENDER_USER_RESOURCES=str(tmp_path / "nobody"))
    result = subprocess.run([sys.executable, "-c", LOOK, path], capture_output=True, text=True, env=bare, check=True)
    line = next(line for line in result.stdout.splitlines() if line.startswith("FOUND"))
    found, warned, enabled = json.loads(line[5:])
    assert not enabled and warned == []
    assert found == expected and len(found["1"]) == 15
    assert "arning" not in result.stdout + result.stderr


# -- life in a scene ------------------------------------------------------------------------------------------------


def looks(item, frames=(1, 3.25, 6)):
    """All instance matrices at those frames."""
    seen = []
    for frame in frames:
        go_to(frame)
        seen += [matrix for _, matrix in instances(item)]
    return np.array(seen)


def test_a_clip_beside_the_file_plays_as_the_one_in_it(flock, tmp_path):
    item = show(flock, flight(flock))
    dress(flock, item)
    expected = looks(item)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    flock.clip.move_to_sidecar(item.data)
    np.testing.assert_array_equal(looks(item), expected)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    item = bpy.data.objects["Flock"]
    assert item.data.library
    np.testing.assert_array_equal(looks(item), expected)
    flock.clip.move_to_file(item.data)
    np.testing.assert_array_equal(looks(item), expected)


@pytest.fixture
def library(flock, tmp_path):
    """A file with a flock in the collection 'Birds', its clip beside it, and what it looks like."""
    item = show(flock, flight(flock))
    dress(flock, item)
    expected = looks(item)
    birds = bpy.data.collections.new("Birds")
    bpy.context.scene.collection.children.link(birds)
    bpy.context.scene.collection.objects.unlink(item)
    birds.objects.link(item)
    folder = tmp_path / "assets"
    folder.mkdir()
    path = str(folder / "birds.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    flock.clip.move_to_sidecar(item.data)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    with bpy.data.libraries.load(path, link=True, relative=True) as (_, target):
        target.collections = ["Birds"]
    return target.collections[0], expected


def reopened(tmp_path):
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))


def test_a_linked_flock_plays(library, tmp_path):
    birds, expected = library
    bpy.context.scene.collection.children.link(birds)
    np.testing.assert_array_equal(looks(birds.objects[0]), expected)
    reopened(tmp_path)
    np.testing.assert_array_equal(looks(bpy.data.objects["Flock"]), expected)


def test_a_collection_instance_plays_where_it_stands(library):
    birds, expected = library
    empty = bpy.data.objects.new("Instance", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", birds
    empty.location = (0, 0, 50)
    bpy.context.scene.collection.objects.link(empty)
    go_to(1)
    graph = bpy.context.evaluated_depsgraph_get()
    entries = (entry for entry in graph.object_instances if entry.object.name.startswith("Bird"))
    seen = np.array([np.array(entry.matrix_world) for entry in entries])
    assert len(seen) == 15
    np.testing.assert_allclose(seen[:, :3, 3], expected[:15, :3, 3] + (0, 0, 50), atol=1e-5)


def test_an_override_can_be_moved_and_have_a_clip_of_its_own(flock, library, tmp_path):
    birds, expected = library
    bpy.context.scene.collection.children.link(birds)
    own = birds.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    item = next(other for other in own.objects if other.type == "MESH")
    np.testing.assert_array_equal(looks(item), expected)
    item.location = (0, 0, 10)
    np.testing.assert_allclose(looks(item)[:, 2, 3], expected[:, 2, 3] + 10, atol=1e-5)

    other = flight(flock, seed=7)
    item.data = flock.clip.write("Shot", other, flock.clip.Header(5, 6), {})
    name = item.name
    reopened(tmp_path)
    item = next(entry for entry in bpy.data.objects if entry.name == name and entry.override_library)
    assert item.data.library is None
    go_to(3)
    bodies = [matrix[:3, 3] for found, matrix in instances(item) if found == "Bird"]
    np.testing.assert_allclose(bodies, other.position[2] + (0, 0, 10), atol=1e-5)


def test_a_duplicate_plays_the_same_clip(flock):
    item = show(flock, flight(flock))
    dress(flock, item)
    expected = looks(item)
    twin = item.copy()
    bpy.context.scene.collection.objects.link(twin)
    assert twin.data == item.data
    np.testing.assert_array_equal(looks(twin), expected)
    twin.data = item.data.copy()
    assert flock.clip.header(twin.data) == flock.clip.header(item.data)
    np.testing.assert_array_equal(looks(twin), expected)


def test_undo_and_redo_keep_what_plays(flock):
    item = show(flock, flight(flock))
    dress(flock, item)
    expected = looks(item)
    bpy.ops.ed.undo_push(message="Shown")
    item.data = flock.clip.write("Other", flight(flock, seed=3), flock.clip.Header(5, 6), {})
    bpy.ops.ed.undo_push(message="Baked again")
    changed = looks(bpy.data.objects["Flock"])
    bpy.ops.ed.undo()
    np.testing.assert_array_equal(looks(bpy.data.objects["Flock"]), expected)
    bpy.ops.ed.redo()
    np.testing.assert_array_equal(looks(bpy.data.objects["Flock"]), changed)


# -- out of Blender -------------------------------------------------------------------------------------------------


def exported(flock):
    made = flight(flock)
    item = show(flock, made)
    dress(flock, item)
    item.location = (1, 2, 3)
    twin = flock.nodes.new_export_object(item)
    bpy.context.scene.collection.objects.link(twin)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 6
    go_to(1)
    for other in scene.objects:
        other.select_set(other == twin)
    return made, item, twin


def test_the_export_object_has_a_vertex_for_each_boid(flock):
    made, _item, twin = exported(flock)
    for frame in (1, 4):
        go_to(frame)
        seen = attributes(geometry(twin), lambda shown: shown.mesh)
        np.testing.assert_array_equal(seen["position"], made.position[frame - 1])
        np.testing.assert_array_equal(seen["velocity"], made.velocity[frame - 1])
        np.testing.assert_array_equal(seen["id"], np.arange(5))


def test_usd_takes_points_and_velocities(flock, tmp_path):
    made, _item, _twin = exported(flock)
    path = tmp_path / "flock.usda"
    bpy.ops.wm.usd_export(filepath=str(path), export_animation=True, selected_objects_only=True)
    text = path.read_text()
    samples = _usd_samples(text, "point3f[] points.timeSamples")
    velocities = _usd_samples(text, "velocities.timeSamples")
    for frame in range(1, 7):
        np.testing.assert_allclose(samples[frame], made.position[frame - 1], rtol=1e-5)
        np.testing.assert_allclose(velocities[frame], made.velocity[frame - 1], rtol=1e-5)


def _usd_samples(text, name):
    block = text.split(name, 1)[1].split("{", 1)[1].split("}", 1)[0]
    rows = (line.split(":", 1) for line in block.splitlines() if ":" in line)
    return {
        int(key): np.array(json.loads(row.strip().rstrip(",").replace("(", "[").replace(")", "]"))) for key, row in rows
    }


def test_alembic_gives_back_points_and_velocities_of_every_frame(flock, tmp_path):
    made, item, twin = exported(flock)
    path = str(tmp_path / "flock.abc")
    bpy.ops.wm.alembic_export(filepath=path, start=1, end=6, selected=True, as_background_job=False)
    bpy.data.objects.remove(item)
    bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
    back = next(other for other in bpy.context.scene.objects if other.type == "MESH" and other != twin)
    for frame in (1, 3, 6):
        go_to(frame)
        shown = geometry(back)
        seen = np.array([back.matrix_world @ vertex.co for vertex in shown.mesh.vertices])
        np.testing.assert_allclose(seen, made.position[frame - 1] + (1, 2, 3), atol=1e-4)
        velocities = np.array([item.vector for item in shown.mesh.attributes["velocity"].data])
        np.testing.assert_allclose(velocities, made.velocity[frame - 1], atol=1e-4)


def test_make_instances_real_matches(flock):
    item = show(flock, flight(flock))
    dress(flock, item)
    go_to(3.5)
    expected = instances(item)
    item.select_set(True)
    bpy.context.view_layer.objects.active = item
    bpy.ops.object.duplicates_make_real()
    real = [other for other in bpy.context.scene.objects if other != item]
    assert len(real) == 15
    for name, matrix in expected:
        assert any(
            other.data.name.startswith(name) and np.allclose(np.array(other.matrix_world), matrix, atol=1e-5)
            for other in real
        )
