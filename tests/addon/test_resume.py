# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake that ends before its time loses nothing: it is resumed with the same bits. Esc leaves what was there before it."""

import importlib
import os
import random
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest

from tests.addon.processes import blender, killed, with_read_only, with_small

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
    """The clip's hash, which is that of the numbers in its mesh."""
    known = modules.clip.record(flock.data)["hash"]
    assert known == modules.clip.content_hash(modules.clip.read(flock.data))
    return known


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
    folder = Path(modules.preferences.user_folder("scratch", create=False))
    bpy.context.scene.frame_end = 9
    bpy.ops.flock.new(count=8)
    bpy.context.object.flock.pre_roll = 0.0
    interrupted(bpy.context.object, stop_after, 4)
    assert [path.parent for path in scratch_files(folder)] == [folder]
    assert bpy.ops.flock.resume() == {"FINISHED"}
    assert scratch_files(folder) == []
    resumed = content(modules, bpy.context.object)
    assert resumed == fresh_hash(modules, bpy.context.object)


def test_two_blenders_bake_flocks_of_one_name_in_unsaved_files(modules, tmp_path):
    options = modules.bake.Options(scratch_folder=str(tmp_path))
    bpy.context.scene.frame_end = 9
    bpy.ops.flock.new(count=8)
    flock = bpy.context.object
    first, second, *_ = modules.plan.scratch_places(flock, options)
    other = modules.scratch.Writer(first, 8, {"file": "", "flock": "Flock"})  # as another process would hold it
    job = modules.bake.Job(flock, bpy.context.scene, options=options)
    while job._flight is None or job._flight.frames_done < 2:
        job.tick(0.0)
    assert job._flight._writer.path == second
    job.run()
    modules.bake.free(flock, bpy.context.scene, options)
    assert scratch_files(tmp_path) == [first], "the other's is left alone"
    other.close()


def test_the_scratch_file_lies_beside_the_file_and_moves_with_it(modules, flock, stop_after, tmp_path):
    interrupted(flock, stop_after)
    assert [path.parent.name for path in scratch_files(tmp_path)] == ["flock"]
    bpy.ops.wm.save_mainfile()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("shot.blend", "flock"):
        (tmp_path / name).rename(moved / name)
    bpy.ops.wm.open_mainfile(filepath=str(moved / "shot.blend"))
    assert bpy.ops.flock.resume() == {"FINISHED"}


def test_beside_a_read_only_file_it_goes_into_the_extensions_folder(flock_addon, tmp_path):
    """A farm reads a shot that it cannot write beside."""
    user, shots = Path(os.environ["BLENDER_USER_RESOURCES"]), tmp_path / "shots"
    shots.mkdir()
    within = with_read_only(shots)
    if not within:
        pytest.skip("this system makes no folder read-only for root")
    blender(NEW, user, shots / "shot.blend")
    script = """
job = own("bake").Job(flock, bpy.context.scene, options=own("preferences").options())
while job._flight is None or job._flight.frames_done < 5:
    job.tick(0.0)
job.stop()
job._flight.join()
left = own("operators").unfinished(flock)
bpy.ops.flock.resume()
answer(place=str(left.path.parent), frames=own("clip").header(flock.data).frames, still=left.path.exists())
"""
    found = blender(OPEN + script, user, shots / "shot.blend", within=within)
    assert (
        Path(found["place"]) == Path(flock_addon.preferences.user_folder("scratch", create=False))
        and found["frames"] == 60
    )
    assert not found["still"]


# -- resumed ---------------------------------------------------------------------------------------------------------


def test_resume_flies_only_what_is_missing(modules, flock, stop_after):
    interrupted(flock, stop_after, 15)
    assert modules.operators.unfinished(flock).frames == 15
    job = modules.bake.Job(
        flock, bpy.context.scene, options=modules.preferences.options(), unfinished=modules.operators.unfinished(flock)
    )
    job.run()
    assert job._flight._simulation.frames == FRAMES - 15
    resumed = content(modules, flock)
    assert resumed == fresh_hash(modules, flock)


