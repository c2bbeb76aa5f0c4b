# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's flock: none of it enters a globe, nearly all of it gets past, and it plays without the add-on."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

pytestmark = pytest.mark.long

SCENE = Path(__file__).resolve().parents[2] / "demo" / "scene.py"
FRAMES = (1, 37.25, 60.5, 120)

PRINT_MATRICES = """
import hashlib, sys
import bpy
import numpy as np

def matrices(frame):
    bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
    graph = bpy.context.evaluated_depsgraph_get()
    return np.array([np.array(item.matrix_world) for item in graph.object_instances if item.is_instance], np.float32)

def digests(frames):
    return [f"{len(found)} {hashlib.sha256(found.tobytes()).hexdigest()}" for found in map(matrices, frames)]
"""

FRESH = (
    PRINT_MATRICES
    + """
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
assert not any("flock" in name for name in bpy.context.preferences.addons.keys())
for name in dir(bpy.app.handlers):
    found = getattr(bpy.app.handlers, name)
    assert not isinstance(found, list) or not any("flock" in getattr(one, "__module__", "") for one in found)
print("DIGESTS", *digests(eval(sys.argv[2])), sep="|")
"""
)


@pytest.fixture
def built(fresh):
    """The demo's flock, not baked yet."""
    described = importlib.util.spec_from_file_location("flock_demo_scene", SCENE)
    scene = importlib.util.module_from_spec(described)
    described.loader.exec_module(scene)
    return scene.build()


@pytest.fixture
def demo(built):
    """The demo's flock, baked."""
    assert bpy.ops.flock.bake() == {"FINISHED"}
    return built


def shown(flock, graph) -> np.ndarray:
    """Places of the birds' bodies, float64 (N, 3)."""
    body = flock.flock.creature
    return np.array(
        [
            np.array(item.matrix_world)[:3, 3]
            for item in graph.object_instances
            if item.is_instance and item.object.original == body
        ]
    )


def spheres(flock, graph):
    """Each repulsor's place and radius, as the scene shows them."""
    for item in flock.flock.repulsors.all_objects:
        evaluated = item.evaluated_get(graph)
        matrix = np.array(evaluated.matrix_world)
        yield item.name, matrix[:3, 3], evaluated.empty_display_size * np.linalg.norm(matrix[:3, :3], axis=0).max()


def largest_group(place: np.ndarray, gap: float) -> float:
    """Share of the boids in the largest group whose members are no further than `gap` from another of it."""
    left, best = np.ones(len(place), bool), 0
    while left.any():
        front, size = [int(np.argmax(left))], 1
        left[front] = False
        while front:
            found = np.flatnonzero(left & (np.linalg.norm(place - place[front.pop()], axis=1) <= gap))
            left[found] = False
            front += found.tolist()
            size += len(found)
        best = max(best, size)
    return best / len(place)


def nearest(place: np.ndarray) -> np.ndarray:
    distance = np.linalg.norm(place[:, None] - place[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    return distance.min(axis=1)


@pytest.mark.parametrize("way", ["STEER_AROUND", "SLIDE"])
def test_no_boid_is_inside_a_repulsor_and_nearly_all_get_past_and_come_together_again(built, way):
    scene = bpy.context.scene
    built.flock.avoidance = way
    assert bpy.ops.flock.bake() == {"FINISHED"}
    assert built.flock.count == 2000 and (scene.frame_start, scene.frame_end) == (1, 120)
    for quarter in range(4 * 119 + 1):
        scene.frame_set(1 + quarter // 4, subframe=quarter % 4 / 4)
        graph = bpy.context.evaluated_depsgraph_get()
        place = shown(built, graph)
        assert len(place) == 2000
        for name, centre, radius in spheres(built, graph):
            apart = np.linalg.norm(place - centre, axis=1).min()
            assert apart >= radius * (1 - 0.001), f"{name} at frame {scene.frame_current_final}"
    middle = np.median(place, axis=0)
    for name, centre, radius in spheres(built, graph):  # they fly along +Y
        assert (place[:, 1] > centre[1] + radius).mean() >= 0.95, name
        # behind a globe that stood in the flock's way there are again half as many, or more, as in a tube through its middle
        behind, through = (np.hypot(*(place - axis)[:, [0, 2]].T) < radius for axis in (centre, middle))
        assert behind.sum() >= 0.5 * through.sum(), name
    assert largest_group(place, 2 * float(np.median(nearest(place)))) >= 0.99


def test_the_flight_check_finds_nothing_in_it(demo, flock_addon):
    assert bpy.ops.flock.check_flight() == {"FINISHED"}
    lines = flock_addon.checking.lines(demo)
    assert len(lines) == 6 and not [line for line in lines if line.is_fault]


def test_without_the_extension_it_plays_the_same_bits(demo, tmp_path):
    path = str(tmp_path / "demo.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    here: dict = {}
    exec(PRINT_MATRICES, here)
    wanted = here["digests"](FRAMES)
    environment = os.environ | {"BLENDER_USER_RESOURCES": str(tmp_path / "empty")}
    done = subprocess.run(
        [sys.executable, "-c", FRESH, path, repr(FRAMES)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("DIGESTS"))
    assert line.split("|")[1:] == wanted
    assert "arn" not in done.stdout + done.stderr, done.stdout + done.stderr  # no warning, however it is spelled
