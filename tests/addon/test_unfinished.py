# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An unfinished bake is found again by the flock that was baked, whatever flock and file are called by then, and by no other."""

import importlib
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest

from tests.addon.processes import blender, killed

FRAMES = 30


@pytest.fixture
def modules(fresh, flock_addon):
    """Without what other tests left of unsaved files."""
    names = ("bake", "clip", "plan", "preferences", "properties")
    found = SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})
    shutil.rmtree(found.preferences.user_folder("scratch", create=False), ignore_errors=True)
    return found


@pytest.fixture
def flock(modules):
    """A flock in an unsaved file."""
    return new_flock()


def new_file():
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def new_flock(frames=FRAMES):
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, frames
    bpy.ops.flock.new(count=8)
    bpy.context.object.flock.pre_roll = 0.0
    return bpy.context.object


def begun(modules, flock, frames=5):
    """A bake with at least that many frames in its scratch file."""
    job = modules.bake.Job(flock, bpy.context.scene, options=modules.preferences.options())
    while job._flight is None or job._flight.frames_done < frames:
        job.tick(0.0)
    return job


def crash(modules, flock, frames=5):
    """What a crash leaves."""
    end(begun(modules, flock, frames))


def end(job):
    job.stop()
    job._flight.join()


def unfinished(modules, flock):
    return modules.plan.unfinished(flock, modules.preferences.options())


def save(path):
    path.parent.mkdir(exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))


def reopened(path, name="Flock"):
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.data.objects[name]


def only(items):
    (item,) = items
    return item


def resume(flock):
    bpy.context.view_layer.objects.active = flock
    assert bpy.ops.flock.resume() == {"FINISHED"}


def bake(flock):
    bpy.context.view_layer.objects.active = flock
    assert bpy.ops.flock.bake() == {"FINISHED"}


# -- saved and renamed in between ------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["during", "after"])
def test_a_file_that_is_first_saved_during_the_bake_or_after_it(modules, flock, tmp_path, when):
    job = begun(modules, flock)
    if when == "after":
        end(job)
    save(tmp_path / "shot.blend")
    if when == "during":
        end(job)
    flock = reopened(tmp_path / "shot.blend")
    assert unfinished(modules, flock).frames >= 5
    resume(flock)
    resumed = modules.clip.record(flock.data)["hash"]
    assert unfinished(modules, flock) is None
    bake(flock)
    assert modules.clip.record(flock.data)["hash"] == resumed


@pytest.mark.parametrize("baked", [False, True])
@pytest.mark.parametrize("when", ["during", "after"])
def test_a_file_that_is_saved_under_another_name(modules, flock, tmp_path, when, baked):
    """Both files have the flock, and each can go on with its bake."""
    if baked:
        bake(flock)
    save(tmp_path / "shot.blend")
    flock.flock.seed = 3
    job = begun(modules, flock)
    if when == "after":
        end(job)
    save(tmp_path / "shot_v2.blend")
    if when == "during":
        end(job)
    assert unfinished(modules, reopened(tmp_path / "shot.blend")).frames >= 5
    flock = reopened(tmp_path / "shot_v2.blend")
    assert unfinished(modules, flock).frames >= 5
    resume(flock)
    assert unfinished(modules, flock) is None


@pytest.mark.parametrize("when", ["during", "after"])
@pytest.mark.parametrize("saved", [False, True])
def test_a_flock_that_is_renamed(modules, flock, tmp_path, when, saved):
    if saved:
        save(tmp_path / "shot.blend")
    job = begun(modules, flock)
    if when == "during":
        flock.name = "Geese"
    end(job)
    flock.name = "Geese"
    assert unfinished(modules, flock).frames >= 5
    resume(flock)
    assert unfinished(modules, flock) is None


def test_a_process_that_dies_after_the_first_save(flock_addon, tmp_path):
    user, path = Path(os.environ["BLENDER_USER_RESOURCES"]), tmp_path / "shot.blend"
    script = """
import os, signal
enable()
flock = new_flock(60, 40)
job = own("bake").Job(flock, bpy.context.scene, options=own("preferences").options())
while job._flight is None or job._flight.frames_done < 5:
    job.tick(0.0)
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
flock.name = "Geese"
bpy.ops.wm.save_mainfile()
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed(script, user, path)
    script = """