def test_progress_counts_what_was_there_before(modules, flock, stop_after, monkeypatch):
    interrupted(flock, stop_after, 30)
    told, append = threading.Event(), modules.scratch.Writer.append

    def held(writer, state):
        assert told.wait(60)  # or all is flown before the first look
        append(writer, state)

    monkeypatch.setattr(modules.scratch.Writer, "append", held)
    job = modules.bake.Job(
        flock, bpy.context.scene, options=modules.preferences.options(), unfinished=modules.operators.unfinished(flock)
    )
    seen = []
    while not job.tick(0.001):
        seen.append((job.message, job.progress))
        if job.message.startswith("Flying"):
            told.set()
    flying = [share for message, share in seen if message.startswith("Flying")]
    assert flying and flying[0] >= 0.1 + 0.85 * 30 / FRAMES
    assert [share for _, share in seen] == sorted(share for _, share in seen)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda flock, scene: setattr(flock.flock.separation, "weight", 9.0), "Separation weight"),
        (lambda flock, scene: setattr(flock.flock, "count", 31), "Count"),
        (lambda flock, scene: setattr(flock.flock, "seed", 5), "Seed"),
        (lambda flock, scene: setattr(flock.flock.target, "location", (9, 9, 9)), "Target motion"),
        (lambda flock, scene: setattr(flock.flock.repulsors.objects[0], "empty_display_size", 7), "Repulsor radius"),
        (lambda flock, scene: setattr(scene.render, "fps", 25), "Frame rate"),
    ],
)
def test_resume_is_refused_where_something_changed_and_names_it(modules, flock, fresh, stop_after, change, sentence):
    interrupted(flock, stop_after)
    old = content(modules, flock)
    change(flock, fresh)
    with pytest.raises(RuntimeError, match=f"begun with something else: .*{sentence}"):
        bpy.ops.flock.resume()
    assert content(modules, flock) == old and not modules.bake.running
    assert modules.operators.unfinished(flock).frames == 15, "it is still there for when that is set back"


def test_another_engine_does_not_resume(modules, flock, stop_after, monkeypatch):
    interrupted(flock, stop_after)
    monkeypatch.setattr(modules.flight, "version", lambda name: "numba 99.0")
    with pytest.raises(RuntimeError, match=r"flown by numba 0\..*, and here is numba 99.0"):
        bpy.ops.flock.resume()
    assert modules.operators.unfinished(flock).frames == 15


def test_the_range_of_the_bake_is_that_with_which_it_was_begun(modules, flock, stop_after):
    interrupted(flock, stop_after)
    flock.flock.frame_end = 12
    bpy.ops.flock.resume()
    assert modules.clip.header(flock.data).frames == FRAMES


def test_an_extension_is_resumed_as_well(modules, flock, stop_after):
    mend = stop_after(7)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        bpy.ops.flock.extend()
    mend()
    assert modules.clip.header(flock.data).frames == 10
    assert "frames 11 to 40 was ended at 17" in modules.bake.unfinished_line(modules.operators.unfinished(flock))
    assert bpy.ops.flock.resume() == {"FINISHED"}
    extended = content(modules, flock)
    assert extended == fresh_hash(modules, flock)


def test_an_unfinished_bake_comes_first(modules, flock, stop_after):
    interrupted(flock, stop_after)
    assert not bpy.ops.flock.extend.poll() and not bpy.ops.flock.rebake.poll()
    bpy.ops.flock.discard()
    assert bpy.ops.flock.extend.poll() and bpy.ops.flock.rebake.poll()


def test_an_extension_of_another_clip_is_not_resumed(modules, flock, stop_after):
    mend = stop_after(7)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        bpy.ops.flock.extend()
    mend()
    known = modules.clip.record(flock.data)
    modules.clip._set_property(flock.data, modules.clip.header(flock.data), known | {"hash": "0" * 64})
    with pytest.raises(RuntimeError, match="goes on from another clip"):
        bpy.ops.flock.resume()
    modules.clip._set_property(flock.data, modules.clip.header(flock.data), known)
    assert bpy.ops.flock.resume() == {"FINISHED"}


# -- what stays, and what goes ---------------------------------------------------------------------------------------


def half_baked(modules, flock, frames=5, unfinished=None):
    job = modules.bake.Job(flock, bpy.context.scene, options=modules.preferences.options(), unfinished=unfinished)
    while job._flight is None or job._flight.frames_done < frames:
        job.tick(0.0)
    return job


