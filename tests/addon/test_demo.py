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
def demo(fresh):
    """The demo's scene, baked."""
    described = importlib.util.spec_from_file_location("flock_demo_scene", SCENE)
    scene = importlib.util.module_from_spec(described)
    described.loader.exec_module(scene)
    flock = scene.build()
    assert bpy.ops.flock.bake() == {"FINISHED"}
    return flock


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


def test_no_boid_is_inside_a_repulsor_and_nearly_all_get_past(demo):
    scene = bpy.context.scene
    assert demo.flock.count == 2000 and (scene.frame_start, scene.frame_end) == (1, 120)
    for quarter in range(4 * 119 + 1):
        scene.frame_set(1 + quarter // 4, subframe=quarter % 4 / 4)
        graph = bpy.context.evaluated_depsgraph_get()
        place = shown(demo, graph)
        assert len(place) == 2000
        for name, centre, radius in spheres(demo, graph):
            nearest = np.linalg.norm(place - centre, axis=1).min()
            assert nearest >= radius * (1 - 0.001), f"{name} at frame {scene.frame_current_final}"
    for name, centre, radius in spheres(demo, graph):  # they fly along +Y
        assert (place[:, 1] > centre[1] + radius).mean() >= 0.95, name
    # one flock again: nearly all of it around its middle, no wider than two of the spawned balls side by side
    spawned = demo.flock.spacing * np.cbrt(3 * 2000 / (4 * np.pi))
    distance = np.linalg.norm(place - np.median(place, axis=0), axis=1)
    assert np.percentile(distance, 95) < 2.5 * spawned


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
