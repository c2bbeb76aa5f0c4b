# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line does what the button does."""

import bpy
import pytest


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
        (["bake", "--frames", "9", "2", "--output", "x.blend"], 1, "lies before the first"),
        (["bake", "--frames", "one", "two"], 2, "invalid int"),
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