def test_a_finished_bake_leaves_nothing_beside_the_file(modules, flock, tmp_path):
    half_baked(modules, flock).run()
    assert [path.name for path in tmp_path.iterdir()] == ["shot.blend"]


def test_escape_leaves_none_and_the_next_bake_has_the_file_for_itself(modules, flock, tmp_path):
    job = half_baked(modules, flock)
    job.cancel()
    assert scratch_files(tmp_path) == [] and modules.operators.unfinished(flock) is None
    bpy.ops.flock.bake()
    job._flight.join()
    assert modules.clip.header(flock.data).frames == FRAMES
    assert scratch_files(tmp_path) == []


def test_escape_before_the_first_frame_leaves_none_either(modules, flock, tmp_path):
    job = modules.bake.Job(flock, bpy.context.scene, options=modules.preferences.options())
    while job._flight is None:
        job.tick(0.0)
    job.cancel()
    job._flight.join()
    assert scratch_files(tmp_path) == []


@pytest.mark.parametrize("ending", ["stop", "cancel"])
def test_a_resumed_bake_that_ends_while_it_opens_its_file(modules, flock, stop_after, monkeypatch, ending):
    """Neither quitting in that moment nor Esc loses what was there."""
    interrupted(flock, stop_after, 15)
    job = modules.bake.Job(
        flock, bpy.context.scene, options=modules.preferences.options(), unfinished=modules.operators.unfinished(flock)
    )
    resume = modules.scratch.Writer.resume

    def ended(head):
        writer = resume(head)
        getattr(job, ending)()
        return writer

    monkeypatch.setattr(modules.scratch.Writer, "resume", ended)
    while job._flight is None:
        job.tick(0.0)
    job._flight.join()
    assert modules.operators.unfinished(flock).frames == 15


@pytest.mark.parametrize("ending", ["stop", "cancel"])
@pytest.mark.parametrize("more", [0, 5, None])
def test_a_resumed_bake_that_ends_keeps_its_frames(modules, flock, stop_after, ending, more):
    """After so many more frames, or when all is flown and not yet written."""
    interrupted(flock, stop_after, 15)
    job = half_baked(modules, flock, 15 + (more or 0), unfinished=modules.operators.unfinished(flock))
    while more is None and job.message != modules.bake.WRITING:
        job.tick(0.01)
    getattr(job, ending)()
    job._flight.join()
    assert modules.operators.unfinished(flock).frames >= (FRAMES if more is None else 15 + more)
    assert bpy.ops.flock.resume() == {"FINISHED"}
    resumed = content(modules, flock)
    assert resumed == fresh_hash(modules, flock)


def test_who_starts_over_and_cancels_has_the_unfinished_bake_as_it_was(modules, flock, stop_after, tmp_path):
    interrupted(flock, stop_after, 15)
    (path,) = scratch_files(tmp_path)
    before = path.read_bytes()
    flock.flock.seed += 1
    job = half_baked(modules, flock, 20)
    assert path.read_bytes() == before
    job.cancel()
    job._flight.join()
    assert scratch_files(tmp_path) == [path] and path.read_bytes() == before
    flock.flock.seed -= 1
    assert bpy.ops.flock.resume() == {"FINISHED"}


def test_of_two_unfinished_bakes_the_newer_one_comes_first(modules, flock, stop_after, tmp_path):
    """Both started over and crashed: the newer is what was wanted last, and behind it is still the older."""
    interrupted(flock, stop_after, 15)
    flock.flock.seed += 1
    interrupted(flock, stop_after, 5)
    assert len(scratch_files(tmp_path)) == 2
    assert modules.operators.unfinished(flock).frames == 5
    bpy.ops.flock.discard()
    assert modules.operators.unfinished(flock).frames == 15
    flock.flock.seed -= 1
    interrupted(flock, stop_after, 5)
    assert bpy.ops.flock.resume() == {"FINISHED"}
    assert scratch_files(tmp_path) == [], "a finished bake takes the place of all"


