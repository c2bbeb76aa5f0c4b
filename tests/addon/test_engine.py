# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine is compiled ahead by a process of its own, which can be waited for, left alone and ended."""

import importlib
import time

import pytest


@pytest.fixture
def module(fresh, flock_addon):
    return importlib.import_module(f"{flock_addon.__name__}.engine")


@pytest.fixture
def engine(module):
    made = module.Engine()
    made.look()
    if made.problem:
        pytest.skip("there is no numba here")
    yield made
    made.stop()


def test_it_says_where_numba_is_missing(module, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    engine = module.Engine()
    engine.look()
    assert "numba is missing" in engine.problem


def test_whoever_cancels_does_not_wait_and_the_compiling_goes_on(module, engine, tmp_path):
    start = time.monotonic()
    with pytest.raises(module.simulation.Cancelled):
        engine.load(str(tmp_path), lambda: True)
    assert time.monotonic() - start < 2.0
    assert engine.is_compiling and not engine.ready
    assert not module.is_compiled(str(tmp_path))


def test_what_was_compiled_ahead_is_not_compiled_again(module, engine, tmp_path):
    engine.prepare(str(tmp_path))
    assert engine.is_compiling
    while engine.is_compiling:
        time.sleep(0.1)
    assert module.is_compiled(str(tmp_path))
    assert list(tmp_path.rglob("*.nbi"))
    engine.prepare(str(tmp_path))
    assert not engine.is_compiling


def test_another_release_python_or_numba_is_compiled_anew_apart_from_what_was_there(module, engine, tmp_path):
    """numba alone takes old code of kernels that another file calls."""
    before = tmp_path / "0123456789ab"
    before.mkdir()
    (before / module.DONE).write_text('["3.0", "0.1", []]')
    assert not module.is_compiled(str(tmp_path))
    engine.prepare(str(tmp_path))
    assert engine.is_compiling and not before.exists()


def test_a_torn_note_of_what_was_compiled_is_none(module, tmp_path):
    place = module._cache(str(tmp_path))
    place.mkdir()
    (place / module.DONE).write_text("")
    assert not module.is_compiled(str(tmp_path))


def test_it_can_be_ended_at_any_time(engine, tmp_path):
    engine.stop()
    engine.prepare(str(tmp_path))
    engine.stop()
    assert not engine.is_compiling
    engine.prepare(str(tmp_path))
    assert engine.is_compiling


def test_it_ends_when_blender_dies(engine, tmp_path):
    engine.prepare(str(tmp_path))
    process = engine._process
    assert process.poll() is None
    process.stdin.close()  # as the system does for a process that was killed
    assert process.wait(30) == 1
    assert not engine.is_compiling