enable()
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
flock = bpy.data.objects["Geese"]
left = own("operators").unfinished(flock)
bpy.ops.flock.resume()
resumed = record(flock)["hash"]
bpy.ops.flock.bake()
answer(left=left.frames, same=record(flock)["hash"] == resumed, gone=not left.path.exists())
"""
    found = blender(script, user, path)
    assert found["left"] >= 5 and found["same"] and found["gone"]


# -- others ----------------------------------------------------------------------------------------------------------


def test_another_unsaved_file_with_a_flock_of_that_name_knows_nothing_of_it(modules, flock):
    crash(modules, flock)
    path = unfinished(modules, flock).path
    new_file()
    other = new_flock(frames=3)
    assert other.name == "Flock" and unfinished(modules, other) is None
    bake(other)
    bpy.ops.flock.free()
    assert path.exists()


def test_copies_have_their_own(modules, flock, tmp_path):
    save(tmp_path / "shot.blend")
    bpy.ops.object.duplicate()
    copy = bpy.context.object
    assert copy.flock.identity == flock.flock.identity
    crash(modules, flock, 5)
    assert unfinished(modules, copy) is None
    crash(modules, copy, 8)
    mine, others = (unfinished(modules, item).path for item in (flock, copy))
    assert mine != others
    bake(copy)
    assert mine.exists() and not others.exists()
    assert unfinished(modules, flock).path == mine and unfinished(modules, copy) is None
    assert modules.plan.orphans() == []


def test_of_two_copies_the_renamed_one_still_finds_its_own(modules, flock, tmp_path):
    save(tmp_path / "shot.blend")
    bpy.ops.object.duplicate()
    copy = bpy.context.object
    crash(modules, flock)
    crash(modules, copy)
    mine, others = (unfinished(modules, item).path for item in (flock, copy))
    copy.name = "Geese"
    assert unfinished(modules, flock).path == mine, "that which names it comes first"
    assert unfinished(modules, copy).path == others


def test_two_blenders_with_one_file(modules, flock, tmp_path):
    """The second bakes beside the first, and leaves its scratch file alone."""
    save(tmp_path / "shot.blend")
    name = only(modules.plan.scratch_places(flock, modules.bake.Options())[:1])
    other = modules.bake.scratch.Writer(name, 8, {"file": "shot.blend", "flock": "Flock", "base": ""})
    bake(flock)
    assert name.exists()
    other.close()


def test_a_later_version_with_another_clip_leaves_that_of_the_earlier_one(modules, flock, tmp_path):
    save(tmp_path / "shot_v1.blend")
    save(tmp_path / "shot_v2.blend")
    bake(flock)
    bpy.ops.wm.save_mainfile()
    flock = reopened(tmp_path / "shot_v1.blend")
    crash(modules, flock)
    flock = reopened(tmp_path / "shot_v2.blend")
    assert unfinished(modules, flock) is None
    bake(flock)
    bpy.ops.flock.free()
    bake(flock)
    assert unfinished(modules, reopened(tmp_path / "shot_v1.blend")).frames >= 5


def test_a_version_that_starts_over_leaves_that_of_the_other_and_is_not_asked_again(modules, flock, tmp_path):
    save(tmp_path / "shot_v1.blend")
    crash(modules, flock)
    save(tmp_path / "shot_v2.blend")
    assert unfinished(modules, flock)
    bake(flock)
    assert unfinished(modules, flock) is None
    assert unfinished(modules, reopened(tmp_path / "shot_v1.blend")).frames >= 5


def append(path):
    folder = f"{path}/Collection/"
    assert bpy.ops.wm.append(filepath=f"{folder}Flock", directory=folder, filename="Flock") == {"FINISHED"}
    return bpy.data.objects["Flock"]


def test_two_files_that_appended_one_flock_have_their_own(modules, flock, tmp_path):
    save(tmp_path / "assets" / "birds.blend")
    crash(modules, flock)
    for name in ("shot_010", "shot_020"):
        new_file()
        bpy.context.scene.frame_end = FRAMES
        item = append(tmp_path / "assets" / "birds.blend")
        save(tmp_path / f"{name}.blend")
        assert unfinished(modules, item) is None
        crash(modules, item)
    bake(item)
    assert unfinished(modules, reopened(tmp_path / "shot_010.blend")).frames >= 5


def test_two_files_that_override_one_flock_have_their_own(modules, flock, tmp_path):
    save(tmp_path / "assets" / "birds.blend")
    for name in ("shot_010", "shot_020"):
        new_file()
        bpy.context.scene.frame_end = FRAMES
        save(tmp_path / f"{name}.blend")
        with bpy.data.libraries.load(str(tmp_path / "assets" / "birds.blend"), link=True) as (_, target):
            target.collections = ["Flock"]
        birds = target.collections[0]
        bpy.context.scene.collection.children.link(birds)
        own = birds.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        item = only(item for item in own.all_objects if item.flock.is_flock)
        bpy.ops.wm.save_mainfile()
        assert unfinished(modules, item) is None
        crash(modules, item)
        assert unfinished(modules, item).frames >= 5
    bake(item)
    assert unfinished(modules, item) is None
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot_010.blend"))
    item = only(item for item in bpy.data.objects if item.flock.is_flock and item.override_library)
    assert unfinished(modules, item).frames >= 5


def test_a_flock_of_an_older_file_has_no_identity_and_is_known_by_its_name(modules, flock, tmp_path):
    flock.flock.identity = ""
    save(tmp_path / "shot.blend")
    crash(modules, flock)
    path = unfinished(modules, flock).path
    assert path.parent == tmp_path / "flock" and path.name.startswith("shot-Flock-")
    flock = reopened(tmp_path / "shot.blend")
    resume(flock)
    assert not path.exists()