def test_where_each_name_is_taken_it_is_said(modules, flock, stop_after, monkeypatch, tmp_path):
    places = modules.plan.scratch_places
    monkeypatch.setattr(modules.plan, "scratch_places", lambda *arguments: places(*arguments)[:2])
    for _ in range(2):
        interrupted(flock, stop_after, 5)
    before = [path.read_bytes() for path in scratch_files(tmp_path)]
    with pytest.raises(RuntimeError, match="keeps an unfinished bake, which can be resumed or discarded"):
        bpy.ops.flock.bake()
    assert [path.read_bytes() for path in scratch_files(tmp_path)] == before


def test_the_extension_may_be_disabled_or_updated_meanwhile(modules, flock, flock_addon):
    job = half_baked(modules, flock)
    flock_addon.unregister()
    try:
        job._flight.join()
        assert not modules.bake.running
    finally:
        flock_addon.register()
    assert modules.operators.unfinished(flock).frames >= 5
    assert bpy.ops.flock.resume() == {"FINISHED"}


def test_another_file_that_is_opened_meanwhile_leaves_it(modules, flock, tmp_path):
    job = half_baked(modules, flock)
    job.stop()
    job._flight.join()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    flock = bpy.data.objects["Flock"]
    assert modules.operators.unfinished(flock).frames >= 5
    assert bpy.ops.flock.resume() == {"FINISHED"}


@pytest.mark.parametrize(("ending", "left"), [("stop", FRAMES), ("cancel", None)])
def test_a_bake_that_ends_when_all_is_flown_but_not_yet_written(modules, flock, tmp_path, ending, left):
    job = half_baked(modules, flock)
    while job.message != modules.bake.WRITING:
        job.tick(0.01)
    getattr(job, ending)()
    found = modules.operators.unfinished(flock)
    assert (found and found.frames) == left
    assert (bpy.ops.flock.resume if left else bpy.ops.flock.bake)() == {"FINISHED"}
    assert scratch_files(tmp_path) == []


def test_edit_mode_at_the_end_costs_nothing(modules, flock):
    job = half_baked(modules, flock)
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(ValueError, match="Leave Edit Mode"):
        job.run()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert modules.operators.unfinished(flock).frames == FRAMES
    again = modules.bake.Job(
        flock, bpy.context.scene, options=modules.preferences.options(), unfinished=modules.operators.unfinished(flock)
    )
    again.run()
    assert again._flight._simulation is None, "nothing is flown twice"
    assert modules.clip.header(flock.data).frames == FRAMES


@pytest.mark.parametrize("taken", ["freed", "another mesh"])
def test_a_clip_that_is_gone_while_it_is_continued(modules, flock, taken):
    old = flock.data
    old.use_fake_user = True
    job = modules.bake.Job(
        flock, bpy.context.scene, modules.plan.extension(flock, bpy.context.scene), modules.preferences.options()
    )
    while job._flight is None or job._flight.frames_done < 5:
        job.tick(0.0)
    flock.data = bpy.data.meshes.new("Cube") if taken == "another mesh" else old.copy()
    if taken == "freed":
        modules.bake.replace_clip(flock, modules.bake.spawn_clip(flock, bpy.context.scene))
    with pytest.raises(ValueError, match="was replaced while it was continued"):
        job.run()
    flock.data = old
    assert bpy.ops.flock.resume() == {"FINISHED"}
    assert modules.clip.header(flock.data).frames == FRAMES


def test_a_flock_that_is_deleted_and_comes_back_has_lost_nothing(modules, flock):
    bpy.context.preferences.edit.use_global_undo = True
    bpy.ops.ed.undo_push(message="Start")
    job = half_baked(modules, flock)
    bpy.data.objects.remove(flock)
    bpy.ops.ed.undo_push(message="Deleted")
    with pytest.raises(ValueError, match="deleted while it was baked: undo that, and resume the bake"):
        job.run()
    bpy.ops.ed.undo()
    flock = bpy.data.objects["Flock"]
    assert modules.operators.unfinished(flock).frames == FRAMES
    assert bpy.ops.flock.resume() == {"FINISHED"}


@pytest.mark.parametrize("operator", ["free", "discard"])
def test_free_and_discard_delete_it(modules, flock, stop_after, tmp_path, operator):
    interrupted(flock, stop_after)
    assert len(scratch_files(tmp_path)) == 1
    assert getattr(bpy.ops.flock, operator)() == {"FINISHED"}
    assert scratch_files(tmp_path) == []
    assert modules.bake.is_baked(flock) == (operator == "discard")
    assert not bpy.ops.flock.resume.poll() and not bpy.ops.flock.discard.poll()


