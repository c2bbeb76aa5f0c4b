# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake of 50,000 boids over 500 frames: what lies in memory at each stage, and what the file holds in the end."""

import os
from pathlib import Path

import pytest

from tests.addon.processes import blender

COUNT, FRAMES, FLOWN = 50_000, 500, 8
SIZE = COUNT * FRAMES * 44  # 11 floats for each boid and frame

SCRIPT = """
import os, threading, time

COUNT, FRAMES, FLOWN = map(int, sys.argv[2:5])
bake, clip, plan, scratch = own("bake"), own("clip"), own("plan"), own("scratch")
enable()
options = own("preferences").options()

class Peaks:
    '''The most anonymous memory that this process had at each stage.'''

    def __init__(self):
        self.stage, self.most = "before", {}
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            lines = open("/proc/self/status").read().splitlines()
            now = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))
            self.most[self.stage] = max(self.most.get(self.stage, 0), now)
            time.sleep(0.002)

    def at(self, stage):
        time.sleep(0.05)
        self.stage = stage
        time.sleep(0.05)

def staged(module, name, stage):
    work = getattr(module, name)
    def wrapped(*arguments, **more):
        peaks.at(stage)
        try:
            return work(*arguments, **more)
        finally:
            peaks.at("after " + stage)
    setattr(module, name, wrapped)

flock = new_flock(10, 2)
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
flock.flock.count, flock.flock.pre_roll = COUNT, 0.0
bpy.context.scene.frame_end = 2
bpy.ops.flock.bake()
bpy.context.view_layer.update()  # Blender's own is numba, and what it takes to show a clip of two frames
peaks = Peaks()
time.sleep(0.1)
bpy.context.scene.frame_end = FRAMES

def begun():
    job = bake.Job(flock, bpy.context.scene, options=options)
    while job._flight is None or job._flight.frames_done < FLOWN:
        job.tick(0.01)
    job.stop()
    job._flight.join()

def fill():
    '''The rest of the frames, which all weigh the same.'''
    writer = scratch.Writer.resume(plan.unfinished(flock, options))
    state = scratch.state(scratch.look(writer.path), FLOWN - 1)
    while writer.frames < FRAMES:
        writer.append(state)
    writer.close()

def finish():
    bake.Job(flock, bpy.context.scene, options=options, unfinished=plan.unfinished(flock, options)).run()
    bpy.context.view_layer.update()

staged(clip, "write", "assembling")
staged(clip, "write_sidecar", "writing")
staged(clip, "link", "linking")
peaks.at("flying")
begun()
peaks.at("filling")
fill()
peaks.at("finishing")
"""
BESIDE = """
flock.flock.storage = "SIDECAR"
finish()
answer(peaks=peaks.most)
sys.stdout.flush()
os._exit(0)  # Blender 4.5 as a module sometimes waits for itself for ever when it ends
"""
INSIDE_THEN_BESIDE = """
flock.flock.storage = "FILE"
finish()
peaks.at("baked")
clip.move_to_sidecar(flock.data)
peaks.at("moved")
bpy.context.view_layer.update()
peaks.at("updated")
answer(peaks=peaks.most)
sys.stdout.flush()
os._exit(0)  # Blender 4.5 as a module sometimes waits for itself for ever when it ends
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc"),
]


def peaks(tmp_path, rest) -> dict[str, float]:
    """The most memory at each stage, above what it was before."""
    user = Path(os.environ["BLENDER_USER_RESOURCES"])
    found = blender(SCRIPT + rest, user, tmp_path / "shot.blend", COUNT, FRAMES, FLOWN)["peaks"]
    print({stage: f"{(most - found['before']) / 1e6:.0f} MB" for stage, most in found.items()})
    return {stage: most - found["before"] for stage, most in found.items()}


def test_a_bake_takes_no_memory_until_its_clip_is_assembled_and_the_clip_once_then(flock_addon, tmp_path):
    most = peaks(tmp_path, BESIDE)
    assert max(most["flying"], most["filling"], most["finishing"]) < 300e6
    assert max(most["assembling"], most["after assembling"]) < 1.3 * SIZE
    assert max(most["writing"], most["linking"], most["after linking"]) < 1.3 * SIZE
    assert list((tmp_path / "flock").glob("*.bake")) == []


def test_moving_a_clip_out_takes_it_twice_for_a_moment(flock_addon, tmp_path):
    most = peaks(tmp_path, INSIDE_THEN_BESIDE)
    assert most["assembling"] < 1.3 * SIZE
    assert max(most["writing"], most["linking"], most["after linking"]) < 2.1 * SIZE
    assert most["updated"] < 1.1 * SIZE
