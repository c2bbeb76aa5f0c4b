# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line does what the button does."""

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import bpy
import pytest

from tests.addon.processes import blender, with_read_only


@pytest.fixture
def flock(fresh):
    fresh.frame_start, fresh.frame_end = 1, 5
    bpy.ops.flock.new(count=10)
    found = bpy.context.object
    found.flock.pre_roll = 0.1
    return found


@pytest.fixture
def run(flock_addon):
    return flock_addon.cli.run


@pytest.fixture
def clip(flock_addon):
    return flock_addon.bake.clip


def test_it_bakes_and_saves(flock, run, clip, tmp_path, capsys):
    path = tmp_path / "out.blend"
    assert run(["bake", "--output", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "Flock: 100%  Done" in printed and str(path) in printed
    wanted = clip.record(flock.data)["hash"]
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert clip.record(bpy.data.objects["Flock"].data)["hash"] == wanted


def test_it_gives_the_bits_of_the_button(flock, run, clip, tmp_path):
    bpy.ops.flock.bake()
    wanted = clip.record(flock.data)["hash"]
    bpy.ops.flock.free()
    run(["bake", "--output", str(tmp_path / "out.blend")])
    assert clip.record(flock.data)["hash"] == wanted


def test_it_saves_the_file_that_is_open(flock, run, clip, tmp_path):
    path = str(tmp_path / "scene.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    assert run(["bake"]) == 0
    bpy.ops.wm.open_mainfile(filepath=path)
    assert clip.header(bpy.data.objects["Flock"].data).frames == 5


def test_frames_and_flock_can_be_chosen(flock, run, clip, tmp_path):
    bpy.ops.flock.new(count=3)
    other = bpy.context.object
    assert run(["bake", "--flock", "Flock", "--frames", "1001", "1003", "--output", str(tmp_path / "out.blend")]) == 0
    assert (clip.header(flock.data).first, clip.header(flock.data).last) == (1001, 1003)
    assert clip.header(other.data).frames == 1


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["bake"], 1, "say --output"),
        (["bake", "--flock", "Geese", "--output", "x.blend"], 1, "no such flock; it has: 'Flock'"),
        (["bake", "--flock", "", "--output", "x.blend"], 1, "no such flock; it has: 'Flock'"),
        (["bake", "--extend", "3", "--output", "x.blend"], 1, "no clip to go on with: bake the flock"),
        (["bake", "--from", "3", "--output", "x.blend"], 1, "no clip to go on with: bake the flock"),
        (["bake", "--frames", "9", "2"], 2, "--frames: the last frame lies before the first"),
        (["bake", "--frames", "one", "2"], 2, "'one' is no frame: give a whole number from -1048574 to 1048574"),
        (["bake", "--frames", "1", "9999999999"], 2, "'9999999999' is no frame"),
        (["bake", "--from", "2.5"], 2, "'2.5' is no frame"),
        (["bake", "--from", "-1048575"], 2, "'-1048575' is no frame"),
        (["bake", "--extend", "0"], 2, "'0' is no number of frames to add: give a whole number from 1 to"),
        (["bake", "--extend", "-4"], 2, "'-4' is no number of frames to add"),
        (["bake", "--extend", "all"], 2, "'all' is no number of frames to add"),
        (["bake", "--output", ""], 2, "--output: name a file, or leave the option out"),
        (["fly"], 2, "invalid choice"),
        ([], 2, "required"),
        (["--help"], 0, ""),
    ],
)
def test_what_is_wrong_is_said_and_ends_with_a_status(flock, run, capsys, words, status, sentence):
    assert run(words) == status
    assert sentence in capsys.readouterr().err


def test_a_scene_without_flocks(fresh, run, capsys):
    assert run(["bake", "--output", "x.blend"]) == 1
    assert "it has: none" in capsys.readouterr().err


# -- several flocks ----------------------------------------------------------------------------------------------------


@pytest.fixture
def geese(flock):
    """A second flock, which a bake comes to last."""
    bpy.ops.flock.new(count=3)
    found = bpy.context.object
    found.name = "Geese"
    found.flock.pre_roll = 0.1
    return found