def test_a_new_bake_takes_its_place(modules, flock, stop_after, tmp_path):
    interrupted(flock, stop_after)
    flock.flock.seed = 8
    assert bpy.ops.flock.bake() == {"FINISHED"}
    assert scratch_files(tmp_path) == []


def test_a_deleted_flocks_scratch_file_can_be_deleted_with_the_unused_clips(modules, flock, stop_after, tmp_path):
    interrupted(flock, stop_after)
    (path,) = scratch_files(tmp_path)
    other = path.with_name("other-Flock-01234567.bake")
    modules.scratch.Writer(other, 3, {"file": "other.blend", "flock": "Flock"}).close()
    flock.name = "Geese"
    assert modules.plan.orphans() == [], "it is found under any name"
    bpy.data.objects.remove(flock)
    assert modules.plan.orphans() == [path], "that of another file is its own"
    assert bpy.ops.flock.clips_remove_unused() == {"FINISHED"}
    assert scratch_files(tmp_path) == [other]


def test_the_panel_says_what_was_left_and_how_large_a_bake_will_be(modules, flock, stop_after):
    interrupted(flock, stop_after)
    # 30 boids x 15 frames x 44 bytes and a page or two
    assert "frames 1 to 40 was ended at 15 (0.0 MB" in modules.bake.unfinished_line(modules.operators.unfinished(flock))
    flock.flock.count, flock.flock.frame_end = 20_000, 250
    assert "220.0 MB" in next(iter(modules.bake.state_lines(flock, bpy.context.scene)))


def test_two_flocks_of_one_file_have_their_own(modules, flock, stop_after, tmp_path):
    interrupted(flock, stop_after)
    bpy.ops.flock.new(count=5)
    other = bpy.context.object
    assert modules.operators.unfinished(other) is None
    interrupted(other, stop_after, 3)
    assert len(scratch_files(tmp_path)) == 2
    bpy.ops.flock.discard()
    assert modules.operators.unfinished(flock).frames == 15


def test_the_file_that_is_saved_meanwhile_knows_nothing_of_the_bake(modules, flock, tmp_path):
    job = half_baked(modules, flock)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "copy.blend"), copy=True)
    job.run()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "copy.blend"))
    flock = bpy.data.objects["Flock"]
    assert modules.clip.header(flock.data).frames == 10 and len(bpy.data.scenes) == 1
    assert bpy.ops.flock.bake.poll() and not bpy.ops.flock.resume.poll()


# -- from the command line -------------------------------------------------------------------------------------------


def test_the_command_line_resumes_and_bakes_anew_where_there_is_nothing_to_resume(modules, flock, stop_after, tmp_path):
    interrupted(flock, stop_after)
    out = str(tmp_path / "out.blend")
    assert modules.cli.run(["bake", "--resume", "--output", out]) == 0
    resumed = content(modules, flock)
    assert modules.cli.run(["bake", "--resume", "--output", out]) == 0
    assert content(modules, flock) == resumed


# -- room ------------------------------------------------------------------------------------------------------------


def test_what_does_not_fit_in_memory_is_refused_with_the_numbers(modules, flock, monkeypatch):
    # 1,000 boids x 1,000 frames x 44 bytes are 44 MB, and 1.3 times as much while it is written
    flock.flock.count, flock.flock.frame_end = 1000, 1000
    monkeypatch.setattr(modules.memory, "available", lambda: 50_000_000)
    sentence = "The clip takes 44.0 MB, writing it 57.2 MB of memory, and 50.0 MB are free"
    assert sentence in " | ".join(modules.bake.problems(flock, bpy.context.scene))
    with pytest.raises(RuntimeError, match=sentence):
        bpy.ops.flock.bake()
    assert modules.clip.header(flock.data).frames == 10 and not modules.bake.running


def test_where_the_system_does_not_tell_nothing_is_refused(modules, flock, monkeypatch):
    monkeypatch.setattr(modules.memory, "available", lambda: None)
    assert bpy.ops.flock.bake() == {"FINISHED"}


