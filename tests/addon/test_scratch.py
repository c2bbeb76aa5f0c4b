# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scratch file of a bake keeps every finished frame to the bit, and never takes a torn one for whole."""

import importlib
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

COUNT = 5
NAMES = ("position", "velocity", "rotation", "flap")


@pytest.fixture
def scratch(flock_addon):
    return importlib.import_module(f"{flock_addon.__name__}.scratch")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "flock" / "shot-Flock-01234567.bake"


def states(scratch, number, count=COUNT):
    random = np.random.default_rng(3)
    shapes = {"position": (count, 3), "velocity": (count, 3), "rotation": (count, 4), "flap": (count,)}
    return [
        scratch.State(
            **{name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}, step=7 * k
        )
        for k in range(number)
    ]


def written(scratch, path, number, count=COUNT):
    made = states(scratch, number, count)
    writer = scratch.Writer(path, count, {"first": 1001, "name": "Gänse"})
    for state in made:
        writer.append(state)
    writer.close()
    return made


def test_all_that_the_next_step_reads_is_kept(scratch):
    assert {entry.name for entry in fields(scratch.State)} == {*NAMES, "step"}


def assert_same(found, expected):
    assert found.step == expected.step
    for name in NAMES:
        one, two = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(one.view(np.uint32), two.view(np.uint32))


@pytest.mark.parametrize("count", [0, 1, COUNT])
def test_what_is_written_is_read_back_bit_for_bit(scratch, path, count):
    made = written(scratch, path, 4, count)
    head = scratch.look(path)
    assert (head.count, head.frames, head.about) == (count, 4, {"first": 1001, "name": "Gänse"})
    assert scratch.complete_frames(head) == 4
    arrays = scratch.frames(head, 4)
    for index, state in enumerate(made):
        assert_same(scratch.state(head, index), state)
        for name in NAMES:
            np.testing.assert_array_equal(getattr(arrays, name)[index], getattr(state, name))


def test_a_head_may_be_longer_than_a_page(scratch, path):
    about = {"record": "x" * 3 * 4096}
    scratch.Writer(path, COUNT, about).close()
    assert scratch.look(path).about == about


def test_a_file_with_frames_is_not_written_over(scratch, path):
    made = written(scratch, path, 2)
    before = path.read_bytes()
    with pytest.raises(scratch.Taken, match="keeps an unfinished bake"):
        scratch.Writer(path, COUNT, {})
    assert path.read_bytes() == before
    scratch.Writer.resume(scratch.look(path)).close()
    assert_same(scratch.state(scratch.look(path), 1), made[1])


@pytest.mark.parametrize("left", [b"", b"half a head", b"x" * 9000])
def test_a_file_without_a_frame_is_written_over(scratch, path, left):
    path.parent.mkdir()
    path.write_bytes(left)
    written(scratch, path, 0)
    made = written(scratch, path, 2)
    head = scratch.look(path)
    assert head.frames == scratch.complete_frames(head) == 2
    assert_same(scratch.state(head, 1), made[1])


@pytest.mark.parametrize("stored", [False, True])
def test_it_does_not_matter_how_a_state_lies_in_memory(scratch, path, stored):
    """A compiled step hands over parts of records, the plain one arrays."""
    made = states(scratch, 2)
    writer = scratch.Writer(path, COUNT, {})
    for state in made:
        writer.append(state.stored() if stored else state)
    writer.close()
    for index, state in enumerate(made):
        assert_same(scratch.state(scratch.look(path), index), state)


def test_a_torn_last_frame_is_not_whole_and_is_flown_again(scratch, path):
    made = written(scratch, path, 4)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 3)
    head = scratch.look(path)
    assert scratch.complete_frames(head) == 3
    writer = scratch.Writer.resume(head)
    assert writer.frames == 3
    writer.append(made[3])
    writer.close()
    assert_same(scratch.state(scratch.look(path), 3), made[3])


def test_a_page_that_a_power_cut_left_empty_ends_what_is_whole(scratch, path):
    written(scratch, path, 6)
    head = scratch.look(path)
    size = (path.stat().st_size - head.begin) // 6
    with path.open("r+b") as file:
        file.seek(head.begin + 2 * size)
        file.write(bytes(size))
    assert scratch.complete_frames(scratch.look(path)) == 2


def test_one_wrong_bit_is_found(scratch, path):
    written(scratch, path, 3)
    head = scratch.look(path)
    size = (path.stat().st_size - head.begin) // 3
    data = bytearray(path.read_bytes())
    data[head.begin + size + 40] ^= 4
    path.write_bytes(data)
    assert scratch.complete_frames(scratch.look(path)) == 1


@pytest.mark.parametrize(
    "content", [b"", b"BLENDER", b"flock scratch 1 5 40", b"flock scratch 1 5 4096".ljust(63) + b"\n{"]
)
def test_what_is_no_scratch_file_is_none(scratch, path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    assert scratch.look(path) is None


def test_where_there_is_none_there_is_none(scratch, path):
    assert scratch.look(path) is None
    scratch.discard(path)


def test_two_processes_never_write_one_file(scratch, path):
    """Whoever comes second is refused, and has not emptied the first one's file."""
    made = states(scratch, 2)
    writer = scratch.Writer(path, COUNT, {})
    writer.append(made[0])
    head = scratch.look(path)
    for attempt in (
        lambda: scratch.Writer(path, COUNT, {}),
        lambda: scratch.Writer.resume(head),
        lambda: scratch.discard(path),
    ):
        with pytest.raises(ValueError, match="Another Blender is baking"):
            attempt()
    writer.append(made[1])
    assert scratch.complete_frames(scratch.look(path)) == 2
    writer.close()
    scratch.discard(path)
    assert not path.exists()


def test_the_system_unlocks_the_file_of_a_process_that_died(scratch, path):
    script = f"""
import fcntl, os, signal
file = open({str(path)!r}, "r+b")
fcntl.flock(file, fcntl.LOCK_EX)
os.kill(os.getpid(), signal.SIGKILL)
"""
    written(scratch, path, 1)
    subprocess.run([sys.executable, "-c", script], check=False)
    scratch.Writer.resume(scratch.look(path)).close()


def test_a_discarded_file_is_gone_though_it_is_still_open(scratch, path):
    writer = scratch.Writer(path, COUNT, {})
    writer.append(states(scratch, 1)[0])
    writer.discard()
    assert not path.exists()
    writer.append(states(scratch, 1)[0])
    writer.close()
    assert not path.exists()
