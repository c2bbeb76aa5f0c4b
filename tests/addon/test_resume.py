# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake that ends before its time loses nothing: it is resumed with the same bits, and only Esc throws it away."""

import importlib
import os
import random
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest

from tests.addon.processes import blender, killed

FRAMES = 40


@pytest.fixture
def modules(fresh, flock_addon):
    names = ("bake", "clip", "plan", "scratch", "flight", "preferences", "operators", "memory", "cli")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


@pytest.fixture
def flock(modules, tmp_path):
    """A flock with a clip of ten frames, whose range is longer by now, in a saved file."""
    bpy.ops.flock.new(count=30)
    item = bpy.context.object
    item.flock.pre_roll = 0.2
    item.flock.use_scene_range = False
    item.flock.frame_start, item.flock.frame_end = 1, 10
    bpy.ops.flock.bake()
    item.flock.frame_end = FRAMES
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    return item


@pytest.fixture
def stop_after(modules, monkeypatch):
    """Makes the flight break once it has kept so many frames."""

    def arm(frames):
        append = modules.scratch.Writer.append

        def breaking(self, state):
            if self.frames >= frames:
                raise ZeroDivisionError("a fault of ours")
            append(self, state)

        monkeypatch.setattr(modules.scratch.Writer, "append", breaking)
        return lambda: monkeypatch.setattr(modules.scratch.Writer, "append", append)

    return arm


def scratch_files(tmp_path) -> list[Path]:
    return sorted(Path(tmp_path).rglob("*.bake"))


def content(modules, flock) -> str:
    return modules.clip.record(flock.data)["hash"]


def interrupted(flock, stop_after, frames=15) -> None:
    """A bake that broke behind its first frames."""
    mend = stop_after(frames)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        bpy.ops.flock.bake()
    mend()


def fresh_hash(modules, flock) -> str:
    bpy.ops.flock.bake()
    return content(modules, flock)


# -- killed ----------------------------------------------------------------------------------------------------------

OPEN = """
enable()
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
flock = bpy.data.objects["Flock"]
"""
NEW = """
enable()
flock = new_flock(60, 10)
bpy.ops.flock.bake()
bpy.context.scene.frame_end = 60
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
answer(old=record(flock)["hash"], matrices=matrices(1, 4.5, 10))
"""
BAKE_AND_DIE = """
import os, signal
bake, plan, options = own("bake"), own("plan"), own("preferences").options()
job = bake.Job(flock, bpy.context.scene, options=options, unfinished=plan.unfinished(flock, options))
while job._flight is None or job._flight.frames_done < int(sys.argv[2]):
    assert not job.tick(0.0)
os.kill(os.getpid(), signal.SIGKILL)
"""
RESUME = """
left = own("operators").unfinished(flock)
old, shown = record(flock)["hash"], matrices(1, 4.5, 10)
bpy.ops.flock.resume()
resumed = record(flock)["hash"]
still = own("operators").unfinished(flock) is not None
bpy.ops.flock.bake()
answer(left=left.frames, old=old, matrices=shown, resumed=resumed, fresh=record(flock)["hash"], still=still)
"""


def test_a_bake_that_is_killed_three_times_has_the_bits_of_one_that_is_not(flock_addon, tmp_path):
    user, path = Path(os.environ["BLENDER_USER_RESOURCES"]), tmp_path / "shot.blend"
    before = blender(NEW, user, path)
    kills = sorted(random.sample(range(1, 55), 3))
    print("killed at", kills)
    for frame in kills:
        killed(OPEN + BAKE_AND_DIE, user, path, frame)
        assert len(scratch_files(tmp_path)) == 1
    after = blender(OPEN + RESUME, user, path)
    assert after["left"] >= kills[-1]
    assert (after["old"], after["matrices"]) == (before["old"], before["matrices"])
    assert after["resumed"] == after["fresh"] != before["old"]
    assert not after["still"] and not scratch_files(tmp_path)


def test_an_unsaved_file_has_its_scratch_file_in_the_extensions_folder(modules, stop_after):
    folder = Path(modules.preferences.user_folder("scratch"))
    bpy.context.scene.frame_end = 9
    bpy.ops.flock.new(count=8)
    bpy.context.object.flock.pre_roll = 0.0
    interrupted(bpy.context.object, stop_after, 4)
    assert [path.parent for path in scratch_files(folder)] == [folder]
    assert bpy.ops.flock.resume() == {"FINISHED"}
    assert scratch_files(folder) == []
    resumed = content(modules, bpy.context.object)
    assert resumed == fresh_hash(modules, bpy.context.object)