def test_more_than_a_mesh_can_hold_is_refused(modules, flock, monkeypatch):
    flock.flock.count, flock.flock.frame_end = 2_000_000, 1100
    monkeypatch.setattr(modules.memory, "available", lambda: None)
    with pytest.raises(RuntimeError, match="2,000,000 boids over 1,100 frames are more than a clip can hold"):
        bpy.ops.flock.bake()


def test_memory_that_is_gone_at_the_end_costs_no_frame(modules, flock, monkeypatch):
    job = half_baked(modules, flock)
    monkeypatch.setattr(modules.memory, "available", lambda: 1000)
    with pytest.raises(ValueError, match="of memory"):
        job.run()
    monkeypatch.undo()
    assert modules.operators.unfinished(flock).frames == FRAMES
    assert bpy.ops.flock.resume() == {"FINISHED"}


def test_an_error_while_the_clip_is_written_costs_no_frame(modules, flock, monkeypatch):
    def full(*arguments):
        raise MemoryError("Unable to allocate 400 MiB")

    old = content(modules, flock)
    monkeypatch.setattr(modules.clip, "write", full)
    with pytest.raises(RuntimeError, match="The bake stopped, and the old clip is as it was: Unable to allocate"):
        bpy.ops.flock.bake()
    monkeypatch.undo()
    assert content(modules, flock) == old and not modules.bake.running
    assert modules.operators.unfinished(flock).frames == FRAMES
    assert bpy.ops.flock.resume() == {"FINISHED"}


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="the second source is that of Linux")
def test_the_free_memory_is_what_the_system_says(modules):
    said = subprocess.run(["free", "-b"], capture_output=True, text=True, check=True).stdout.splitlines()
    expected = int(dict(zip(said[0].split(), said[1].split()[1:], strict=True))["available"])
    assert modules.memory.available() == pytest.approx(expected, rel=0.1)


def test_a_disk_that_fills_up_is_said_and_costs_no_finished_frame(flock_addon, tmp_path):
    user, shots = Path(os.environ["BLENDER_USER_RESOURCES"]), tmp_path / "small"
    shots.mkdir()
    within = with_small(shots, "12m")
    if not within:
        pytest.skip("this system mounts no small disk")
    script = """
import threading
flock = new_flock(60, 10)
bpy.ops.flock.bake()
bpy.context.scene.frame_end = 100
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
old = record(flock)["hash"]
bake, options, writer = own("bake"), own("preferences").options(), own("scratch").Writer
filled, append = threading.Event(), writer.append
def held(self, state):
    if self.frames == 2:
        assert filled.wait(60)
    append(self, state)
writer.append = held
job = bake.Job(flock, bpy.context.scene, options=options)
while job._flight is None or job._flight.frames_done < 2:
    job.tick(0.0)
filler = Path(sys.argv[1]).with_name("filler")
with filler.open("wb", buffering=0) as file:
    for size in (1 << 20, 512):
        try:
            while file.write(bytes(size)) == size:
                pass
        except OSError:
            pass
filled.set()
try:
    job.run()
    said = ""
except ValueError as error:
    said = str(error)
kept = record(flock)["hash"] == old
filler.write_bytes(b"")
left = own("operators").unfinished(flock)
bpy.ops.flock.resume()
resumed = record(flock)["hash"]
bpy.ops.flock.bake()
fresh = record(flock)["hash"]
flock.flock.count = 2000
places = own("plan").scratch_places(flock, options)
try:
    own("plan").with_room(places[:1], 2000, own("bake").Plan(1, 600))
except ValueError as error:
    large = str(error)
elsewhere = tuple(place for place in places if place.parent != places[0].parent)
roomy = bool(elsewhere) and own("plan").with_room(places, 2000, own("bake").Plan(1, 600)) == elsewhere
answer(said=said, kept=kept, left=left.frames, same=resumed == fresh, large=large, roomy=roomy)
"""
    found = blender("enable()\n" + script, user, shots / "shot.blend", within=within)
    assert "Make room there, and resume it" in found["said"] and found["kept"] and found["same"]
    assert 2 <= found["left"] < 100
    assert "takes 52.8 MB on the disk" in found["large"], "2,000 boids x 600 frames x 44 bytes"
    assert found["roomy"], "there is room in the extension's folder"