def baked(bake, path):
    """Whether each flock of a saved file is baked, by its name."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return {item.name: bake.is_baked(item) for item in bpy.data.objects if item.flock.is_flock}


def test_what_is_wrong_with_one_flock_costs_the_others_nothing(flock, geese, run, flock_addon, tmp_path, capsys):
    geese.scale = (1.0, 2.0, 1.0)
    path = tmp_path / "out.blend"
    assert run(["bake", "--output", str(path)]) == 1
    told = capsys.readouterr()
    assert told.err == (
        "flock: Geese: The flock object's scale differs between its axes: apply it (Ctrl+A), or make it the same on all three\n"
    )
    assert "Flock: 100%  Done" in told.out and "Geese" not in told.out
    assert not flock_addon.bake.running
    assert baked(flock_addon.bake, path) == {"Flock": True, "Geese": False}


def spoil_settings(flock):
    flock.flock.min_speed = 50.0


def spoil_range(flock):
    flock.flock.use_scene_range, flock.flock.frame_start, flock.flock.frame_end = False, 5, 1


def spoil_size(flock):
    flock.flock.use_scene_range, flock.flock.frame_end, flock.flock.count = False, 500_000, 2_000_000


def spoil_repulsor(flock):
    flock.flock.repulsors.objects[0].scale = (0.0, 0.0, 0.0)


def spoil_scale_at_the_first_frame(flock):
    flock.scale = (1.0, 2.0, 1.0)
    flock.keyframe_insert("scale", frame=1)
    flock.scale = (1.0, 1.0, 1.0)
    flock.keyframe_insert("scale", frame=2)
    bpy.context.scene.frame_set(2)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoil_settings, "Set Min speed no higher"),
        (spoil_range, "lies before the first"),
        (spoil_size, "more than a clip can hold"),
        (spoil_repulsor, "has no size"),
        (spoil_scale_at_the_first_frame, "scale differs"),
    ],
)
def test_all_flocks_are_looked_at_before_the_first_is_flown(flock, geese, run, tmp_path, spoil, sentence):
    spoil(geese)
    bpy.context.view_layer.update()
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        assert run(["bake", "--output", str(tmp_path / "out.blend")]) == 1
    first, *others = said.getvalue().splitlines()
    assert "Flock: 100%  Done" in others
    assert first.startswith("flock: Geese: ") and sentence in first


def test_a_flock_that_ends_in_an_error_costs_the_others_nothing(flock, geese, run, flock_addon, tmp_path, capsys):
    repulsor = flock.flock.repulsors.objects[0]  # which has no size from the third frame on: only sampling finds it
    for frame, size in ((1, 1.0), (2, 1.0), (3, 0.0)):
        repulsor.scale = (size, size, size)
        repulsor.keyframe_insert("scale", frame=frame)
    path = tmp_path / "out.blend"
    assert run(["bake", "--output", str(path)]) == 1
    assert "flock: Flock: The repulsor 'Flock Repulsor' has no size" in capsys.readouterr().err
    assert baked(flock_addon.bake, path) == {"Flock": False, "Geese": True}


def test_each_flock_is_saved_as_soon_as_it_is_baked(flock, geese, run, flock_addon, tmp_path, monkeypatch):
    """Whatever ends the command later, the plug too, costs but the flock that is being flown."""
    path = tmp_path / "out.blend"

    class Plug(BaseException):
        pass

    def pulled(job, report):
        if job.name == "Geese":
            job.stop()
            raise Plug
        fly(job, report)

    fly = flock_addon.bake.Job.run
    monkeypatch.setattr(flock_addon.bake.Job, "run", pulled)
    with pytest.raises(Plug):
        run(["bake", "--output", str(path)])
    assert baked(flock_addon.bake, path) == {"Flock": True, "Geese": False}


def test_nothing_is_saved_where_nothing_is_baked(flock, run, tmp_path):
    flock.scale = (1.0, 2.0, 1.0)
    bpy.context.view_layer.update()
    old = tmp_path / "old.blend"
    old.write_bytes(b"a picture of last week")
    assert run(["bake", "--output", str(tmp_path / "new.blend")]) == 1
    assert run(["bake", "--output", str(old)]) == 1
    assert old.read_bytes() == b"a picture of last week"
    assert [path.name for path in tmp_path.iterdir()] == ["old.blend"]


@pytest.fixture
def linked(flock, tmp_path):
    """A scene into which the flock is linked, and its name."""
    asset = str(tmp_path / "asset.blend")
    flock.name = "Linked"
    bpy.ops.wm.save_as_mainfile(filepath=asset)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(asset, link=True) as (_, wanted):
        wanted.collections = ["Flock"]
    bpy.context.scene.collection.children.link(wanted.collections[0])
    bpy.context.scene.frame_end = 3
    return "Linked"


def test_linked_flocks_are_left_out_with_a_word(linked, run, flock_addon, tmp_path, capsys):
    bpy.ops.flock.new(count=3)
    bpy.context.object.flock.pre_roll = 0.1
    assert run(["bake", "--output", str(tmp_path / "out.blend")]) == 0
    told = capsys.readouterr()
    assert "Linked: left out, since it is linked from" in told.out and told.err == ""
    assert flock_addon.bake.is_baked(bpy.context.object)


@pytest.mark.parametrize("words", [[], ["--flock", "Linked"]])
def test_a_linked_flock_that_alone_is_asked_for_is_refused(linked, run, tmp_path, capsys, words):
    if words:
        bpy.ops.flock.new(count=3)
    assert run(["bake", *words, "--output", str(tmp_path / "out.blend")]) == 1
    assert "is linked from another file: make a library override, or bake it there" in capsys.readouterr().err
    assert not (tmp_path / "out.blend").exists()


def test_of_two_flocks_of_one_name_the_one_that_is_linked_is_left_out(linked, run, flock_addon, tmp_path):
    bpy.ops.flock.new(count=3)
    own = bpy.context.object
    own.name = "Linked"
    own.flock.pre_roll = 0.1
    assert run(["bake", "--flock", "Linked", "--output", str(tmp_path / "out.blend")]) == 0
    assert flock_addon.bake.is_baked(own)


# -- where it is saved -------------------------------------------------------------------------------------------------


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def folders(tmp_path):
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    return tmp_path / "in", tmp_path / "out"


@pytest.mark.parametrize("saved", [True, False])
def test_the_clips_file_lies_beside_the_output(flock, run, clip, folders, saved):
    source, target = folders
    flock.flock.storage = "SIDECAR"
    before = b""
    if saved:
        bpy.ops.wm.save_as_mainfile(filepath=str(source / "shot.blend"))
        before = (source / "shot.blend").read_bytes()
    assert run(["bake", "--output", str(target / "take.blend")]) == 0
    found = files(target)
    assert found[0].startswith("flock/take-Flock_Clip-") and found[1:] == ["take.blend"]
    assert files(source) == (["shot.blend"] if saved else [])
    assert not saved or (source / "shot.blend").read_bytes() == before

    moved = target.rename(target.parent / "elsewhere")  # both together, as a clip's file may be
    bpy.ops.wm.open_mainfile(filepath=str(moved / "take.blend"))
    mesh = bpy.data.objects["Flock"].data
    assert mesh.library.filepath == f"//{found[0]}" and clip.missing(mesh) is None
    assert clip.header(mesh).frames == 5


def test_a_large_clip_lies_beside_the_output_of_an_unsaved_file(flock, run, clip, flock_addon, folders, monkeypatch):
    options = flock_addon.preferences.options
    monkeypatch.setattr(flock_addon.preferences, "options", lambda: replace(options(), sidecar_limit=100))
    assert run(["bake", "--output", str(folders[1] / "shot.blend")]) == 0
    assert clip.is_sidecar(flock.data)


def test_an_output_that_is_named_from_the_working_folder(flock, run, folders, monkeypatch):
    monkeypatch.chdir(folders[1])
    flock.flock.storage = "SIDECAR"
    assert run(["bake", "--output", "../out/shot.blend"]) == 0
    assert bpy.data.filepath == str(folders[1] / "shot.blend")
    assert len(files(folders[1])) == 2


@pytest.fixture
def break_off(flock, flock_addon, monkeypatch):
    """Begins a bake of nine frames, which ends by an error after three."""
    own, append = flock.flock, flock_addon.bake.scratch.Writer.append

    def breaking(writer, state):
        if writer.frames == 3:
            raise ZeroDivisionError("a fault of ours")
        append(writer, state)

    def begin(options=None):
        own.use_scene_range, own.frame_end = False, 9
        monkeypatch.setattr(flock_addon.bake.scratch.Writer, "append", breaking)
        with pytest.raises(ValueError, match="a fault of ours"):
            flock_addon.bake.bake(flock, bpy.context.scene, options=options)
        monkeypatch.setattr(flock_addon.bake.scratch.Writer, "append", append)
        own.frame_end = 5  # it is the unfinished bake that says which frames

    return begin


def test_a_bake_that_was_ended_by_force_is_resumed_beside_the_output(flock, run, flock_addon, folders, break_off):
    source, target = folders
    bpy.ops.wm.save_as_mainfile(filepath=str(source / "shot.blend"))
    output = str(target / "shot.blend")
    options = replace(flock_addon.preferences.options(), output=output)
    break_off(options)
    left = flock_addon.bake.plan.unfinished(flock, options)
    assert left.path.parent == target / "flock" and left.about["file"] == "shot.blend"
    assert files(source) == ["shot.blend"]
    assert run(["bake", "--resume", "--output", output]) == 0
    assert flock_addon.bake.clip.header(flock.data).frames == 9
    assert files(target) == ["shot.blend"]


def test_what_was_ended_beside_the_input_is_resumed_into_the_output(flock, run, flock_addon, folders, break_off):
    source, target = folders
    bpy.ops.wm.save_as_mainfile(filepath=str(source / "shot.blend"))
    break_off()
    assert len(files(source)) == 2
    assert run(["bake", "--resume", "--output", str(target / "shot.blend")]) == 0
    assert flock_addon.bake.clip.header(flock.data).frames == 9
    assert files(source) == files(target) == ["shot.blend"]


def test_a_clip_beside_the_input_is_continued_beside_the_output(flock, run, clip, folders):
    source, target = folders
    flock.flock.storage = "SIDECAR"
    bpy.ops.wm.save_as_mainfile(filepath=str(source / "shot.blend"))
    assert run(["bake"]) == 0
    before = {name: (source / name).read_bytes() for name in files(source) if not name.endswith("1")}
    assert run(["bake", "--extend", "2", "--output", str(target / "shot.blend")]) == 0
    assert len(files(target)) == 2 and clip.header(flock.data).frames == 7
    assert {name: (source / name).read_bytes() for name in before} == before


BAKE = """
enable()
source, target = sys.argv[1:]
bpy.ops.wm.open_mainfile(filepath=source)
answer(into=own("cli").run(["bake", "--output", target]))
"""


def test_a_read_only_input_is_baked_into_an_output(flock, folders):
    """As a farm does: the input cannot be written, nor anything beside it."""
    source, target = folders
    within = with_read_only(source)
    if not within:
        pytest.skip("this system makes no folder read-only for root")
    flock.flock.storage = "SIDECAR"
    bpy.ops.wm.save_as_mainfile(filepath=str(source / "shot.blend"))
    user = Path(os.environ["BLENDER_USER_RESOURCES"])
    found = blender(BAKE, user, source / "shot.blend", target / "shot.blend", within=within)
    assert found["into"] == 0 and "cannot be written" not in found["printed"], found["printed"]
    assert len(files(target)) == 2 and files(source) == ["shot.blend"]
    found = blender(BAKE, user, target / "shot.blend", source / "shot.blend", within=within)
    assert found["into"] == 1 and "Choose a folder and a name that can be written" in found["printed"]
    assert "%" not in found["printed"]


@pytest.mark.parametrize("name", ["nowhere/shot.blend", "folder", "linked.blend"])
def test_an_output_that_cannot_be_saved_is_refused_before_the_flight(flock, run, folders, capsys, name):
    source, target = folders
    (target / "folder").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(target / "linked.blend"))
    bpy.ops.wm.save_as_mainfile(filepath=str(source / "shot.blend"))
    with bpy.data.libraries.load(str(target / "linked.blend"), link=True) as (_, wanted):
        wanted.collections = ["Flock"]
    assert run(["bake", "--output", str(target / name)]) == 1
    told = capsys.readouterr()
    assert "flock: The file cannot be saved to" in told.err and "choose" in told.err.lower()
    assert "%" not in told.out
